"""Segments in the core: stochastic gradients of the likelihood."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from chaffinch import _core
from chaffinch.learners.costs import PlaceCosts
from chaffinch.learners.examples import SegmentExamples
from chaffinch.learners.likelihood import Sgd
from chaffinch.learners.problem import Pass, Problem, State


def fits_segments(_learner: Any, problem: Problem) -> bool:
    """Sentences whose features lie end to end, no cost or one by place."""
    return isinstance(problem.examples, SegmentExamples) and isinstance(problem.cost, PlaceCosts | None)


def sgd_passes(learner: Sgd, problem: Problem, _threads: int, _state: State | None) -> Iterator[Pass]:
    """Epochs of stochastic gradient descent."""
    data, scorer = problem.examples, problem.scorer
    cost = problem.cost if isinstance(problem.cost, PlaceCosts) else PlaceCosts(0.0)
    sentences = _core.SegmentProblem(
        data.sentences,
        data.ptr,
        data.ids,
        data.span_ptr,
        data.span_ids,
        scorer.F,
        scorer.G,
        scorer.longest,
        values=data.values,
    )
    native = _core.SegmentSgd(
        sentences,
        data.gold,
        data.gold_ptr,
        c2=learner.c2,
        rate=learner.rate_or_default,
        epochs=learner.epochs,
        margin=cost.margin,
        recall=cost.recall,
        seed=problem.seed,
        weight=problem.weight,
    )
    w = np.array(scorer.w, np.float32)
    for number in range(1, learner.epochs + 1):
        objective = native.run(w) + learner.c2 * float(np.vdot(w, w))
        yield Pass(number, {"objective": objective}, lambda: scorer.with_weights(w), learner.epochs)
