"""Several recipes on one corpus: costs, scores and learning curves."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaffinch.errors import DataError
from chaffinch.evaluate.evaluation import ERRORS, title_of
from chaffinch.kinds import kind_of_corpus
from chaffinch.kinds.corpora import Corpus
from chaffinch.knobs import settings_of
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.report import Bar, Page, bars, figure, lines, table


@dataclass(frozen=True)
class Entry:
    """One recipe's row.

    scores:      on the held-out split, by name
    train_s:     CPU seconds of training, features included; epoch_s: of one pass
    model_bytes: of the file   speed: tokens or texts labelled per CPU second, features included
    curve:       (epoch, held-out score after it), if the recipe reports it
    """

    recipe: str
    scores: dict[str, float]
    train_s: float
    epochs: int
    epoch_s: float
    model_bytes: int
    speed: float
    unit: str = "tokens"
    curve: list[tuple[float, float]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        hidden = ("curve", "speed", "unit")
        plain = {name: value for name, value in vars(self).items() if name not in hidden}
        return plain | {f"{self.unit}_per_s": self.speed}


@dataclass(frozen=True)
class RecipeComparison:
    """Rows in the order in which the recipes were named, and the trained estimator of each."""

    entries: list[Entry]
    estimators: dict[str, Any]

    @property
    def best(self) -> Entry:
        """The row with the best main score, the first one shown; the next scores break ties."""
        return max(
            self.entries,
            key=lambda e: [-value if name in ERRORS else value for name, value in e.scores.items()],
        )

    def head(self) -> list[str]:
        """The names of the columns."""
        return [
            "recipe",
            *map(title_of, self.entries[0].scores),
            "train s",
            "epochs",
            "epoch s",
            "KB",
            f"{self.entries[0].unit}/s",
        ]

    def rows(self) -> list[list[str]]:
        """The rows of the table, as text."""
        return [
            [
                e.recipe,
                *(f"{100 * value:.2f}" for value in e.scores.values()),
                f"{e.train_s:.2f}",
                str(e.epochs),
                f"{e.epoch_s:.3f}",
                f"{e.model_bytes / 1024:,.0f}",
                f"{e.speed:,.0f}",
            ]
            for e in self.entries
        ]

    def page(self, title: str) -> Page:
        """The table, its bars and the learning curves."""
        made = Page("Recipes compared", title)
        made.add("Scores and costs", table(self.head(), self.rows()))
        for name in self.entries[0].scores:
            items = [Bar(e.recipe, e.scores[name]) for e in self.entries]
            low = min(bar.value for bar in items)
            floor = max(0.0, low - max(0.02, (1 - low)))
            shown = title_of(name)
            made.add(shown[0].upper() + shown[1:], figure(bars(shown, items, (floor, 1.0), digits=4)))
        curves = {e.recipe: e.curve for e in self.entries if len(e.curve) > 1}
        if curves:
            made.add(
                "Learning curves", figure(lines("Held-out score by epoch", curves, "epoch", "held-out score"))
            )
        return made


def compare_recipes(
    train: Corpus,
    held_out: Corpus,
    configs: Sequence[Any],
    *,
    features: Any = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int = 0,
    stop_on_held_out: bool = False,
    on_epoch: Listener = keep_going,
    on_recipe: Callable[[str], None] = lambda _: None,
) -> RecipeComparison:
    """Train each config on the same sentences or texts and score it on the same held-out ones.

    settings:         further settings shared by all, such as those of text features
    stop_on_held_out: the learners may use the held-out split to stop and to calibrate

    >>> from chaffinch.recipes.incremental_search import Greedy
    >>> from chaffinch.recipes.perceptron import StructuredPerceptron
    >>> from chaffinch.text.table import TokenTable
    >>> table = TokenTable.from_lists({"w": [["a", "b"]] * 4, "y": [["X", "Y"]] * 4})
    >>> found = compare_recipes(table, table, [Greedy(epochs=2), StructuredPerceptron(epochs=2)], threads=1)
    >>> [(e.recipe, e.scores["token_accuracy"]) for e in found.entries]
    [('greedy', 1.0), ('perceptron', 1.0)]
    """
    kind = kind_of_corpus(train)
    if type(held_out) is not type(train):
        raise DataError(f"expected held-out data of the same kind as the training data, {kind.plural}")
    entries, estimators = [], {}
    for config in configs:
        name = kind.recipes.by_config(config).name
        on_recipe(name)
        estimator = kind.made(name, {**settings_of(config), **(settings or {})}, features, seed, threads)
        watch = _Watch(on_epoch, kind.watcher(held_out, threads))
        before = time.process_time()
        kind.fit(estimator, train, held_out if stop_on_held_out else None, watch)
        seconds = time.process_time() - before - watch.aside
        before = time.process_time()
        tally = kind.tally(estimator, held_out)
        decoding = time.process_time() - before
        entries.append(
            Entry(
                recipe=name,
                scores=kind.scores_of(tally),
                train_s=seconds,
                epochs=len(estimator.history_),
                epoch_s=watch.epoch_s(),
                model_bytes=_file_size(estimator),
                speed=kind.units(held_out) / max(decoding, 1e-9),
                unit=kind.unit,
                curve=watch.curve
                or [(float(p.done), p.scores["dev"]) for p in estimator.history_ if "dev" in p.scores],
            )
        )
        estimators[name] = estimator
    return RecipeComparison(entries, estimators)


class _Watch:
    """A listener that records the CPU time of each epoch, without scoring, and the held-out score after it."""

    def __init__(self, listener: Listener, score: Callable[[Any], float] | None) -> None:
        self._listener, self._score = listener, score
        self._at: list[float] = []
        self.curve: list[tuple[float, float]] = []
        self.aside = 0.0

    def __call__(self, progress: Progress) -> object:
        before = time.process_time()
        self._at.append(before - self.aside)
        if progress.model is not None and self._score is not None:
            told = progress.scores.get("dev")
            self.curve.append((float(progress.done), self._score(progress.model()) if told is None else told))
        self.aside += time.process_time() - before
        return self._listener(progress)

    def epoch_s(self) -> float:
        """The median time from one epoch's end to the next's."""
        gaps = sorted(b - a for a, b in zip(self._at, self._at[1:], strict=False))
        return gaps[len(gaps) // 2] if gaps else 0.0


def _file_size(estimator: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.chaff"
        estimator.save(path)
        return path.stat().st_size
