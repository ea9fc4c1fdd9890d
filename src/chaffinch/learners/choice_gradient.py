"""Document classifiers by gradients: stochastic (log-linear, margins, perceptron), and L-BFGS or OWL-QN."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.choice import (
    ChoiceWeights,
    importance,
    padded,
    weights_of_scorer,
    with_bias,
    with_intercepts,
)
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem
from chaffinch.structures import Parts

SMALL = 1e-10  # added to AdaGrad's sums of squares
LOSSES = {
    "logistic": _core.ChoiceLoss.softmax,
    "labels": _core.ChoiceLoss.sigmoid,
    "hinge": _core.ChoiceLoss.hinge,
    "perceptron": _core.ChoiceLoss.perceptron,
}
LINKS = {"logistic": "softmax", "labels": "sigmoid", "hinge": "margin", "perceptron": "margin"}
SCHEDULES = ("fixed", "decaying", "random")


@dataclass(frozen=True, kw_only=True)
class ChoiceSgd(Learner):
    """Stochastic gradient steps on one document, or on the mean of a mini-batch.

        w := shrunk((1 - e l2) w, e l1) + e g,   g = c_n (q_n - p_n) x_n for the logistic loss

    The rate e: fixed; decaying, e / (1 + decay t / N) after t documents; or drawn evenly from [0, e) per step.
    AdaGrad divides the rate of each weight by h, the root of the sum of its squared gradients, and follows both
    penalties continuously: |w| := max(0, exp(-x) |w| - l1 (1 - exp(-x)) / l2) with x = e l2 / h.
    ``minibatch`` false: the weights move after every document; ``iterations`` repeats a batch.
    """

    loss: str = knob(
        "logistic",
        "multinomial logistic, one-vs-rest logistic, hinge or perceptron",
        choices=tuple(LOSSES),
    )
    epochs: int = knob(10, "passes over the documents", low=1)
    rate: float = knob(0.01, "learning rate, or the largest of random ones", low=0.0)
    schedule: str = knob("fixed", "schedule of the learning rate", choices=SCHEDULES)
    decay: float = knob(1.0, "decaying: the rate is e / (1 + decay * epochs so far)", low=0.0)
    batch: int = knob(500, "documents per batch", low=1)
    iterations: int = knob(1, "iterations over a batch before the next", low=1, high=1000)
    minibatch: bool = knob(False, "one step per batch, along its mean gradient")
    adaptive: bool = knob(False, "AdaGrad: each weight's rate by its past gradients")
    average: bool = knob(False, "return the mean of the weights over all steps")
    l1: float = knob(0.0, "L1 penalty", low=0.0)
    l2: float = knob(0.0, "L2 penalty", low=0.0)
    bias: float | None = knob(
        None, "value of the intercept feature; by default 1 for numbers, 0 for text", low=0.0
    )

    def check(self, problem: Problem) -> None:
        """Refuse several labels per document unless each label has its own loss."""
        data: DocumentExamples = problem.examples
        if data.soft is not None and self.loss in ("hinge", "perceptron"):
            raise ConfigError(
                f"the loss {self.loss!r} needs labels, not soft targets; use recipe logistic, loglinear or maxent"
            )
        if self.loss != "labels" and data.soft is None and not data.single:
            raise ConfigError(f"several labels per document need loss='labels', got {self.loss!r}")

    def start(self, F: int, Y: int) -> "SgdRun":
        """A training from weights of zero, epoch by epoch in the core."""
        return SgdRun(self, F, Y)

    def order(self, problem: Problem, epoch: int) -> NDArray[np.int64]:
        """The documents of an epoch, counted from 0, every batch repeated ``iterations`` times."""
        order = np.asarray(_core.permutation(len(problem.examples), problem.seed + epoch), dtype=np.int64)
        if self.iterations == 1:
            return order
        starts = range(0, len(order), self.batch)
        return np.concatenate([np.tile(order[i : i + self.batch], self.iterations) for i in starts])

    def rates(self, problem: Problem, epoch: int, steps: int, met: int) -> NDArray[np.float32]:
        """The rate of each step of an epoch, given the number of documents before it."""
        size = self.batch if self.minibatch else 1
        if self.schedule == "random":
            return (self.rate * _core.uniforms(steps, problem.seed + epoch)).astype(np.float32)
        if self.schedule == "decaying":
            documents = met + size * np.arange(steps)
            return (self.rate / (1.0 + self.decay * documents / len(problem.examples))).astype(np.float32)
        return np.full(steps, self.rate, dtype=np.float32)

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols; every weight is penalised at every step."""
        data, q = with_bias(problem, self.bias), problem.examples.targets().astype(np.float64)
        examples, c = list(data), importance(problem)
        scorer = problem.scorer.with_weights(problem.scorer.w)
        w = problem.scorer.w.astype(np.float64)
        squares, total, steps, met = np.zeros_like(w), np.zeros_like(w), 0, 0

        def made() -> ChoiceWeights:
            mean = total / steps if self.average else w
            return weights_of_scorer(problem.scorer.with_weights(mean), LINKS[self.loss], self.bias or 0.0)

        for epoch in range(self.epochs):
            order, size = self.order(problem, epoch).tolist(), self.batch if self.minibatch else 1
            e = self.rates(problem, epoch, -(-len(order) // size), met)
            loss = 0.0
            for i, start in enumerate(range(0, len(order), size)):
                here = order[start : start + size]
                step = problem.scorer.with_weights(np.zeros_like(w))
                for n in here:
                    value, d = direction(self.loss, scorer.potentials(examples[n][0])["choice"], q[n])
                    loss += float(c[n]) * value
                    step.update(examples[n][0], Parts(choice=d), float(c[n]) / len(here))
                w = self._stepped(w, step.w.astype(np.float64), float(e[i]), squares)
                scorer = problem.scorer.with_weights(w)
                total += w
                steps += 1
            met += len(order)
            yield Pass(epoch + 1, {"loss": loss / max(len(order), 1)}, made, self.epochs)

    def _stepped(
        self, w: NDArray[np.float64], g: NDArray[np.float64], e: float, squares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if not self.adaptive:
            return _shrunk((1 - e * self.l2) * w, e * self.l1) + e * g
        h = np.sqrt(squares + SMALL)
        x = e * self.l2 / h
        w = _shrunk(
            np.exp(-x) * w, e * self.l1 / h * np.where(x > 0, -np.expm1(-x) / np.maximum(x, 1e-300), 1.0)
        )
        squares += g**2
        return w + e * g / np.sqrt(squares + SMALL)


@dataclass(frozen=True, kw_only=True)
class ChoicePerceptron(Learner):
    """The averaged multiclass perceptron: on a mistake w_y += x, w_y_hat -= x."""

    epochs: int = knob(5, "passes over the documents", low=1)
    average: bool = knob(True, "return the mean of the weights over all steps")
    bias: float | None = knob(
        None, "value of the intercept feature; by default 1 for numbers, 0 for text", low=0.0
    )

    def check(self, problem: Problem) -> None:
        """Refuse documents with several labels or none."""
        self.as_sgd().check(problem)

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols."""
        return self.as_sgd().generic(problem)

    def start(self, F: int, Y: int) -> "SgdRun":
        """A training from weights of zero, epoch by epoch in the core."""
        return self.as_sgd().start(F, Y)

    def as_sgd(self) -> ChoiceSgd:
        """The same steps as SGD: of length one, on mistakes only."""
        return ChoiceSgd(loss="perceptron", rate=1.0, **vars(self))


@dataclass(frozen=True, kw_only=True)
class ChoiceBatch(Learner):
    """min over w of  sum_n c_n loss_n(w) + l2 |w|^2 / 2 + l1 |w|_1.

    The loss is multinomial logistic, or one binary logistic loss per label if documents have several labels. Both
    penalties together are the elastic net.
    """

    l1: float = knob(0.0, "L1 penalty: makes most weights zero", low=0.0)
    l2: float = knob(0.1, "L2 penalty", low=0.0)
    each: bool = knob(
        False, "one binary logistic regression per label, as needed for several labels per document"
    )
    steps: int = knob(200, "maximum number of steps", low=1)
    tolerance: float = knob(
        1e-4, "stop when two successive steps lower the objective by a smaller fraction", low=0.0
    )
    bias: float | None = knob(
        None, "value of the intercept feature; by default 1 for numbers, 0 for text", low=0.0
    )

    @property
    def link(self) -> str:
        """The link from scores to probabilities."""
        return "sigmoid" if self.each else "softmax"

    def check(self, problem: Problem) -> None:
        """Refuse several labels per document unless each label has its own regression."""
        if not self.each and problem.examples.soft is None and not problem.examples.single:
            raise ConfigError("documents with several labels need ChoiceBatch.each = True")

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """L-BFGS over the protocols: no L1 penalty."""
        if self.l1 > 0:
            raise ConfigError(
                "ChoiceBatch.l1 needs OWL-QN, which only the core implements, for documents; set l1 to 0"
            )
        data, q, c = with_bias(problem, self.bias), problem.examples.targets(), importance(problem)
        examples, loss = list(data), "labels" if self.each else "logistic"

        def value(w: NDArray[np.float32], g: NDArray[np.float32]) -> float:
            scorer, gradient = problem.scorer.with_weights(w), problem.scorer.with_weights(self.l2 * w)
            total = self.l2 / 2 * float(np.vdot(w, w))
            for n, (x, _) in enumerate(examples):
                found, d = direction(loss, scorer.potentials(x)["choice"], q[n].astype(np.float64))
                total += float(c[n]) * found
                gradient.update(x, Parts(choice=d), -float(c[n]))
            g[:] = gradient.w
            return total

        minimiser = _core.Minimiser(value, problem.scorer.w.astype(np.float32))

        def made() -> ChoiceWeights:
            w = np.empty_like(problem.scorer.w)
            minimiser.x(w)
            return weights_of_scorer(problem.scorer.with_weights(w), self.link, self.bias or 0.0)

        return self.steps_of(minimiser, minimiser.iterate, made)

    def steps_of(
        self, minimiser: Any, step: Callable[[], bool], made: Callable[[], ChoiceWeights]
    ) -> Iterator[Pass]:
        """Steps until two in a row lower the objective by a fraction below the tolerance."""
        before, small = minimiser.value, 0
        for number in range(1, self.steps + 1):
            moved = step()
            fall = (before - minimiser.value) / max(abs(minimiser.value), 1e-300)
            before = minimiser.value
            small = small + 1 if fall < self.tolerance else 0
            yield Pass(number, {"objective": before}, made, self.steps)
            if not moved or small == 2:
                return


class SgdRun:
    """Training in the core that keeps its state between calls, as ``partial_fit`` needs."""

    def __init__(self, config: ChoiceSgd, F: int, Y: int) -> None:
        self.config, self.F, self.Y = config, F, Y
        self._native = _core.ChoiceSgd(
            F, Y, LOSSES[config.loss], config.adaptive, config.average, config.l1, config.l2
        )
        self._w = np.zeros((F + 1, padded(Y)), dtype=np.float32)
        self._documents = 0
        self._epochs = 0

    def begin(self, w: NDArray[np.float32]) -> None:
        """Start from these weights; the last row holds the intercepts."""
        self._w[:] = w
        if self.config.bias:
            self._w[-1] /= self.config.bias

    def resume(self, w: NDArray[np.float32], epochs: int) -> None:
        """Start from raw weights, as after this many epochs; the mean counts from here."""
        self._w[:] = w
        self._epochs = epochs

    def raw(self, average: bool) -> NDArray[np.float32]:
        """The weights or their mean so far; the last row belongs to the bias feature."""
        w = self._w.copy()
        if average:
            self._native.average(self._w, w)
        return w

    def epoch(self, problem: Problem, threads: int) -> float:
        """One shuffled pass over a problem; returns the mean loss."""
        config = self.config
        config.check(problem)
        order = config.order(problem, self._epochs)
        size = config.batch if config.minibatch else 1
        rates = config.rates(problem, self._epochs, -(-len(order) // size), self._documents)
        data = with_bias(problem, config.bias)
        loss = self._native.run(
            data.rows(), data.targets(), importance(problem), order, size, rates, threads, self._w
        )
        # After every pass, so that reading the weights between passes does not change the result.
        self._native.settle(self._w)
        self._documents += len(order)
        self._epochs += 1
        return loss / max(len(order), 1)

    def weights(self) -> ChoiceWeights:
        """The current weights, or their mean so far."""
        w = self.raw(self.config.average)
        return with_intercepts(ChoiceWeights(w, LINKS[self.config.loss]), self.config.bias or 0.0)


def direction(
    kind: str, s: NDArray[np.floating], q: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The loss of one document, and minus its gradient over the scores."""
    s = s.astype(np.float64)
    if kind == "logistic":
        top = s.max()
        p = np.exp(s - top)
        return float(np.log(p.sum()) + top - q @ s), q - p / p.sum()
    if kind == "labels":
        return float((np.logaddexp(0, s) - q * s).sum()), q - 1 / (1 + np.exp(-s))
    gold, cost = int(q.argmax()), 1.0 if kind == "hinge" else 0.0
    others = np.where(np.arange(len(s)) == gold, -np.inf, s)
    worst = int(others.argmax())
    loss, d = others[worst] + cost - s[gold], np.zeros(len(s))
    if loss > 0 or (cost == 0 and loss == 0):
        d[gold], d[worst] = 1, -1
    return max(float(loss), 0.0), d


def _shrunk(a: NDArray[np.float64], by: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return np.sign(a) * np.maximum(np.abs(a) - by, 0)
