"""The best model within a number of bytes: fewer features, fewer weights, fewer bits, a compressed file."""

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.model.protocols import Shrinkable
from chaffinch.report import Page, figure, lines, table

SHARES = (1 / 4, 1 / 2)
TURNS = 6
MOST_TURNS = 20  # maximum number of attempts while no model fits
NEAR = 0.97
CALIBRATION = 512  # bytes that a new calibration may add to a file

_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "KIB": 1024, "M": 1024**2, "MB": 1024**2, "MIB": 1024**2}

Scores = Mapping[str, float]


@dataclass(frozen=True)
class Sized:
    """One point of the curve: the number of weights kept, the size of the file, and the scores."""

    weights: int
    min_weight: float
    bits: int
    bytes: int
    scores: Scores = field(default_factory=dict)

    def row(self) -> list[str]:
        """For a table."""
        settings = [
            f"{self.weights:,}",
            f"{self.min_weight:.2g}",
            str(self.bits),
            f"{self.bytes / 1024:,.1f}",
        ]
        return [*settings, *(f"{100 * value:.2f}" for value in self.scores.values())]

    def head(self) -> list[str]:
        """The headings of a row's cells."""
        return ["weights", "min weight", "bits", "KB", *self.scores]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: value for name, value in vars(self).items() if name != "scores"} | dict(self.scores)


@dataclass(frozen=True)
class SizeSearch:
    """estimator: the best that fits   best: its point   curve: every point that was scored, by size"""

    estimator: Any
    best: Sized
    curve: list[Sized]

    def page(self, title: str) -> Page:
        """The curve of the main score against size, and the points."""
        made = Page("Scores and size", title)
        name = next(iter(self.best.scores))
        series = {
            f"{bits} bits": [(p.bytes / 1024, 100 * p.scores[name]) for p in self.curve if p.bits == bits]
            for bits in dict.fromkeys(p.bits for p in self.curve)
        }
        made.add(f"{name} by size", figure(lines(name, series, "KB", "%")))
        made.add("All points", table(self.best.head(), [p.row() for p in self.curve]))
        return made


def parsed_size(text: str) -> int:
    """The number of bytes that a text names.

    >>> parsed_size("300KB"), parsed_size("300k"), parsed_size("1.5 MB")
    (307200, 307200, 1572864)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if not found or found[2].upper() not in _UNITS:
        raise ConfigError(f"expected a size such as 300KB or 1.5MB, got {text!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def smallest(
    estimator: Any,
    most: int,
    score: Callable[[Any], Scores],
    on_point: Callable[[Sized], None] = lambda _: None,
    recalibrate: Callable[[Any], Any] | None = None,
    spare: int = 0,
) -> SizeSearch:
    """The best pruned and rounded version of a trained model with at most ``most`` bytes.

    Weights are rounded to few bits, and for each width the largest that fit are kept; the others are dropped with
    their features. The best width is kept, and scored at smaller sizes as well, for the curve.

    score:       scores an estimator on held-out data; the first is the main score
    recalibrate: fits the probabilities of an estimator on held-out data; None: those of the whole model are kept
    spare:       bytes of the file that the caller will write itself
    """
    whole = estimator.model_
    if not isinstance(whole, Shrinkable):
        raise ConfigError(
            f"models of the recipe {estimator.recipes.by_config(estimator.config_).name} cannot be made smaller"
        )
    asked = getattr(estimator.config_, "bits", None)
    widths = whole.widths if asked is None or len(whole.widths) == 1 else (asked,)
    magnitude = np.sort(whole.magnitudes())[::-1]
    magnitude = magnitude[magnitude > 0]
    curve: list[Sized] = []
    fitting: list[tuple[Sized, Any]] = []
    bytes_each = 1.0  # an initial estimate; then the result of the previous width
    room = max(most - spare, 1)
    aim = room if recalibrate is None else room - min(CALIBRATION, room // 16)

    def keep(point: Sized, small: Any) -> None:
        if recalibrate is not None:
            recalibrate(small)
            point = replace(point, bytes=file_size(small))
        point = replace(point, scores=dict(score(small)))
        curve.append(point)
        on_point(point)
        if point.bytes <= room:
            fitting.append((point, small))

    for bits in widths:
        # Weights below half a step are rounded to zero.
        left = magnitude[magnitude * (2 ** (bits - 1) - 1) >= magnitude[:1].sum() / 2]
        point, small = _largest_that_fits(estimator, left, bits, aim, bytes_each)
        bytes_each = point.bytes / max(point.weights, 1)
        keep(point, small)
    if not fitting:
        least = (min(p.bytes for p in curve) + spare) / 1024
        raise ConfigError(
            f"no setting fits into {most / 1024:,.1f} KB; the smallest tried has {least:,.1f} KB: "
            "allow more, or train on fewer features with --features or --min-count"
        )
    best = max(fitting, key=_merit)[0]
    for share in SHARES:
        keep(*_shrunk(estimator, magnitude, int(share * best.weights), best.bits))
    best, small = max(fitting, key=_merit)
    return SizeSearch(small, best, sorted(curve, key=lambda p: p.bytes))


def _largest_that_fits(
    estimator: Any, magnitude: NDArray[np.float32], bits: int, most: int, bytes_each: float
) -> tuple[Sized, Any]:
    """The model with the lowest threshold whose file has at most ``most`` bytes, else the smallest file found.

    The size of a file is about a constant plus a multiple of its number of weights, so a few attempts suffice.
    """
    aim = (1 + NEAR) / 2 * most
    found: list[tuple[Sized, Any]] = []
    n = int(min(len(magnitude), most / bytes_each))
    fits, above = 0, len(magnitude) + 1  # numbers of weights that are known to fit, and not to fit
    while len(found) < TURNS or (not fits and len(found) < MOST_TURNS):
        found.append(_shrunk(estimator, magnitude, n, bits))
        size = found[-1][0].bytes
        fits, above = (max(fits, n), above) if size <= most else (fits, min(above, n))
        if above - fits <= 1 or NEAR * most <= size <= most:
            break
        n = _weights_of_size(aim, [(one.weights, one.bytes) for one, _ in found[-2:]])
        if not fits < n < above or (len(found) >= TURNS and not fits):
            n = (fits + above) // 2
    return max(found, key=lambda one: _fit(one[0].bytes, most))


def _weights_of_size(size: float, known: Sequence[tuple[int, int]]) -> int:
    """The number of weights of a file of this size, on the line through one or two known numbers and sizes.

    >>> _weights_of_size(50, [(10, 100)]), _weights_of_size(50, [(10, 100), (5, 75)])
    (5, 0)
    """
    (n, most), (other, least) = known[-1], known[0] if len(known) > 1 else (0, 0)
    return int(n + (size - most) * (n - other) / (most - least)) if most != least else other


def _shrunk(estimator: Any, magnitude: NDArray[np.float32], n: int, bits: int) -> tuple[Sized, Any]:
    """The estimator with only its n largest weights, and its point of the curve."""
    threshold = float(magnitude[n - 1]) if n else float(magnitude[:1].sum()) * 2
    small = with_model(estimator, estimator.model_.shrunk(threshold, bits))
    small.compressed_ = True
    return Sized(n, threshold, bits, file_size(small)), small


def _fit(size: int, most: int) -> tuple[bool, int]:
    """A sort key: larger is better up to ``most``, smaller is better above."""
    return (True, size) if size <= most else (False, -size)


def _merit(found: tuple[Sized, Any]) -> tuple[float, int]:
    point, _ = found
    return next(iter(point.scores.values()), 0.0), -point.bytes


def with_model(estimator: Any, model: Any) -> Any:
    """A copy of the estimator with another model."""
    made = type(estimator)(**estimator.get_params(deep=False))
    vars(made).update(vars(estimator))
    made.model_ = model
    return made


def file_size(estimator: Any) -> int:
    """The bytes of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.chaff"
        estimator.save(path)
        return path.stat().st_size
