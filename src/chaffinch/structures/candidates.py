"""Candidates: one answer of another model's list, each candidate with its loss."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.structures.choice import Choice
from chaffinch.structures.parts import Parts, Shape


@dataclass(frozen=True, eq=False)
class Judged:
    """The right answer of a list: the candidate to be chosen, and the loss of each.

    best:   the index of the candidate of the least loss
    losses: float64 [n]
    """

    best: int
    losses: NDArray[np.float64]

    @classmethod
    def of(cls, losses: NDArray[np.float64]) -> "Judged":
        """The first candidate of the least loss is the right one.

        >>> Judged.of(np.array([2.0, 1.0, 1.0])).best
        1
        """
        if not len(losses) or not np.isfinite(losses).all():
            raise DataError("every candidate needs a finite loss, and a list at least one candidate")
        return cls(int(np.argmin(losses)), np.asarray(losses, np.float64))


@dataclass(frozen=True)
class Candidates(Choice):
    """A choice; the cost of a candidate is its loss above that of the best of its list.

    >>> gold = Judged.of(np.array([2.0, 0.5, 1.0]))
    >>> Candidates().cost({"choice": (3,)}, gold)["choice"]
    array([1.5, 0. , 0.5])
    """

    def parts(self, shape: Shape, y: "int | Judged") -> Parts:
        """One at y, zero elsewhere."""
        return super().parts(shape, y.best if isinstance(y, Judged) else y)

    def cost(self, shape: Shape, y: "int | Judged") -> Parts:
        """loss - loss of the best; the zero-one loss if y is only an index."""
        if not isinstance(y, Judged):
            return super().cost(shape, y)
        if y.losses.shape != tuple(shape["choice"]):
            raise DataError(f"there are {shape['choice'][0]} candidates and {len(y.losses)} losses")
        return Parts(choice=y.losses - y.losses[y.best])
