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
    """Whether every block has features, those of unlinked words included."""
    structure = problem.structure
    return plain_margin(learner, problem) and all(
        x.shape == structure.shape(*x.shape["edge"]) for x, _ in problem.examples
    )


def matching_passes(
    learner: FrankWolfe, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Passes of Frank-Wolfe; the structure gives gold and cost once for each example."""
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
    return learner.dual_passes(NativeBlocks(native, problem), problem)
