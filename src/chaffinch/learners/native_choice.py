"""Document classifiers in the core: dual coordinate descent, stochastic gradients, L-BFGS and OWL-QN."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.choice import (
    ChoiceWeights,
    importance,
    out_of_fold_scores,
    padded,
    penalties,
    with_bias,
    with_intercepts,
)
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoicePerceptron, ChoiceSgd
from chaffinch.learners.dual import (
    LOSSES,
    DualCrammerSinger,
    DualLearner,
    DualLogistic,
    DualRest,
    DualRidge,
    GapWatch,
)
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.problem import Pass, Problem, State

MOST_LATE = 1000
LONGEST_REST = 16  # passes after which shrunk variables are checked again

Order = NDArray[np.int64]


class Violation(NamedTuple):
    """The result of a pass: the largest violation of an optimality condition, and the gap summed over examples."""

    missed: float
    gap: float


def fits_documents(_learner: Any, problem: Problem) -> bool:
    """Whether the examples are documents as rows of features."""
    return isinstance(problem.examples, DocumentExamples)


def rest_passes(learner: Any, problem: Problem, threads: int, _state: State | None) -> Iterator[Pass]:
    """Each label against the rest."""
    return _descend(learner, problem, threads, _rest(learner, problem, threads))


def crammer_singer_passes(
    learner: DualCrammerSinger, problem: Problem, threads: int, _state: State | None
) -> Iterator[Pass]:
    """All labels at once."""
    return _descend(learner, problem, threads, _crammer_singer(learner, problem, threads))


def logistic_passes(
    learner: DualLogistic, problem: Problem, threads: int, _state: State | None
) -> Iterator[Pass]:
    """Multinomial logistic regression."""
    return _descend(learner, problem, threads, _logistic(learner, problem, threads))


@dataclass(frozen=True)
class _Dual:
    """A solver of all documents, and a pass over some of them in an order.

    run_on:  makes the pass for a training on these documents; None: on all
    resting: whether the solver shrinks (skips variables at their bounds)
    """

    solver: Any
    run_on: Callable[[Order | None], Callable[[Order], Violation]]
    resting: bool


def _rest(learner: Any, problem: Problem, threads: int) -> _Dual:
    data, loss = with_bias(problem, learner.bias), learner.margin_loss()
    C, squared = penalties(problem, learner.C), loss == "squared"
    solver = _core.DualRest(data.rows(), data.label_ptr, data.labels, C, data.Y, LOSSES[loss], not squared)
    violation = np.zeros(data.Y, dtype=np.float32)

    def run(order: Order) -> Violation:
        gap = solver.run(order, threads, violation)
        return Violation(float(violation.max()), gap)

    return _Dual(solver, lambda _which: run, resting=True)


def _crammer_singer(learner: DualCrammerSinger, problem: Problem, _threads: int) -> _Dual:
    data = with_bias(problem, learner.bias)
    C = penalties(problem, learner.C)
    solver = _core.DualCrammerSinger(data.rows(), data.labels, C, data.Y, LOSSES[learner.loss], True)
    return _Dual(solver, lambda _which: lambda order: Violation(*solver.run(order)), resting=True)


def _logistic(learner: DualLogistic, problem: Problem, _threads: int) -> _Dual:
    data = with_bias(problem, learner.bias)
    C = penalties(problem, learner.C)
    solver = _core.DualLogistic(data.rows(), data.targets(), C)

    def run_on(which: Order | None) -> Callable[[Order], Violation]:
        worst = float((C if which is None else C[which]).sum()) * math.log(max(data.Y, 2))

        def run(order: Order) -> Violation:
            gap = solver.run(order)
            return Violation(gap / worst, gap)

        return run

    return _Dual(solver, run_on, resting=False)


SOLVERS: Mapping[type, Callable[[Any, Problem, int], _Dual]] = {
    DualRest: _rest,
    DualRidge: _rest,
    DualCrammerSinger: _crammer_singer,
    DualLogistic: _logistic,
}


def weights_of_parts(
    learner: Any, problem: Problem, parts: Sequence[Order], threads: int
) -> Iterator[NDArray[np.float32]] | None:
    """The weights [F+1, S] of one training on each part of the documents, the same table overwritten each time.

    One solver prepares the rows for all parts and visits only the documents of a part: nothing is copied. None if the
    learner has no such solver, or needs the objective of a part to stop.
    """
    build = SOLVERS.get(type(learner))
    if build is None or learner.gap is not None or getattr(learner, "folds", 0) > 0:
        return None
    return _train_parts(learner, problem, parts, threads, build(learner, problem, threads))


def _train_parts(
    learner: Any, problem: Problem, parts: Sequence[Order], threads: int, dual: _Dual
) -> Iterator[NDArray[np.float32]]:
    data: DocumentExamples = problem.examples
    w = np.empty((data.F + 1, padded(data.Y)), dtype=np.float32)
    for k, which in enumerate(parts):
        if k:
            dual.solver.restart()
        for _ in _descend(learner, problem, threads, dual, which):
            pass
        dual.solver.weights(w)
        w[-1] *= learner.bias or 0.0
        yield w


def _descend(
    learner: DualLearner, problem: Problem, threads: int, dual: _Dual, which: Order | None = None
) -> Iterator[Pass]:
    """Passes in random order until every violation is below the tolerance, or the gap is closed.

    The last pass of a solver that shrinks visits all variables, unless the gap is small enough. Evaluating the gap
    costs half a pass, so it is evaluated only when it should be closed.

    which: the documents to visit; None: all
    """
    N = len(problem.examples) if which is None else len(which)
    most, bias, folds = learner.most, learner.bias or 0.0, getattr(learner, "folds", 0)
    solver, run, resting = dual.solver, dual.run_on(which), dual.resting
    late = _late(N, problem.seed) if learner.late and most > 1 else np.zeros(0, dtype=np.int64)
    late = late if which is None else which[late]
    is_late = np.zeros(len(problem.examples), dtype=np.bool_)
    is_late[late] = True
    waiting, tolerance = len(late) > 0, learner.tolerance
    joining = most // 2 if learner.gap is None else 2
    watch = GapWatch(learner.gap)
    fresh = True  # no variable was shrunk in this pass
    held: tuple[Order, NDArray[np.float32]] | None = None

    def finish(
        epoch: int, scores: Mapping[str, float], best: ChoiceWeights | None
    ) -> tuple[Any, dict[str, float]]:
        looked = {}
        if learner.certified and "gap" not in scores:
            looked = watch.seen(epoch, *solver.objective(threads))
        out = held
        if folds:
            made = best or _weights(problem, solver, bias, learner.link)
            out = out_of_fold_scores(problem, solver, run, folds, partial(_scores, problem, solver))
        else:
            made = best or with_intercepts(ChoiceWeights(solver.release(), learner.link), bias)
        if out is not None:
            made.held, made.held_scores = out
        return made, looked

    for epoch in range(1, most + 1):
        order = np.asarray(_core.permutation(N, problem.seed + epoch - 1), dtype=np.int64)
        order = order if which is None else which[order]
        met = run(np.ascontiguousarray(order[~is_late[order]]) if waiting else order)
        scores = {"missed": met.missed}
        if watch.due(epoch, met.gap) and not waiting:
            scores |= watch.seen(epoch, *solver.objective(threads))
        model = partial(_weights, problem, solver, bias, learner.link)
        yield Pass(epoch, scores, model, most, finish=partial(finish, epoch, scores))
        if watch.closed:
            return
        done = met.missed <= tolerance
        proven = done and (fresh or not resting)
        fresh = False
        if waiting and (epoch >= joining or done):
            held = late, _scores(problem, solver, late)
            waiting = False
        elif proven and learner.gap is None:
            return
        elif done or epoch % LONGEST_REST == 0:
            if done and learner.gap is not None:
                tolerance /= 4  # it was too large for this gap
            if resting:
                solver.wake()
                fresh = True


def _weights(problem: Problem, solver: Any, bias: float, link: str) -> ChoiceWeights:
    """The current weights."""
    data: DocumentExamples = problem.examples
    w = np.empty((data.F + 1, padded(data.Y)), dtype=np.float32)
    solver.weights(w)
    return with_intercepts(ChoiceWeights(w, link), bias)


def _scores(problem: Problem, solver: Any, which: Order) -> NDArray[np.float32]:
    data: DocumentExamples = problem.examples
    out = np.empty((len(which), padded(data.Y)), dtype=np.float32)
    solver.scores(which, out)
    return out[:, : data.Y]


def _late(N: int, seed: int) -> Order:
    """Which of N documents join late: a tenth; none if there are fewer than 40."""
    count = min(N // 10, MOST_LATE) if N >= 40 else 0
    return np.sort(np.asarray(_core.permutation(N, seed), dtype=np.int64)[:count])


def sgd_passes(
    learner: ChoiceSgd | ChoicePerceptron, problem: Problem, threads: int, _state: State | None
) -> Iterator[Pass]:
    """Stochastic gradients."""
    data: DocumentExamples = problem.examples
    run = learner.start(data.F, data.Y)
    for epoch in range(1, learner.epochs + 1):
        loss = run.epoch(problem, threads)
        yield Pass(epoch, {"loss": loss}, run.weights, learner.epochs)


def batch_passes(
    learner: ChoiceBatch, problem: Problem, threads: int, _state: State | None
) -> Iterator[Pass]:
    """L-BFGS, OWL-QN with an L1 penalty."""
    data = with_bias(problem, learner.bias)
    loss = _core.ChoiceLoss.sigmoid if learner.each else _core.ChoiceLoss.softmax
    batch = _core.ChoiceBatch(
        data.rows(), data.targets(), importance(problem), loss, learner.l1, learner.l2, threads=threads
    )

    def weights() -> ChoiceWeights:
        w = np.zeros((data.F + 1, padded(data.Y)), dtype=np.float32)
        batch.weights(w)
        return with_intercepts(ChoiceWeights(w, learner.link), learner.bias or 0.0)

    return learner.steps_of(batch, batch.run, weights)
