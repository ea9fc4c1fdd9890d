"""Maximum likelihood over the protocols: for structures that can be summed over, by L-BFGS."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from chaffinch.knobs import check, knob
from chaffinch.learners.lists import ListExamples
from chaffinch.learners.penalised import minimised
from chaffinch.learners.problem import Problem
from chaffinch.progress import Listener, keep_going
from chaffinch.scorers import PartFeatures
from chaffinch.structures import Parts, require


@dataclass(frozen=True, kw_only=True)
class MaximumLikelihood:
    """The conditional likelihood with an L2 penalty, by L-BFGS.

        f(w)  = sum_n (log Z(x_n) - w.f(x_n, y_n)) + l2 |w - w_0|^2 / 2
        f'(w) = sum_n (E[f(x_n, y)] - f(x_n, y_n)) + l2 (w - w_0)

    w_0 are the weights to start from: what is known beforehand is not forgotten for want of examples.
    Needs a SumOracle. An example may weigh more than another: give it more than once.

    >>> from chaffinch.scorers import Example, Layout, Linear
    >>> from chaffinch.structures import Choice
    >>> x = Example(np.array([0, 1]), np.array([0], np.int32))
    >>> problem = Problem(Choice(2), Linear(Layout.choice(F=1, Y=2)), [(x, 1), (x, 1), (x, 1), (x, 0)])
    >>> scorer = MaximumLikelihood(l2=1e-6).fit(problem)
    >>> Choice(2).logsum(scorer.potentials(x))[1]["choice"].round(2)
    array([0.25, 0.75], dtype=float32)
    """

    l2: float = knob(1.0, "L2 penalty", low=0.0)
    steps: int = knob(100, "most steps", low=1)
    tolerance: float = knob(1e-4, "stop when two steps running lower the value by a smaller share", low=0.0)

    def fit(self, problem: Problem, on_epoch: Listener = keep_going) -> Any:
        """A scorer at the optimum; the problem's own weights are where it starts."""
        check(self)
        require(self, "logsum", problem.structure, ("Perceptron", "Mira"))
        summed = _lists if isinstance(problem.examples, ListExamples) else _examples
        loss = partial(summed, problem)
        return minimised(problem, loss, on_epoch, l2=self.l2, steps=self.steps, tolerance=self.tolerance)


def _examples(problem: Problem, scorer: Any, gradient: Any) -> float:
    """The loss of all examples, its gradient added to the weights of ``gradient``."""
    structure, value = problem.structure, 0.0
    for x, y in problem.examples:
        potentials = scorer.potentials(x)
        gold = structure.parts(scorer.shape(x), y)
        log_z, marginals = structure.logsum(potentials)
        value += log_z - potentials.dot(gold)
        gradient.update(x, marginals - gold)
    return value


def _lists(problem: Problem, scorer: Any, gradient: Any) -> float:
    """The same where all examples are lists of candidates end to end: one softmax over each."""
    examples = problem.examples
    assert isinstance(examples, ListExamples)
    every = PartFeatures({"choice": (len(examples.losses),)}, {"choice": examples.rows})
    starts, sizes, best = examples.lists[:-1], np.diff(examples.lists), examples.best
    scores = scorer.potentials(every)["choice"]
    top = np.maximum.reduceat(scores, starts)
    p = np.exp(scores - np.repeat(top, sizes))
    total = np.add.reduceat(p, starts)
    p /= np.repeat(total, sizes)
    p[best] -= 1
    gradient.update(every, Parts(choice=p))
    return float(np.sum(top + np.log(total) - scores[best]))
