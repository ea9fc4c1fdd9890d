"""Incremental search in the core: epochs of an online rule with greedy, easiest-first or beam search."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from chaffinch import _core
from chaffinch.learners.examples import ContextExamples
from chaffinch.learners.incremental import DecisionLearner, EpochTally, PrefixLearner, SearchLearner
from chaffinch.learners.problem import Pass, Problem, State, example_order
from chaffinch.scorers.contexts import ContextScorer
from chaffinch.search import Beam, EasiestFirst


def fits_search(_learner: SearchLearner, problem: Problem) -> bool:
    """Whether weights start at zero, and examples are stored end to end with equal weights."""
    scorer = problem.scorer
    plain = problem.weight is None and problem.cost is None and isinstance(problem.examples, ContextExamples)
    return plain and not scorer.unary.any() and not scorer.context.any()


def decision_passes(
    learner: DecisionLearner, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Epochs of left-to-right or easiest-first search."""
    search = problem.structure.search
    ease = search.ease if isinstance(search, EasiestFirst) else "score"
    trainer = _trainer(learner, problem, ease=ease, everywhere=learner.anywhere, tries=learner.tries)
    return _passes(learner, problem, trainer)


def prefix_passes(
    learner: PrefixLearner, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Epochs of beam search."""
    search: Beam = problem.structure.search
    trainer = _trainer(learner, problem, width=search.width, max_violation=learner.violation == "max")
    return _passes(learner, problem, trainer)


def _trainer(learner: SearchLearner, problem: Problem, **settings: Any) -> Any:
    data, chain, scorer = problem.examples, problem.structure, problem.scorer
    return _core.IncrementalTrainer(
        data.sentences,
        data.ptr,
        data.ids,
        data.observations,
        data.y,
        F=scorer.F,
        Y=scorer.Y,
        templates=scorer.templates,
        search=chain.search.kind,
        rule=learner.rule.rule,
        amount=learner.rule.amount(),
        seed=learner.rule.seed,
        min_updates=learner.min_updates,
        known=data.known,
        values=data.values,
        **settings,
        **chain.legality.native(chain.labels),
    )


def _passes(learner: SearchLearner, problem: Problem, trainer: Any) -> Iterator[Pass]:
    templates, F, Y = problem.scorer.templates, problem.scorer.F, problem.scorer.Y

    def scorer() -> ContextScorer:
        rows = trainer.weights(learner.rule.average).reshape(-1, _core.padded(Y))[:, :Y]
        template, key = trainer.contexts()
        context = rows[F + 1 :]
        kept = context.any(axis=1)
        unary, context = np.ascontiguousarray(rows[:F]), np.ascontiguousarray(context[kept])
        return ContextScorer(templates, unary, template[kept], key[kept], context)

    for number in range(1, learner.rule.epochs + 1):
        order = example_order(len(problem.examples), learner.rule.seed, number)
        own = learner.own_in(number) if isinstance(learner, DecisionLearner) else 1.0
        decided, mistakes, _ = trainer.epoch(order, own)
        yield learner.epoch(number, EpochTally(decided, mistakes), scorer)
