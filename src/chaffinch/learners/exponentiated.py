"""Exponentiated gradient on the factored dual: additive steps on log-potentials move the marginals."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaffinch.knobs import knob
from chaffinch.learners.margin import Margin, MarginLearner, Plane
from chaffinch.learners.problem import Pass, Problem, example_order
from chaffinch.structures import Parts

RETRIES = 30
LARGEST = 1e6


@dataclass(frozen=True, kw_only=True)
class ExponentiatedGradient(MarginLearner):
    """The dual of the structured hinge over marginals mu_n, kept as potentials theta_n: mu_n = marginals(theta_n).

        theta_n += rate_n (cost_n + potentials of x_n under w)
        w       -= C_n F_n (change of mu_n)

    This is a multiplicative step on the probability of every labelling, written in parts. A step that does not raise
    the dual is undone and its rate halved; after a step that does, the rate grows. Marginals start near the gold
    answer, by ``start``. Needs a SumOracle.

    Bartlett, Collins, Taskar and McAllester 2004; Collins et al. 2008.
    """

    start: float = knob(3.0, "initial log-odds of a gold part", low=0.0)
    rate: float = knob(1.0, "initial step size", low=1e-9)

    oracle = "logsum"
    alternatives = ("FrankWolfe", "NSlack", "Subgradient")

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Pass by pass."""
        structure, margin = problem.costed, Margin(problem, self.C)
        N = len(margin)
        theta: list[Parts] = []
        planes: list[Plane] = []
        rates = np.full(N, self.rate)
        for x, y in problem.examples:
            shape = problem.scorer.shape(x)
            gold = structure.parts(shape, y)
            theta.append(Parts.zeros(shape) + gold * self.start)
            planes.append(_plane(structure, theta[-1], gold, structure.cost(shape, y)))
        scorer = margin.scorer(planes)
        for number in range(1, self.epochs + 1):
            for n in example_order(N, self.seed, number).tolist():
                self._step(problem, scorer, n, theta, planes, rates, margin.C[n])
            objective, _ = margin.objective(margin.scorer(planes), planes)
            yield self.record(number, objective, lambda: margin.scorer(planes))

    def _step(
        self,
        problem: Problem,
        scorer: Any,
        n: int,
        theta: list[Parts],
        planes: list[Plane],
        rates: Any,
        C: float,
    ) -> None:
        """Move the marginals of one example up the dual."""
        structure, (x, y) = problem.costed, problem.examples[n]
        potentials, here = scorer.potentials(x), planes[n]
        gold, cost = structure.parts(potentials.shape, y), structure.cost(potentials.shape, y)
        gradient = potentials + cost
        for _ in range(RETRIES):
            tried = theta[n] + gradient * float(rates[n])
            plane = _plane(structure, tried, gold, cost)
            change = plane.delta - here.delta
            rise = plane.hinge(potentials) - here.hinge(potentials)
            rise -= C * scorer.sq_norm(x, change) / 2
            if rise >= 0 and math.isfinite(rise):
                theta[n], planes[n] = tried, plane
                scorer.update(x, change, C)
                rates[n] = min(rates[n] * 1.5, LARGEST)
                return
            rates[n] /= 2


def _plane(structure: Any, theta: Parts, gold: Parts, cost: Parts) -> Plane:
    """The mean plane under the marginals of theta."""
    _, mu = structure.logsum(theta)
    return Plane(gold - mu, cost.dot(mu))
