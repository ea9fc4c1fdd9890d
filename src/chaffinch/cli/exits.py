"""How the command line ends: exit codes, and pipes that the reader closed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 2, 130, 141  # exit codes; 1 means the answer "no"


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
