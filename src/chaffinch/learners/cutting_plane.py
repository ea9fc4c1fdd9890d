"""Cutting planes: a few planes approximate the hinge from below; a small quadratic programme finds their weights."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.knobs import knob
from chaffinch.learners.margin import RESCALINGS, Margin, MarginLearner, Objective, Plane
from chaffinch.learners.problem import Pass, Problem, example_order
from chaffinch.structures import Parts

MOST_STEPS = 20_000
SWEEPS = 2  # rounds over the working sets after each pass of searches
OWN = 1e-2  # tolerance of the programme of one example, relative to its gap
INNER = 0.1  # tolerance of the programme of all examples, relative to the remaining gap
SHARE = 0.2  # the next plane is searched this fraction of the way from the best weights to the programme's weights
LONGEST = 500  # tokens: longer sentences are not searched in the core under slack rescaling


@dataclass(frozen=True, kw_only=True)
class NSlack(MarginLearner):
    """A working set of planes for each example, solved again whenever a plane is added.

        minimise over a_n on the simplex, n = 1 .. N      |w|^2 / 2 - sum_n C_n a_n . l_n,   w = sum_n C_n F_n (d_n a_n)

    A visit to an example searches its highest plane at w, adds it if it is above the whole working set, and optimises
    a_n from its present value with all other examples fixed. Each pass of visits is followed by two rounds over the
    working sets without a search. Planes that have had no weight for many passes are dropped. Needs a MaxOracle.

    Tsochantaridis, Joachims, Hofmann and Altun 2005, algorithm 1.
    """

    rescale: str = knob("margin", "rescale the margin or the slack by the cost", choices=RESCALINGS)
    idle: int = knob(5, "visits after which a plane that carries no weight is dropped", low=1)
    measure: int = knob(
        1,
        "passes between two evaluations of the exact duality gap; the last pass always has one; 0: never",
        low=0,
    )

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Pass by pass."""
        return self.dual_passes(WorkingSets(self, problem), problem)

    def dual_passes(self, state: Any, problem: Problem) -> Iterator[Pass]:
        """The passes over the working sets of ``state``, in Python or in the core."""
        N = len(problem.examples)
        for number in range(1, self.epochs + 1):
            order = example_order(N, self.seed, number)
            state.run(order, True)
            for _ in range(SWEEPS):
                state.run(order, False)
            due = self.measure and (number % self.measure == 0 or number == self.epochs)
            yield self.record(number, state.objective() if due else None, state.scorer)


class WorkingSets:
    """The working sets of all examples and the weights that they define, over the protocols alone."""

    def __init__(self, learner: NSlack, problem: Problem) -> None:
        self.learner, self.problem = learner, problem
        self.margin = Margin(problem, learner.C, learner.rescale)
        self.sets = [WorkingSet(self.margin.zero(n)) for n in range(len(self.margin))]
        self._w = self.margin.scorer([s.mixed for s in self.sets])

    def run(self, order: NDArray[np.int64], search: bool) -> None:
        """Visit these examples, with a search or over their working sets alone."""
        for n in order.tolist():
            x, _ = self.problem.examples[n]
            working, potentials = self.sets[n], self._w.potentials(x)
            if search:
                _, plane = self.margin.worst(n, potentials)
                if working.misses(plane, potentials):
                    working.add(plane, self._w, x)
            if len(working.planes) > 1 and self.margin.C[n] > 0:
                working.solve(self._w, x, potentials, self.margin.C[n])
            if search:
                working.age(self.learner.idle)

    def objective(self) -> Objective:
        """Primal and dual."""
        return self.margin.objective(self._w, [s.mixed for s in self.sets])[0]

    def scorer(self) -> Any:
        """The weights."""
        return copy.deepcopy(self._w)


@dataclass
class WorkingSet:
    """The planes of one example, their inner products and their weights."""

    zero: Plane
    planes: list[Plane] = field(default_factory=list)
    a: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))
    G: NDArray[np.float64] = field(default_factory=lambda: np.zeros((1, 1)))
    rested: list[int] = field(default_factory=lambda: [0])

    def __post_init__(self) -> None:
        self.planes = [self.zero]
        self.mixed = self.zero

    def misses(self, plane: Plane, potentials: Parts) -> bool:
        """Whether the plane is above every plane of the working set."""
        top = max(p.hinge(potentials) for p in self.planes)
        return plane.hinge(potentials) > top + 1e-7 * max(1.0, abs(top))

    def add(self, plane: Plane, scorer: Any, x: Any) -> None:
        """Add a plane to the working set with weight zero."""
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

    def solve(self, scorer: Any, x: Any, potentials: Parts, C: float) -> None:
        """Optimise the weights of the planes with all other examples fixed."""
        up = np.array([p.hinge(potentials) for p in self.planes])
        short = float(up.max() - up @ self.a)
        if short > 0:
            a = simplex_minimum(C * self.G, up + C * self.G @ self.a, self.a, OWN * short)
            change = _mixture(self.planes, a - self.a)
            scorer.update(x, change.delta, C)
            self.a = a
            self.mixed = _mixture(self.planes, a)

    def age(self, idle: int) -> None:
        """Count the passes in which each plane had no weight; drop planes that have been idle for too long."""
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

    The next plane is searched between the best weights so far and the programme's weights, nearer to the best ones:
    searching at the programme's weights oscillates. The learner returns the best weights. There are at most as many
    planes as passes, so the programme is small. Needs a MaxOracle.

    Joachims, Finley and Yu 2009, algorithm 3; the point of the search: Franc and Sonnenburg 2009.
    """

    rescale: str = knob("margin", "rescale the margin or the slack by the cost", choices=RESCALINGS)
    idle: int = knob(10, "passes after which a plane that carries no weight is dropped", low=1)

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Pass by pass."""
        margin = Margin(problem, self.C, self.rescale)
        N = len(margin)
        planes: list[list[Plane]] = [[margin.zero(n) for n in range(N)]]  # first those of the gold answers
        losses, G, a, rested = np.zeros(1), np.zeros((1, 1)), np.ones(1), np.zeros(1, np.int64)
        best = tried = planes[0]
        primal, dual, made = np.inf, 0.0, margin.scorer(best)
        for number in range(1, self.epochs + 1):
            scorer = margin.scorer(tried)
            here, found = _searched(margin, scorer, tried)
            if here < primal:
                primal, best, made = here, tried, scorer
            objective = Objective(primal, dual)
            yield self.record(number, objective, lambda made=made: made)
            rested = np.where(a > 0, 0, rested + 1)
            kept = np.flatnonzero((rested <= self.idle) | (np.arange(len(a)) == 0))
            planes = [*(planes[k] for k in kept), found]
            G, a, losses, rested = G[np.ix_(kept, kept)], a[kept], losses[kept], rested[kept]
            row = _products(margin, planes)
            G = np.block([[G, row[:-1, None]], [row[None, :-1], row[None, -1:]]])
            a, rested = np.append(a, 0.0), np.append(rested, 0)
            losses = np.append(losses, sum(k * p.loss for k, p in zip(margin.weight, found, strict=True)))
            a = simplex_minimum(self.C * G, losses, a, INNER * max(objective.gap, 1e-9) / self.C)
            dual = float(self.C * (losses @ a) - self.C**2 * (a @ G @ a) / 2)
            mixed = [_mixture([plane[n] for plane in planes], a) for n in range(N)]
            tried = [there.towards(plane, SHARE) for there, plane in zip(best, mixed, strict=True)]


def _searched(margin: Margin, scorer: Any, mixed: list[Plane]) -> tuple[float, list[Plane]]:
    """The primal at the weights of these mixtures, and the worst planes of all examples there."""
    found, hinges, sq_norm = [], 0.0, 0.0
    for n, (x, _) in enumerate(margin.problem.examples):
        potentials = scorer.potentials(x)
        _, plane = margin.worst(n, potentials)
        found.append(plane)
        hinges += margin.C[n] * plane.hinge(potentials)
        sq_norm += margin.C[n] * potentials.dot(mixed[n].delta)
    return sq_norm / 2 + hinges, found


def _products(margin: Margin, planes: list[list[Plane]]) -> NDArray[np.float64]:
    """The inner products of the last sum of planes with all sums of planes [K]."""
    last = copy.deepcopy(margin.problem.scorer)
    for (x, _), plane, weight in zip(margin.problem.examples, planes[-1], margin.weight, strict=True):
        last.update(x, plane.delta, weight)
    products = np.zeros(len(planes))
    for n, (x, _) in enumerate(margin.problem.examples):
        potentials = last.potentials(x)
        products += [margin.weight[n] * potentials.dot(plane[n].delta) for plane in planes]
    return products


def _mixture(planes: list[Plane], a: NDArray[np.float64]) -> Plane:
    """sum_k a_k times plane k, over the planes with nonzero weight."""
    delta, loss = Parts(), 0.0
    for plane, weight in zip(planes, a.tolist(), strict=True):
        if weight:
            delta, loss = delta + plane.delta * weight, loss + plane.loss * weight
    return Plane(delta, loss)


def simplex_minimum(
    G: NDArray[np.float64], b: NDArray[np.float64], start: NDArray[np.float64], tolerance: float = 1e-9
) -> NDArray[np.float64]:
    """The minimum of a' G a / 2 - b . a over the simplex a >= 0, sum a = 1, from a feasible start: a [K].

    Each step moves mass to the coordinate with the best gradient, from the one with mass that promises the largest
    decrease; the step length is in closed form. Platt 1998; Fan, Chen and Lin 2005.

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
