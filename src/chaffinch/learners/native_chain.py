"""Chains in the core: online epochs, Frank-Wolfe and cutting planes."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.learners.cutting_plane import INNER, LONGEST, SHARE, NSlack, OneSlack
from chaffinch.learners.examples import DenseExamples, MonomialExamples, SentenceExamples
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.margin import Objective
from chaffinch.learners.online import OnlineLearner
from chaffinch.learners.problem import Pass, Problem, State, example_order
from chaffinch.scorers import Layout, Linear
from chaffinch.scorers.monomials import MonomialScorer

# -- online -------------------------------------------------------------------------------------------------------


def fits_online(learner: OnlineLearner, problem: Problem) -> bool:
    """Whether the core has the rule, weights are linear and start at zero, and examples are stored end to end with
    equal weights.
    """
    return (
        learner.in_core
        and type(problem.examples) is SentenceExamples
        and problem.structure.order == 1
        and problem.weight is None
        and problem.cost is None
        and not problem.scorer.w.any()
    )


def online_passes(
    learner: OnlineLearner, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Epochs of an online update rule on a first-order chain."""
    data, layout, trainer = problem.examples, problem.scorer.layout, chain_trainer(learner, problem)

    def scorer() -> Linear:
        return Linear(layout, trainer.weights(learner.average))

    for number in range(1, learner.epochs + 1):
        _, _, wrong = trainer.epoch(example_order(len(data), learner.seed, number))
        yield learner.record(problem, number, wrong, scorer)


def chain_trainer(learner: OnlineLearner, problem: Problem) -> _core.ChainTrainer:
    """The core's trainer of a first-order chain by an online rule; ConfigError if the core does not have the rule."""
    if not learner.in_core:
        raise ConfigError(
            f"{type(learner).__name__} has no native epoch, which training from a cache needs; train in memory"
        )
    data = problem.examples
    return _core.ChainTrainer(
        data.sentences,
        data.ptr,
        data.ids,
        data.y,
        **chain_places(problem.structure, problem.scorer.layout),
        rule=learner.rule,
        amount=learner.amount(),
        k=learner.answers(),
        values=data.values,
    )


def chain_places(chain: Any, layout: Layout) -> dict[str, Any]:
    """The offsets of a chain's weights and its masks, as arguments of the core's learners."""
    masks = {"transitions": chain.transitions, "start_allowed": chain.start, "end_allowed": chain.end}
    return {
        "F": layout["unary"].rows,
        "Y": chain.Y,
        **{name: layout[name].offset for name in ("pair", "start", "end")},
        "cells": layout.size,
        **{
            name: None if mask is None else np.ascontiguousarray(mask, np.uint8)
            for name, mask in masks.items()
        },
    }


# -- Frank-Wolfe --------------------------------------------------------------------------------------------------

SCORERS: dict[type, type] = {
    SentenceExamples: Linear,
    DenseExamples: Linear,
    MonomialExamples: MonomialScorer,
}


def plain_margin(learner: FrankWolfe, problem: Problem) -> bool:
    """Whether it is margin rescaling by the structure's own cost, without a cache: in the core a search is faster."""
    return learner.rescale == "margin" and not learner.cache and problem.cost is None


def fits_frank_wolfe(learner: FrankWolfe, problem: Problem) -> bool:
    """Whether weights are linear, over labels and label pairs."""
    return (
        type(problem.scorer) is SCORERS.get(type(problem.examples))
        and problem.structure.order == 1
        and plain_margin(learner, problem)
    )


def frank_wolfe_passes(
    learner: FrankWolfe, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Passes over the duals of a first-order chain with examples stored end to end."""
    data: Any = problem.examples
    native = _margin(
        _core.ChainFrankWolfe,
        learner,
        problem,
        average=learner.average,
        monomials=data.map.native if isinstance(data, MonomialExamples) else None,
    )
    return learner.dual_passes(NativeBlocks(native, problem), problem)


class NativeBlocks:
    """The duals of all examples and the weights that they define, in the core; ``Blocks`` is the same in Python."""

    def __init__(self, native: Any, problem: Problem) -> None:
        self._native, self._scorer = native, problem.scorer

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Each example's part of the gap at its last visit."""
        gaps: NDArray[np.float64] = self._native.gaps()
        return gaps

    def run(self, order: NDArray[np.int64], *how: Any) -> None:
        """A pass over these examples."""
        self._native.run(order, *how)

    def objective(self) -> Objective:
        """Primal and dual."""
        return Objective(*self._native.measured())

    def scorer(self) -> Any:
        """The weights: the last ones, or their mean."""
        made = copy.copy(self._scorer)
        made.w = self._native.weights()
        return made


# -- cutting planes -----------------------------------------------------------------------------------------------


def fits_cutting_planes(learner: NSlack | OneSlack, problem: Problem) -> bool:
    """Whether weights are linear, over labels and label pairs; slack rescaling also needs short enough sentences."""
    return (
        type(problem.examples) in (SentenceExamples, DenseExamples)
        and problem.structure.order == 1
        and problem.cost is None
        and (
            learner.rescale == "margin" or int(np.diff(problem.examples.sentences).max(initial=0)) <= LONGEST
        )
    )


def _cutting_planes(kind: Any, learner: NSlack | OneSlack, problem: Problem) -> Any:
    return _margin(kind, learner, problem, slack=learner.rescale == "slack", idle=learner.idle)


def _margin(kind: Any, learner: FrankWolfe | NSlack | OneSlack, problem: Problem, **how: Any) -> Any:
    """A margin learner of the core on features or on rows of numbers."""
    data: Any = problem.examples
    dense = isinstance(data, DenseExamples)
    return kind(
        data.sentences,
        None if dense else data.ptr,
        None if dense else data.ids,
        data.rows if dense else None,
        data.y,
        **chain_places(problem.structure, problem.scorer.layout),
        C=learner.C * problem.importance(),
        values=None if dense else data.values,
        **how,
    )


def n_slack_passes(learner: NSlack, problem: Problem, _threads: int, _state: State | None) -> Iterator[Pass]:
    """A working set for each sentence of a first-order chain."""
    return learner.dual_passes(
        NativeBlocks(_cutting_planes(_core.ChainNSlack, learner, problem), problem), problem
    )


def one_slack_passes(
    learner: OneSlack, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """One working set for all sentences of a first-order chain."""
    native = _cutting_planes(_core.ChainOneSlack, learner, problem)
    state = NativeBlocks(native, problem)
    for number in range(1, learner.epochs + 1):
        yield learner.record(number, Objective(*native.cut(INNER, SHARE)), state.scorer)
