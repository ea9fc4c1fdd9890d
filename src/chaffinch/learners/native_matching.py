"""Matchings in the core: Frank-Wolfe over edges with feature vectors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.native_chain import NativeBlocks, plain_margin
from chaffinch.learners.problem import Pass, Problem, State
from chaffinch.structures.fertile import FertileMatching


def fits_matching(learner: FrankWolfe, problem: Problem) -> bool:
    """Features of every block, with words that stay alone among them."""
    structure = problem.structure
    return plain_margin(learner, problem) and all(
        x.shape == structure.shape(*x.shape["edge"]) for x, _ in problem.examples
    )


def matching_passes(
    learner: FrankWolfe, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Passes; gold and cost are asked of the structure once for each example."""
    structure = problem.structure
    sizes, rows = [], []
    gold: list[NDArray[np.float64]] = []
    cost: list[NDArray[np.float64]] = []
    for x, y in problem.examples:
        n, m = x.shape["edge"]
        names = list(structure.shape(n, m))
        sizes.append((n, m))
        rows.append([tuple(x.rows[name]) for name in names])
        for parts, found in ((structure.parts(x.shape, y), gold), (structure.cost(x.shape, y), cost)):
            found.append(np.concatenate([np.ravel(parts[name]) for name in names]))
    native: Any = _core.MatchingFrankWolfe(
        sizes,
        rows,
        gold,
        cost,
        F=problem.scorer.F,
        fertile=isinstance(structure, FertileMatching),
        C=learner.C * problem.importance(),
        average=learner.average,
    )
    return learner.moved(NativeBlocks(native, problem), problem)
