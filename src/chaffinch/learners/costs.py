"""User-defined costs: a structure with another loss than its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.structures import Parts, Shape

Cost = Callable[[Shape, Any], Parts]


class Costed:
    """A structure with another cost; everything else, oracles included, is the structure's own.

    The cost is any function of a shape and a gold answer whose parts are zero on those of the gold answer and not
    negative elsewhere: then cost-augmented search is the structure's own argmax.

    >>> from chaffinch.structures import Choice
    >>> careful = Costed(Choice(3), label_costs([[0, 1, 5], [1, 0, 1], [1, 1, 0]]))
    >>> careful.cost({"choice": (3,)}, 0)["choice"]
    array([0., 1., 5.], dtype=float32)
    >>> careful.argmax(Parts(choice=np.array([1.0, 0.0, 2.0])))
    2
    """

    def __init__(self, structure: Any, cost: Cost) -> None:
        self.structure, self._cost = structure, cost
        for oracle in ("parts", "shape", "argmax", "logsum", "kbest"):
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
