"""What ``chaffinch train`` says when a model is trained: a table of scores and a line, or one JSON object."""

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from chaffinch.cli.console import out, print_json

Scores = dict[str, dict[str, float]]
"""Part of the data -> score -> value."""


@dataclass
class Clock:
    """Seconds that a block took, by the wall and by the processor."""

    wall_s: float = 0.0
    cpu_s: float = 0.0


@contextmanager
def clock() -> Iterator[Clock]:
    """Measure a block."""
    found = Clock()
    wall, cpu = time.perf_counter(), time.process_time()
    yield found
    found.wall_s, found.cpu_s = time.perf_counter() - wall, time.process_time() - cpu


def flat(scores: Scores) -> dict[str, float]:
    """Scores by part and name, as a model file keeps them."""
    return {f"{part}.{key}": value for part, found in scores.items() for key, value in found.items()}


def report_training(
    recipe: str,
    model: Path,
    took: Clock,
    scores: Scores,
    facts: dict[str, int],
    *,
    epochs: int,
    seed: int,
    json: bool,
) -> None:
    """facts: what was trained on, in numbers, such as {"sentences": 8936}."""
    size = model.stat().st_size
    if json:
        record: dict[str, Any] = {
            "recipe": recipe,
            "wall_s": round(took.wall_s, 4),
            "cpu_s": round(took.cpu_s, 4),
            "epochs": epochs,
            **facts,
            **scores,
            "model": str(model),
            "model_bytes": size,
            "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            "seed": seed,
        }
        print_json(record)
        return
    out.print(_table(scores))
    counted = ", ".join(f"{n:,} {name}" for name, n in facts.items())
    out.print(f"{recipe}: {counted}, trained in {took.wall_s:.2f} s; {model} has {size / 1024:,.0f} KB")
    sys.stdout.flush()


def _table(scores: Scores) -> Table:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("scored on")
    names = list(next(iter(scores.values())))
    for name in names:
        shown.add_column(name, justify="right")
    for part, found in scores.items():
        shown.add_row(part, *(f"{100 * found[name]:.2f} %" for name in names))
    return shown
