"""Frank-Wolfe in the core, for the structures and scorers that have it there."""

import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.margin import Objective
from chaffinch.learners.online import chain_places
from chaffinch.learners.problem import DenseExamples, MonomialExamples, Problem, SentenceExamples
from chaffinch.scorers import FeatureScorer, Linear
from chaffinch.scorers.monomials import MonomialScorer
from chaffinch.structures import Chain, Matching
from chaffinch.structures.fertile import FertileMatching


class Settings(Protocol):
    """What the core needs to know of the learner."""

    @property
    def C(self) -> float:
        """How much an example's hinge counts."""
        ...

    @property
    def average(self) -> bool:
        """Whether the mean of w is wanted."""
        ...

    @property
    def rescale(self) -> str:
        """What a costly answer asks for."""
        ...

    @property
    def cache(self) -> int:
        """How many answers are kept for each example."""
        ...


class Fused:
    """The duals of all examples and the weights they stand for, in the core; as ``Blocks`` has them in Python."""

    _native: Any

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @property
    def gaps(self) -> NDArray[np.float64]:
        """What each example adds to the gap, as last met."""
        gaps: NDArray[np.float64] = self._native.gaps()
        return gaps

    def run(self, order: NDArray[np.int64]) -> None:
        """A pass over these examples."""
        self._native.run(order)

    def measured(self) -> Objective:
        """Primal and dual."""
        return Objective(*self._native.measured())

    def scorer(self) -> Any:
        """The weights: the last ones, or their mean."""
        made = copy.copy(self._problem.scorer)
        made.w = self._native.weights()
        return made


def _plain(learner: Settings) -> bool:
    """Margin rescaling, and no cache: a search is quicker than a look into one."""
    return learner.rescale == "margin" and not learner.cache


class FusedChain(Fused):
    """A first-order chain whose examples lie end to end, in the core."""

    def __init__(self, learner: Settings, problem: Problem) -> None:
        super().__init__(problem)
        chain, scorer = problem.structure, problem.scorer
        data: Any = problem.examples
        dense = isinstance(data, DenseExamples)
        self._native = _core.ChainFrankWolfe(
            data.sentences,
            None if dense else data.ptr,
            None if dense else data.ids,
            data.rows if dense else None,
            data.y,
            **chain_places(chain, scorer.layout),
            C=learner.C,
            average=learner.average,
            monomials=data.map.native if isinstance(data, MonomialExamples) else None,
        )

    @staticmethod
    def fits(learner: Settings, problem: Problem) -> bool:
        """Linear weights over labels and pairs of them."""
        return (
            type(problem.scorer) is SCORERS.get(type(problem.examples))
            and problem.structure.order == 1
            and _plain(learner)
        )


class FusedMatching(Fused):
    """Matchings whose parts have feature vectors; gold and cost are asked of the structure once for each example."""

    def __init__(self, learner: Settings, problem: Problem) -> None:
        super().__init__(problem)
        structure = problem.structure
        examples: Any = problem.examples
        sizes, rows = [], []
        gold: list[NDArray[np.float64]] = []
        cost: list[NDArray[np.float64]] = []
        for x, y in examples:
            n, m = x.shape["edge"]
            names = list(structure.shape(n, m))
            sizes.append((n, m))
            rows.append([tuple(x.rows[name]) for name in names])
            for parts, found in ((structure.parts(x.shape, y), gold), (structure.cost(x.shape, y), cost)):
                found.append(np.concatenate([np.ravel(parts[name]) for name in names]))
        self._native = _core.MatchingFrankWolfe(
            sizes,
            rows,
            gold,
            cost,
            F=problem.scorer.F,
            fertile=isinstance(structure, FertileMatching),
            C=learner.C,
            average=learner.average,
        )

    @staticmethod
    def fits(learner: Settings, problem: Problem) -> bool:
        """Features of every block, with words that stay alone among them."""
        structure = problem.structure
        examples: Any = problem.examples
        return (
            type(problem.scorer) is FeatureScorer
            and _plain(learner)
            and all(x.shape == structure.shape(*x.shape["edge"]) for x, _ in examples)
        )


SCORERS: dict[type, type] = {
    SentenceExamples: Linear,
    DenseExamples: Linear,
    MonomialExamples: MonomialScorer,
}

FUSED: dict[type, Any] = {Chain: FusedChain, Matching: FusedMatching, FertileMatching: FusedMatching}
