"""The recipes of rerankers: each is a learner over lists of candidates, under a name."""

from dataclasses import dataclass

from chaffinch.knobs import knob
from chaffinch.learners.expected_loss import ExpectedLoss
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.maximum_likelihood import MaximumLikelihood
from chaffinch.learners.mira import Mira
from chaffinch.learners.perceptron import Perceptron
from chaffinch.modelfile import ModelFile, Requirements
from chaffinch.recipes.recipe import Recipe, Recipes
from chaffinch.scorers import FeatureScorer


@dataclass(frozen=True, kw_only=True)
class ListLikelihood(MaximumLikelihood):
    """The likelihood of the best candidate; features of whole answers are many and rare, so the penalty is strong."""

    l2: float = knob(10.0, "L2 penalty", low=0.0)


@dataclass(frozen=True, kw_only=True)
class ListRisk(ExpectedLoss):
    """The least loss to be expected, under the penalty that many rare features need."""

    l2: float = knob(3.0, "L2 penalty", low=0.0)
    steps: int = knob(100, "most steps", low=1)


def _trained(problem: object, learner: object) -> FeatureScorer:
    return learner.fit(problem)  # type: ignore[attr-defined]


def load(file: ModelFile) -> FeatureScorer:
    """The weights of a file."""
    w = Requirements(file).array("w", "float64", ("W",), finite=True)
    return FeatureScorer(len(w), w)


RERANKERS = Recipes(
    Recipe("likelihood", "log-linear choice of the best candidate", ListLikelihood, _trained, load),
    Recipe("risk", "the least loss to be expected", ListRisk, _trained, load),
    Recipe("perceptron", "averaged perceptron over the lists", Perceptron, _trained, load),
    Recipe("mira", "margins as wide as the candidates' losses, online", Mira, _trained, load),
    Recipe("hinge", "the structured margin by Frank-Wolfe", FrankWolfe, _trained, load),
)

DEFAULT_RERANKER = "likelihood"
