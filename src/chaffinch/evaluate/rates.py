"""Precision, recall and F1 from counts, for one set of counts or for many at once."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rates:
    """Precision, recall and F1 of a set of items.

    precision = correct / predicted,  recall = correct / gold,  f1 = their harmonic mean; 0 if undefined

    >>> Rates.of(gold=4, predicted=2, correct=2)
    Rates(precision=1.0, recall=0.5, f1=0.6666666666666666, gold=4, predicted=2, correct=2)
    """

    precision: float
    recall: float
    f1: float
    gold: int
    predicted: int
    correct: int

    @classmethod
    def of(cls, gold: int, predicted: int, correct: int) -> "Rates":
        """The rates of these counts."""
        p, r, f = rates(np.array([gold]), np.array([predicted]), np.array([correct]))
        return cls(p.item(), r.item(), f.item(), gold, predicted, correct)

    def as_dict(self, prefix: str) -> dict[str, float]:
        """Every number under ``prefix.name``."""
        return {f"{prefix}.{name}": getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True)
class LabelRates:
    """Scores of documents, and the rates of each label by name."""

    documents: int
    labels: dict[str, Rates]

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key: the numbers among the fields, then the rates of each label."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        found: dict[str, float] = {k: v for k, v in own.items() if isinstance(v, int | float)}
        for name, one in self.labels.items():
            found |= one.as_dict(f"label.{name}")
        return found


def rates(gold: Any, predicted: Any, correct: Any) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1, elementwise; 0 if a denominator is 0."""
    p = correct / np.maximum(predicted, 1)
    r = correct / np.maximum(gold, 1)
    total = p + r
    return p, r, 2.0 * p * r / np.where(total == 0.0, 1.0, total)


def macro(values: Floats, present: NDArray[np.bool_]) -> Floats:
    """The mean over the last axis, over the classes that are present."""
    mean: Floats = np.where(present, values, 0.0).sum(-1) / np.maximum(present.sum(-1), 1)
    return mean


def weighted(values: Floats, gold: NDArray[np.int64]) -> Floats:
    """The mean over the last axis, weighted by gold count."""
    mean: Floats = (values * gold).sum(-1) / np.maximum(gold.sum(-1), 1)
    return mean


def ratio(numerator: Any, denominator: Any) -> Floats:
    """numerator / denominator; 0 if it is undefined."""
    quotient: Floats = numerator / np.maximum(denominator, 1)
    return quotient
