"""The best tagger within a number of bytes: fewer features, fewer weights, fewer bits."""

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.evaluate import score_tags
from chaffinch.model.incremental import IncrementalModel
from chaffinch.progress import Listener, keep_going
from chaffinch.report import Page, figure, lines, table
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable

UPDATES = (1, 3, 6)
BITS = (8, 6, 5)
THRESHOLDS = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0)
TURNS = 7

_UNITS = {"": 1, "B": 1, "KB": 1024, "KIB": 1024, "MB": 1024**2, "MIB": 1024**2}


@dataclass(frozen=True)
class Sized:
    """One point of the curve: the settings, the size of the file, and the scores."""

    min_updates: int
    min_weight: float
    bits: int | None
    bytes: int
    token_accuracy: float
    sentence_accuracy: float

    def row(self) -> list[str]:
        """For a table."""
        return [
            str(self.min_updates),
            f"{self.min_weight:.3f}",
            "-" if self.bits is None else str(self.bits),
            f"{self.bytes / 1024:,.1f}",
            f"{100 * self.token_accuracy:.2f}",
            f"{100 * self.sentence_accuracy:.2f}",
        ]


HEAD = ["min updates", "min weight", "bits", "KB", "tokens", "sentences"]


@dataclass(frozen=True)
class SizeSearch:
    """tagger: the best that fits   best: its point   curve: every point that was scored, by size"""

    tagger: Tagger
    best: Sized
    curve: list[Sized]

    def page(self, title: str) -> Page:
        """The curve of accuracy against size, and the points."""
        made = Page("Accuracy and size", title)
        series = {
            f"{bits or 32} bits": [
                (p.bytes / 1024, 100 * p.sentence_accuracy) for p in self.curve if p.bits == bits
            ]
            for bits in dict.fromkeys(p.bits for p in self.curve)
        }
        made.add(
            "Sentences right, by size", figure(lines("Sentence accuracy", series, "KB", "% of sentences"))
        )
        made.add("All points", table(HEAD, [p.row() for p in self.curve]))
        return made


def parsed_size(text: str) -> int:
    """A number of bytes: ``300KB``, ``1.5MB``, ``4096``.

    >>> parsed_size("300KB"), parsed_size("1.5 mb")
    (307200, 1572864)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if not found or found[2].upper() not in _UNITS:
        raise ConfigError(f"expected a size such as 300KB or 1.5MB, got {text!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def smallest(
    config: Any,
    train: TokenTable,
    dev: TokenTable,
    most: int,
    *,
    features: str | None = None,
    seed: int = 0,
    threads: int = 0,
    on_epoch: Listener = keep_going,
    on_point: Callable[[Sized], None] = lambda _: None,
) -> SizeSearch:
    """The best tagger of at most ``most`` bytes on the dev sentences.

    For each number of updates that a feature needs to count, one model is trained; its weights are cut at thresholds
    and rounded to few bits, and for each width the lowest threshold that fits is found by halving.
    """
    if not hasattr(config, "min_updates"):
        raise ConfigError(
            "--max-size makes greedy, easiest-first and beam taggers small; choose one of these recipes"
        )
    curve: list[Sized] = []
    best: tuple[Sized, Tagger] | None = None
    updates = sorted({config.min_updates, *UPDATES} if config.min_updates == 1 else {config.min_updates})
    widths = BITS if config.bits is None else (config.bits,)
    for least in updates:
        chosen = replace(config, min_updates=least, bits=None, min_weight=0.0)
        tagger = Tagger(chosen, features=features, seed=seed, threads=threads).fit(
            train, dev=dev, on_epoch=on_epoch
        )
        whole = tagger.model_
        assert isinstance(whole, IncrementalModel)

        def made(
            threshold: float, bits: int, whole: IncrementalModel = whole, tagger: Tagger = tagger
        ) -> Tagger:
            return with_model(tagger, replace(whole.pruned(threshold, bits).reduced(), small=True))

        for bits in widths:
            fitting = _lowest_that_fits(whole, bits, most, config.min_weight, made)
            others = [t for t in THRESHOLDS if bits == widths[0] and _may_fit(whole, t, 2 * most)]
            for threshold in sorted({*others, *fitting}):
                small = made(threshold, bits)
                size = file_size(small)
                point = _scored(small, dev, Sized(least, threshold, bits, size, 0.0, 0.0))
                curve.append(point)
                on_point(point)
                if size <= most and (best is None or _better(point, best[0])):
                    best = point, small
    curve.sort(key=lambda p: p.bytes)
    if best is None:
        least_bytes = f"; the smallest tried has {curve[0].bytes / 1024:,.0f} KB" if curve else ""
        raise ConfigError(
            f"no setting fits into {most / 1024:,.0f} KB{least_bytes}: "
            "allow more, or give fewer templates with --features"
        )
    return SizeSearch(best[1], best[0], curve)


def _lowest_that_fits(
    whole: IncrementalModel, bits: int, most: int, least: float, made: Callable[[float, int], Tagger]
) -> list[float]:
    """The lowest threshold, within a few per cent, whose file has at most ``most`` bytes; none if none has."""

    def fits(threshold: float) -> bool:
        return _may_fit(whole, threshold, most) and file_size(made(threshold, bits)) <= most

    low, high = least, _highest(whole)
    if fits(low):
        return [low]
    found = []
    for _ in range(TURNS):
        middle = float(np.sqrt(max(low, 1e-3) * high))
        if fits(middle):
            high = middle
            found = [middle]
        else:
            low = middle
    return found


def _may_fit(model: IncrementalModel, threshold: float, most: int) -> bool:
    """False where the weights alone would take more: no weight was ever stored in less than a byte."""
    w = model.weights
    kept = [int(np.count_nonzero(np.abs(a) >= max(threshold, 1e-9))) for a in (w.unary, w.context)]
    return sum(kept) <= most


def with_model(tagger: Tagger, model: IncrementalModel) -> Tagger:
    """A tagger like this one around another model."""
    made = Tagger(tagger.recipe, features=tagger.features, seed=tagger.seed, threads=tagger.threads)
    for name, value in vars(tagger).items():
        setattr(made, name, value)
    made.model_ = model
    return made


def file_size(tagger: Tagger) -> int:
    """The bytes of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.chaff"
        tagger.save(path)
        return path.stat().st_size


def _highest(model: IncrementalModel) -> float:
    return float(
        max(np.abs(model.weights.unary).max(initial=0), np.abs(model.weights.context).max(initial=0), 1e-3)
    )


def _scored(tagger: Tagger, dev: TokenTable, point: Sized) -> Sized:
    scores = score_tags(dev.lists(LABEL), tagger.predict(dev)).as_dict()
    return replace(
        point, token_accuracy=scores["token_accuracy"], sentence_accuracy=scores["sentence_accuracy"]
    )


def _better(a: Sized, b: Sized) -> bool:
    return (a.sentence_accuracy + a.token_accuracy, -a.bytes) > (
        b.sentence_accuracy + b.token_accuracy,
        -b.bytes,
    )
