"""Confidence in a model's decisions: its calibration on out-of-fold data, saved with the model.

Abstention: a threshold above which the answers have a guaranteed precision.
"""

from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.evaluate.reliability import brier_score, reliability
from chaffinch.model.confidence import CONFIDENCE
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact
from chaffinch.trust.calibration import LogitMap, fitted_map, logits

# -- abstention -------------------------------------------------------------------------------------------------------


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


# -- confidence -------------------------------------------------------------------------------------------------------


SPANS, TOKENS, DOCUMENTS, LABELS, PHRASES = "spans", "tokens", "documents", "labels", "phrases"
UNITS = (SPANS, TOKENS, DOCUMENTS, LABELS, PHRASES)
DETAILS = "confidence"
FACTS = ("unit", "folds", "decisions", "raw_error", "error", "brier")


@dataclass(frozen=True)
class Confidence:
    """The map from a model's probability of a decision to a calibrated probability.

    unit:        the kind of decision: a span if the labels encode spans, otherwise a token; a document, or one of its
                 labels if it may have several; a phrase of a tree with a probability of at least one half
    to_honest:   maps the model's probability of a decision to a calibrated one
    certificate: the accuracy of out-of-fold decisions, for thresholds with a guarantee
    folds:       number of cross-validation models; 0: the dev data was used
    decisions:   number of held-out decisions
    error, brier: expected calibration error and Brier score of the calibrated probabilities, cross-fitted;
    raw_error:   the error without calibration
    bins:        bins of the calibrated probabilities, cross-fitted: mean confidence, accuracy and number of decisions;
                 empty in older files
    """

    unit: str
    to_honest: LogitMap
    certificate: Certificate
    folds: int
    decisions: int
    raw_error: float
    error: float
    brier: float
    bins: tuple[tuple[float, float, int], ...] = ()

    @classmethod
    def fitted(
        cls,
        unit: str,
        folds: int,
        p: NDArray[np.float64],
        right: NDArray[np.bool_],
        raw: NDArray[np.float64],
    ) -> "Confidence":
        """The confidence fitted on held-out decisions of taggers, with the map that calibrates them.

        p: [N], probabilities at the model's temperature   raw: [N], at temperature 1   right: bool [N]
        """
        crossed = np.empty_like(p)
        half = np.arange(len(p)) % 2 == 0
        for part in (half, ~half):
            crossed[part] = fitted_map(p[~part], right[~part])(p[part])
        return cls.of_decisions(unit, folds, p, right, raw, crossed, fitted_map(p, right))

    @classmethod
    def of_decisions(
        cls,
        unit: str,
        folds: int,
        p: NDArray[np.float64],
        right: NDArray[np.bool_],
        raw: NDArray[np.float64],
        crossed: NDArray[np.float64],
        to_honest: LogitMap,
    ) -> "Confidence":
        """Certify p and evaluate raw and crossed (cross-fitted) on out-of-fold decisions. All arrays are [N]."""
        found = reliability(crossed, right)
        return cls(
            unit,
            to_honest,
            Certificate.of(p, right),
            folds,
            len(p),
            reliability(raw, right).error,
            found.error,
            brier_score(crossed, right),
            tuple((c, a, int(n)) for c, a, n in found.bins()),
        )

    def threshold(self, precision: float, risk: float) -> float:
        """The lowest calibrated probability with the requested precision; see :class:`Certificate`."""
        return float(self.to_honest(np.array([self.certificate.threshold(precision, risk=risk)]))[0])

    def as_dict(self) -> dict[str, Any]:
        """The figures: errors, the Brier score, the number of decisions, and the bins."""
        return {name: getattr(self, name) for name in FACTS} | {"bins": [list(one) for one in self.bins]}

    def packed(self) -> Packed:
        """The content for a model file."""
        to_honest, certificate = self.to_honest, self.certificate
        found = _Sections(
            **self.as_dict(),
            x=to_honest.x,
            y=to_honest.y,
            given=certificate.given,
            right=certificate.right,
        )
        return found.packed(CONFIDENCE)

    @classmethod
    def loaded(cls, file: ModelFile) -> "Confidence | None":
        """Load from a model file and check every size and order; None if the model was not calibrated."""
        need = Requirements(file, S=STEPS + 1)
        if _Sections.absent(need):
            return None
        found = _Sections.loaded(need, CONFIDENCE)
        if len(found.x) < 2 or (np.diff(found.y) < 0).any() or (found.given < found.right).any():
            raise need.fault("its calibration is damaged")
        return cls(
            to_honest=LogitMap(found.x, found.y),
            certificate=Certificate(found.given, found.right),
            bins=tuple((float(c), float(a), int(n)) for c, a, n in found.bins),
            **{name: getattr(found, name) for name in FACTS},
        )


def with_decisions(
    p: NDArray[np.floating], decided: NDArray[np.integer], sure: NDArray[np.float64]
) -> NDArray[np.float64]:
    """p [T, Y] with the probability ``sure`` [T] of each decided label; the other labels share the rest.

    The rest is divided in proportion to p. If p of all other labels is 0, they stay at 0.

    >>> with_decisions(np.array([[0.5, 0.3, 0.2]]), np.array([0]), np.array([0.75])).round(3).tolist()
    [[0.75, 0.15, 0.1]]
    """
    every, made = np.arange(len(decided)), p.astype(np.float64)
    made[every, decided] = 0.0
    others = made.sum(axis=1)
    made *= np.divide(1.0 - sure, others, out=np.zeros_like(others), where=others > 0)[:, None]
    made[every, decided] = sure
    return made


def _are_bins(found: Any) -> bool:
    """Whether these are rows of three numbers."""
    return isinstance(found, list) and all(
        isinstance(row, list) and len(row) == 3 and all(isinstance(x, int | float) for x in row)
        for row in found
    )


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of a calibration: its facts, the knots of the map, and the counts of given and correct decisions."""

    unit: str = fact(str, group=DETAILS, check=UNITS.__contains__, expected=f"one of {', '.join(UNITS)}")
    folds: int = fact(int, group=DETAILS)
    decisions: int = fact(int, group=DETAILS)
    raw_error: float = fact(float, group=DETAILS)
    error: float = fact(float, group=DETAILS)
    brier: float = fact(float, group=DETAILS)
    x: NDArray[np.float64] = array("float64", "knots", finite=True, ascending=True)
    y: NDArray[np.float64] = array("float64", "knots", finite=True)
    given: NDArray[np.int64] = array("int64", "S")
    right: NDArray[np.int64] = array("int64", "S", low=0, below=2**63 - 1)
    bins: list[list[float]] = fact(
        list, group=DETAILS, check=_are_bins, expected="rows of three numbers", default=()
    )
