"""The online loop: one example at a time, an answer is found, and a rule moves the weights where it was wrong.

``epochs`` runs the loop over the protocols for any structure and scorer. Where a pair of structure and rule has a
fused epoch in the core (FUSED), that runs instead; it is an optimisation, never a second definition.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import check, knob
from chaffinch.learners.problem import Problem, SentenceExamples
from chaffinch.learners.tree_trainer import fits as fits_trees
from chaffinch.learners.tree_trainer import trained_passes, tree_trainer
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Chain, Parts, Scorer, Tree, require


@dataclass(frozen=True)
class Mistake:
    """A wrong answer: parts(y) - parts(y_hat), and what it costs."""

    delta: Parts
    cost: float


@dataclass(frozen=True)
class Epoch:
    """One pass over the examples: how many were wrong, and a scorer made of the weights as they are now."""

    number: int
    wrong: int
    scorer: Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class OnlineLearner:
    """What the rules have in common: epochs in an order that depends on the seed, and averaging."""

    epochs: int = knob(10, "passes over the training data", low=1)
    seed: int = knob(0, "decides the order of the examples", low=0)

    average: bool = knob(True, "return the mean of w over all steps")

    rule: ClassVar[str] = ""
    augmented: ClassVar[bool] = False

    def amount(self) -> float:
        """The rule's number, such as its largest step."""
        return 1.0

    def answers(self) -> int:
        """How many answers it looks at for each example."""
        return 1

    def fit(self, problem: Problem, on_epoch: Listener = keep_going) -> Any:
        """A scorer trained on the problem; the problem's own is left as it is."""
        scorer = problem.scorer
        for epoch in epochs(self, problem):
            scorer = epoch.scorer
            wrong = epoch.wrong / max(1, len(problem.examples))
            if not on_epoch(Progress("epoch", epoch.number, self.epochs, {"wrong": wrong})):
                break
        return scorer()

    def move(self, scorer: Scorer[Any], x: Any, mistakes: list[Mistake]) -> None:
        """Move the weights on the mistakes made on x."""
        raise ConfigError(f"{type(self).__name__} has no generic step; it learns linear chains only")


def epochs(learner: OnlineLearner, problem: Problem, *, fused: bool = True) -> Iterator[Epoch]:
    """Train epoch by epoch; whoever iterates decides when to stop."""
    check(learner)
    require(learner, "kbest" if learner.answers() > 1 else "argmax", problem.structure)
    made = FUSED.get((type(problem.structure), learner.rule)) if fused else None
    if made is not None and made.fits(problem):
        return made.epochs(learner, problem)
    return _generic(learner, problem)


def example_order(n: int, seed: int, epoch: int) -> Any:
    """The order of n examples in an epoch, counted from 1: int64 [n]."""
    return _core.permutation(n, (seed << 20) + epoch)


def _generic(learner: OnlineLearner, problem: Problem) -> Iterator[Epoch]:
    """The loop, over the protocols alone; ``total`` is the sum of w over the steps up to ``summed``."""
    structure = problem.structure
    scorer = problem.scorer.with_weights(problem.scorer.w)
    total = np.zeros(scorer.w.shape, np.float64)
    steps = summed = 0

    def averaged() -> Any:
        if not (learner.average and steps):
            return scorer.with_weights(scorer.w)
        return scorer.with_weights((total + (steps - summed) * scorer.w.astype(np.float64)) / steps)

    for number in range(1, learner.epochs + 1):
        wrong = 0
        for n in example_order(len(problem.examples), learner.seed, number).tolist():
            x, y = problem.examples[n]
            mistakes = found_mistakes(learner, structure, scorer, x, y)
            if mistakes:
                wrong += 1
                total += (steps - summed) * scorer.w.astype(np.float64)
                summed = steps
                learner.move(scorer, x, mistakes)
            steps += 1
        yield Epoch(number, wrong, averaged)


def found_mistakes(learner: OnlineLearner, structure: Any, scorer: Any, x: Any, y: Any) -> list[Mistake]:
    """The wrong answers that the search offers for x, best first."""
    shape, potentials = scorer.shape(x), scorer.potentials(x)
    cost, gold = structure.cost(shape, y), structure.parts(shape, y)
    if learner.augmented:
        potentials = potentials + cost
    if learner.answers() > 1:
        answers = [answer for _, answer in structure.kbest(potentials, learner.answers())]
    else:
        answers = [structure.argmax(potentials)]
    mistakes = []
    for answer in answers:
        parts = structure.parts(shape, answer)
        delta = gold - parts
        if any(block.any() for _, block in delta.items()):
            mistakes.append(Mistake(delta, cost.dot(parts)))
    return mistakes


class FusedChain:
    """A linear chain of the first order, in the core."""

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Linear weights that start at zero, examples that lie end to end."""
        return (
            isinstance(problem.examples, SentenceExamples)
            and isinstance(problem.scorer, Linear)
            and problem.structure.order == 1
            and not problem.scorer.w.any()
        )

    @staticmethod
    def epochs(learner: OnlineLearner, problem: Problem) -> Iterator[Epoch]:
        """As the generic loop."""
        data, chain, layout = problem.examples, problem.structure, problem.scorer.layout
        assert isinstance(data, SentenceExamples)
        trainer = _core.ChainTrainer(
            data.sentences,
            data.ptr,
            data.ids,
            data.y,
            **chain_places(chain, layout),
            rule=learner.rule,
            amount=learner.amount(),
            k=learner.answers(),
        )
        for number in range(1, learner.epochs + 1):
            _, _, wrong = trainer.epoch(example_order(len(data), learner.seed, number))
            yield Epoch(number, wrong, lambda: Linear(layout, trainer.weights(learner.average)))


def chain_places(chain: Any, layout: Layout) -> dict[str, Any]:
    """Where the weights of a chain lie and what it forbids, as the core's learners are told."""
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


class FusedTree:
    """Trees over span features, in the core."""

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Linear weights that start at zero, examples that lie end to end."""
        return fits_trees(problem)

    @staticmethod
    def epochs(learner: OnlineLearner, problem: Problem) -> Iterator[Epoch]:
        """As the generic loop."""
        rule = {"rate": learner.amount(), "start": 1.0, "dropout": 0.0, "seed": learner.seed}
        trainer = tree_trainer(problem, loss=learner.rule, adaptive=False, **rule)
        orders = (
            example_order(len(problem.examples), learner.seed, number)
            for number in range(1, learner.epochs + 1)
        )
        for number, (wrong, made) in enumerate(trained_passes(problem, trainer, learner.average, orders), 1):
            yield Epoch(number, wrong, made)


# By structure and rule.
FUSED: dict[tuple[type, str], Any] = {
    **{(Chain, rule): FusedChain for rule in ("perceptron", "margin-perceptron", "pa", "mira", "arow")},
    (Tree, "perceptron"): FusedTree,
}
