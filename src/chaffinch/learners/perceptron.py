"""The perceptron: reward the right answer, punish the one that was found."""

from dataclasses import dataclass
from typing import Any

from chaffinch.knobs import knob
from chaffinch.learners.online import Mistake, OnlineLearner
from chaffinch.structures import Scorer


@dataclass(frozen=True, kw_only=True)
class Perceptron(OnlineLearner):
    """The structured perceptron.

        y_hat = argmax w.f(x, y)
        w    += f(x, y) - f(x, y_hat)

    Collins 2002, "Discriminative training methods for hidden Markov models". Needs a MaxOracle.

    >>> import numpy as np
    >>> from chaffinch.learners.problem import Problem
    >>> from chaffinch.scorers import Example, Layout, Linear
    >>> from chaffinch.structures import Choice
    >>> x = [Example(np.array([0, 1]), np.array([f], np.int32)) for f in (0, 1)]
    >>> problem = Problem(Choice(2), Linear(Layout.choice(F=2, Y=2)), [(x[0], 1), (x[1], 0)])
    >>> scorer = Perceptron(epochs=3, average=False).fit(problem)
    >>> [Choice(2).argmax(scorer.potentials(example)) for example in x]
    [1, 0]
    """

    rule = "perceptron"

    def move(self, scorer: Scorer[Any], x: object, mistakes: list[Mistake]) -> None:
        """One step of length 1 on the first mistake."""
        scorer.update(x, mistakes[0].delta)


@dataclass(frozen=True, kw_only=True)
class MarginPerceptron(OnlineLearner):
    """The perceptron with margin: an answer that wins by too little is a mistake as well.

        y_hat = argmax w.f(x, y') + margin cost(y, y')
        w    += f(x, y) - f(x, y_hat)

    Krauth and Mezard 1987, "Learning algorithms with optimal stability in neural networks". The step is 1 / margin and
    the cost counts once, which gives the same answers by smaller weights. Needs a MaxOracle.
    """

    margin: float = knob(100.0, "how far y is to be ahead, for each unit of cost", low=1e-6)

    rule = "margin-perceptron"
    augmented = True

    def amount(self) -> float:
        """The step."""
        return 1 / self.margin

    def move(self, scorer: Scorer[Any], x: object, mistakes: list[Mistake]) -> None:
        """One step on the first mistake."""
        scorer.update(x, mistakes[0].delta, self.amount())
