"""Linear classifiers of documents in blocks, for training sets that are not in memory: SGD and dual ascent."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.knobs import knob
from chaffinch.learners.block_sgd import ExampleBlocks, Pace, ahead, mixtures, ranges
from chaffinch.learners.choice import ChoiceWeights, padded
from chaffinch.learners.choice_gradient import LINKS, LOSSES, direction
from chaffinch.learners.dual import LOSSES as MARGIN_LOSSES
from chaffinch.learners.dual import CoordinateDual, DualCrammerSinger, DualLogistic
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem, State


@dataclass(frozen=True, kw_only=True)
class BlockChoice(Learner):
    """A loss over all labels at once with an L2 penalty, by SGD with a rate that falls linearly to zero.

        w := (1 - eta l2) w - eta d_n x_n,     eta = rate (1 - t / (epochs N))

    d_n is the gradient of the loss over the scores: p - gold_n (logistic), of the largest margin violation (hinge), or
    y_hat_n - gold_n (perceptron).

    Weights are brought up to date with the penalty after each mixture of blocks (see :mod:`block_sgd`).

    sizes: int64 [blocks], the sizes of blocks of documents in memory; None: the examples are :class:`ExampleBlocks`
    """

    loss: str = knob("logistic", "loss of a document", choices=("logistic", "hinge", "perceptron"))
    l2: float = knob(1e-6, "L2 penalty of a document: l2 |w|^2 / 2", low=0.0)
    rate: float = knob(1.0, "initial step size", low=0.0)
    epochs: int = knob(3, "passes over the training data", low=1)
    mixed: int = knob(8, "blocks in memory at a time; their documents are shuffled together", low=1)
    falling: bool = knob(True, "whether the step size falls; otherwise all steps have the first one")
    average: bool = knob(False, "return the mean of the weights over all steps")
    F: int = 0
    Y: int = 0
    sizes: Any = None

    def passes(self, problem: Problem, threads: int = 0, state: State | None = None) -> Iterator[Pass]:
        """Train pass by pass; a checkpoint may be written after any mixture."""
        blocks = isinstance(problem.examples, ExampleBlocks)
        sizes = problem.examples.sizes if blocks else np.asarray(self.sizes)
        starts, N = np.cumsum(sizes) - sizes, int(sizes.sum())
        w = np.zeros((self.F + 1, padded(self.Y)), np.float32)
        mean = np.zeros_like(w) if self.average else None  # of the weights after each step
        first, done, loss, pace = 1, 0, 0.0, Pace("documents")
        if state is not None:
            w[:] = state["w"]
            if mean is not None:
                mean[:] = state["mean"]
            first, done, loss = int(state["place"][0]), int(state["place"][1]), float(state["loss"][0])

        def kept(epoch: int, done: int, loss: float) -> State:
            also = {} if mean is None else {"mean": mean}
            return {"w": w, "place": np.array([epoch, done]), "loss": np.array([loss]), **also}

        def finished(best: ChoiceWeights | None) -> tuple[ChoiceWeights, dict[str, float]]:
            return best or ChoiceWeights(w if mean is None else mean, LINKS[self.loss]), {}

        for epoch in range(first, self.epochs + 1):
            order = mixtures(sizes, self.mixed, problem.seed, epoch)
            met = (epoch - 1) * N + sum(len(m.order) for m in order[:done])
            made: Iterator[Any] = ahead(problem, order[done:], threads) if blocks else iter(order[done:])
            for number, (mixture, here) in enumerate(zip(order[done:], made, strict=True), done + 1):
                which = mixture.order
                if not blocks:
                    which = ranges(starts[mixture.blocks], sizes[mixture.blocks])[which]
                data: DocumentExamples = here if blocks else problem.examples
                loss += self._steps(data, which, met, N, w, mean)
                met += len(which)
                rate = pace(len(which))
                if number < len(order):
                    state_here = partial(kept, epoch, number, loss)
                    yield Pass(epoch, rate, None, self.epochs, state=state_here, part=(number, len(order)))
            each, done, loss = loss / max(N, 1), 0, 0.0
            yield Pass(
                epoch,
                {"loss": each},
                lambda: ChoiceWeights((w if mean is None else mean).copy(), LINKS[self.loss]),
                self.epochs,
                state=partial(kept, epoch + 1, 0, 0.0),
                finish=finished,
            )
        if first > self.epochs:
            yield Pass(
                self.epochs,
                {},
                lambda: ChoiceWeights((w if mean is None else mean).copy(), LINKS[self.loss]),
                state=dict,
                finish=finished,
            )

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The plain loop, for documents in memory: every weight is penalised at every step."""
        data: DocumentExamples = problem.examples
        sizes = np.asarray(self.sizes)
        starts, N, t = np.cumsum(sizes) - sizes, len(data), 0
        values, w = data.weights().astype(np.float64), np.zeros((self.F + 1, self.Y))
        total = np.zeros_like(w)
        for epoch in range(1, self.epochs + 1):
            loss = 0.0
            for mixture in mixtures(sizes, self.mixed, problem.seed, epoch):
                which = ranges(starts[mixture.blocks], sizes[mixture.blocks])[mixture.order]
                for n in which.tolist():
                    inside = slice(int(data.ptr[n]), int(data.ptr[n + 1]))
                    x, ids = values[inside], data.ids[inside]
                    q = np.zeros(self.Y)
                    q[data.labels[n]] = 1.0
                    one, d = direction(self.loss, x @ w[ids], q)
                    loss += one
                    eta = self.rate * (1 - t / (self.epochs * N) if self.falling else 1)
                    w *= 1 - eta * self.l2
                    w[ids] += eta * x[:, None] * d
                    total += w
                    t += 1
            table = np.zeros((self.F + 1, padded(self.Y)), np.float32)
            table[:, : self.Y] = total / max(t, 1) if self.average else w
            yield Pass(
                epoch, {"loss": loss / N}, partial(ChoiceWeights, table, LINKS[self.loss]), self.epochs
            )

    def _steps(
        self,
        data: DocumentExamples,
        order: NDArray[np.int64],
        met: int,
        N: int,
        w: NDArray[np.float32],
        mean: NDArray[np.float32] | None,
    ) -> float:
        """A step for each document in this order; returns the sum of their losses. mean: of the weights, updated."""
        there = (met + np.arange(len(order))) / (self.epochs * N)
        eta = self.rate * (1 - there if self.falling else np.ones(len(order)))
        native = _core.ChoiceSgd(self.F, self.Y, LOSSES[self.loss], False, mean is not None, 0.0, self.l2)
        one = np.ones(len(data), np.float32)
        rates = eta.astype(np.float32)
        loss: float = native.run(data.rows(), data.targets(), one, order, 1, rates, 1, w)
        native.settle(w)
        if mean is not None and len(order):
            here = np.empty_like(w)
            native.average(w, here)
            here -= mean
            here *= np.float32(len(order) / (met + len(order)))
            mean += here
        return loss


@dataclass(frozen=True, kw_only=True)
class BlockDual(Learner):
    """The steps of a dual learner, in an order that needs a few blocks of documents in memory at a time.

    Weights and the dual variables of all documents stay in memory: no step size is needed, and a few passes come near
    the optimum. The stopping rule is the same as in memory: no optimality condition is violated by more than the
    tolerance, or for the likelihood the gap is small. There is no shrinking.

    dual:  :class:`DualRidge`, :class:`DualCrammerSinger` or :class:`DualLogistic`, with C and the number of passes
    sizes: int64 [blocks], the sizes of blocks of documents in memory; None: the examples are :class:`ExampleBlocks`
    """

    dual: CoordinateDual
    mixed: int = knob(8, "blocks in memory at a time; their documents are shuffled together", low=1)
    F: int = 0
    Y: int = 0
    sizes: Any = None

    def passes(self, problem: Problem, threads: int = 0, state: State | None = None) -> Iterator[Pass]:
        """Train pass by pass; a checkpoint may be written after any mixture."""
        blocks, most = isinstance(problem.examples, ExampleBlocks), self.dual.most
        sizes = problem.examples.sizes if blocks else np.asarray(self.sizes)
        starts, N = np.cumsum(sizes) - sizes, int(sizes.sum())
        w = np.zeros((self.F + 1, padded(self.Y)), np.float32)
        duals = np.zeros((N, padded(self.Y)), np.float32)
        first, done, missed, pace = 1, 0, 0.0, Pace("documents")
        summed = isinstance(self.dual, DualLogistic)  # gaps add up; of violations the largest counts
        if state is not None:
            w[:], duals[:] = state["w"], state["duals"]
            first, done, missed = int(state["place"][0]), int(state["place"][1]), float(state["missed"][0])
        whole = None
        if not blocks:
            whole = self._solver(problem.examples, w)
            if state is not None and (first, done) != (1, 0):
                whole.resume(duals)

        def kept(epoch: int, done: int, missed: float) -> State:
            here = duals if whole is None else whole.alpha()
            return {"w": w, "duals": here, "place": np.array([epoch, done]), "missed": np.array([missed])}

        def finished(best: ChoiceWeights | None) -> tuple[ChoiceWeights, dict[str, float]]:
            return best or ChoiceWeights(w, self.dual.link), {}

        def model() -> ChoiceWeights:
            return ChoiceWeights(w.copy(), self.dual.link)

        for epoch in range(first, most + 1):
            order = mixtures(sizes, self.mixed, problem.seed, epoch)
            made: Iterator[Any] = ahead(problem, order[done:], threads) if blocks else iter(order[done:])
            for number, (mixture, here) in enumerate(zip(order[done:], made, strict=True), done + 1):
                which = ranges(starts[mixture.blocks], sizes[mixture.blocks])
                if whole is not None:
                    more = self._run(whole, which[mixture.order], threads)
                else:
                    solver = self._solver(here, w)
                    if epoch > 1:
                        solver.resume(duals[which])
                    more = self._run(solver, mixture.order, threads)
                    duals[which] = solver.alpha()
                    del solver, here
                missed = missed + more if summed else max(missed, more)
                rate = pace(len(which))
                if number < len(order):
                    state_here = partial(kept, epoch, number, missed)
                    yield Pass(epoch, rate, None, most, state=state_here, part=(number, len(order)))
            left = missed / (N * math.log(max(self.Y, 2))) if summed else missed
            after = epoch + 1 if left > self.dual.tolerance else most + 1
            done, missed = 0, 0.0
            state_after = partial(kept, after, 0, 0.0)
            yield Pass(epoch, {"missed": left}, model, most, state=state_after, finish=finished)
            if after > most:
                return
        if first > most:
            yield Pass(most, {}, model, state=dict, finish=finished)

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The plain loop, for documents in memory."""
        data: DocumentExamples = problem.examples
        sizes = np.asarray(self.sizes)
        starts, values = np.cumsum(sizes) - sizes, data.weights().astype(np.float64)
        w, alpha = np.zeros((self.F + 1, self.Y)), np.zeros((len(data), self.Y))
        for epoch in range(1, self.dual.most + 1):
            missed = 0.0
            for mixture in mixtures(sizes, self.mixed, problem.seed, epoch):
                which = ranges(starts[mixture.blocks], sizes[mixture.blocks])[mixture.order]
                for n in which.tolist():
                    inside = slice(int(data.ptr[n]), int(data.ptr[n + 1]))
                    x, ids = values[inside], data.ids[inside]
                    then, miss = self.dual.solve(data, n, x @ w[ids], alpha[n], float(x @ x), self.dual.C)
                    w[ids] += x[:, None] * self.dual.as_weights(data, n, then - alpha[n])
                    alpha[n], missed = then, max(missed, miss)
            table = np.zeros((self.F + 1, padded(self.Y)), np.float32)
            table[:, : self.Y] = w
            yield Pass(
                epoch, {"missed": missed}, partial(ChoiceWeights, table, self.dual.link), self.dual.most
            )

    def _solver(self, data: DocumentExamples, w: NDArray[np.float32]) -> Any:
        """The core's solver of some documents, which updates these weights."""
        C, dual = np.full(len(data), self.dual.C, np.float32), self.dual
        if isinstance(dual, DualLogistic):
            return _core.DualLogistic(data.rows(), data.targets(), C, w=w)
        if isinstance(dual, DualCrammerSinger):
            return _core.DualCrammerSinger(
                data.rows(), data.labels, C, self.Y, MARGIN_LOSSES[dual.loss], False, w
            )
        loss = MARGIN_LOSSES[dual.margin_loss()]  # type: ignore[attr-defined]  # one label against the rest
        return _core.DualRest(data.rows(), data.label_ptr, data.labels, C, self.Y, loss, False, w)

    def _run(self, solver: Any, order: NDArray[np.int64], threads: int) -> float:
        """A step for each document in this order; returns the largest violation, or the gap over C."""
        if isinstance(self.dual, DualLogistic):
            return float(solver.run(order)) / self.dual.C
        if isinstance(self.dual, DualCrammerSinger):
            return float(solver.run(order)[0])
        violation = np.zeros(self.Y, np.float32)
        solver.run(order, threads, violation)
        return float(violation.max(initial=0.0))
