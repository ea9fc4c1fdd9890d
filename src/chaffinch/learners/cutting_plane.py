"""Cutting planes: the hinge is the highest of few planes, found one by one; a small quadratic programme weighs them."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.knobs import knob
from chaffinch.learners.margin import RESCALINGS, Margin, MarginLearner, Objective, Plane
from chaffinch.learners.problem import Pass, Problem
from chaffinch.structures import Parts

MOST_SWEEPS = 100
MOST_STEPS = 20_000
INNER = 0.1  # the programme over the planes found so far is solved to this share of the gap that is left


@dataclass(frozen=True, kw_only=True)
class NSlack(MarginLearner):
    """A working set of planes for each example; in each pass every example whose hinge is above them adds one.

        minimise over a_n on the simplex, n = 1 .. N      |w|^2 / 2 - sum_n C_n a_n . l_n,   w = sum_n C_n F_n (d_n a_n)

    over the working sets, example by example in turns. Planes without weight for long are dropped. Needs a MaxOracle.

    Tsochantaridis, Joachims, Hofmann and Altun 2005, algorithm 1.
    """

    rescale: str = knob("margin", "rescale the margin or the slack by the cost", choices=RESCALINGS)
    idle: int = knob(20, "passes after which a plane that carries no weight is dropped", low=1)

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Pass by pass."""
        margin = Margin(problem, self.C, self.rescale)
        sets = [WorkingSet(margin.zero(n)) for n in range(len(margin))]
        scorer = margin.scorer([s.mixed for s in sets])
        for number in range(1, self.epochs + 1):
            objective, found = _searched(margin, scorer, [s.mixed for s in sets])
            made = copy.deepcopy(scorer)
            yield self.told(number, objective, lambda made=made: made)
            for (x, _), working, plane in zip(problem.examples, sets, found, strict=True):
                working.age(self.idle)
                if working.misses(plane, scorer.potentials(x)):
                    working.add(plane, scorer, x)
            enough = max(INNER * objective.gap, 1e-9)
            for _ in range(MOST_SWEEPS):
                left = 0.0
                for (x, _), working, C in zip(problem.examples, sets, margin.C, strict=True):
                    if len(working.planes) > 1:
                        left += C * working.solve(scorer, x, C)
                if left <= enough:
                    break


@dataclass
class WorkingSet:
    """Planes of one example, their inner products, and how they are mixed."""

    zero: Plane
    planes: list[Plane] = field(default_factory=list)
    a: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))
    G: NDArray[np.float64] = field(default_factory=lambda: np.zeros((1, 1)))
    rested: list[int] = field(default_factory=lambda: [0])

    def __post_init__(self) -> None:
        self.planes = [self.zero]
        self.mixed = self.zero

    def misses(self, plane: Plane, potentials: Parts) -> bool:
        """Whether the plane is above all those kept."""
        top = max(p.hinge(potentials) for p in self.planes)
        return plane.hinge(potentials) > top + 1e-7 * max(1.0, abs(top))

    def add(self, plane: Plane, scorer: Any, x: Any) -> None:
        """Keep a plane: it has no weight yet."""
        own = scorer.sq_norm(x, plane.delta)
        row = [
            (scorer.sq_norm(x, plane.delta + p.delta) - own - g) / 2
            for p, g in zip(self.planes, np.diag(self.G), strict=True)
        ]
        K = len(self.planes)
        G = np.zeros((K + 1, K + 1))
        G[:K, :K], G[K, :K], G[:K, K], G[K, K] = self.G, row, row, own
        self.G, self.a = G, np.append(self.a, 0.0)
        self.planes.append(plane)
        self.rested.append(0)

    def solve(self, scorer: Any, x: Any, C: float) -> float:
        """Set the weights right, all other examples given; how far they were from it (of the dual, over C)."""
        potentials = scorer.potentials(x)
        up = np.array([p.hinge(potentials) for p in self.planes])
        short = float(up.max() - up @ self.a)
        if short > 0:
            a = simplex_minimum(C * self.G, up + C * self.G @ self.a, self.a)
            change = _mixture(self.planes, a - self.a)
            scorer.update(x, change.delta, C)
            self.a = a
            self.mixed = _mixture(self.planes, a)
        return short

    def age(self, idle: int) -> None:
        """Count the passes in which planes carried nothing, and drop those that did not for long."""
        self.rested = [0 if a > 0 else r + 1 for a, r in zip(self.a, self.rested, strict=True)]
        kept = [i for i, r in enumerate(self.rested) if r <= idle or i == 0]
        if len(kept) < len(self.planes):
            self.planes = [self.planes[i] for i in kept]
            self.rested = [self.rested[i] for i in kept]
            self.a, self.G = self.a[kept], self.G[np.ix_(kept, kept)]


@dataclass(frozen=True, kw_only=True)
class OneSlack(MarginLearner):
    """One working set for all examples together: a plane is the weighted sum of a pass's worst planes.

        minimise over a on the simplex      |w|^2 / 2 - C l . a,      w = C sum_k a_k sum_n k_n F_n d_kn

    As many planes as passes, and the programme over them is tiny. Needs a MaxOracle.

    Joachims, Finley and Yu 2009, algorithm 3.
    """

    rescale: str = knob("margin", "rescale the margin or the slack by the cost", choices=RESCALINGS)
    idle: int = knob(50, "passes after which a plane that carries no weight is dropped", low=1)

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Pass by pass."""
        margin = Margin(problem, self.C, self.rescale)
        N = len(margin)
        planes: list[list[Plane]] = [[margin.zero(n) for n in range(N)]]  # the gold answers' to begin with
        losses, G, a, rested = np.zeros(1), np.zeros((1, 1)), np.ones(1), np.zeros(1, np.int64)
        mixed = planes[0]
        for number in range(1, self.epochs + 1):
            scorer = margin.scorer(mixed)
            objective, found = _searched(margin, scorer, mixed)
            yield self.told(number, objective, lambda made=scorer: made)
            rested = np.where(a > 0, 0, rested + 1)
            kept = np.flatnonzero((rested <= self.idle) | (np.arange(len(a)) == 0))
            planes = [*(planes[k] for k in kept), found]
            G, a, losses, rested = G[np.ix_(kept, kept)], a[kept], losses[kept], rested[kept]
            row = _products(margin, planes)
            G = np.block([[G, row[:-1, None]], [row[None, :-1], row[None, -1:]]])
            a, rested = np.append(a, 0.0), np.append(rested, 0)
            losses = np.append(losses, sum(k * p.loss for k, p in zip(margin.weight, found, strict=True)))
            a = simplex_minimum(self.C * G, losses, a, INNER * max(objective.gap, 1e-9) / self.C)
            mixed = [_mixture([plane[n] for plane in planes], a) for n in range(N)]


def _searched(margin: Margin, scorer: Any, mixed: list[Plane]) -> tuple[Objective, list[Plane]]:
    """The worst planes of all examples, and what they say of the primal at the weights of these mixtures."""
    found, hinges, losses, sq_norm = [], 0.0, 0.0, 0.0
    for n, (x, _) in enumerate(margin.problem.examples):
        potentials = scorer.potentials(x)
        _, plane = margin.worst(n, potentials)
        found.append(plane)
        hinges += margin.C[n] * plane.hinge(potentials)
        losses += margin.C[n] * mixed[n].loss
        sq_norm += margin.C[n] * potentials.dot(mixed[n].delta)
    return Objective(sq_norm / 2 + hinges, losses - sq_norm / 2), found


def _products(margin: Margin, planes: list[list[Plane]]) -> NDArray[np.float64]:
    """The inner products of the last sum of planes with all [K]: its own features, seen through each difference."""
    last = copy.deepcopy(margin.problem.scorer)
    for (x, _), plane, weight in zip(margin.problem.examples, planes[-1], margin.weight, strict=True):
        last.update(x, plane.delta, weight)
    products = np.zeros(len(planes))
    for n, (x, _) in enumerate(margin.problem.examples):
        potentials = last.potentials(x)
        products += [margin.weight[n] * potentials.dot(plane[n].delta) for plane in planes]
    return products


def _mixture(planes: list[Plane], a: NDArray[np.float64]) -> Plane:
    """sum_k a_k times plane k, of those that have weight."""
    delta, loss = Parts(), 0.0
    for plane, weight in zip(planes, a.tolist(), strict=True):
        if weight:
            delta, loss = delta + plane.delta * weight, loss + plane.loss * weight
    return Plane(delta, loss)


def simplex_minimum(
    G: NDArray[np.float64], b: NDArray[np.float64], start: NDArray[np.float64], tolerance: float = 1e-9
) -> NDArray[np.float64]:
    """The minimum of a' G a / 2 - b . a over the simplex a >= 0, sum a = 1, from a start on it: a [K].

    The gradient's best coordinate takes mass from the worst one that has any, the pair that promises most first; the
    step along a pair is in closed form. Platt 1998; Fan, Chen and Lin 2005.

    >>> simplex_minimum(np.eye(2), np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array([1., 0.])
    >>> simplex_minimum(np.eye(3), np.zeros(3), np.array([1.0, 0.0, 0.0])).round(3)
    array([0.333, 0.333, 0.333])
    """
    a = start.copy()
    up = b - G @ a
    diagonal = np.diag(G)
    for _ in range(MOST_STEPS):
        i = int(np.argmax(up))
        lead = up[i] - up
        curvature = np.maximum(diagonal[i] + diagonal - 2 * G[i], 1e-12)
        promise = np.where((a > 0) & (lead > 0), lead * np.minimum(lead / curvature, a), 0.0)
        j = int(np.argmax(promise))
        if lead[a > 0].max() <= tolerance or promise[j] <= 0:
            break
        step = min(a[j], lead[j] / curvature[j])
        a[i] += step
        a[j] = 0.0 if step == a[j] else a[j] - step
        up -= step * (G[:, i] - G[:, j])
    return a
