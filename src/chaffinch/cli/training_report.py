"""What ``chaffinch train`` does with a trained model: its file, its learning curve, a table of scores or JSON."""

import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from chaffinch.cli.console import out, print_json
from chaffinch.cli.task import Training
from chaffinch.estimators.keeping import Kept
from chaffinch.files import writing_text
from chaffinch.lab.learning_page import learning_page
from chaffinch.progress import Progress

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


def keep_trained(
    asked: Training, estimator: Kept[Any], took: Clock, scores: Scores, facts: dict[str, int]
) -> None:
    """Write the model, draw its curve where that was asked for, and say what was trained.

    facts: what was trained on, in numbers, such as {"sentences": 8936}
    """
    recipe = estimator.recipes.by_config(estimator.config_).name
    estimator.save(asked.model, scores=flat(scores))
    if asked.report is not None:
        with writing_text(asked.report) as stream:
            stream.write(learning_page(recipe, estimator.history_).render())
    size = asked.model.stat().st_size
    if asked.json:
        record: dict[str, Any] = {
            "recipe": recipe,
            "wall_s": round(took.wall_s, 4),
            "cpu_s": round(took.cpu_s, 4),
            "epochs": len(estimator.history_),
            **facts,
            **({"objective": objective} if (objective := _objective(estimator.history_)) else {}),
            **scores,
            "model": str(asked.model),
            "model_bytes": size,
            "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            "seed": asked.seed,
        }
        print_json(record)
        return
    out.print(_table(scores))
    counted = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in facts.items())
    out.print(
        f"{recipe}: {counted}, trained in {took.wall_s:.2f} s{_gap(estimator.history_)}{_best(estimator.history_)}; "
        f"{asked.model} has {size / 1024:,.0f} KB"
    )
    sys.stdout.flush()


def _best(history: Sequence[Progress]) -> str:
    """Which pass was kept, where held-out data chose one."""
    scored = [p for p in history if "dev" in p.scores]
    if not scored:
        return ""
    best = max(scored, key=lambda p: p.scores["dev"])
    return f"; {best.task} {best.done} of {history[-1].done} is kept, the best on dev"


def _objective(history: Sequence[Progress]) -> dict[str, float]:
    """Primal, dual and the gap between them where they were looked at last; nothing where they never were."""
    names = ("primal", "dual", "gap")  # a likelihood tells its gap alone
    looks = [p.scores for p in history if all(name in p.scores for name in names)]
    return {name: float(looks[-1][name]) for name in names} if looks else {}


def _gap(history: Sequence[Progress]) -> str:
    """How far the weights are from the optimum at most."""
    found = _objective(history)
    if not found:
        return ""
    share = 100 * max(found["gap"], 0.0) / max(abs(found["primal"]), 1e-30)
    shown = f"{share:.0f}" if share >= 10 else f"{share:.2g}"
    return f", within {shown} % of the optimum"


def _table(scores: Scores) -> Table:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("scored on")
    names = list(next(iter(scores.values())))
    for name in names:
        shown.add_column(name, justify="right")
    for part, found in scores.items():
        shown.add_row(part, *(f"{100 * found[name]:.2f} %" for name in names))
    return shown
