"""What every command needs of the terminal: exit codes, closed pipes, and text that is safe to print."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 2, 130, 141  # exit codes; 1 means the answer "no"
NOT_BEGUN = "nothing was begun"  # said if Ctrl-C comes before the command does anything
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


@contextmanager
def if_interrupted(told: Callable[[], str]) -> Iterator[None]:
    """On Ctrl-C, add what is kept or how to continue to the sentence of the command line."""
    try:
        yield
    except KeyboardInterrupt as e:
        e.add_note(told())
        raise


def is_interrupt(error: BaseException | None) -> bool:
    """Whether it is Ctrl-C, or was caused by it: Python wraps what is raised while a class is made."""
    return isinstance(error, KeyboardInterrupt) or (error is not None and is_interrupt(error.__cause__))


def interruption(error: BaseException, otherwise: str = "") -> str:
    """What the command line says after Ctrl-C. otherwise: if nothing was added to the sentence

    >>> interruption(KeyboardInterrupt())
    'interrupted'
    >>> try:
    ...     with if_interrupted(lambda: "m.chaff was not written"):
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt as e:
    ...     print(interruption(e))
    interrupted: m.chaff was not written
    """
    notes = getattr(error, "__notes__", []) or ([otherwise] if otherwise else [])
    return f"interrupted: {'; '.join(notes)}" if notes else "interrupted"


def not_written(path: str | os.PathLike[str]) -> Callable[[], str]:
    """Says, if asked later, whether a file was written since now."""
    before = _written_at(path)

    def told() -> str:
        if _written_at(path) != before:
            return f"{path} is written"
        return f"{path} was not written" if before is None else f"{path} is as it was before"

    return told


def _written_at(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


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
