"""Stochastic gradient descent for document classifiers: the log-linear model, margins and the perceptron."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.choice import ChoiceProblem, ChoiceWeights, with_intercepts
from chaffinch.progress import Progress

LOSSES = {
    "logistic": _core.ChoiceLoss.softmax,
    "labels": _core.ChoiceLoss.sigmoid,
    "hinge": _core.ChoiceLoss.hinge,
    "perceptron": _core.ChoiceLoss.perceptron,
}
LINKS = {"logistic": "softmax", "labels": "sigmoid", "hinge": "margin", "perceptron": "margin"}
SCHEDULES = ("fixed", "decaying", "random")


@dataclass(frozen=True, kw_only=True)
class ChoiceSgd:
    """Steps along the gradient of one document, or of the mean of a mini-batch.

        w := shrunk((1 - e l2) w, e l1) + e g,   g = c_n (q_n - p_n) x_n for the logistic loss

    The rate e: fixed; decaying, e / (1 + decay t / N) after t documents; or drawn evenly from [0, e) per step.
    ``minibatch`` false: the weights move after every document, and a batch is only what ``iterations`` repeats.
    """

    loss: str = knob(
        "logistic",
        "logistic over all labels, each label by itself, margin, or perceptron",
        choices=tuple(LOSSES),
    )
    epochs: int = knob(10, "passes over the documents", low=1)
    rate: float = knob(0.01, "learning rate, or the largest of random ones", low=0.0)
    schedule: str = knob("fixed", "how the rate goes on", choices=SCHEDULES)
    decay: float = knob(1.0, "decaying: the rate is e / (1 + decay * epochs so far)", low=0.0)
    batch: int = knob(500, "documents of a batch", low=1)
    iterations: int = knob(1, "times that a batch is gone through before the next", low=1, high=1000)
    minibatch: bool = knob(False, "one step per batch, along its mean gradient")
    adaptive: bool = knob(False, "AdaGrad: each weight's rate by its past gradients")
    average: bool = knob(False, "return the mean of the weights over all steps")
    l1: float = knob(0.0, "pull of every weight towards zero, by a constant", low=0.0)
    l2: float = knob(0.0, "pull of every weight towards zero, by its size", low=0.0)
    bias: float | None = knob(
        None, "value of a feature that all documents have; else 1 for numbers, 0 for text", low=0.0
    )

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights after all passes."""
        run = self.started(problem.F, problem.Y)
        history = []
        for epoch in range(self.epochs):
            loss = run.epoch(problem)
            history.append(Progress("training", epoch + 1, self.epochs, {"loss": loss}))
            if not problem.on_epoch(replace(history[-1], model=run.weights)):
                break
        made = run.weights()
        made.history = history
        return made

    def started(self, F: int, Y: int) -> "SgdRun":
        """Weights of zero, to be trained epoch by epoch."""
        return SgdRun(self, F, Y)


@dataclass(frozen=True, kw_only=True)
class ChoicePerceptron:
    """The multiclass perceptron: on a mistake w_y += x, w_y_hat -= x; the mean of w over all steps is kept."""

    epochs: int = knob(5, "passes over the documents", low=1)
    average: bool = knob(True, "return the mean of the weights over all steps")
    bias: float | None = knob(
        None, "value of a feature that all documents have; else 1 for numbers, 0 for text", low=0.0
    )

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights after all passes."""
        return self._sgd().fit(problem)

    def started(self, F: int, Y: int) -> "SgdRun":
        """Weights of zero, to be trained epoch by epoch."""
        return self._sgd().started(F, Y)

    def _sgd(self) -> ChoiceSgd:
        return ChoiceSgd(loss="perceptron", rate=1.0, **vars(self))


class SgdRun:
    """Weights in training, which keep their state between calls: what ``partial_fit`` continues."""

    def __init__(self, config: ChoiceSgd, F: int, Y: int) -> None:
        self.config, self.F, self.Y = config, F, Y
        self._native = _core.ChoiceSgd(
            F, Y, LOSSES[config.loss], config.adaptive, config.average, config.l1, config.l2
        )
        self._w = np.zeros((F + 1, -(-Y // 8) * 8), dtype=np.float32)
        self._documents = 0
        self._epochs = 0

    def begin(self, w: NDArray[np.float32]) -> None:
        """Start from these weights, whose last row are intercepts."""
        self._w[:] = w
        if self.config.bias:
            self._w[-1] /= self.config.bias

    def epoch(self, problem: ChoiceProblem) -> float:
        """One pass over a problem, shuffled; the mean loss met on the way."""
        config = self.config
        if config.loss != "labels" and problem.soft is None and not problem.single:
            raise ConfigError(f"several labels per document need loss='labels', got {config.loss!r}")
        order = np.asarray(_core.permutation(problem.N, problem.seed + self._epochs), dtype=np.int64)
        order = _repeated(order, config.batch, config.iterations)
        size = config.batch if config.minibatch else 1
        steps = -(-len(order) // size)
        rates = self._rates(steps, size, problem)
        loss = self._native.run(
            problem.rows(config.bias or 0.0),
            problem.targets(),
            problem.importance,
            order,
            size,
            rates,
            problem.threads,
            self._w,
        )
        # Here, so that weights looked at between passes are the same as weights that are not.
        self._native.settle(self._w)
        self._documents += len(order)
        self._epochs += 1
        return loss / max(len(order), 1)

    def weights(self) -> ChoiceWeights:
        """The weights as they stand, or their mean so far."""
        w = self._w.copy()
        if self.config.average:
            self._native.average(self._w, w)
        return with_intercepts(ChoiceWeights(w, LINKS[self.config.loss]), self.config.bias or 0.0)

    def _rates(self, steps: int, size: int, problem: ChoiceProblem) -> NDArray[np.float32]:
        e = self.config.rate
        if self.config.schedule == "random":
            return (e * _core.uniforms(steps, problem.seed + self._epochs)).astype(np.float32)
        if self.config.schedule == "decaying":
            documents = self._documents + size * np.arange(steps)
            return (e / (1.0 + self.config.decay * documents / problem.N)).astype(np.float32)
        return np.full(steps, e, dtype=np.float32)


def _repeated(order: NDArray[np.int64], batch: int, iterations: int) -> NDArray[np.int64]:
    """The order with every batch gone through several times."""
    if iterations == 1:
        return order
    parts = [np.tile(order[i : i + batch], iterations) for i in range(0, len(order), batch)]
    return np.concatenate(parts) if parts else order
