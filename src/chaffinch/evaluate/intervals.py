"""Bootstrap confidence intervals of scores, tests between two outputs for the same gold, and Student's quantiles."""

import math
from dataclasses import dataclass

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.evaluate.rates import Floats
from chaffinch.evaluate.tally import Tally

RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Interval:
    """The confidence interval of a score."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One score of two outputs for the same gold.

    difference:  ours - other, with its bootstrap interval
    p_bootstrap: fraction of the bootstrap samples in which the better output is not better (Koehn 2004)
    p_swap:      how often swapping the outputs of random sentences gives a difference at least as large
                 (approximate randomisation, Noreen 1989): (1 + times) / (1 + samples)
    """

    ours: float
    other: float
    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_swap: float


def intervals(
    tally: Tally, confidence: float = 95.0, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Interval]:
    """The percentile bootstrap interval of every score: sentences are drawn with replacement and scored again.

    >>> from chaffinch.evaluate import LabelPair
    >>> pair = LabelPair.from_lists(["a", "b"] * 50, ["a", "b"] * 40 + ["b", "a"] * 10)
    >>> found = intervals(pair.tally(), seed=1)["accuracy"]
    >>> found.low < 0.8 < found.high
    True
    """
    _check(confidence, resamples)
    if tally.N == 0:
        return {}
    drawn = tally.score(tally.bootstrap(resamples, seed))
    bounds = {key: _bounds(values, confidence) for key, values in drawn.items()}
    return {key: Interval(*pair) for key, pair in bounds.items()}


def compare(
    ours: Tally, other: Tally, confidence: float = 95.0, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Comparison]:
    """Compare every score of two outputs for the same sentences, on the same samples.

    Both tallies must have the same columns: score both outputs with one label list.
    """
    _check(confidence, resamples)
    if (ours.N, ours.K) != (other.N, other.K):
        raise ConfigError(f"cannot compare {ours.N} x {ours.K} counts with {other.N} x {other.K}")
    if ours.N == 0:
        return {}
    ours_sums, other_sums = ours.sums(), other.sums()
    ours_scores, other_scores = ours.score(ours_sums), ours.score(other_sums)
    # The same seed draws the same sentences for both.
    ours_drawn = ours.score(ours.bootstrap(resamples, seed))
    other_drawn = ours.score(other.bootstrap(resamples, seed))
    # Swap the two outputs of a random half of the sentences: what one side loses, the other gains.
    gained = other.half(resamples, seed + 1) - ours.half(resamples, seed + 1)
    ours_swapped, other_swapped = ours.score(ours_sums + gained), ours.score(other_sums - gained)
    found = {}
    for key, value in ours_scores.items():
        a, b = float(value), float(other_scores[key])
        drawn = ours_drawn[key] - other_drawn[key]
        swapped = np.abs(ours_swapped[key] - other_swapped[key])
        low, high = _bounds(drawn, confidence)
        # A small tolerance: equal fractions may differ in their last bit.
        times = int((swapped >= abs(a - b) - 1e-12).sum())
        against = float((drawn * np.sign(a - b) <= 0).mean())
        found[key] = Comparison(a, b, a - b, low, high, against, (1 + times) / (1 + resamples))
    return found


def _bounds(values: Floats, confidence: float) -> tuple[float, float]:
    tail = (100.0 - confidence) / 2.0
    low, high = np.percentile(values, [tail, 100.0 - tail])
    return float(low), float(high)


def _check(confidence: float, resamples: int) -> None:
    if not 0.0 < confidence < 100.0:
        raise ConfigError(f"an interval's confidence is a percentage between 0 and 100, got {confidence:g}")
    if resamples < 1:
        raise ConfigError(f"at least one resample is needed, got {resamples}")


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
