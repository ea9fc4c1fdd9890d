"""Taggers by the structured margin: the structured SVM, and the max-margin Markov network with its kernels."""

from dataclasses import dataclass, fields

from chaffinch.errors import ConfigError, DataError
from chaffinch.knobs import knob
from chaffinch.learners.chain_smo import ChainSmo
from chaffinch.learners.cutting_plane import NSlack, OneSlack
from chaffinch.learners.examples import MonomialExamples, SentenceExamples
from chaffinch.learners.exponentiated import ExponentiatedGradient
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.margin import RESCALINGS, MarginLearner
from chaffinch.learners.problem import Problem
from chaffinch.learners.subgradient import Subgradient
from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.potentials import Additive, PolynomialPotentials, sorted_rows
from chaffinch.modelfile import ModelFile
from chaffinch.recipes.encoding import INSIDE, TemplateFeatures, encoded_without_labels, inner_labels
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.recipes.rules import LabelRules, TransitionRules
from chaffinch.recipes.training import train_tagger
from chaffinch.scorers import Layout, Linear
from chaffinch.scorers.monomials import Monomials, MonomialScorer

KERNELS = ("linear", "polynomial")
FORMER_DEGREES = {"quadratic": 2, "cubic": 3}  # former names of polynomial kernels
GAMMAS = {1: 1.0, 2: 0.1, 3: 0.05}
LEARNERS: dict[str, type[MarginLearner]] = {
    "frank-wolfe": FrankWolfe,
    "subgradient": Subgradient,
    "n-slack": NSlack,
    "one-slack": OneSlack,
    "exponentiated-gradient": ExponentiatedGradient,
    "smo": ChainSmo,
}
SSVM_LEARNERS = ("frank-wolfe", "subgradient", "n-slack", "one-slack")
WITHOUT_FIXED = ("exponentiated-gradient", "smo")  # they need the whole score in the potentials
M3N_LEARNERS = ("frank-wolfe", "exponentiated-gradient", "smo")
PASSES = {
    "n-slack": 200,
    "one-slack": 2000,
}  # enough to reach the optimum within the default tolerance; other learners: 20
PATIENCE = {"one-slack": 20}  # this many of its passes are as much as one pass of another learner
MOST_BYTES = 4 << 30  # maximum size of the explicit weights of a kernel's products


@dataclass(frozen=True, kw_only=True)
class _MarginTagger(TransitionRules, TemplateFeatures):
    """The knobs that both taggers share."""

    C: float = knob(0.3, "weight of a sentence's hinge loss against |w|^2 / 2", low=1e-12, high=1e12)
    passes: int | None = knob(
        None,
        "maximum number of passes over the training data; by default 20, for n-slack 200, for one-slack 2000",
        low=1,
    )
    tolerance: float = knob(0.01, "stop when the duality gap is below this share of the primal", low=0.0)
    measure: int = knob(
        5,
        "frank-wolfe, subgradient, n-slack: passes between two evaluations of the exact duality gap; 0: never",
        low=0,
    )
    average: bool = knob(True, "frank-wolfe, subgradient: average the weights, later steps with more weight")
    patience: int = knob(
        5, "with dev data: passes without a better score before stopping; one-slack: 20 times as many", low=1
    )
    inside: str = knob("auto", "internal tag scheme; auto: BIO labels are learnt as BIOES", choices=INSIDE)


@dataclass(frozen=True, kw_only=True)
class StructuredSvm(_MarginTagger):
    """The structured SVM: the gold labelling must beat every other by a margin equal to its cost."""

    learner: str = knob("frank-wolfe", "optimiser of the weights", choices=SSVM_LEARNERS)
    rescale: str = knob("margin", "rescale the margin or the slack by the cost", choices=RESCALINGS)


@dataclass(frozen=True, kw_only=True)
class MaxMarginMarkovNetwork(_MarginTagger):
    """The max-margin Markov network: the structured SVM's dual over marginals, with a kernel on the features."""

    learner: str = knob("frank-wolfe", "optimiser of the dual", choices=M3N_LEARNERS)
    kernel: str = knob(
        "linear",
        "of two tokens: x.x' or (gamma x.x' + 1)^degree over their features",
        choices=KERNELS,
        older=tuple(FORMER_DEGREES),
    )
    degree: int | None = knob(None, "polynomial: the power; by default 2", low=1, high=3)
    gamma: float | None = knob(
        None, "polynomial: factor of the inner product; by default 0.1 for degree 2, 0.05 for 3", low=0.0
    )

    @property
    def power(self) -> int:
        """The degree of the kernel: 1 if it is linear."""
        former = 1 if self.kernel == "linear" else FORMER_DEGREES.get(self.kernel)
        if former is not None and self.degree not in (None, former):
            raise ConfigError(
                f"the {self.kernel} kernel has degree {former}, got {self.degree}; use kernel polynomial"
            )
        return former or self.degree or 2


def train_ssvm(task: TaggingTask, config: StructuredSvm) -> Trained:
    """The structured SVM."""
    return _train(task, config, degree=1, gamma=1.0)


def train_m3n(task: TaggingTask, config: MaxMarginMarkovNetwork) -> Trained:
    """The max-margin Markov network."""
    degree = config.power
    gamma = config.gamma or GAMMAS[degree]  # old files write 0 if no gamma is set
    return _train(task, config, degree=degree, gamma=gamma)


def load(file: ModelFile) -> TaggingModel:
    """The model of a file: a kernel's, or a plain chain's."""
    return ChainModel.loaded(file, TemplateEncoder.loaded(file))


def _train(
    task: TaggingTask, config: StructuredSvm | MaxMarginMarkovNetwork, degree: int, gamma: float
) -> Trained:
    inner = inner_labels(task, config.inside)
    encoder, rows = encoded_without_labels(task, config, inner)
    Y, F = len(inner.labels.inner), encoder.n_features
    if len(inner.labels.outer) < 2:
        raise DataError(
            f"a margin needs at least two labels, and all {len(inner.y)} tokens are {inner.labels.outer[0]!r}"
        )
    rules = LabelRules.of(config, task, inner)
    chain = rules.chain(Y)
    if rules.held is not None and config.learner in WITHOUT_FIXED:
        raise ConfigError(f"learner {config.learner} does not support fixed transitions; use frank-wolfe")
    if degree > 1 and rows.values is not None:
        raise ConfigError(
            "a polynomial kernel multiplies features without values; use kernel linear, or values of 1"
        )
    map = None if degree == 1 else _checked(Monomials(F, degree, gamma, 1.0), Y)
    if map is None:
        examples = SentenceExamples(rows.sentences, rows.ptr, rows.ids, inner.y, values=rows.values)
        problem = Problem(chain, Linear(Layout.chain(F, Y)), examples, task.weight)
    else:
        products = MonomialExamples(rows.sentences, *sorted_rows(rows, F), inner.y, map)
        problem = Problem(chain, MonomialScorer(Layout.chain(map.rows, Y), map), products, task.weight)

    def model(scorer: Linear) -> TaggingModel:
        weights = rules.put_into(ChainWeights.of(scorer, None))
        source = Additive(weights) if map is None else PolynomialPotentials(weights, map)
        return ChainModel(encoder, source, inner.labels, needs=rules.needs)

    patience = config.patience * PATIENCE.get(config.learner, 1)
    return train_tagger(task, _learner(config, task.seed), problem, model, patience)


def _learner(config: StructuredSvm | MaxMarginMarkovNetwork, seed: int) -> MarginLearner:
    """The named learner, with the knobs that it has."""
    kind = LEARNERS[config.learner]
    given = {"epochs": config.passes or PASSES.get(config.learner, 20), "seed": seed}
    for name in ("C", "tolerance", "average", "measure", "rescale"):
        if hasattr(config, name):
            given[name] = getattr(config, name)
    own = {f.name for f in fields(kind)}
    return kind(**{name: value for name, value in given.items() if name in own})


def _checked(map: Monomials, Y: int) -> Monomials:
    """Refuse a kernel with products that do not fit in memory."""
    if map.D > 2000 or 4 * map.rows * Y > MOST_BYTES:
        raise ConfigError(
            f"the kernel's products of {map.D:,} features are too many to hold for {Y} labels; use --kernel linear, "
            "a lower degree, or fewer features, such as --min-count or --features pixels"
        )
    return map


SSVM = Recipe(
    "ssvm",
    "structured SVM: Viterbi, and a margin as wide as the cost",
    StructuredSvm,
    train_ssvm,
    load,
    options=("weight", "attributes"),
)
M3N = Recipe(
    "m3n",
    "max-margin Markov network: the structured margin with a linear or polynomial kernel",
    MaxMarginMarkovNetwork,
    train_m3n,
    load,
    options=("weight", "attributes"),
)
