"""Document classifiers: the problem that their learners solve, and the weights that they return."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.problem import Problem
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Choice

LANES = 8
FOLD_PASSES = 2  # passes over the other folds after one fold was removed

Which = NDArray[np.int64]


def document_problem(examples: DocumentExamples, importance: NDArray[np.float32], seed: int = 0) -> Problem:
    """Documents as a problem. importance: the weight of each document, float32 [N], above 0."""
    scorer = Linear(Layout.choice(examples.F + 1, examples.Y))
    return Problem(Choice(examples.Y), scorer, examples, importance, seed=seed)


def with_bias(problem: Problem, bias: float | None) -> DocumentExamples:
    """The documents with a constant feature of this value added."""
    data: DocumentExamples = problem.examples
    return replace(data, bias=bias or 0.0)


@dataclass
class ChoiceWeights:
    """The result of a learner: w [F+1, S], the last row the intercepts.

    link:     how scores become probabilities: ``softmax``; ``sigmoid``, each label separately; ``margin``, with a scale
              to be fitted; ``counts``, a softmax of logs that must not be rounded
    counts:   the counts of naive Bayes: features by label, and documents by label
    held:     held-out documents, and ``held_scores`` [held, Y], their scores before they were trained on
    """

    w: NDArray[np.float32]
    link: str
    held: Which | None = None
    held_scores: NDArray[np.float32] | None = None
    counts: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


def padded(Y: int) -> int:
    """Y rounded up to whole vectors, the length of a row of weights in the core."""
    return -(-Y // LANES) * LANES


def with_intercepts(made: ChoiceWeights, bias: float) -> ChoiceWeights:
    """The weights with the bias feature's value multiplied in, so that its row holds the intercepts."""
    made.w[-1] *= bias
    return made


def weights_of_scorer(scorer: Linear, link: str, bias: float) -> ChoiceWeights:
    """The weights of a generic loop's scorer as a table."""
    block = scorer.layout["choice"]
    table = scorer.w[: block.size].reshape(block.rows, block.stride)
    return with_intercepts(ChoiceWeights(table.astype(np.float32), link), bias)


def penalties(problem: Problem, C: float) -> NDArray[np.float32]:
    """C_n: the penalty of each document."""
    weight = np.ones(len(problem.examples), np.float32) if problem.weight is None else problem.weight
    return (weight * np.float32(C)).astype(np.float32)


def importance(problem: Problem) -> NDArray[np.float32]:
    """The weight of each document."""
    return penalties(problem, 1.0)


# -- out of fold --------------------------------------------------------------------------------------------------


def dealt(y: NDArray[np.integer[Any]], folds: int) -> Which:
    """The fold of each example, int64 [N]: the examples of each label are dealt to the folds in turn.

    >>> dealt(np.array([0, 0, 1, 0, 1]), 2)
    array([0, 1, 1, 0, 0])
    """
    fold = np.empty(len(y), np.int64)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % folds
    return fold


def out_of_fold_scores(
    problem: Problem,
    solver: Any,
    run: Callable[[Which], Any],
    folds: int,
    scores: Callable[[Which], NDArray[np.float32]],
) -> tuple[Which, NDArray[np.float32]] | None:
    """Every document and its out-of-fold scores [N, Y]: the solver forgets its fold and makes a few more passes.

    The solver starts where training ended, so a fold costs a few passes instead of a training. It cannot be used
    afterwards. None if there are too few documents.
    """
    data: DocumentExamples = problem.examples
    N = len(data)
    first = np.full(N, -1, np.int64)  # documents without a label are a class of their own
    labelled = np.diff(data.label_ptr) > 0
    first[labelled] = data.labels[data.label_ptr[:-1][labelled]]
    folds = min(folds, int(np.bincount(first + 1).max(initial=0)))
    if folds < 2:
        return None
    fold = dealt(first, folds)
    out = np.zeros((N, data.Y), np.float32)
    for k in range(folds):
        held = np.flatnonzero(fold == k)
        solver.forget(held)
        for again in range(FOLD_PASSES):
            solver.wake()
            order = np.asarray(_core.permutation(N, problem.seed + 1 + k * FOLD_PASSES + again), np.int64)
            run(np.ascontiguousarray(order[fold[order] != k]))
        out[held] = scores(held)
    return np.arange(N), out
