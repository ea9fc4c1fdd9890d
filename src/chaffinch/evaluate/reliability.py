"""Reliability: whether answers are correct as often as their probability says."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Confidences:
    """Answers with probabilities.

    unit: the kind of answers: documents, labels, tokens, spans
    p:    float64 [N], the probability of each   right: bool [N], whether it agrees with gold
    """

    unit: str
    p: NDArray[np.float64]
    right: NDArray[np.bool_]

    def as_dict(self) -> dict[str, Any]:
        """Calibration error, Brier score and the bins of the diagram, ready for JSON."""
        found = reliability(self.p, self.right)
        return {
            "unit": self.unit,
            "answers": len(self.p),
            "error": found.error,
            "by_chance": error_by_chance(self.p),
            "brier": brier_score(self.p, self.right),
            "bins": found.bins(),
        }


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy, in bins of equal width.

    confidence, accuracy: float64 [bins], means; NaN if a bin is empty   counts: int64 [bins]
    """

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap between confidence and accuracy, weighted by the bins' sizes.

        >>> reliability(np.array([0.9, 0.9, 0.1]), np.array([True, True, False])).error
        0.1
        """
        filled = self.counts > 0
        gap = np.abs(self.confidence[filled] - self.accuracy[filled])
        return round(float(np.average(gap, weights=self.counts[filled])), 12) if filled.any() else 0.0

    def bins(self) -> list[list[float]]:
        """Mean confidence, accuracy and size of each bin that is not empty, rounded."""
        rows = zip(self.confidence.tolist(), self.accuracy.tolist(), self.counts.tolist(), strict=True)
        return [[round(c, 6), round(a, 6), n] for c, a, n in rows if n]


def reliability(confidence: NDArray[np.floating], right: NDArray[np.bool_], bins: int = 10) -> Reliability:
    """The accuracy of decisions by their confidence."""
    place = np.minimum((np.asarray(confidence, np.float64) * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        return Reliability(
            np.bincount(place, np.asarray(confidence, np.float64), bins) / counts,
            np.bincount(place, np.asarray(right, np.float64), bins) / counts,
            counts,
        )


def error_by_chance(p: NDArray[np.floating], bins: int = 10) -> float:
    """The calibration error that perfect probabilities are expected to show: answers are right or wrong by chance.

    In a bin the number of right answers has the variance v = sum of p (1 - p), and its mean distance from the expected
    number is sqrt(2 v / pi) for a normal distribution.

    >>> error_by_chance(np.full(100, 0.5)), error_by_chance(np.full(10_000, 0.5))
    (0.039894, 0.003989)
    """
    if len(p) == 0:
        return 0.0
    p = np.asarray(p, np.float64)
    variance = np.bincount(np.minimum((p * bins).astype(np.int64), bins - 1), p * (1 - p), bins)
    return round(float(np.sqrt(2 * np.maximum(variance, 0) / np.pi).sum()) / len(p), 6)


def brier_score(confidence: NDArray[np.floating], right: NDArray[np.bool_]) -> float:
    """The mean of (confidence - right)^2: calibration and sharpness in one number, lower is better.

    >>> brier_score(np.array([0.9, 0.2]), np.array([True, False]))
    0.025
    """
    if len(confidence) == 0:
        return 0.0
    return round(float(np.mean((np.asarray(confidence, np.float64) - np.asarray(right)) ** 2)), 12)
