"""The maximum-entropy Markov model: the CRF's features and penalty, normalised label by label."""

from dataclasses import dataclass

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.likelihood import Lbfgs, LikelihoodLearner, Sgd
from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.potentials import LocallyNormalised
from chaffinch.modelfile import ModelFile
from chaffinch.recipes.crf_problem import CrfLayout, crf_problem
from chaffinch.recipes.encoding import INSIDE, TemplateFeatures, encoded, inner_labels, suggested_preset
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.recipes.rules import LabelRules, TransitionRules
from chaffinch.recipes.training import train_tagger
from chaffinch.scorers import Linear
from chaffinch.structures import LocalChain


@dataclass(frozen=True, kw_only=True)
class Memm(TransitionRules, TemplateFeatures):
    """p(y|x) = product of p(y_t | y_{t-1}, x); trained with the gold label before, decoded by Viterbi."""

    c1: float = knob(0.0, "L1 penalty c1 |w|_1", low=0.0)
    c2: float = knob(1.0, "L2 penalty c2 |w|^2", low=0.0)
    optimiser: str = knob("sgd", "SGD, or L-BFGS run to the optimum", choices=("sgd", "lbfgs"))
    passes: int = knob(5, "SGD: passes over the training data", low=1)
    rate: float = knob(0.2, "SGD: initial step size", low=0.0)
    patience: int = knob(3, "with dev data: passes without a better score before stopping", low=1)
    inside: str = knob("auto", "internal tag scheme; auto: BIO labels are learnt as BIOES", choices=INSIDE)


def train(task: TaggingTask, config: Memm) -> Trained:
    """Encode, learn pass by pass, keep the last pass, or the best if there is dev data."""
    if config.optimiser == "sgd" and config.c1 > 0:
        raise ConfigError("Memm.optimiser 'sgd' needs c1 = 0; use 'lbfgs'")
    inner = inner_labels(task, config.inside)
    encoder, rows = encoded(task, config, preset=suggested_preset(task, inner))
    if encoder.features.label_templates:
        raise ConfigError("recipe memm has no templates with y[...]; recipe crf reads y[-1]")
    shape = CrfLayout(encoder.n_features, len(inner.labels.inner))
    rules = LabelRules.of(config, task, inner)
    chain = rules.local_chain(shape.Y) if rules.asked else LocalChain(shape.Y)
    problem = crf_problem(shape, rows, inner, seed=task.seed, weight=task.weight, chain=chain)
    sgd = Sgd(c2=config.c2, epochs=config.passes, rate=config.rate)
    learner: LikelihoodLearner = sgd
    if config.optimiser == "lbfgs":
        learner = Lbfgs(c1=config.c1, c2=config.c2, start=sgd)

    def model(scorer: Linear) -> ChainModel:
        weights = rules.put_into(shape.split(scorer.w))
        return ChainModel(encoder, LocallyNormalised(weights), inner.labels, needs=rules.needs)

    return train_tagger(task, learner, problem, model, config.patience)


def load(file: ModelFile) -> TaggingModel:
    """The model of a file."""
    return ChainModel.loaded(file, TemplateEncoder.loaded(file), local=True)


RECIPE = Recipe(
    "memm",
    "maximum-entropy Markov model",
    Memm,
    train,
    load,
    options=("weight", "attributes", "sharding"),
)
