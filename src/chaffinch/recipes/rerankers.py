"""The recipes of rerankers: each is a learner over lists of candidates, under a name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.knobs import knob
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.learner import Learner
from chaffinch.learners.maximum_likelihood import ExpectedLoss, MaximumLikelihood
from chaffinch.learners.online import Mira, Perceptron
from chaffinch.learners.problem import Problem
from chaffinch.learners.training import train_passes
from chaffinch.model.reranker_file import ListWeights
from chaffinch.modelfile import ModelFile, Requirements
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.recipe import Recipe, Recipes, Trained
from chaffinch.scorers import FeatureScorer


@dataclass(frozen=True, kw_only=True)
class ListLikelihood(MaximumLikelihood):
    """The likelihood of the best candidate; features of whole answers are rare, so the penalty is strong."""

    l2: float = knob(10.0, "L2 penalty", low=0.0)


@dataclass(frozen=True, kw_only=True)
class ListRisk(ExpectedLoss):
    """The expected loss, with a penalty for many rare features."""

    l2: float = knob(3.0, "L2 penalty", low=0.0)
    steps: int = knob(100, "maximum number of steps", low=1)


@dataclass(frozen=True)
class ListTask:
    """The training data of a reranker.

    dev:    scores a scorer on held-out lists; the best pass is kept; or None
    weight: float32 [lists], the weight of the loss of each list; None: all are equal
    """

    problem: Problem
    threads: int = 0
    on_epoch: Listener = keep_going
    dev: Callable[[Any], float] | None = None
    weight: NDArray[np.float32] | None = None


def train(task: ListTask, learner: Learner) -> Trained:
    """Learn from the lists; the model is a scorer."""
    training = train_passes(
        learner,
        replace(task.problem, weight=task.weight),
        threads=task.threads,
        on_epoch=task.on_epoch,
        held_out_score=task.dev,
    )
    return Trained(training.made, training.history)


def load(file: ModelFile) -> FeatureScorer:
    """The weights of a file."""
    return ListWeights.loaded(Requirements(file)).scorer()


RERANKERS = Recipes(
    Recipe(
        "likelihood",
        "log-linear choice of the best candidate",
        ListLikelihood,
        train,
        load,
        options=("weight",),
    ),
    Recipe("risk", "minimum expected loss", ListRisk, train, load, options=("weight",)),
    Recipe("perceptron", "averaged perceptron over the lists", Perceptron, train, load),
    Recipe("mira", "margins as wide as the candidates' losses, online", Mira, train, load),
    Recipe("hinge", "the structured margin by Frank-Wolfe", FrankWolfe, train, load, options=("weight",)),
)

DEFAULT_RERANKER = "likelihood"
