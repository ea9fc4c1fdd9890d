"""How many times faster: the ratio of two contenders measured in turn, with its spread."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 2000

# The resolution of the clocks: a shorter run counts as this.
RESOLUTION_S = 1e-6


@dataclass(frozen=True)
class Ratio:
    """rival / ours over paired runs: above 1, ours is faster.

    median:    of the ratios of each round
    low, high: 95% bootstrap interval of that median
    least, most: the extremes
    rounds:    how many pairs there were
    """

    median: float
    low: float
    high: float
    least: float
    most: float
    rounds: int

    def __str__(self) -> str:
        return f"{self.median:.2f}x [{self.low:.2f}, {self.high:.2f}]"


def paired_ratio(ours: Sequence[float], rival: Sequence[float], seed: int = 1) -> Ratio:
    """The ratio over rounds in which both ran one after the other, so that a busy moment slows both.

    >>> print(paired_ratio([1.0, 1.0, 2.0], [3.0, 4.0, 10.0]))
    4.00x [3.00, 5.00]
    """
    if not ours or len(ours) != len(rival):
        raise ValueError(
            f"expected the same number of runs of both, at least one, got {len(ours)} and {len(rival)}"
        )
    ratios = [
        max(theirs, RESOLUTION_S) / max(own, RESOLUTION_S) for own, theirs in zip(ours, rival, strict=True)
    ]
    rng = random.Random(seed)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return Ratio(
        median=statistics.median(ratios),
        low=medians[round(0.025 * (RESAMPLES - 1))],
        high=medians[round(0.975 * (RESAMPLES - 1))],
        least=min(ratios),
        most=max(ratios),
        rounds=len(ratios),
    )
