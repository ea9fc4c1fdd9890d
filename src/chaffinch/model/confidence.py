"""From scores to probabilities: a temperature, a correction of the top label, and the prior for unknown texts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.modelfile import Requirements

# The sections of a model file that hold its calibration on held-out data begin with this.
CONFIDENCE = "confidence."

# The slope of curves outside their knots, and the largest logit that counts: no two answers become equal.
RISE, HIGHEST = 1e-9, 50.0

Scores = NDArray[np.floating]
Probabilities = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """One label per document:  p = softmax(s / temperature); then for the top label y* only

        logit p(y*) := slope logit p(y*) + offset,   the others share the rest in the same proportions

    Independent labels:  logit p(y) = slope s_y / temperature + offset.

    curve: knots (logit before, logit after) of a piecewise linear map of logit p(y*), used instead of the line if there
           are any; almost constant outside the knots

    The top label stays on top: its probability never falls below that of the next.

    >>> Calibration().softmax(np.log(np.array([[0.5, 0.3, 0.2]]))).round(3).tolist()
    [[0.5, 0.3, 0.2]]
    >>> Calibration(1.0, 1.0, 1.0).softmax(np.log(np.array([[0.5, 0.3, 0.2]]))).round(3).tolist()
    [[0.731, 0.161, 0.108]]
    """

    temperature: float = 1.0
    slope: float = 1.0
    offset: float = 0.0
    curve: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of_sections(cls, found: Any, need: Requirements) -> "Calibration":
        """The calibration of a model file, whose fields ``found`` has."""
        if found.curve is None:
            return cls(found.temperature, found.slope, found.offset)
        before, after = found.curve.T
        if (np.diff(before) <= 0).any() or (np.diff(after) < 0).any():
            raise need.fault("its calibration curve does not rise")
        return cls(
            found.temperature, found.slope, found.offset, tuple((x, y) for x, y in found.curve.tolist())
        )

    def sections(self) -> dict[str, Any]:
        """The same for a model file."""
        curve = np.array(self.curve, np.float64) if self.curve else None
        return {
            "temperature": self.temperature,
            "slope": self.slope,
            "offset": self.offset,
            "curve": curve,
        }

    def softmax(self, s: Scores) -> Probabilities:
        """p [N, Y] from s [N, Y]: rows sum to one."""
        p = softmax(s.astype(np.float64) / self.temperature)
        if p.shape[1] < 2 or (self.slope == 1.0 and self.offset == 0.0 and not self.curve):
            return p
        odds = top_odds(s.astype(np.float64) / self.temperature)
        rows, top = np.arange(len(p)), np.asarray(s).argmax(axis=1)
        c = sigmoid(self._logit(odds))
        others = p.copy()
        others[rows, top] = 0.0
        others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
        most = others.max(axis=1)
        c = np.maximum(c, most / (1.0 + most) + 1e-9)
        p = others * (1.0 - c)[:, None]
        p[rows, top] = c
        return p

    def _logit(self, odds: Probabilities) -> Probabilities:
        """The calibrated log-odds of top labels."""
        if not self.curve:
            return self.slope * odds + self.offset
        before, after = zip(*self.curve, strict=True)
        return np.asarray(np.interp(odds, before, after) + RISE * np.clip(odds, -HIGHEST, HIGHEST))

    def sigmoid(self, s: Scores) -> Probabilities:
        """p [N, Y] from s [N, Y] for independent labels."""
        return sigmoid(self.slope * s.astype(np.float64) / self.temperature + self.offset)

    def bar(self, threshold: float) -> float:
        """The score at which an independent label reaches a probability."""
        with np.errstate(divide="ignore"):
            odds = np.log(threshold) - np.log1p(-threshold)
        return float((odds - self.offset) / self.slope * self.temperature)


RAW = Calibration()


@dataclass(frozen=True, eq=False)
class Prior:
    """The answer for a text without a known feature: the shares of the labels in training.

    shares:   float32 [Y]; they sum to one, unless documents may have several labels
    sigmoids: labels are independent

    Such a text is marked by its scores, which are exactly ``scores``.
    """

    shares: NDArray[np.float32]
    sigmoids: bool = False

    @property
    def scores(self) -> NDArray[np.float32]:
        """float32 [Y]: the logs of the shares, or their log-odds if labels are independent."""
        p = np.clip(self.shares.astype(np.float64), 1e-12, 1 - 1e-12)
        return np.asarray(np.log(p) - (np.log1p(-p) if self.sigmoids else 0.0), dtype=np.float32)

    def marked(self, scores: Scores) -> NDArray[np.bool_]:
        """Which rows of scores are the prior's: bool [N]."""
        return np.asarray((scores == self.scores).all(axis=1))

    def put_into(self, scores: Any, ptr: NDArray[np.int64]) -> None:
        """Set the rows without features to the prior's scores; ``ptr`` bounds the features of each row."""
        scores[ptr[1:] == ptr[:-1]] = self.scores


def top_odds(s: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-odds of the top label under the softmax of s: float64 [N]; s has two columns or more."""
    rows, top = np.arange(len(s)), s.argmax(axis=1)
    best = s[rows, top]
    below = s - best[:, None]
    below[rows, top] = -np.inf
    most = below.max(axis=1)
    with np.errstate(invalid="ignore"):
        rest = most + np.log(np.exp(below - most[:, None]).sum(axis=1))
    return np.asarray(np.where(np.isfinite(most), -rest, np.inf))


def softmax(s: NDArray[np.float64]) -> Probabilities:
    """exp(s_y) / sum over y' of exp(s_y'), row by row."""
    p = np.exp(s - s.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def sigmoid(s: NDArray[np.float64]) -> Probabilities:
    """1 / (1 + exp(-s)), without overflow."""
    e = np.exp(-np.abs(s))
    return np.asarray(np.where(s < 0, e, 1.0) / (1.0 + e))
