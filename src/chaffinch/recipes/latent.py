"""Taggers with hidden labels: each label has several hidden kinds, which carry more context than the label."""

from dataclasses import dataclass
from typing import Any

from chaffinch.errors import DataError
from chaffinch.knobs import knob
from chaffinch.learners.examples import SentenceExamples
from chaffinch.learners.latent import LatentPerceptron, LatentSvm, Refined
from chaffinch.learners.problem import Problem
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.labels import LabelSet
from chaffinch.model.potentials import Additive
from chaffinch.modelfile import ModelFile
from chaffinch.recipes.encoding import TemplateFeatures, encoded_without_labels, inner_labels
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.recipes.rules import LabelRules, TransitionRules
from chaffinch.recipes.training import train_tagger
from chaffinch.scorers import Layout, Linear

KIND = "{label}#{number}"  # the name of a hidden label


@dataclass(frozen=True, kw_only=True)
class HiddenLabels(TemplateFeatures, TransitionRules):
    """The knobs that both taggers share."""

    kinds: int = knob(2, "hidden labels for each label", low=1, high=100)
    restarts: int = knob(3, "random initialisations; the best one on the training data is kept", low=1)
    noise: float = knob(
        0.1, "standard deviation of the initial weights, which break the symmetry of hidden labels", low=0.0
    )
    patience: int = knob(5, "with dev data: passes without a better score before stopping", low=1)


@dataclass(frozen=True, kw_only=True)
class LatentPerceptronTagger(HiddenLabels):
    """The latent perceptron: the best hidden labelling that shows the gold labels is the answer to learn."""

    epochs: int = knob(10, "passes over the training data for each initialisation", low=1)
    average: bool = knob(True, "return the average of the weights over all steps instead of the last weights")


@dataclass(frozen=True, kw_only=True)
class LatentSvmTagger(HiddenLabels):
    """The latent structured SVM: hidden labels are filled in and a structured SVM is trained on them, in turns."""

    rounds: int = knob(5, "rounds of filling in hidden labels and training (CCCP)", low=1)
    passes: int = knob(3, "passes of Frank-Wolfe in each round", low=1)
    C: float = knob(0.3, "weight of a sentence's hinge loss against |w|^2 / 2", low=1e-12, high=1e12)


def train_perceptron(task: TaggingTask, config: LatentPerceptronTagger) -> Trained:
    """The latent perceptron."""
    return _train(task, config, LatentPerceptron, epochs=config.epochs, average=config.average)


def train_svm(task: TaggingTask, config: LatentSvmTagger) -> Trained:
    """The latent structured SVM."""
    return _train(task, config, LatentSvm, epochs=config.rounds, sweeps=config.passes, C=config.C)


def load(file: ModelFile) -> ChainModel:
    """The model of a file."""
    return ChainModel.loaded(file, TemplateEncoder.loaded(file))


def _train(
    task: TaggingTask, config: HiddenLabels, kind: type[LatentPerceptron] | type[LatentSvm], **knobs: Any
) -> Trained:
    learner = kind(restarts=config.restarts, noise=config.noise, seed=task.seed, **knobs)
    given = inner_labels(task, "as given")
    if len(given.labels.outer) < 2:
        raise DataError(
            f"hidden labels need at least two labels, and all {len(given.y)} tokens are {given.labels.outer[0]!r}"
        )
    encoder, rows = encoded_without_labels(task, config, given)
    labels = hidden_labels(given.labels.outer, config.kinds)
    shows, Y = labels.outer_of, len(labels.inner)
    rules = LabelRules.of(config, task, given).refined(labels)
    problem = Problem(
        Refined(rules.chain(Y), shows),
        Linear(Layout.chain(encoder.n_features, Y)),
        SentenceExamples(rows.sentences, rows.ptr, rows.ids, given.y, values=rows.values),
        task.weight,
    )

    def model(scorer: Linear) -> ChainModel:
        weights = rules.put_into(ChainWeights.of(scorer, None))
        return ChainModel(encoder, Additive(weights), labels, needs=rules.needs)

    return train_tagger(task, learner, problem, model, config.patience)


def hidden_labels(outer: tuple[str, ...], kinds: int) -> LabelSet:
    """Each label, split into this many hidden kinds.

    >>> hidden_labels(("IN", "OUT"), 2).inner
    ('IN#1', 'IN#2', 'OUT#1', 'OUT#2')
    """
    made = {KIND.format(label=y, number=k): y for y in outer for k in range(1, kinds + 1)}
    return LabelSet.recoded(outer, made)


PERCEPTRON = Recipe(
    "latent-perceptron",
    "chain with hidden kinds of each label, by the latent perceptron",
    LatentPerceptronTagger,
    train_perceptron,
    load,
    options=("attributes",),
)
SVM = Recipe(
    "latent-ssvm",
    "the same by the latent structured SVM (CCCP)",
    LatentSvmTagger,
    train_svm,
    load,
    options=("weight", "attributes"),
)
