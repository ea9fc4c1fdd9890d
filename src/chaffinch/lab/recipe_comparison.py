"""Several recipes on one corpus: what each costs, what each scores, and how each learnt."""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaffinch.errors import DataError
from chaffinch.estimators import Tagger
from chaffinch.evaluate import score_tags
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.recipes import TAGGERS
from chaffinch.report import Bar, Page, bars, figure, lines, table
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable

SHOWN = {"token_accuracy": "tokens", "sentence_accuracy": "sentences", "span.micro.f1": "span F1"}


@dataclass(frozen=True)
class Entry:
    """One recipe's row.

    scores:      on the held-out sentences, by name
    train_s:     CPU seconds of training, features included; epoch_s: of one pass
    model_bytes: of the file   tokens_per_s: decoded, per CPU second, features included
    curve:       (epoch, held-out score after it), where the recipe tells
    """

    recipe: str
    scores: dict[str, float]
    train_s: float
    epochs: int
    epoch_s: float
    model_bytes: int
    tokens_per_s: float
    curve: list[tuple[float, float]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: value for name, value in vars(self).items() if name != "curve"}


@dataclass(frozen=True)
class RecipeComparison:
    """Rows in the order in which the recipes were named, and the tagger of each."""

    entries: list[Entry]
    taggers: dict[str, Tagger]

    @property
    def best(self) -> Entry:
        """The row with the highest main score: span F1 where labels spell spans, else sentences, then tokens."""
        return max(
            self.entries, key=lambda e: [e.scores[name] for name in reversed(SHOWN) if name in e.scores]
        )

    def head(self) -> list[str]:
        """The names of the columns."""
        scored = [shown for name, shown in SHOWN.items() if name in self.entries[0].scores]
        return ["recipe", *scored, "train s", "epochs", "epoch s", "KB", "tokens/s"]

    def rows(self) -> list[list[str]]:
        """The table, written out."""
        return [
            [
                e.recipe,
                *(f"{100 * e.scores[name]:.2f}" for name in SHOWN if name in e.scores),
                f"{e.train_s:.2f}",
                str(e.epochs),
                f"{e.epoch_s:.3f}",
                f"{e.model_bytes / 1024:,.0f}",
                f"{e.tokens_per_s:,.0f}",
            ]
            for e in self.entries
        ]

    def page(self, title: str) -> Page:
        """The table, its bars and the learning curves."""
        made = Page("Recipes compared", title)
        made.add("Scores and costs", table(self.head(), self.rows()))
        for name, shown in SHOWN.items():
            if name in self.entries[0].scores:
                items = [Bar(e.recipe, e.scores[name]) for e in self.entries]
                low = min(bar.value for bar in items)
                floor = max(0.0, low - max(0.02, (1 - low)))
                made.add(shown.capitalize(), figure(bars(shown, items, (floor, 1.0), digits=4)))
        curves = {e.recipe: e.curve for e in self.entries if len(e.curve) > 1}
        if curves:
            made.add(
                "Learning curves", figure(lines("Held-out score by epoch", curves, "epoch", "held-out score"))
            )
        return made


def compare_recipes(
    train: TokenTable,
    held_out: TokenTable,
    configs: Sequence[Any],
    *,
    features: str | Sequence[str] | None = None,
    seed: int = 0,
    threads: int = 0,
    stop_on_held_out: bool = False,
    on_epoch: Listener = keep_going,
    on_recipe: Callable[[str], None] = lambda _: None,
) -> RecipeComparison:
    """Train each config on the same sentences and score it on the same others.

    stop_on_held_out: the learners may look at the held-out sentences, to stop and to calibrate

    >>> from chaffinch.recipes.incremental_search import Greedy
    >>> from chaffinch.recipes.perceptron import StructuredPerceptron
    >>> table = TokenTable.from_lists({"w": [["a", "b"]] * 4, "y": [["X", "Y"]] * 4})
    >>> found = compare_recipes(table, table, [Greedy(epochs=2), StructuredPerceptron(epochs=2)], threads=1)
    >>> [(e.recipe, e.scores["token_accuracy"]) for e in found.entries]
    [('greedy', 1.0), ('perceptron', 1.0)]
    """
    if LABEL not in held_out.columns:
        raise DataError("recipes are compared on sentences with labels; these have none")
    entries, taggers = [], {}
    for config in configs:
        name = TAGGERS.by_config(config).name
        on_recipe(name)
        tagger = Tagger(config, features=features, seed=seed, threads=threads)
        clock = _Clock(on_epoch)
        before = time.process_time()
        tagger.fit(train, dev=held_out if stop_on_held_out else None, on_epoch=clock)
        seconds = time.process_time() - before
        before = time.process_time()
        predicted = tagger.predict(held_out)
        decoding = time.process_time() - before
        scores = score_tags(held_out.lists(LABEL), predicted).as_dict()
        entries.append(
            Entry(
                recipe=name,
                scores={key: scores[key] for key in SHOWN if key in scores},
                train_s=seconds,
                epochs=len(tagger.history_),
                epoch_s=clock.epoch_s(),
                model_bytes=_file_size(tagger),
                tokens_per_s=held_out.n_tokens / max(decoding, 1e-9),
                curve=[(float(p.done), p.scores["dev"]) for p in tagger.history_ if "dev" in p.scores],
            )
        )
        taggers[name] = tagger
    return RecipeComparison(entries, taggers)


class _Clock:
    """A listener that notes the CPU time of each epoch."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._at: list[float] = []

    def __call__(self, progress: Progress) -> bool:
        self._at.append(time.process_time())
        return self._listener(progress)

    def epoch_s(self) -> float:
        """The median time from one epoch's end to the next's."""
        gaps = sorted(b - a for a, b in zip(self._at, self._at[1:], strict=False))
        return gaps[len(gaps) // 2] if gaps else 0.0


def _file_size(tagger: Tagger) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.chaff"
        tagger.save(path)
        return path.stat().st_size
