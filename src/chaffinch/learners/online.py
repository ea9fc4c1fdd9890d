"""Online learners: predict one example at a time, and update the weights if the answer was wrong."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.knobs import knob
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem, constant_gap, example_order, requires
from chaffinch.structures import Parts, Scorer

TURNS = 50
STILL = 1e-6


@dataclass(frozen=True)
class Mistake:
    """A wrong answer: parts(y) - parts(y_hat), and its cost."""

    delta: Parts
    cost: float


Move = Callable[[Any, Any, list[Mistake], float], None]


@dataclass(frozen=True, kw_only=True)
class OnlineLearner(Learner):
    """What the update rules share: epochs in an order that depends on the seed, and averaging.

    rule:      the core's name of the rule; a class without a name of its own, subclasses included, runs in Python
    augmented: whether the search adds the cost to the score
    """

    epochs: int = knob(10, "passes over the training data", low=1)
    seed: int = knob(0, "seed of the order of the examples", low=0)

    average: bool = knob(True, "return the mean of w over all steps")

    rule: ClassVar[str] = ""
    augmented: ClassVar[bool] = False

    @property
    def in_core(self) -> bool:
        """Whether the core has this rule."""
        return bool(vars(type(self)).get("rule"))

    def amount(self) -> float:
        """The parameter of the rule, such as its largest step."""
        return 1.0

    def answers(self) -> int:
        """The number of answers considered for each example."""
        return 1

    def check(self, problem: Problem) -> None:
        """Refuse structures without the required oracle."""
        requires(self, "kbest" if self.answers() > 1 else "argmax", problem)

    @abstractmethod
    def mover(self, scorer: Any) -> Move:
        """The function that updates this scorer: the rule, or the rule with state between steps."""

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols."""
        return self.loop(problem, lambda epoch: example_order(len(problem.examples), self.seed, epoch))

    def loop(self, problem: Problem, order: Callable[[int], NDArray[np.int64]]) -> Iterator[Pass]:
        """The loop in the order of each epoch; ``total`` is the sum of w over the steps up to ``summed``."""
        structure, weight = problem.costed, problem.weights()
        scorer = problem.scorer.with_weights(problem.scorer.w)
        move = self.mover(scorer)
        total = np.zeros(scorer.w.shape, np.float64)
        steps = summed = 0

        def averaged() -> Any:
            if not (self.average and steps):
                return scorer.with_weights(scorer.w)
            return scorer.with_weights((total + (steps - summed) * scorer.w.astype(np.float64)) / steps)

        for number in range(1, self.epochs + 1):
            wrong = 0
            for n in order(number).tolist():
                x, y = problem.examples[n]
                mistakes = found_mistakes(self, structure, scorer, x, y)
                if mistakes:
                    wrong += 1
                    total += (steps - summed) * scorer.w.astype(np.float64)
                    summed = steps
                    move(scorer, x, mistakes, weight[n])
                steps += 1
            yield self.record(problem, number, wrong, averaged)

    def record(self, problem: Problem, number: int, wrong: int, scorer: Any) -> Pass:
        """The record of an epoch. wrong: the number of wrong answers."""
        return Pass(number, {"wrong": wrong / max(1, len(problem.examples))}, scorer, self.epochs)


def found_mistakes(learner: OnlineLearner, structure: Any, scorer: Any, x: Any, y: Any) -> list[Mistake]:
    """The wrong answers that the search finds for x, best first."""
    shape, potentials = scorer.shape(x), scorer.potentials(x)
    cost, gold = structure.cost(shape, y), structure.parts(shape, y)
    if learner.augmented:
        potentials = potentials + cost
    if learner.answers() > 1:
        answers = [answer for _, answer in structure.kbest(potentials, learner.answers())]
    else:
        answers = [structure.argmax(potentials)]
    mistakes = []
    for answer in answers:
        parts = structure.parts(shape, answer)
        delta = gold - parts
        if any(block.any() for _, block in delta.items()):
            mistakes.append(Mistake(delta, cost.dot(parts) + constant_gap(structure, answer, y)))
    return mistakes


@dataclass(frozen=True, kw_only=True)
class UpdateRule(OnlineLearner):
    """A rule with a step that depends only on the weights and the mistakes."""

    def mover(self, scorer: Any) -> Move:
        """The rule itself."""
        return self.move

    @abstractmethod
    def move(self, scorer: Scorer[Any], x: Any, mistakes: list[Mistake], weight: float = 1.0) -> None:
        """Update the weights for the mistakes on x, with this weight."""


@dataclass(frozen=True, kw_only=True)
class Perceptron(UpdateRule):
    """The structured perceptron.

        y_hat = argmax w.f(x, y)
        w    += f(x, y) - f(x, y_hat)

    Collins 2002, "Discriminative training methods for hidden Markov models". Needs a MaxOracle.

    >>> import numpy as np
    >>> from chaffinch.scorers import Example, Layout, Linear
    >>> from chaffinch.structures import Choice
    >>> x = [Example(np.array([0, 1]), np.array([f], np.int32)) for f in (0, 1)]
    >>> problem = Problem(Choice(2), Linear(Layout.choice(F=2, Y=2)), [(x[0], 1), (x[1], 0)])
    >>> scorer = Perceptron(epochs=3, average=False).fit(problem)
    >>> [Choice(2).argmax(scorer.potentials(example)) for example in x]
    [1, 0]
    """

    rule = "perceptron"

    def move(self, scorer: Scorer[Any], x: object, mistakes: list[Mistake], weight: float = 1.0) -> None:
        """One step of length 1 on the first mistake."""
        scorer.update(x, mistakes[0].delta, weight)


@dataclass(frozen=True, kw_only=True)
class MarginPerceptron(UpdateRule):
    """The perceptron with margin: winning by less than the margin counts as a mistake.

        y_hat = argmax w.f(x, y') + margin cost(y, y')
        w    += f(x, y) - f(x, y_hat)

    Krauth and Mezard 1987, "Learning algorithms with optimal stability in neural networks". The step is 1 / margin and
    the cost counts once, which gives the same answers with smaller weights. Needs a MaxOracle.
    """

    margin: float = knob(100.0, "margin required for each unit of cost", low=1e-6)

    rule = "margin-perceptron"
    augmented = True

    def amount(self) -> float:
        """The step."""
        return 1 / self.margin

    def move(self, scorer: Scorer[Any], x: object, mistakes: list[Mistake], weight: float = 1.0) -> None:
        """One step on the first mistake."""
        scorer.update(x, mistakes[0].delta, self.amount() * weight)


@dataclass(frozen=True, kw_only=True)
class PassiveAggressive(UpdateRule):
    """Passive-aggressive updates (PA-I) on the predicted answer.

        d   = f(x, y) - f(x, y_hat)
        tau = min(C, max(0, cost(y, y_hat) - w.d) / |d|^2)
        w  += tau d

    Crammer et al. 2006, "Online passive-aggressive algorithms". Needs a MaxOracle.
    """

    C: float = knob(1.0, "largest step taken on one example", low=0.0)

    rule = "pa"

    def amount(self) -> float:
        """C."""
        return self.C

    def move(self, scorer: Scorer[Any], x: object, mistakes: list[Mistake], weight: float = 1.0) -> None:
        """Hildreth's algorithm: optimise each multiplier in [0, C] given the others, until none changes."""
        lengths = [scorer.sq_norm(x, m.delta) for m in mistakes]
        tau = [0.0] * len(mistakes)
        for _ in range(TURNS if len(mistakes) > 1 else 1):
            moved = 0.0
            for i, m in enumerate(mistakes):
                if lengths[i] == 0:
                    continue
                missing = m.cost - scorer.potentials(x).dot(m.delta)
                then = float(np.clip(tau[i] + missing / lengths[i], 0.0, self.C * weight))
                if then != tau[i]:
                    scorer.update(x, m.delta, then - tau[i])
                moved += abs(then - tau[i])
                tau[i] = then
            if moved <= STILL:
                return


@dataclass(frozen=True, kw_only=True)
class Mira(PassiveAggressive):
    """MIRA: passive-aggressive updates on the k answers with the highest score plus cost; y must beat each by its cost.

    Crammer and Singer 2003; k-best: McDonald, Crammer and Pereira 2005. Needs a KBestOracle if k > 1.
    """

    C: float = knob(0.1, "largest step taken on one answer", low=0.0)
    k: int = knob(1, "answers considered at a time", low=1)

    rule = "mira"
    augmented = True

    def answers(self) -> int:
        """k."""
        return self.k


@dataclass(frozen=True, kw_only=True)
class Arow(OnlineLearner):
    """Adaptive regularisation of weights, with a variance sigma_c for each weight, at first 1.

        d     = f(x, y) - f(x, y_hat),   y_hat = argmax score + cost
        beta  = 1 / (sum_c sigma_c d_c^2 + r),   alpha = beta max(0, cost(y, y_hat) - w.d)
        w_c  += alpha sigma_c d_c,   sigma_c -= beta (sigma_c d_c)^2

    Crammer, Kulesza and Dredze 2009. Needs a MaxOracle, and a scorer with one vector of weights.
    """

    r: float = knob(1.0, "regularisation r; larger values lower the variances more slowly", low=0.0)
    average: bool = knob(False, "return the mean of w over all steps")

    rule = "arow"
    augmented = True

    def amount(self) -> float:
        """r."""
        return self.r

    def mover(self, scorer: Any) -> Move:
        """The rule with the variances of one training."""
        sigma = np.ones(scorer.w.shape)

        def move(scorer: Any, x: Any, mistakes: list[Mistake], weight: float = 1.0) -> None:
            step = scorer.with_weights(np.zeros_like(scorer.w))
            step.update(x, mistakes[0].delta)
            d = step.w.astype(np.float64)
            missing = mistakes[0].cost - float(scorer.w.astype(np.float64) @ d)
            if missing > 0:
                beta = weight / (float(sigma @ (d * d)) + self.r)
                scorer.w += (beta * missing * sigma * d).astype(scorer.w.dtype)
                sigma[:] -= beta * (sigma * d) ** 2

        return move
