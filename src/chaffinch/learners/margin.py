"""The structured margin: the objective of cutting planes, Frank-Wolfe, subgradients and exponentiated gradient.

    primal   P(w) = |w|^2 / 2 + sum_n C_n H_n(w)               H_n(w) = max over y of  l_n(y) - w . F_n d_n(y)
    dual     D(a) = sum_n C_n l_n(a_n) - |w(a)|^2 / 2          w(a)   = sum_n C_n F_n d_n(a_n)

C_n is C times the weight of the example: an example of weight 2 counts as much as the same example given twice.

Each y is a *plane* below H_n: its loss l_n(y) and its difference d_n(y), which is in part space (F_n takes parts to
features; the scorer implements it). a_n is a distribution over y; l_n(a_n) and d_n(a_n) are the means under it, so a
mixture of planes is a plane, and the dual of an example has the size of its parts. Always D <= P; at the optimum
they are equal.

    margin rescaling   l = cost(y)    d =         parts(y_n) - parts(y)
    slack rescaling    l = cost(y)    d = cost(y) (parts(y_n) - parts(y))

Taskar, Guestrin and Koller 2003; Tsochantaridis et al. 2005.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem, constant_gap, requires
from chaffinch.learners.slack import most_violated_by_slack
from chaffinch.structures import Parts, require

RESCALINGS = ("margin", "slack")


@dataclass(frozen=True)
class Plane:
    """A lower bound of one example's hinge that is linear in w: loss - w . delta."""

    delta: Parts
    loss: float

    def hinge(self, potentials: Parts) -> float:
        """Its height at the weights that gave these potentials."""
        return self.loss - potentials.dot(self.delta)

    def towards(self, other: "Plane", step: float) -> "Plane":
        """(1 - step) of this one and step of the other."""
        return Plane(
            self.delta + (other.delta - self.delta) * step, self.loss + (other.loss - self.loss) * step
        )


@dataclass(frozen=True)
class Objective:
    """The present value of the primal, and of a dual below it."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """How much the primal can still fall, at most."""
        return self.primal - self.dual

    def within(self, tolerance: float) -> bool:
        """Whether the gap is at most this fraction of the primal."""
        return self.gap <= tolerance * abs(self.primal)

    def scores(self) -> dict[str, float]:
        """The values for a progress record."""
        return {"primal": float(self.primal), "dual": float(self.dual), "gap": float(self.gap)}


@dataclass(frozen=True, kw_only=True)
class MarginLearner(Learner):
    """The settings and the stopping rule that all learners of the structured margin share."""

    C: float = knob(1.0, "weight of an example's hinge loss against |w|^2 / 2", low=1e-12, high=1e12)
    epochs: int = knob(100, "maximum number of passes over the examples", low=1)
    tolerance: float = knob(0.01, "stop when the duality gap is below this share of the primal", low=0.0)
    seed: int = knob(0, "seed of the order of the examples", low=0)

    oracle: ClassVar[str] = "argmax"
    alternatives: ClassVar[tuple[str, ...]] = ()

    def until_done(self, passes: Iterator[Pass]) -> Iterator[Pass]:
        """The passes up to the first whose gap is within the tolerance."""
        for one in passes:
            yield one
            if "gap" in one.scores and one.scores["gap"] <= self.tolerance * abs(one.scores["primal"]):
                return

    def record(self, number: int, objective: "Objective | None", scorer: Any) -> Pass:
        """The record of a pass; without scores if the objective was not evaluated."""
        return Pass(number, {} if objective is None else objective.scores(), scorer, self.epochs)

    def check(self, problem: Problem) -> None:
        """Refuse structures that lack the oracle, and nonzero initial weights."""
        requires(self, self.oracle, problem, self.alternatives)
        w = getattr(problem.scorer, "w", None)
        if w is not None and np.any(w):
            raise ConfigError(f"{type(self).__name__} starts from weights of zero: its dual knows no others")


class Margin:
    """The hinges of a problem's examples.

    weight, C: the weight of each example, and the same times C
    """

    def __init__(self, problem: Problem, C: float, rescale: str = "margin") -> None:
        self.problem, self.slack = problem, rescale == "slack"
        self.weight = problem.weights()
        self.C = [C * weight for weight in self.weight]
        self.structure = problem.costed
        if self.slack:
            require("slack rescaling", "kbest", problem.structure, ("margin rescaling",))
            if getattr(problem.structure, "held", None) is not None:
                raise ConfigError("slack rescaling does not go with fixed transitions; use margin rescaling")

    def __len__(self) -> int:
        return len(self.problem.examples)

    def zero(self, n: int) -> Plane:
        """The gold answer's plane: no loss, no difference."""
        x, _ = self.problem.examples[n]
        return Plane(Parts.zeros(self.problem.scorer.shape(x)), 0.0)

    def worst(self, n: int, potentials: Parts) -> tuple[Any, Plane]:
        """The answer whose plane is highest under these potentials, and the plane."""
        structure, (_, y) = self.structure, self.problem.examples[n]
        if self.slack:
            worst = most_violated_by_slack(structure, potentials, y)
            return worst, self.plane(n, worst)
        cost = structure.cost(potentials.shape, y)
        worst = structure.argmax(potentials + cost)
        return worst, self.plane(n, worst, cost)

    def plane(self, n: int, answer: Any, cost: Parts | None = None) -> Plane:
        """The plane of an answer to example n; ``cost``: the cost of the example's answers, if already computed."""
        structure, (x, y) = self.structure, self.problem.examples[n]
        shape = self.problem.scorer.shape(x)
        found = structure.parts(shape, answer)
        loss = (structure.cost(shape, y) if cost is None else cost).dot(found)
        loss += constant_gap(structure, answer, y)
        delta = structure.parts(shape, y) - found
        return Plane(delta * loss if self.slack else delta, loss)

    def scorer(self, planes: list[Plane]) -> Any:
        """w = sum_n C_n F_n d_n, in a scorer of its own."""
        made = copy.deepcopy(self.problem.scorer)
        for (x, _), plane, C in zip(self.problem.examples, planes, self.C, strict=True):
            made.update(x, plane.delta, C)
        return made

    def objective(self, scorer: Any, planes: list[Plane]) -> tuple[Objective, NDArray[np.float64]]:
        """Primal and dual at w(planes), the weights of the scorer, and each example's part of the gap [N]."""
        hinges, below, losses, sq_norm = 0.0, np.zeros(len(planes)), 0.0, 0.0
        for n, ((x, _), plane) in enumerate(zip(self.problem.examples, planes, strict=True)):
            potentials = scorer.potentials(x)
            hinge = self.worst(n, potentials)[1].hinge(potentials)
            aligned = potentials.dot(plane.delta)
            hinges += self.C[n] * hinge
            losses += self.C[n] * plane.loss
            sq_norm += self.C[n] * aligned
            below[n] = self.C[n] * (hinge - plane.loss + aligned)
        return Objective(sq_norm / 2 + hinges, losses - sq_norm / 2), below
