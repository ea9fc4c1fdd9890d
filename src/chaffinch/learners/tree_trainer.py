"""Trees over span features, moved in the core: what the learners that have a fused epoch for them share."""

from collections.abc import Iterator
from typing import Any

from chaffinch import _core
from chaffinch.learners.tree_examples import TreeExamples
from chaffinch.scorers import Linear
from chaffinch.structures import Tree


def fits(problem: Any) -> bool:
    """Linear weights that start at zero, sentences whose spans' features lie end to end."""
    return (
        isinstance(problem.structure, Tree)
        and isinstance(problem.examples, TreeExamples)
        and isinstance(problem.scorer, Linear)
        and not problem.scorer.w.any()
    )


def tree_trainer(problem: Any, **rule: Any) -> "_core.TreeTrainer":
    """The trainer of a problem; rule: loss, adaptive, rate, start, dropout and seed."""
    data, layout = problem.examples, problem.scorer.layout
    return _core.TreeTrainer(
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
        **rule,
    )


def trained_passes(problem: Any, trainer: "_core.TreeTrainer", average: bool, orders: Any) -> Iterator[Any]:
    """For each order of the examples, how many were wrong and what makes a scorer of the weights."""
    layout = problem.scorer.layout

    def scorer() -> Linear:
        w = layout.zeros()
        trainer.weights(average, w)
        return Linear(layout, w)

    for order in orders:
        _, wrong = trainer.epoch(order)
        yield wrong, scorer
