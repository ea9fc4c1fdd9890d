"""Online learning with exact search: the structured perceptron and MIRA on the linear chain."""

from dataclasses import dataclass, fields
from typing import Any

from chaffinch.knobs import knob
from chaffinch.learners.examples import SentenceExamples
from chaffinch.learners.online import (
    Arow,
    MarginPerceptron,
    Mira,
    OnlineLearner,
    PassiveAggressive,
    Perceptron,
)
from chaffinch.learners.problem import Problem
from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.potentials import Additive
from chaffinch.modelfile import ModelFile
from chaffinch.recipes.encoding import INSIDE, TemplateFeatures, encoded_without_labels, inner_labels
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.recipes.rules import LabelRules, TransitionRules
from chaffinch.recipes.training import train_tagger
from chaffinch.scorers import Layout, Linear

RULES: dict[str, type[OnlineLearner]] = {
    "perceptron": Perceptron,
    "pa": PassiveAggressive,
    "mira": Mira,
    "arow": Arow,
}


@dataclass(frozen=True, kw_only=True)
class OnlineTagger(TemplateFeatures):
    """Knobs of all taggers that learn online."""

    epochs: int = knob(10, "maximum number of passes over the training data", low=1)
    patience: int = knob(5, "with dev data: epochs without a better score before stopping", low=1)
    average: bool = knob(True, "return the average of the weights over all steps instead of the last weights")
    inside: str = knob("auto", "internal tag scheme; auto: BIO labels are learnt as BIOES", choices=INSIDE)


@dataclass(frozen=True, kw_only=True)
class RuleKnobs:
    """Knobs of the rules in ``RULES`` that all recipes with a choice of rules offer."""

    C: float = knob(0.1, "mira, pa: largest step", low=0.0)
    r: float = knob(1.0, "arow: regularisation r; larger values lower the variances more slowly", low=0.0)


@dataclass(frozen=True, kw_only=True)
class StructuredPerceptron(TransitionRules, OnlineTagger):
    """The structured perceptron: Viterbi, and w += f(x, y) - f(x, y_hat) after each mistake or win below the margin."""

    margin: float = knob(
        10.0,
        "margin required for each wrong label; 0: the plain perceptron",
        low=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class MiraTagger(RuleKnobs, TransitionRules, OnlineTagger):
    """Margin-infused learning with Viterbi: the smallest change with which y beats its rivals by their cost."""

    rule: str = knob(
        "mira",
        "update rule: passive-aggressive, MIRA, or AROW (a variance for each weight)",
        choices=tuple(RULES)[1:],
    )
    k: int = knob(1, "mira: best labellings considered at a time", low=1, high=1000)


def train_perceptron(task: TaggingTask, config: StructuredPerceptron) -> Trained:
    """The structured perceptron."""
    return _train_chain(task, config, learner_of(config, task.seed))


def train_mira(task: TaggingTask, config: MiraTagger) -> Trained:
    """MIRA, passive-aggressive or AROW on the chain."""
    return _train_chain(task, config, learner_of(config, task.seed))


def learner_of(config: StructuredPerceptron | MiraTagger, seed: int) -> OnlineLearner:
    """The learner of a config."""
    if isinstance(config, MiraTagger):
        return named_learner(config, seed)
    shared: dict[str, Any] = {"epochs": config.epochs, "seed": seed, "average": config.average}
    return MarginPerceptron(margin=config.margin, **shared) if config.margin else Perceptron(**shared)


def load(file: ModelFile) -> TaggingModel:
    """The model of a file."""
    return ChainModel.loaded(file, TemplateEncoder.loaded(file))


def _train_chain(
    task: TaggingTask, config: StructuredPerceptron | MiraTagger, learner: OnlineLearner
) -> Trained:
    inner = inner_labels(task, config.inside)
    encoder, rows = encoded_without_labels(task, config, inner)
    Y = len(inner.labels.inner)
    rules = LabelRules.of(config, task, inner)
    problem = Problem(
        rules.chain(Y),
        Linear(Layout.chain(encoder.n_features, Y)),
        SentenceExamples(rows.sentences, rows.ptr, rows.ids, inner.y, values=rows.values),
    )

    def model(scorer: Linear) -> ChainModel:
        weights = rules.put_into(ChainWeights.of(scorer, None))
        return ChainModel(encoder, Additive(weights), inner.labels, needs=rules.needs)

    return train_tagger(task, learner, problem, model, config.patience)


def named_learner(config: Any, seed: int) -> OnlineLearner:
    """The learner that a config's rule names, with the knobs that it has."""
    kind = RULES[config.rule]
    own = {f.name for f in fields(kind)} - {"seed"}
    return kind(seed=seed, **{name: getattr(config, name) for name in own if hasattr(config, name)})


PERCEPTRON = Recipe(
    "perceptron",
    "structured perceptron, Viterbi",
    StructuredPerceptron,
    train_perceptron,
    load,
    options=("attributes", "sharding"),
)
MIRA = Recipe(
    "mira",
    "margin-infused learning, Viterbi",
    MiraTagger,
    train_mira,
    load,
    options=("attributes", "sharding"),
)
