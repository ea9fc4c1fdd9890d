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
from chaffinch.structures import Parts, require

RESCALINGS = ("margin", "slack")


@dataclass(frozen=True)
class Plane:
    """A lower bound of one example's hinge, linear in w: loss - w . delta."""

    delta: Parts
    loss: float

    def hinge(self, potentials: Parts) -> float:
        """Its height at the weights that gave these potentials."""
        return self.loss - potentials.dot(self.delta)

    def towards(self, other: "Plane", step: float) -> "Plane":
        """(1 - step) times this plane plus step times the other."""
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
        """An upper bound on how much the primal can still fall."""
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
            raise ConfigError(
                f"{type(self).__name__} must start from weights of zero, got others: leave out the start"
            )


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
                raise ConfigError("slack rescaling does not support fixed transitions; use margin rescaling")

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


# -- slack rescaling ---------------------------------------------------------------------------------------------
#
# Slack rescaling: the answer with the highest cost times violation, a product that does not decompose into parts.
#
#     argmax over y of  g(y) h(y)        g(y) = cost(y),  h(y) = 1 + s(y) - s(y_n)
#
# Maximising h + lambda g is ordinary cost-augmented search, and its answers are the corners of the convex hull of all
# points (h, g). On the hull the product is highest where h / g = lambda: at a corner, or on the edge between two, which
# is found by taking the lambda of the line through the last corners on either side until no point lies above it.
# Points below that edge may still beat its ends: for any y, h(y) + lambda g(y) <= v gives
# g h <= v^2 / (4 lambda), so the k best for that lambda are searched until no other answer can win.
#
# Sarawagi and Gupta 2008; Choi, Meshi and Srebro 2016.

CORNERS = 60
MOST = 256
CLOSE = 1e-6  # relative tolerance of the product


@dataclass(frozen=True)
class Point:
    """An answer, its violation h and its cost g."""

    answer: Any
    h: float
    g: float

    @property
    def product(self) -> float:
        """The product to maximise; 0 if the answer violates nothing."""
        return self.h * self.g if self.h > 0 else 0.0

    def value(self, rate: float) -> float:
        """h + lambda g"""
        return self.h + rate * self.g


def most_violated_by_slack(structure: Any, potentials: Parts, y: Any) -> Any:
    """The answer with the highest cost (1 + s(y) - s(y_n)); y itself if none is positive."""
    plane = _AnswerPoints(structure, potentials, y)
    rate, best = _edge(plane)
    return best.answer if rate is None else _certify(plane, rate, best).answer


class _AnswerPoints:
    """The points of all answers to one example."""

    def __init__(self, structure: Any, potentials: Parts, y: Any) -> None:
        self.structure, self.potentials = structure, potentials
        self.cost = structure.cost(potentials.shape, y)
        self.gold = Point(y, 1.0, 0.0)
        self.gold_score = potentials.dot(structure.parts(potentials.shape, y))

    def point(self, answer: Any) -> Point:
        parts = self.structure.parts(self.potentials.shape, answer)
        return Point(answer, 1 + self.potentials.dot(parts) - self.gold_score, self.cost.dot(parts))

    def corner(self, rate: float) -> Point:
        """The answer with the highest h + lambda g."""
        return self.point(self.structure.argmax(self.potentials + self.cost * rate))

    def listed(self, rate: float, k: int) -> list[tuple[float, Any]]:
        """The k best by h + lambda g, with their values."""
        found = self.structure.kbest(self.potentials + self.cost * rate, k)
        return [(value + 1 - self.gold_score, answer) for value, answer in found]

    def listed_point(self, rate: float, value: float, answer: Any) -> Point:
        """The point of an answer whose h + lambda g is known."""
        g = self.cost.dot(self.structure.parts(self.potentials.shape, answer))
        return Point(answer, value - rate * g, g)


def _edge(plane: _AnswerPoints) -> tuple[float | None, Point]:
    """The lambda at which the hull's product is highest, and the best corner; no lambda if all costs are zero."""
    left = plane.corner(0.0)  # its h / g is above its lambda; that of the right one is not
    best, rate = max(plane.gold, left, key=lambda p: p.product), 1.0
    for _ in range(CORNERS):
        right = plane.corner(rate)
        best = max(best, right, key=lambda p: p.product)
        if right.h <= rate * right.g:
            break
        left, rate = right, rate * 8
    else:
        return None, best
    for _ in range(CORNERS):
        if right.g <= left.g:
            break
        if right.h >= left.h:  # as good in both: the product is highest there
            return right.h / right.g, best
        rate = (left.h - right.h) / (right.g - left.g)
        found = plane.corner(rate)
        best = max(best, found, key=lambda p: p.product)
        if found.value(rate) <= left.value(rate) + CLOSE * abs(left.value(rate)):
            break
        if found.h > rate * found.g:
            left = found
        else:
            right = found
    return rate, best


def _certify(plane: _AnswerPoints, rate: float, best: Point) -> Point:
    """The best of the k best, for a k large enough that no other answer can have a higher product."""
    k, seen = 4, 0
    while True:
        listed = plane.listed(rate, k)
        for value, answer in listed[seen:]:
            if value <= 0 or value * value / (4 * rate) <= best.product * (1 + CLOSE):
                return best
            best = max(best, plane.listed_point(rate, value, answer), key=lambda p: p.product)
        if len(listed) < k or k >= MOST:
            return best
        k, seen = 2 * k, k
