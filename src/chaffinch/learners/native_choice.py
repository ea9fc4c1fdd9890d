"""Document classifiers in the core: dual coordinate descent, stochastic gradients, L-BFGS and OWL-QN."""

import math
from collections.abc import Callable, Iterator, Mapping
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
from chaffinch.learners.dual import LOSSES, DualCrammerSinger, DualLearner, DualLogistic, GapWatch
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
    """Documents as rows of features, from weights of zero."""
    return isinstance(problem.examples, DocumentExamples)


def rest_passes(learner: Any, problem: Problem, threads: int, _state: State | None) -> Iterator[Pass]:
    """Each label against the rest."""
    data, loss = with_bias(problem, learner.bias), learner.margin_loss()
    C, squared = penalties(problem, learner.C), loss == "squared"
    solver = _core.DualRest(data.rows(), data.label_ptr, data.labels, C, data.Y, LOSSES[loss], not squared)
    violation = np.zeros(data.Y, dtype=np.float32)

    def run(order: Order) -> Violation:
        gap = solver.run(order, threads, violation)
        return Violation(float(violation.max()), gap)

    return _descend(learner, problem, threads, solver, run, resting=True)


def crammer_singer_passes(
    learner: DualCrammerSinger, problem: Problem, threads: int, _state: State | None
) -> Iterator[Pass]:
    """All labels at once."""
    data = with_bias(problem, learner.bias)
    C = penalties(problem, learner.C)
    solver = _core.DualCrammerSinger(data.rows(), data.labels, C, data.Y, LOSSES[learner.loss], True)
    return _descend(
        learner, problem, threads, solver, lambda order: Violation(*solver.run(order)), resting=True
    )


def logistic_passes(
    learner: DualLogistic, problem: Problem, threads: int, _state: State | None
) -> Iterator[Pass]:
    """Multinomial logistic regression."""
    data = with_bias(problem, learner.bias)
    C = penalties(problem, learner.C)
    solver = _core.DualLogistic(data.rows(), data.targets(), C)
    worst = float(C.sum()) * math.log(max(data.Y, 2))

    def run(order: Order) -> Violation:
        gap = solver.run(order)
        return Violation(gap / worst, gap)

    return _descend(learner, problem, threads, solver, run, resting=False)


def _descend(
    learner: DualLearner,
    problem: Problem,
    threads: int,
    solver: Any,
    run: Callable[[Order], Violation],
    *,
    resting: bool,
) -> Iterator[Pass]:
    """Passes in random order until every violation is below the tolerance, or the gap is closed.

    resting: whether the solver shrinks (skips variables at their bounds); the last pass visits all variables, unless
    the gap is small enough. Evaluating the gap costs half a pass, so it is done when it should be closed.
    """
    N, most, bias, folds = (
        len(problem.examples),
        learner.most,
        learner.bias or 0.0,
        getattr(learner, "folds", 0),
    )
    late = _late(problem) if learner.late and most > 1 else np.zeros(0, dtype=np.int64)
    is_late = np.zeros(N, dtype=np.bool_)
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


def _late(problem: Problem) -> Order:
    """The documents that join late: a tenth; none if documents are few."""
    N = len(problem.examples)
    count = min(N // 10, MOST_LATE) if N >= 40 else 0
    return np.sort(np.asarray(_core.permutation(N, problem.seed), dtype=np.int64)[:count])


def sgd_passes(
    learner: ChoiceSgd | ChoicePerceptron, problem: Problem, threads: int, _state: State | None
) -> Iterator[Pass]:
    """Stochastic gradients."""
    data: DocumentExamples = problem.examples
    run = learner.started(data.F, data.Y)
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
