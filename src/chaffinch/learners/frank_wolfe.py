"""Block-coordinate Frank-Wolfe: a step in closed form moves one example's dual towards its highest plane."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.knobs import knob
from chaffinch.learners.margin import RESCALINGS, Margin, MarginLearner, Plane
from chaffinch.learners.problem import Pass, Problem, example_order
from chaffinch.structures import Parts

UNIFORM = 0.2  # fraction of uniform draws, so that an outdated gap does not exclude an example
WORTH = 0.25  # a cached answer must promise this fraction of the example's last gap
FAIR = 0.01  # and this fraction of the mean gap


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(MarginLearner):
    """Block-coordinate Frank-Wolfe on the dual of the structured hinge.

        s     = the highest plane of example n at w             (cost-augmented search, or a cached answer)
        gap_n = C_n (hinge of s - hinge of d_n)
        step  = min(1, gap_n / |C_n F_n (s - d_n)|^2)
        d_n  += step (s - d_n),    w += step C_n F_n (s - d_n)

    Each example keeps one plane d_n in part space. Examples are visited in a random order, or (gap) sampled in
    proportion to their last gap. The mean of w weights step k by k. Needs a MaxOracle.

    Lacoste-Julien et al. 2013, algorithm 4; gap sampling and caching: Osokin et al. 2016.

    >>> from chaffinch.scorers import Example, Layout, Linear
    >>> from chaffinch.structures import Choice
    >>> x = [Example(np.array([0, 1]), np.array([f], np.int32)) for f in (0, 1)]
    >>> problem = Problem(Choice(2), Linear(Layout.choice(F=2, Y=2)), [(x[0], 1), (x[1], 0)])
    >>> scorer = FrankWolfe(C=10.0, tolerance=1e-4).fit(problem)
    >>> scorer.block("choice").round(3)
    array([[-0.5,  0.5],
           [ 0.5, -0.5]], dtype=float32)
    """

    rescale: str = knob("margin", "rescale the margin or the slack by the cost", choices=RESCALINGS)
    sampling: str = knob(
        "gap", "visit examples in turn, or sample them by their duality gap", choices=("gap", "turns")
    )
    cache: int = knob(0, "answers cached for each example and tried before a search", low=0)
    average: bool = knob(False, "return the average of w over all steps, later steps with more weight")
    measure: int = knob(
        1,
        "passes between two evaluations of the exact duality gap; the last pass always has one; 0: never",
        low=0,
    )

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Pass by pass."""
        return self.dual_passes(Blocks(self, problem), problem)

    def dual_passes(self, state: Any, problem: Problem) -> Iterator[Pass]:
        """The passes over the duals of ``state``, in Python or in the core."""
        N = len(problem.examples)
        for number in range(1, self.epochs + 1):
            state.run(drawn(self, state.gaps, N, number))
            due = self.measure and (number % self.measure == 0 or number == self.epochs)
            yield self.record(number, state.objective() if due else None, state.scorer)


def drawn(learner: FrankWolfe, gaps: NDArray[np.float64], N: int, number: int) -> NDArray[np.int64]:
    """The examples of a pass [N]: each once, or sampled in proportion to their gaps."""
    order: NDArray[np.int64] = example_order(N, learner.seed, number)
    total = float(gaps.sum())
    if learner.sampling == "turns" or number == 1 or not total > 0:
        return order
    share = np.cumsum((1 - UNIFORM) * gaps / total + UNIFORM / N)
    marks = (np.arange(N) + 0.5) / N * share[-1]
    return np.searchsorted(share, marks).clip(max=N - 1)[order]


class Blocks:
    """The duals of all examples and the weights that they define, over the protocols alone."""

    def __init__(self, learner: FrankWolfe, problem: Problem) -> None:
        self.learner, self.problem = learner, problem
        self.margin = Margin(problem, learner.C, learner.rescale)
        N = len(problem.examples)
        self.planes = [self.margin.zero(n) for n in range(N)]
        self.gaps = np.zeros(N)
        self._w = self.margin.scorer(self.planes)
        self._cached: list[list[Any]] = [[] for _ in range(N)]
        self._means = [Parts() for _ in range(N)]
        self._mean_losses, self._since, self._step = np.zeros(N), np.zeros(N), 0

    def run(self, order: NDArray[np.int64]) -> None:
        """A pass over these examples."""
        for n in order.tolist():
            self._visit(n)

    def scorer(self) -> Any:
        """The weights: the last ones, or their mean."""
        return self.margin.scorer(self._answer())

    def objective(self) -> Any:
        """Primal and dual of the weights that ``scorer`` returns."""
        planes = self._answer()
        objective, gaps = self.margin.objective(self.margin.scorer(planes), planes)
        if not self.learner.average:
            self.gaps = np.maximum(gaps, 0.0)  # an answer that the masks forbid has no hinge
        return objective

    def _visit(self, n: int) -> None:
        x, _ = self.problem.examples[n]
        potentials, here, C = self._w.potentials(x), self.planes[n], self.margin.C[n]
        height = here.hinge(potentials)
        plane = self._remembered(n, potentials, height) or self._searched(n, potentials)
        self._step += 1
        gap = C * (plane.hinge(potentials) - height)
        self.gaps[n] = max(gap, 0.0)
        change = plane.delta - here.delta
        length = C * C * self._w.sq_norm(x, change)
        if gap <= 0 or (length == 0 and plane.loss <= here.loss):
            return
        step = 1.0 if length == 0 else min(1.0, gap / length)
        self._leave(n)
        self.planes[n] = here.towards(plane, step)
        self._w.update(x, change, step * C)

    def _searched(self, n: int, potentials: Parts) -> Plane:
        answer, plane = self.margin.worst(n, potentials)
        if self.learner.cache:
            kept = [a for a in self._cached[n] if not np.array_equal(a, answer)]
            self._cached[n] = (
                [*kept[-self.learner.cache + 1 :], answer] if self.learner.cache > 1 else [answer]
            )
        return plane

    def _remembered(self, n: int, potentials: Parts, height: float) -> Plane | None:
        """The highest cached plane, if it promises enough of the gap."""
        kept = [self.margin.plane(n, answer) for answer in self._cached[n]]
        if not kept:
            return None
        best = max(kept, key=lambda plane: plane.hinge(potentials))
        gap = self.margin.C[n] * (best.hinge(potentials) - height)
        return best if gap > max(WORTH * self.gaps[n], FAIR * float(self.gaps.mean())) else None

    def _leave(self, n: int) -> None:
        """Add the example's plane to its mean for the steps that it was in use; step k has weight k."""
        if self.learner.average:
            weight = _weight(self._since[n], self._step)
            self._means[n] = self._means[n] + self.planes[n].delta * weight
            self._mean_losses[n] += self.planes[n].loss * weight
            self._since[n] = self._step

    def _answer(self) -> list[Plane]:
        if not self.learner.average or not self._step:
            return self.planes
        now = self._step + 1
        total = _weight(0, now)
        means = []
        for n, plane in enumerate(self.planes):
            weight = _weight(self._since[n], now)
            loss = float(self._mean_losses[n]) + plane.loss * weight
            means.append(Plane((self._means[n] + plane.delta * weight) * (1 / total), loss / total))
        return means


def _weight(since: float, now: float) -> float:
    """The sum of k over the steps since <= k < now."""
    return (now * (now - 1) - since * (since - 1)) / 2
