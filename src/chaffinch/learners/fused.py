"""The table of native epochs: structures, scorers and learners whose passes run in the core.

A native row is an optimisation, never a second definition: a test runs over the table and compares what each learns
with the learner's generic loop over the protocols.
"""

from typing import Any

from chaffinch.learners import (
    native_chain,
    native_choice,
    native_incremental,
    native_likelihood,
    native_matching,
    native_segments,
    native_tree,
)
from chaffinch.learners.adagrad import AdaGrad
from chaffinch.learners.block_sgd import BlockSgd, block_passes, fits_blocks
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoicePerceptron, ChoiceSgd
from chaffinch.learners.cutting_plane import NSlack, OneSlack
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.incremental import DecisionLearner, PrefixLearner
from chaffinch.learners.learner import FUSED, Native
from chaffinch.learners.likelihood import Lbfgs, PrunedSgd, Sdca, Sgd
from chaffinch.learners.maximum_likelihood import MaximumLikelihood, fits_lists, likelihood_of_lists
from chaffinch.learners.online import Arow, MarginPerceptron, Mira, PassiveAggressive, Perceptron
from chaffinch.scorers import FeatureScorer, Linear
from chaffinch.scorers.contexts import ContextScorer
from chaffinch.scorers.monomials import MonomialScorer
from chaffinch.scorers.segments import SegmentScorer
from chaffinch.search import IncrementalChain
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

_ONLINE = Native(native_chain.online_passes, native_chain.fits_online)
_FRANK_WOLFE = Native(native_chain.frank_wolfe_passes, native_chain.fits_frank_wolfe)
_MATCHING = Native(native_matching.matching_passes, native_matching.fits_matching)
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
    (IncrementalChain, ContextScorer, DecisionLearner): Native(
        native_incremental.decision_passes, native_incremental.fits_search
    ),
    (IncrementalChain, ContextScorer, PrefixLearner): Native(
        native_incremental.prefix_passes, native_incremental.fits_search
    ),
    (Segments, SegmentScorer, Sgd): Native(native_segments.sgd_passes, native_segments.fits_segments),
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
    (SpanTree, Linear, Perceptron): Native(native_tree.perceptron_passes, native_tree.fits_tree),
    (SpanTree, Linear, AdaGrad): Native(native_tree.adagrad_passes, native_tree.fits_tree),
}

FUSED.update(ROWS)
