"""AdaGrad: stochastic gradients with a step size for each weight."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem, example_order, requires
from chaffinch.structures import Parts

LOSSES = ("likelihood", "hinge", "perceptron")


@dataclass(frozen=True, kw_only=True)
class AdaGrad(Learner):
    """Gradient steps on one example at a time; features with large past gradients get smaller steps.

        likelihood  delta = parts(y) - marginals                                     (a conditional random field)
        hinge       delta = parts(y) - parts(argmax(potentials + cost))              (a structured SVM)
        perceptron  delta = parts(y) - parts(argmax(potentials))

        g = F' delta,   G += g^2,   w += rate g / sqrt(G),   G from ``start`` on

    Duchi, Hazan and Singer 2011, "Adaptive subgradient methods". Needs a SumOracle (likelihood) or a MaxOracle.

    >>> from chaffinch.scorers import Example, Layout, Linear
    >>> from chaffinch.structures import Choice
    >>> x = [Example(np.array([0, 1]), np.array([f], np.int32)) for f in (0, 1)]
    >>> problem = Problem(Choice(2), Linear(Layout.choice(F=2, Y=2)), [(x[0], 1), (x[1], 0)])
    >>> scorer = AdaGrad(epochs=3).fit(problem)
    >>> [Choice(2).argmax(scorer.potentials(example)) for example in x]
    [1, 0]
    """

    loss: str = knob("likelihood", "training objective", choices=LOSSES)
    epochs: int = knob(10, "passes over the training data", low=1)
    rate: float = knob(0.1, "AdaGrad's step size", low=0.0)
    start: float = knob(
        0.1, "AdaGrad's initial sum of squares: a larger value damps small gradients", low=1e-12
    )
    dropout: float = knob(
        0.0, "share of a sentence's features dropped at random in each pass (trees)", low=0.0, high=0.9
    )
    average: bool = knob(True, "return the mean of w over all steps")
    seed: int = knob(0, "seed of the order of the examples", low=0)

    def check(self, problem: Problem) -> None:
        """Refuse structures without the required oracle."""
        requires(self, "logsum" if self.loss == "likelihood" else "argmax", problem)

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols."""
        if self.dropout > 0:
            raise ConfigError("AdaGrad.dropout works only for trees over span features; set it to 0")
        structure, weight = problem.costed, problem.weights()
        w = problem.scorer.w.copy()
        scorer = problem.scorer.with_weights(w)
        total, squares, steps = np.zeros(w.shape), np.full(w.shape, self.start), 0

        def made() -> Any:
            return problem.scorer.with_weights((total / steps if self.average else scorer.w).astype(w.dtype))

        for number in range(1, self.epochs + 1):
            wrong = 0
            for n in example_order(len(problem.examples), self.seed, number).tolist():
                x, y = problem.examples[n]
                potentials, shape = scorer.potentials(x), scorer.shape(x)
                gold = structure.parts(shape, y)
                moved, delta = self._delta(structure, shape, potentials, y, gold)
                wrong += moved
                if moved or self.loss == "likelihood":
                    step = problem.scorer.with_weights(np.zeros_like(w))
                    step.update(x, delta, weight[n])
                    g = step.w.astype(np.float64)
                    squares += g * g
                    w = (scorer.w + self.rate * g / np.sqrt(squares)).astype(w.dtype)
                    scorer = problem.scorer.with_weights(w)
                total += scorer.w
                steps += 1
            yield self.record(problem, number, wrong, made)

    def record(self, problem: Problem, number: int, wrong: int, scorer: Any) -> Pass:
        """The record of an epoch. wrong: the number of wrong answers."""
        return Pass(number, {"wrong": wrong / max(1, len(problem.examples))}, scorer, self.epochs)

    def _delta(
        self, structure: Any, shape: Any, potentials: Parts, y: Any, gold: Parts
    ) -> tuple[bool, Parts]:
        """Whether the answer was wrong, and the direction to move in."""
        if self.loss == "likelihood":
            log_z, marginals = structure.logsum(potentials)
            return log_z - potentials.dot(gold) > np.log(2.0), gold - marginals
        augmented = potentials + structure.cost(shape, y) if self.loss == "hinge" else potentials
        answer = structure.argmax(augmented)
        return not np.array_equal(answer, y), gold - structure.parts(shape, answer)
