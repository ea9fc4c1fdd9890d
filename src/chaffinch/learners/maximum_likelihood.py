"""Batch learners over the protocols, by L-BFGS: maximum likelihood, and minimum expected loss of lists.

f(w) = loss(w) + l2 / 2 |w - w_0|^2,   w_0 the weights of the problem's own scorer
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.examples import ListExamples
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem, State, requires
from chaffinch.scorers import PartFeatures
from chaffinch.structures import Parts

Loss = Callable[[Any, Any], float]
"""loss(scorer, gradient): the loss at the scorer's weights; its derivative is added to those of ``gradient``."""


@dataclass(frozen=True, kw_only=True)
class MaximumLikelihood(Learner):
    """The conditional likelihood with an L2 penalty, by L-BFGS.

        f(w)  = sum_n k_n (log Z(x_n) - w.f(x_n, y_n)) + l2 |w - w_0|^2 / 2
        f'(w) = sum_n k_n (E[f(x_n, y)] - f(x_n, y_n)) + l2 (w - w_0)

    w_0 are the initial weights: the penalty pulls towards them, so features without examples keep their weights.
    Needs a SumOracle.

    >>> from chaffinch.scorers import Example, Layout, Linear
    >>> from chaffinch.structures import Choice
    >>> x = Example(np.array([0, 1]), np.array([0], np.int32))
    >>> problem = Problem(Choice(2), Linear(Layout.choice(F=1, Y=2)), [(x, 1), (x, 1), (x, 1), (x, 0)])
    >>> scorer = MaximumLikelihood(l2=1e-6).fit(problem)
    >>> Choice(2).logsum(scorer.potentials(x))[1]["choice"].round(2)
    array([0.25, 0.75], dtype=float32)
    """

    l2: float = knob(1.0, "L2 penalty", low=0.0)
    steps: int = knob(100, "maximum number of steps", low=1)
    tolerance: float = knob(
        1e-4, "stop when two successive steps lower the objective by a smaller fraction", low=0.0
    )

    def check(self, problem: Problem) -> None:
        """Raise if the structure lacks logsum."""
        requires(self, "logsum", problem, ("Perceptron", "Mira"))

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The steps of L-BFGS; each computes the loss example by example."""
        return minimise(self, problem, partial(_examples, problem))


def likelihood_of_lists(
    learner: MaximumLikelihood, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """The steps for lists of candidates that are stored end to end: the softmax of all lists at once."""
    return minimise(learner, problem, partial(_lists, problem))


def fits_lists(_learner: Any, problem: Problem) -> bool:
    """Whether the examples are lists of candidates."""
    return isinstance(problem.examples, ListExamples)


@dataclass(frozen=True, kw_only=True)
class ExpectedLoss(Learner):
    """The expected loss of a candidate under the model's distribution, with an L2 penalty.

        R(w)  = sum_n k_n E_n[loss] + l2 |w - w_0|^2 / 2,   p_n(y) = exp(w.f(y)) / Z_n
        R'(w) = sum_n k_n sum_y p_n(y) (loss(y) - E_n[loss]) f(y) + l2 (w - w_0)

    The likelihood counts only the best candidate of each list, which the features often cannot single out; this counts
    the loss of every candidate. Not convex: it starts from the problem's weights w_0.
    Smith and Eisner 2006, "Minimum risk annealing for training log-linear models".
    """

    l2: float = knob(0.01, "L2 penalty", low=0.0)
    steps: int = knob(200, "maximum number of steps", low=1)
    tolerance: float = knob(
        1e-6, "stop when two successive steps lower the objective by a smaller fraction", low=0.0
    )

    def check(self, problem: Problem) -> None:
        """Raise if the examples are not lists."""
        if not isinstance(problem.examples, ListExamples):
            raise ConfigError("ExpectedLoss needs lists of candidates as examples")

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The steps of L-BFGS."""
        examples, weight = problem.examples, problem.importance()
        every = PartFeatures({"choice": (len(examples.losses),)}, {"choice": examples.rows})

        def loss(scorer: Any, gradient: Any) -> float:
            risk, slope = expected_loss(scorer.potentials(every)["choice"], examples, weight)
            gradient.update(every, Parts(choice=slope))
            return risk

        return minimise(self, problem, loss)


def expected_loss(
    scores: NDArray[np.floating], examples: ListExamples, weight: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The weighted sum of the lists' expected losses, and its gradient with respect to the candidates' scores."""
    starts, sizes = examples.lists[:-1], np.diff(examples.lists)
    p = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes)).astype(np.float64)
    p /= np.repeat(np.add.reduceat(p, starts), sizes)
    risk = np.add.reduceat(p * examples.losses, starts)
    slope = p * (examples.losses - np.repeat(risk, sizes))
    return float((weight * risk).sum()), slope * np.repeat(weight, sizes)


def minimise(learner: MaximumLikelihood | ExpectedLoss, problem: Problem, loss: Loss) -> Iterator[Pass]:
    """Steps of L-BFGS until two in a row lower the value by less than the tolerance, as a fraction of it."""
    w = problem.scorer.w.astype(np.float32)
    known, l2 = w.astype(np.float64), learner.l2

    def value(w: NDArray[np.float32], g: NDArray[np.float32]) -> float:
        scorer = problem.scorer.with_weights(w)
        off = w.astype(np.float64) - known
        gradient = scorer.with_weights(l2 * off)
        found = loss(scorer, gradient)
        g[:] = gradient.w
        return found + 0.5 * l2 * float(np.dot(off, off))

    minimiser = _core.Minimiser(value, w)

    def scorer() -> Any:
        found = np.empty_like(w)
        minimiser.x(found)
        return problem.scorer.with_weights(found)

    before, small = minimiser.value, 0
    for step in range(1, learner.steps + 1):
        moved = minimiser.iterate()
        fall = (before - minimiser.value) / max(abs(minimiser.value), 1e-300)
        before = minimiser.value
        small = small + 1 if fall < learner.tolerance else 0
        yield Pass(step, {"objective": before}, scorer, learner.steps)
        if not moved or small == 2:
            return


def _examples(problem: Problem, scorer: Any, gradient: Any) -> float:
    """The loss of all examples; its gradient is added to the weights of ``gradient``."""
    structure, value = problem.structure, 0.0
    for (x, y), weight in zip(problem.examples, problem.weights(), strict=True):
        potentials = scorer.potentials(x)
        gold = structure.parts(scorer.shape(x), y)
        log_z, marginals = structure.logsum(potentials)
        value += weight * (log_z - potentials.dot(gold))
        gradient.update(x, marginals - gold, weight)
    return value


def _lists(problem: Problem, scorer: Any, gradient: Any) -> float:
    """The same for lists of candidates that are stored end to end."""
    examples = problem.examples
    every = PartFeatures({"choice": (len(examples.losses),)}, {"choice": examples.rows})
    starts, sizes, best = examples.lists[:-1], np.diff(examples.lists), examples.best
    weight = problem.importance()
    scores = scorer.potentials(every)["choice"]
    top = np.maximum.reduceat(scores, starts)
    p = np.exp(scores - np.repeat(top, sizes))
    total = np.add.reduceat(p, starts)
    p /= np.repeat(total, sizes)
    p[best] -= 1
    gradient.update(every, Parts(choice=p * np.repeat(weight, sizes)))
    return float(np.sum(weight * (top + np.log(total) - scores[best])))
