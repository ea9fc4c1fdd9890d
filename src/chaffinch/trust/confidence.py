"""Confidence in a model's decisions: its calibration on out-of-fold data, saved with the model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.evaluate.reliability import brier_score, reliability
from chaffinch.model.confidence import CONFIDENCE
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact
from chaffinch.trust.abstention import STEPS, Certificate
from chaffinch.trust.calibration import LogitMap, fitted_map

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
