"""Scores over seeds: their mean, and Student's interval around it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SeedScores:
    """The mean of a score over seeds and the interval in which it lies with 95 % confidence.

    >>> found = SeedScores.of([0.80, 0.82, 0.84])
    >>> f"{found.mean:.3f} {found.low:.3f} {found.high:.3f}"
    '0.820 0.770 0.870'
    """

    count: int
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> "SeedScores":
        """From one score per seed; of a single one, the interval is the score itself."""
        n = len(scores)
        mean = math.fsum(scores) / n
        if n == 1 or min(scores) == max(scores):
            return cls(n, mean, mean, mean)
        variance = math.fsum((s - mean) ** 2 for s in scores) / (n - 1)
        half = student_quantile(0.975, n - 1) * math.sqrt(variance / n)
        return cls(n, mean, mean - half, mean + half)


def student_quantile(p: float, freedom: int) -> float:
    """The value t >= 0 with P(T <= t) = p for Student's T, by bisection; 0.5 <= p < 1.

    >>> round(student_quantile(0.975, 4), 3)
    2.776
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < 2.0 * p - 1.0:
        high *= 2.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        if _within(middle, freedom) < 2.0 * p - 1.0:
            low = middle
        else:
            high = middle
    return high


def _within(t: float, freedom: int) -> float:
    """P(|T| <= t), the finite series for whole degrees of freedom (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    theta = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(theta)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return (theta + math.sin(theta) * total) * 2.0 / math.pi if odd else math.sin(theta) * total
