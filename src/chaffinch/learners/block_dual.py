"""Linear classifiers of documents that come in blocks, by dual coordinate ascent."""

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
from chaffinch.learners.dual import LOSSES, CoordinateDual, DualCrammerSinger, DualLogistic
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem, State


@dataclass(frozen=True, kw_only=True)
class BlockDual(Learner):
    """The steps of a dual learner, in an order that needs a few blocks of documents in memory at a time.

    Weights and the dual variables of all documents stay in memory: no step size is needed, and a few passes come near
    the optimum. Training stops as it does in memory: when no condition of optimality is violated by more than the
    tolerance, or for the likelihood when the gap is small. No variable is shrunk.

    dual:  :class:`DualRidge`, :class:`DualCrammerSinger` or :class:`DualLogistic`, with C and the number of passes
    sizes: int64 [blocks], of documents that are in memory as a whole; None: the examples are :class:`ExampleBlocks`
    """

    dual: CoordinateDual
    mixed: int = knob(8, "blocks that are in memory together, their documents shuffled", low=1)
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
        summed = isinstance(self.dual, DualLogistic)  # gaps add up, of violations the largest counts
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
        """The core's solver of some documents, which moves these weights."""
        C, dual = np.full(len(data), self.dual.C, np.float32), self.dual
        if isinstance(dual, DualLogistic):
            return _core.DualLogistic(data.rows(), data.targets(), C, w=w)
        if isinstance(dual, DualCrammerSinger):
            return _core.DualCrammerSinger(data.rows(), data.labels, C, self.Y, LOSSES[dual.loss], False, w)
        loss = LOSSES[dual.margin_loss()]  # type: ignore[attr-defined]  # one label against the rest
        return _core.DualRest(data.rows(), data.label_ptr, data.labels, C, self.Y, loss, False, w)

    def _run(self, solver: Any, order: NDArray[np.int64], threads: int) -> float:
        """A step for each document in this order; the largest violation, or for the likelihood the gap divided by C."""
        if isinstance(self.dual, DualLogistic):
            return float(solver.run(order)) / self.dual.C
        if isinstance(self.dual, DualCrammerSinger):
            return float(solver.run(order)[0])
        violation = np.zeros(self.Y, np.float32)
        solver.run(order, threads, violation)
        return float(violation.max(initial=0.0))
