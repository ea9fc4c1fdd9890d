"""Scores of examples by machines that had not met them: parts are held out in turn."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.choice import ChoiceProblem

PASSES = 2  # over the others, after a part is forgotten

Which = NDArray[np.int64]


def dealt(y: NDArray[np.integer[Any]], folds: int) -> Which:
    """The part of each example, int64 [N]: each label is dealt out to all parts.

    >>> dealt(np.array([0, 0, 1, 0, 1]), 2)
    array([0, 1, 1, 0, 0])
    """
    fold = np.empty(len(y), np.int64)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % folds
    return fold


def cross_fitted(
    problem: ChoiceProblem,
    solver: Any,
    run: Callable[[Which], Any],
    folds: int,
    scores: Callable[[Which], NDArray[np.float32]],
) -> tuple[Which, NDArray[np.float32]] | None:
    """Every document and its scores [N, Y] by weights that forgot its part and then learnt from the others alone.

    The solver is where training left it, so a part costs a few passes instead of a training; it is used up by this.
    None where there are too few documents to hold any out.
    """
    first = np.full(problem.N, -1, np.int64)  # documents without a label are one more kind
    labelled = np.diff(problem.label_ptr) > 0
    first[labelled] = problem.labels[problem.label_ptr[:-1][labelled]]
    folds = min(folds, int(np.bincount(first + 1).max(initial=0)))
    if folds < 2:
        return None
    fold = dealt(first, folds)
    out = np.zeros((problem.N, problem.Y), np.float32)
    for k in range(folds):
        held = np.flatnonzero(fold == k)
        solver.forget(held)
        for again in range(PASSES):
            solver.wake()
            order = np.asarray(_core.permutation(problem.N, problem.seed + 1 + k * PASSES + again), np.int64)
            run(np.ascontiguousarray(order[fold[order] != k]))
        out[held] = scores(held)
    return np.arange(problem.N), out
