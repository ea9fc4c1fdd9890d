"""The table of native epochs: structures, scorers and learners whose passes run in the core.

A native row is an optimisation, never a second definition: a test runs over the table and compares each result with
the learner's generic loop over the protocols. Structures with one or two rows have their native passes in this file.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners import native_chain, native_choice, native_likelihood
from chaffinch.learners.adagrad import AdaGrad
from chaffinch.learners.block_sgd import BlockSgd, block_passes, fits_blocks
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoicePerceptron, ChoiceSgd
from chaffinch.learners.costs import PlaceCosts
from chaffinch.learners.cutting_plane import NSlack, OneSlack
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge
from chaffinch.learners.examples import ContextExamples, SegmentExamples, TreeExamples
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.incremental import DecisionLearner, EpochTally, PrefixLearner, SearchLearner
from chaffinch.learners.learner import FUSED, Native
from chaffinch.learners.likelihood import Lbfgs, PrunedSgd, Sdca, Sgd
from chaffinch.learners.maximum_likelihood import MaximumLikelihood, fits_lists, likelihood_of_lists
from chaffinch.learners.native_chain import NativeBlocks, plain_margin
from chaffinch.learners.online import (
    Arow,
    MarginPerceptron,
    Mira,
    OnlineLearner,
    PassiveAggressive,
    Perceptron,
)
from chaffinch.learners.problem import Pass, Problem, State, example_order
from chaffinch.scorers import FeatureScorer, Linear
from chaffinch.scorers.contexts import ContextScorer
from chaffinch.scorers.monomials import MonomialScorer
from chaffinch.scorers.segments import SegmentScorer
from chaffinch.search import Beam, EasiestFirst, IncrementalChain
from chaffinch.structures import (
    Candidates,
    Chain,
    Choice,
    LocalChain,
    Matching,
    RuledChain,
    RuledLocalChain,
    Segments,
    SpanTree,
)
from chaffinch.structures.fertile import FertileMatching

# -- matchings: Frank-Wolfe over edges with feature vectors ----------------------------------------------------------


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


# -- segments: stochastic gradients of the likelihood ----------------------------------------------------------------


def fits_segments(_learner: Any, problem: Problem) -> bool:
    """Whether features are stored end to end, and the cost is none or by place."""
    return isinstance(problem.examples, SegmentExamples) and isinstance(problem.cost, PlaceCosts | None)


def segment_passes(learner: Sgd, problem: Problem, _threads: int, _state: State | None) -> Iterator[Pass]:
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


# -- trees over span features: the perceptron and AdaGrad ------------------------------------------------------------


def fits_tree(_learner: Any, problem: Problem) -> bool:
    """Whether weights are linear and start at zero, and the span features of sentences are stored end to end."""
    return isinstance(problem.examples, TreeExamples) and problem.cost is None and not problem.scorer.w.any()


def fits_tree_perceptron(learner: OnlineLearner, problem: Problem) -> bool:
    """Whether the core has the rule, and the problem fits."""
    return learner.in_core and fits_tree(learner, problem)


def adagrad_passes(learner: AdaGrad, problem: Problem, _threads: int, _state: State | None) -> Iterator[Pass]:
    """Epochs of AdaGrad, with a rate for each weight."""
    rule = {"rate": learner.rate, "start": learner.start, "dropout": learner.dropout, "seed": learner.seed}
    return _tree_passes(learner, problem, loss=learner.loss, adaptive=True, **rule)


def perceptron_passes(
    learner: OnlineLearner, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Epochs of the perceptron."""
    rule = {"rate": learner.amount(), "start": 1.0, "dropout": 0.0, "seed": learner.seed}
    return _tree_passes(learner, problem, loss=learner.rule, adaptive=False, **rule)


def _tree_passes(learner: Any, problem: Problem, **rule: Any) -> Iterator[Pass]:
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


# -- incremental search: greedy, easiest-first or beam ---------------------------------------------------------------


def fits_search(learner: SearchLearner, problem: Problem) -> bool:
    """Whether the core has the rule, weights start at zero, and examples are stored end to end with equal weights."""
    scorer = problem.scorer
    plain = (
        learner.rule.in_core
        and problem.weight is None
        and problem.cost is None
        and isinstance(problem.examples, ContextExamples)
    )
    return plain and not scorer.unary.any() and not scorer.context.any()


def decision_passes(
    learner: DecisionLearner, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Epochs of left-to-right or easiest-first search."""
    search = problem.structure.search
    ease = search.ease if isinstance(search, EasiestFirst) else "score"
    trainer = _search_trainer(learner, problem, ease=ease, everywhere=learner.anywhere, tries=learner.tries)
    return _search_passes(learner, problem, trainer)


def prefix_passes(
    learner: PrefixLearner, problem: Problem, _threads: int, _state: State | None
) -> Iterator[Pass]:
    """Epochs of beam search."""
    search: Beam = problem.structure.search
    trainer = _search_trainer(learner, problem, width=search.width, max_violation=learner.violation == "max")
    return _search_passes(learner, problem, trainer)


def _search_trainer(learner: SearchLearner, problem: Problem, **settings: Any) -> Any:
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


def _search_passes(learner: SearchLearner, problem: Problem, trainer: Any) -> Iterator[Pass]:
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


# -- the table ------------------------------------------------------------------------------------------------------

_ONLINE = Native(native_chain.online_passes, native_chain.fits_online)
_FRANK_WOLFE = Native(native_chain.frank_wolfe_passes, native_chain.fits_frank_wolfe)
_MATCHING = Native(matching_passes, fits_matching)
_LIKELIHOOD: dict[type, Any] = {
    Sdca: native_likelihood.sdca_passes,
    Sgd: native_likelihood.sgd_passes,
    Lbfgs: native_likelihood.lbfgs_passes,
}
_DOCUMENTS: dict[type, Any] = {
    DualRest: native_choice.rest_passes,
    DualRidge: native_choice.rest_passes,
    DualCrammerSinger: native_choice.crammer_singer_passes,
    DualLogistic: native_choice.logistic_passes,
    ChoiceSgd: native_choice.sgd_passes,
    ChoicePerceptron: native_choice.sgd_passes,
    ChoiceBatch: native_choice.batch_passes,
}

ROWS: dict[tuple[type, type, type], Native] = {
    **{
        (Chain, Linear, rule): _ONLINE
        for rule in (Perceptron, MarginPerceptron, PassiveAggressive, Mira, Arow)
    },
    **{
        (Chain, Linear, learner): Native(passes, native_likelihood.fits_likelihood)
        for learner, passes in _LIKELIHOOD.items()
    },
    **{
        (RuledChain, Linear, learner): Native(passes, native_likelihood.fits_likelihood)
        for learner, passes in _LIKELIHOOD.items()
    },
    (Chain, Linear, BlockSgd): Native(block_passes, fits_blocks),
    (Chain, Linear, PrunedSgd): Native(native_likelihood.pruned_passes, native_likelihood.fits_pruned),
    (RuledChain, Linear, PrunedSgd): Native(native_likelihood.pruned_passes, native_likelihood.fits_pruned),
    (RuledLocalChain, Linear, Sgd): Native(native_likelihood.sgd_passes, native_likelihood.fits_likelihood),
    (RuledLocalChain, Linear, Lbfgs): Native(
        native_likelihood.lbfgs_passes, native_likelihood.fits_likelihood
    ),
    (LocalChain, Linear, Sgd): Native(native_likelihood.sgd_passes, native_likelihood.fits_likelihood),
    (LocalChain, Linear, Lbfgs): Native(native_likelihood.lbfgs_passes, native_likelihood.fits_likelihood),
    (IncrementalChain, ContextScorer, DecisionLearner): Native(decision_passes, fits_search),
    (IncrementalChain, ContextScorer, PrefixLearner): Native(prefix_passes, fits_search),
    (Segments, SegmentScorer, Sgd): Native(segment_passes, fits_segments),
    **{
        (Choice, Linear, learner): Native(passes, native_choice.fits_documents)
        for learner, passes in _DOCUMENTS.items()
    },
    (Candidates, FeatureScorer, MaximumLikelihood): Native(likelihood_of_lists, fits_lists),
    (Chain, Linear, FrankWolfe): _FRANK_WOLFE,
    (Chain, MonomialScorer, FrankWolfe): _FRANK_WOLFE,
    (Chain, Linear, NSlack): Native(native_chain.n_slack_passes, native_chain.fits_cutting_planes),
    (Chain, Linear, OneSlack): Native(native_chain.one_slack_passes, native_chain.fits_cutting_planes),
    (Matching, FeatureScorer, FrankWolfe): _MATCHING,
    (FertileMatching, FeatureScorer, FrankWolfe): _MATCHING,
    (SpanTree, Linear, Perceptron): Native(perceptron_passes, fits_tree_perceptron),
    (SpanTree, Linear, AdaGrad): Native(adagrad_passes, fits_tree),
}

FUSED.update(ROWS)
