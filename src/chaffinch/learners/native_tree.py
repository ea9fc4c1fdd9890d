"""Trees over span features in the core: epochs of the perceptron and of AdaGrad."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from chaffinch import _core
from chaffinch.learners.adagrad import AdaGrad
from chaffinch.learners.examples import TreeExamples
from chaffinch.learners.online import OnlineLearner
from chaffinch.learners.problem import Pass, Problem, State, example_order
from chaffinch.scorers import Linear


def fits_tree(_learner: Any, problem: Problem) -> bool:
    """Whether weights are linear and start at zero, and the span features of sentences are stored end to end."""
    return isinstance(problem.examples, TreeExamples) and problem.cost is None and not problem.scorer.w.any()


def adagrad_passes(learner: AdaGrad, problem: Problem, _threads: int, _state: State | None) -> Iterator[Pass]:
    """Epochs of AdaGrad, with a rate for each weight."""
    rule = {"rate": learner.rate, "start": learner.start, "dropout": learner.dropout, "seed": learner.seed}
    return _passes(learner, problem, loss=learner.loss, adaptive=True, **rule)


def perceptron_passes(
    learner: OnlineLearner, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Epochs of the perceptron."""
    rule = {"rate": learner.amount(), "start": 1.0, "dropout": 0.0, "seed": learner.seed}
    return _passes(learner, problem, loss=learner.rule, adaptive=False, **rule)


def _passes(learner: Any, problem: Problem, **rule: Any) -> Iterator[Pass]:
    data, layout = problem.examples, problem.scorer.layout
    trainer = _core.TreeTrainer(
        data.bounds,
        data.ptr,
        data.ids,
        data.nodes,
        data.open,
        problem.structure.masks(),
        F=layout["span"].rows,
        Y=problem.structure.Y,
        left=layout["left"].offset,
        right=layout["right"].offset,
        cells=layout.size,
        weight=None if problem.weight is None else np.ascontiguousarray(problem.weight, np.float32),
        **rule,
    )

    def scorer() -> Linear:
        w = layout.zeros()
        trainer.weights(learner.average, w)
        return Linear(layout, w)

    for number in range(1, learner.epochs + 1):
        _, wrong = trainer.epoch(example_order(len(data), learner.seed, number))
        yield learner.record(problem, number, wrong, scorer)
