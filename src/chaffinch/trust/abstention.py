"""Abstention: a threshold above which the answers have a guaranteed precision."""

from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.trust.calibration import logits

# The grid of thresholds is fixed before any data is seen: logits of the model's own probability.
LOWEST, HIGHEST, STEPS = -8.0, 20.0, 280


@dataclass(frozen=True)
class Certificate:
    """The accuracy of out-of-fold answers by the score of the model.

    given: int64 [STEPS + 1], answers in each cell of the grid   right: int64 [STEPS + 1], the correct ones among them
    """

    given: NDArray[np.int64]
    right: NDArray[np.int64]

    @classmethod
    def of(cls, p: NDArray[np.floating], right: NDArray[np.bool_]) -> "Certificate":
        """Count the answers by their uncalibrated probability p."""
        cell = _cells(p)
        return cls(
            np.bincount(cell, minlength=STEPS + 1).astype(np.int64),
            np.bincount(cell, np.asarray(right, np.float64), minlength=STEPS + 1).round().astype(np.int64),
        )

    def threshold(self, precision: float, *, risk: float = 0.1) -> float:
        """The lowest probability above which at least a fraction ``precision`` of the answers is correct.

        Learn-then-test, fixed sequences from several starts (Angelopoulos et al. 2021). Let m be the smallest number
        of answers for which the test can reject: the starts are the thresholds that 2m, 4m, 8m ... or all answers
        pass. From each start, the exact binomial test of "precision(t) < precision" at the level risk / number of
        starts is applied to lower and lower thresholds until one is not rejected; the result is the lowest rejected
        threshold. Starts depend on scores alone, not on which answers are correct. With a probability of at least
        1 - risk over the draw of the out-of-fold answers, the answers on data of the same distribution have the
        requested precision.

        Raises ConfigError if no threshold can be certified.
        """
        if not 0 < precision < 1:
            raise ConfigError(f"precision must lie between 0 and 1, got {precision:g}")
        if not 0 < risk < 1:
            raise ConfigError(f"risk must lie between 0 and 1, got {risk:g}")
        n = np.cumsum(self.given[::-1])[::-1]  # answers at or above each cell
        r = np.cumsum(self.right[::-1])[::-1]
        least = ceil(log(risk) / log(precision))
        sizes = [least * 2**j for j in range(1, 40) if least * 2**j <= n[0]]
        starts = sorted({int(np.flatnonzero(n >= size)[-1]) for size in [*sizes, int(n[0])]})

        def rejected(cell: int) -> bool:
            return binomial_tail(int(r[cell]), int(n[cell]), precision) <= risk / len(starts)

        reached = [next((c for c in range(start, -1, -1) if not rejected(c)), -1) + 1 for start in starts]
        lowest = min(
            (cell for cell, start in zip(reached, starts, strict=True) if cell <= start), default=None
        )
        if lowest is None:
            raise ConfigError(
                f"a precision of {precision:g} cannot be certified: {int(r[0])} of {int(n[0])} out-of-fold answers are "
                f"correct, and at least {2 * least} answers, nearly all of them correct, are needed; request a lower "
                "precision, or train on more data"
            )
        return 0.0 if lowest == 0 else float(1 / (1 + np.exp(-LOWEST - lowest * (HIGHEST - LOWEST) / STEPS)))


def binomial_tail(r: int, n: int, p: float) -> float:
    """P(X >= r) for X ~ Binomial(n, p): the sum of the terms from r on, in log space.

    >>> round(binomial_tail(2, 2, 0.5), 6), binomial_tail(0, 5, 0.3)
    (0.25, 1.0)
    """
    if r <= 0:
        return 1.0
    k = np.arange(r, n + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    terms = log_factorial[n] - log_factorial[k] - log_factorial[n - k] + k * log(p) + (n - k) * np.log1p(-p)
    return float(min(1.0, np.exp(terms).sum()))


def _cells(p: NDArray[np.floating]) -> NDArray[np.int64]:
    at = (logits(p) - LOWEST) / (HIGHEST - LOWEST) * STEPS
    return np.clip(np.floor(at), 0, STEPS).astype(np.int64)
