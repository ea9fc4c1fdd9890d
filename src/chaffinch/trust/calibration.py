"""Calibration: scores divided by a temperature, so that a confidence of 90 % is right nine times in ten."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError

LOWEST, HIGHEST = 1e-3, 1e6
GOLDEN = (np.sqrt(5.0) - 1) / 2


def fitted_temperature(scores: NDArray[np.floating], y: NDArray[np.integer]) -> float:
    """The temperature that makes held-out labels likeliest.

        tau = argmin of - sum_t log softmax(scores[t] / tau)[y_t]

    Guo et al. 2017, "On calibration of modern neural networks". The sum is convex in 1 / tau, so a search over
    one number finds it. Decisions whose label was out of reach (-inf) say nothing and are left out.

    scores: [T, Y], -inf where a label was not to be had   y: [T]

    >>> scores = np.log(np.array([[0.9, 0.1]] * 9 + [[0.9, 0.1]])) * 5.0
    >>> round(fitted_temperature(scores, np.array([0] * 9 + [1])), 3)
    5.0
    """
    reachable = np.isfinite(scores[np.arange(len(y)), y])
    scores, y = scores[reachable].astype(np.float64), np.asarray(y)[reachable]
    if len(y) == 0:
        raise DataError("there is no held-out decision to calibrate on")
    top = scores.max(axis=1, keepdims=True)
    below = scores - top
    gold = below[np.arange(len(y)), y]

    def surprise(log_tau: float) -> float:
        tau = np.exp(log_tau)
        return float(np.mean(np.log(np.exp(below / tau).sum(axis=1)) - gold / tau))

    low, high = np.log(LOWEST), np.log(HIGHEST)
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = surprise(a), surprise(b)
    while high - low > 1e-6:
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = surprise(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = surprise(b)
    return float(np.exp((low + high) / 2))


@dataclass(frozen=True)
class Reliability:
    """Confidence against truth, in bins of equal width.

    confidence, accuracy: float64 [bins], means; NaN where a bin is empty   counts: int64 [bins]
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
        return round(float(np.average(gap, weights=self.counts[filled])), 12)


def reliability(confidence: NDArray[np.floating], right: NDArray[np.bool_], bins: int = 10) -> Reliability:
    """How often decisions of each degree of confidence were right."""
    place = np.minimum((np.asarray(confidence, np.float64) * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        return Reliability(
            np.bincount(place, np.asarray(confidence, np.float64), bins) / counts,
            np.bincount(place, np.asarray(right, np.float64), bins) / counts,
            counts,
        )
