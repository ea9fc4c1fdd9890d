"""The perceptron in its dual form: counts of mistakes instead of weights, any kernel instead of features."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.kernel_choice import GramExamples, KernelMachine, MarginChoice
from chaffinch.learners.learner import Learner
from chaffinch.learners.online import Perceptron
from chaffinch.learners.problem import Pass, Problem
from chaffinch.scorers.dual import DualInTraining
from chaffinch.scorers.voted import Voted
from chaffinch.structures import Parts


@dataclass(frozen=True, kw_only=True)
class KernelPerceptron(MarginChoice, Learner):
    """The perceptron with mistake counts alpha_i(y) instead of weights.

        y_hat = argmax_y sum_i alpha_i(y) k(x_i, x_n)
        alpha_n(y_n) += 1,   alpha_n(y_hat) -= 1        if y_hat is not y_n (the weight of x_n instead of 1)

    With the linear kernel it makes the same predictions as the perceptron on weights. The answer is the last
    hypothesis, the mean of all, or the votes of all (Freund and Schapire 1999). With a budget, a support example is
    removed before another is added (Crammer, Kandola and Singer 2003).

    >>> from chaffinch.kernels import Polynomial
    >>> from chaffinch.learners.kernel_choice import kernel_problem
    >>> x, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1], np.int32)
    >>> problem = kernel_problem(Polynomial(), Polynomial().prepared(x), y, 2, np.ones(4))
    >>> KernelPerceptron(epochs=30, hypothesis="last").fit(problem).scorer.scores(x).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    epochs: int = knob(10, "passes over the training data", low=1)
    hypothesis: str = knob("mean", "hypothesis used for prediction", choices=("last", "mean", "votes"))
    budget: int | None = knob(None, "maximum number of support examples of the last hypothesis", low=1)

    def check(self, problem: Problem) -> None:
        """Refuse data with a single label, and a budget for another hypothesis than the last."""
        problem.examples.two_labels("a kernel perceptron")
        if self.budget is not None and self.hypothesis != "last":
            raise ConfigError(
                f"KernelPerceptron.budget needs hypothesis 'last': with {self.hypothesis!r} all examples that "
                "were ever support examples are kept; set hypothesis to last"
            )

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The perceptron's epochs over a scorer of mistake counts."""
        data: GramExamples = problem.examples
        start = Recording(data.rows, data.Y, budget=self.budget)
        learner = Perceptron(epochs=self.epochs, seed=problem.seed, average=self.hypothesis == "mean")
        for epoch in learner.passes(replace(problem, scorer=start)):
            yield replace(epoch, model=partial(self._machine, data, start.log, epoch))
            if epoch.scores["wrong"] == 0 and self.hypothesis == "last":
                return

    def _machine(self, data: GramExamples, log: "Log", epoch: Pass) -> KernelMachine:
        if self.hypothesis == "votes":
            return _voted(data, log, epoch.number * len(data))
        assert epoch.model is not None
        last: DualInTraining = epoch.model()
        return KernelMachine(last.finished(), np.flatnonzero(last.w.any(axis=1)), "margin")


def _voted(data: GramExamples, log: "Log", met: int) -> KernelMachine:
    mistakes = np.array(log.mistakes, np.int64).reshape(-1, 3)
    support, place = np.unique(mistakes[:, 0], return_inverse=True)
    at = np.array([1, *log.met, met + 1], np.float64)  # a hypothesis is used from its mistake on
    numbered = np.column_stack([place, mistakes[:, 1:]])
    scorer = Voted(data.kernel, data.objects.taken(support), numbered, np.diff(at), data.Y)
    return KernelMachine(scorer, support, "shares")


@dataclass
class Log:
    """The mistakes (example, label, answer) in order, and the number of examples before each."""

    mistakes: list[tuple[int, int, int]]
    met: list[int]
    seen: int = 0


class Recording(DualInTraining):
    """A dual scorer in training that keeps a log of its mistakes."""

    def __init__(self, *args: Any, log: Log | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.log = Log([], []) if log is None else log

    def with_weights(self, w: Any) -> "Recording":
        """The same with other coefficients and the same log."""
        return Recording(self.rows, self.Y, w, self.budget, log=self.log)

    def potentials(self, x: int) -> Parts:
        """Count an example."""
        self.log.seen += 1
        return super().potentials(x)

    def update(self, x: int, delta: Parts, step: float = 1.0) -> None:
        """Record a mistake."""
        change = delta["choice"]
        self.log.mistakes.append((x, int(change.argmax()), int(change.argmin())))
        self.log.met.append(self.log.seen)
        super().update(x, delta, step)
