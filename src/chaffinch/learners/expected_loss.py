"""The least expected loss over lists of candidates, by L-BFGS."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.knobs import check, knob
from chaffinch.learners.lists import ListExamples
from chaffinch.learners.penalised import minimised
from chaffinch.learners.problem import Problem
from chaffinch.progress import Listener, keep_going
from chaffinch.scorers import PartFeatures
from chaffinch.structures import Parts


@dataclass(frozen=True, kw_only=True)
class ExpectedLoss:
    """The loss to be expected of a candidate drawn by its probability, with an L2 penalty.

        R(w)  = sum_n E_n[loss] + l2 |w - w_0|^2 / 2,   p_n(y) = exp(w.f(y)) / Z_n
        R'(w) = sum_n sum_y p_n(y) (loss(y) - E_n[loss]) f(y) + l2 (w - w_0)

    The likelihood spends itself on the best of each list, which is often far from what can be told apart; this
    counts what every candidate costs. Not convex: it starts from the problem's weights w_0.
    Smith and Eisner 2006, "Minimum risk annealing for training log-linear models".
    """

    l2: float = knob(0.01, "L2 penalty", low=0.0)
    steps: int = knob(200, "most steps", low=1)
    tolerance: float = knob(1e-6, "stop when two steps running lower the value by a smaller share", low=0.0)

    def fit(self, problem: Problem, on_epoch: Listener = keep_going) -> Any:
        """A scorer at a minimum."""
        check(self)
        examples = problem.examples
        if not isinstance(examples, ListExamples):
            raise ConfigError("the expected loss is one of lists of candidates")
        every = PartFeatures({"choice": (len(examples.losses),)}, {"choice": examples.rows})

        def loss(scorer: Any, gradient: Any) -> float:
            risk, slope = expected_loss(scorer.potentials(every)["choice"], examples)
            gradient.update(every, Parts(choice=slope))
            return risk

        return minimised(problem, loss, on_epoch, l2=self.l2, steps=self.steps, tolerance=self.tolerance)


def expected_loss(scores: NDArray[np.floating], examples: ListExamples) -> tuple[float, NDArray[np.float64]]:
    """The sum of the lists' expected losses, and its derivative by the candidates' scores."""
    starts, sizes = examples.lists[:-1], np.diff(examples.lists)
    p = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes)).astype(np.float64)
    p /= np.repeat(np.add.reduceat(p, starts), sizes)
    risk = np.add.reduceat(p * examples.losses, starts)
    return float(risk.sum()), p * (examples.losses - np.repeat(risk, sizes))
