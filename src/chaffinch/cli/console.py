"""Terminal output: results on stdout; progress on stderr, only if that is a terminal."""

import errno
import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.segment import Segment
from rich.text import Text

from chaffinch.cli.terminal import visible
from chaffinch.progress import Listener, Progress, keep_going


class Screen(Console):
    """A console that shows every text literally: no markup, and control characters are escaped.

    A closed pipe is passed to the command line, which knows the exit code.
    """

    def __init__(self, stderr: bool = False) -> None:
        """Styles are separate from the text, never within it."""
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """A string of `print` or of a table."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """A renderable as pieces of text with their style."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)

    def on_broken_pipe(self) -> None:
        """Raise the error."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


out = Screen()
err = Screen(stderr=True)


def print_json(value: Any) -> None:
    """One JSON object on stdout, keys in the given order; numbers that JSON lacks, such as -inf, are null."""
    sys.stdout.write(json.dumps(_finite(value), ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def remarks_on_stderr() -> Iterator[None]:
    """Print to stderr what an engine prints while it works: Ray reports lost workers on stdout, amid the results."""
    with redirect_stdout(sys.stderr):
        yield


@contextmanager
def progress_bar() -> Iterator[Listener]:
    """A listener that draws on stderr if that is a terminal, and otherwise does nothing."""
    if not err.is_terminal:
        yield keep_going
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[scores]}", markup=False),
    )
    with Bar(*columns, console=err, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(p: Progress) -> bool:
            if p.task not in tasks:
                tasks[p.task] = bar.add_task(p.task, total=p.total, scores="")
            scores = "  ".join(f"{name} {value:.4g}" for name, value in p.scores.items())
            bar.update(tasks[p.task], completed=p.done, total=p.total, scores=scores)
            return True

        yield show
