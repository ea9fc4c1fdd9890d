"""The best tagger within a number of bytes: fewer features, fewer weights, fewer bits, a dictionary of labels."""

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
DICTIONARY = 20
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 2.0)
TURNS = 6
NEAR = 0.985

_UNITS = {"": 1, "B": 1, "KB": 1024, "KIB": 1024, "MB": 1024**2, "MIB": 1024**2}


@dataclass(frozen=True)
class Sized:
    """One point of the curve: the settings, the size of the file, and the scores."""

    min_updates: int
    dictionary: int
    min_weight: float
    bits: int
    bytes: int
    token_accuracy: float
    sentence_accuracy: float

    def row(self) -> list[str]:
        """For a table."""
        return [
            str(self.min_updates),
            str(self.dictionary or "-"),
            f"{self.min_weight:.2g}",
            str(self.bits),
            f"{self.bytes / 1024:,.1f}",
            f"{100 * self.token_accuracy:.2f}",
            f"{100 * self.sentence_accuracy:.2f}",
        ]


HEAD = ["min updates", "dictionary", "min weight", "bits", "KB", "tokens", "sentences"]


@dataclass(frozen=True)
class SizeSearch:
    """tagger: the best that fits   best: its point   curve: every point that was scored, by size"""

    tagger: Tagger
    best: Sized
    curve: list[Sized]

    def page(self, title: str) -> Page:
        """The curve of accuracy against size, and the points."""
        made = Page("Accuracy and size", title)
        kinds = dict.fromkeys((p.bits, p.dictionary > 0) for p in self.curve)
        series = {
            f"{bits} bits" + (", dictionary" if listed else ""): [
                (p.bytes / 1024, 100 * p.sentence_accuracy)
                for p in self.curve
                if (p.bits, p.dictionary > 0) == (bits, listed)
            ]
            for bits, listed in kinds
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

    For each number of updates that a feature needs to count, one model is trained; its weights are rounded to few
    bits, and of each width as many as fit are kept, the largest. The best of these is tried with a dictionary of
    unambiguous words as well, and at other sizes, for the curve.
    """
    if not hasattr(config, "min_updates"):
        raise ConfigError(
            "--max-size makes greedy, easiest-first and beam taggers small; choose one of these recipes"
        )
    curve: list[Sized] = []
    fitting: list[tuple[Sized, Tagger]] = []
    plain = replace(config, bits=None, min_weight=0.0)
    widths = BITS if config.bits is None else (config.bits,)
    trained: dict[tuple[int, int], Tagger] = {}

    def whole(updates: int, dictionary: int) -> Tagger:
        if (updates, dictionary) not in trained:
            chosen = replace(plain, min_updates=updates, dictionary=dictionary)
            made = Tagger(chosen, features=features, folds=0, seed=seed, threads=threads)
            trained[updates, dictionary] = made.fit(train, dev=dev, on_epoch=on_epoch)
        return trained[updates, dictionary]

    def search(updates: int, dictionary: int, bits: int, share: float = 1.0) -> None:
        threshold, small, size = _largest_that_fits(
            whole(updates, dictionary), bits, int(share * most), config.min_weight
        )
        point = _scored(small, dev, Sized(updates, dictionary, threshold, bits, size, 0.0, 0.0))
        curve.append(point)
        on_point(point)
        if size <= most:
            fitting.append((point, small))

    for updates in UPDATES if config.min_updates == 1 else (config.min_updates,):
        for bits in widths:
            search(updates, config.dictionary, bits)
    if not fitting:
        least = min(p.bytes for p in curve) / 1024
        raise ConfigError(
            f"no setting fits into {most / 1024:,.0f} KB; the smallest tried has {least:,.0f} KB: "
            "allow more, or give fewer templates with --features"
        )
    if config.dictionary == 0:
        best = max(fitting, key=_merit)[0]
        search(best.min_updates, DICTIONARY, best.bits)
    best = max(fitting, key=_merit)[0]
    for share in SHARES:
        search(best.min_updates, best.dictionary, best.bits, share)
    best, small = max(fitting, key=_merit)
    return SizeSearch(small, best, sorted(set(curve), key=lambda p: p.bytes))


def _largest_that_fits(tagger: Tagger, bits: int, most: int, least: float) -> tuple[float, Tagger, int]:
    """With the lowest threshold whose file has at most ``most`` bytes, or the smallest file that was met.

    The size of a file is about in proportion to the number of weights in it, so a few tries come near.
    """
    whole = tagger.model_
    assert isinstance(whole, IncrementalModel)
    w = whole.weights
    magnitude = np.sort(np.abs(np.concatenate([w.unary.ravel(), w.context.ravel()])))[::-1]
    magnitude = magnitude[magnitude >= max(least, np.finfo(np.float32).tiny)]
    n, best = min(len(magnitude), most), None
    fits, above = 0, len(magnitude) + 1  # numbers of weights that fit for sure, and that do not
    for _ in range(TURNS):
        threshold = float(magnitude[n - 1]) if n else float(magnitude[:1].sum()) * 2
        small = with_model(tagger, replace(whole.pruned(threshold, bits).reduced(), small=True))
        size = file_size(small)
        if best is None or _fit(size, most) > _fit(best[2], most):
            best = threshold, small, size
        fits, above = (max(fits, n), above) if size <= most else (fits, min(above, n))
        if above - fits <= 1 or NEAR * most <= size <= most:
            break
        n = int(n * (1 + NEAR) / 2 * most / size)
        if not fits < n < above:
            n = (fits + above) // 2
    assert best is not None
    return best


def _fit(size: int, most: int) -> tuple[bool, int]:
    """More is better up to ``most``, less is better above."""
    return (True, size) if size <= most else (False, -size)


def _merit(found: tuple[Sized, Tagger]) -> tuple[float, int]:
    point, _ = found
    return point.sentence_accuracy + point.token_accuracy, -point.bytes


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


def _scored(tagger: Tagger, dev: TokenTable, point: Sized) -> Sized:
    scores = score_tags(dev.lists(LABEL), tagger.predict(dev)).as_dict()
    return replace(
        point, token_accuracy=scores["token_accuracy"], sentence_accuracy=scores["sentence_accuracy"]
    )
