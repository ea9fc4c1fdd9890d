"""What every command needs of the terminal: exit codes, closed pipes, and text that is safe to print."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 2, 130, 141  # exit codes; 1 means the answer "no"
# Characters that move the cursor, change colours or the direction of reading; line ends and tabs are kept.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@contextmanager
def closed_pipe() -> Iterator[None]:
    """Turns Rich's exit code for a closed pipe into ours, for pages of help."""
    try:
        yield
    except SystemExit:
        import typer  # only now: its import takes half of the start-up time

        raise typer.Exit(CLOSED_PIPE) from None


def abandon_stdout() -> None:
    """Discard unwritten output, because Python would try to write it again at exit."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def visible(text: str) -> str:
    r"""The text with its control characters escaped.

    >>> print(visible("red \x1b[31m"))
    red \x1b[31m
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
