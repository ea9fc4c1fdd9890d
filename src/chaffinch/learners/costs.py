"""User-defined costs, which replace a structure's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.scorers.segments import places, places_of
from chaffinch.structures import Parts, Shape

Cost = Callable[[Shape, Any], Parts]


class Costed:
    """A structure with another cost; everything else, including its oracles, stays.

    The cost is any function from a shape and a gold answer to parts that are zero on the gold answer and not negative
    elsewhere: cost-augmented search is then the structure's own argmax.

    >>> from chaffinch.structures import Choice
    >>> careful = Costed(Choice(3), label_costs([[0, 1, 5], [1, 0, 1], [1, 1, 0]]))
    >>> careful.cost({"choice": (3,)}, 0)["choice"]
    array([0., 1., 5.], dtype=float32)
    >>> careful.argmax(Parts(choice=np.array([1.0, 0.0, 2.0])))
    2
    """

    def __init__(self, structure: Any, cost: Cost) -> None:
        self.structure, self._cost = structure, cost
        for oracle in ("parts", "shape", "argmax", "logsum", "kbest", "constant"):
            if hasattr(structure, oracle):
                setattr(self, oracle, getattr(structure, oracle))

    def cost(self, shape: Shape, y: Any) -> Parts:
        """The user's cost, checked: zero on y, never negative."""
        cost = self._cost(shape, y)
        on_gold = cost.dot(self.structure.parts(shape, y))
        if on_gold != 0 or any(
            (block < 0).any() or not np.isfinite(block).all() for _, block in cost.items()
        ):
            raise DataError(
                "a cost must be zero on the gold answer and a number of at least 0 elsewhere; "
                f"this one is {on_gold:g} on the gold answer"
            )
        return cost


@dataclass(frozen=True, eq=False)
class LabelCosts:
    """costs[y, z]: the cost of label z if y is gold, summed over positions."""

    costs: NDArray[np.float32]

    def __call__(self, shape: Shape, y: Any) -> Parts:
        """A row of the table for each position."""
        name = "unary" if "unary" in shape else "choice"
        return Parts(**{name: self.costs[np.asarray(y)].reshape(shape[name])})


def label_costs(table: Sequence[Sequence[float]] | NDArray[Any]) -> LabelCosts:
    """Costs by gold and predicted label: a square table with zeros on its diagonal."""
    costs = np.array(table, np.float32)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or np.diag(costs).any() or not (costs >= 0).all():
        raise ConfigError("label costs must be a square table of numbers >= 0 with zeros on its diagonal")
    return LabelCosts(costs)


@dataclass(frozen=True)
class PlaceCosts:
    """The softmax margin of segments, token by token: ``margin`` for each token with a wrong place.

    A place is the label of a token and its position in the segment. A token of a gold segment that is tagged as
    outside (label 0) costs ``recall`` times as much.
    """

    margin: float
    recall: float = 1.0

    def __call__(self, shape: Shape, y: Any) -> Parts:
        """A sum over the tokens of each segment."""
        Y = shape["segment"][1]
        T = y[-1].end if y else 0
        L = shape["segment"][0] // max(T, 1)
        cost = np.full((T, places(Y)), self.margin, np.float32)
        for start, end, label in y:
            if label:
                cost[start:end, 0] *= self.recall
            cost[np.arange(start, end), places_of(label, end - start)] = 0
        made = np.zeros((T, L, Y), np.float32)
        for length in range(1, min(L, T) + 1):
            for label in range(Y):
                at = places_of(label, length)
                for t in range(T - length + 1):
                    made[t, length - 1, label] = cost[np.arange(t, t + length), at].sum()
        return Parts(segment=made.reshape(shape["segment"]))
