"""Confidence in a model's decisions: its calibration on out-of-fold data, saved with the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ModelFileError
from chaffinch.evaluate.reliability import brier_score, reliability
from chaffinch.modelfile import ModelFile, Requirements
from chaffinch.trust.abstention import STEPS, Certificate
from chaffinch.trust.calibration import LogitMap, fitted_map

SPANS, TOKENS, DOCUMENTS, LABELS = "spans", "tokens", "documents", "labels"
UNITS = (SPANS, TOKENS, DOCUMENTS, LABELS)
DETAILS = "confidence"
FACTS = ("unit", "folds", "decisions", "raw_error", "error", "brier")


@dataclass(frozen=True)
class Confidence:
    """The map from a model's probability of a decision to a calibrated probability.

    unit:        what a decision is: a span if the labels encode spans, otherwise a token; a document, or one of its
                 labels if it may have several
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
        return cls.judged(unit, folds, p, right, raw, crossed, fitted_map(p, right))

    @classmethod
    def judged(
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

    def details(self) -> dict[str, Any]:
        """The values for a model file's header."""
        facts = {name: getattr(self, name) for name in FACTS}
        return {DETAILS: facts | {"bins": [list(one) for one in self.bins]}}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays for a model file."""
        return {
            "confidence.x": self.to_honest.x,
            "confidence.y": self.to_honest.y,
            "confidence.given": self.certificate.given,
            "confidence.right": self.certificate.right,
        }

    @classmethod
    def loaded(cls, file: ModelFile) -> "Confidence | None":
        """Load from a model file and check every size and order; None if the model was not calibrated."""
        facts = file.header.details.get(DETAILS)
        if facts is None:
            return None
        need = Requirements(file, S=STEPS + 1)
        knots = len(file.arrays["confidence.x"]) if "confidence.x" in file.arrays else 0
        x, y = (need.array(f"confidence.{name}", np.float64, (knots,), finite=True) for name in "xy")
        given, right = (need.array(f"confidence.{name}", np.int64, ("S",)) for name in ("given", "right"))
        if (
            not isinstance(facts, Mapping)
            or facts.get("unit") not in UNITS
            or not all(isinstance(facts.get(name), int | float) for name in FACTS[1:])
            or not _are_bins(facts.get("bins", []))
            or knots < 2
            or (np.diff(x) <= 0).any()
            or (np.diff(y) < 0).any()
            or (right < 0).any()
            or (given < right).any()
        ):
            raise ModelFileError(f"{file.source}: its calibration is damaged")
        return cls(
            facts["unit"],
            LogitMap(x, y),
            Certificate(given, right),
            int(facts["folds"]),
            int(facts["decisions"]),
            float(facts["raw_error"]),
            float(facts["error"]),
            float(facts["brier"]),
            tuple((float(c), float(a), int(n)) for c, a, n in facts.get("bins", [])),
        )


def _are_bins(found: Any) -> bool:
    """Whether these are rows of three numbers."""
    return isinstance(found, list) and all(
        isinstance(row, list) and len(row) == 3 and all(isinstance(x, int | float) for x in row)
        for row in found
    )
