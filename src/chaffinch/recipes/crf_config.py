"""The settings of a CRF, and the choice of those that are not set."""

from dataclasses import InitVar, dataclass, replace
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.knobs import check_value, composed, knob, knobs
from chaffinch.learners.likelihood import (
    MOST_DUAL_BYTES,
    Lbfgs,
    LikelihoodLearner,
    Sdca,
    Sgd,
    suited_rate,
)
from chaffinch.recipes.encoding import INSIDE, TemplateFeatures
from chaffinch.recipes.rules import TransitionRules

# The penalty of the plain likelihood; penalty and margin of names and of other labels, unless either is set. Chosen on
# held-out splits of five corpora at eight sizes.
C2 = 0.5
MARGIN_C2 = 1.0
MARGIN = 4.0
NAMES_C2 = 2.0
NAMES_MARGIN = 6.0
NAMES_RECALL = 1.3

SGD_PASSES = 5

# With at least this many labels, each token tries only those that its own features make likely.
MANY_LABELS = 100

# With an L1 penalty dual ascent stops at this gap: later gains do not improve held-out accuracy.
ELASTIC_GAP = 0.05

# With fewer sentences than this, dual ascent runs closer to the optimum, which is cheap then; sentences learnt later
# then change only the answers that they concern.
FEW_SENTENCES = 3000

OPTIMISERS = ("auto", "precise", "fast", "sdca", "sgd", "lbfgs")


MIN_WEIGHT = 0.005


@dataclass(frozen=True, kw_only=True)
class Likelihood(TemplateFeatures):
    """The settings of a penalised likelihood of a chain or of segments."""

    c2: float | None = knob(
        None, "L2 penalty c2 |w|^2; auto: 2 if labels are names, else 1 with a margin, 0.5 without", low=0.0
    )
    margin: float | None = knob(
        None,
        "margin required for each wrong label (softmax margin); 0 is the plain likelihood; auto: 0 with an L1 penalty; "
        "6 if labels are names; 4 in a crf of order 1 if neither c2 nor an optimiser is set; else 0",
        low=0.0,
    )
    recall: float | None = knob(
        None,
        "cost multiplier for tagging a name token as O; auto: 1.3 if labels are names, else 1",
        low=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class Auto:
    """A learner of the CRF that suits the data: dual ascent if it applies, otherwise SGD, otherwise L-BFGS.

    precise: dual ascent or L-BFGS, run to the optimum
    The other fields are settings of the chosen learner; None: its default.
    """

    precise: bool = False
    epochs: int | None = None
    tolerance: float | None = None
    rate: float | None = None
    calibrate: bool = False


@dataclass(frozen=True, kw_only=True)
class LearnerFlags:
    """The learner of a CRF as flat settings: the flags of the command line, and the headers of files."""

    optimiser: str = knob(
        "auto",
        "auto: dual coordinate ascent if it applies, SGD if it does not, L-BFGS "
        "if neither applies; precise: dual ascent or L-BFGS, run to the optimum; fast: SGD",
        choices=OPTIMISERS,
    )
    passes: int | None = knob(
        None, "maximum number of passes over the training data; by default the optimiser's own", low=1
    )
    tolerance: float | None = knob(None, "stopping tolerance; by default the optimiser's own", low=0.0)
    rate: float | None = knob(
        None, "SGD: initial step size; auto: 0.2, less if tokens have more than 40 features", low=0.0
    )
    calibrate: bool = knob(
        False, "SGD: halve the step size as long as that improves the fit of a sample of sentences"
    )

    def learner(self) -> "CrfLearner":
        """The learner of these settings."""
        check_value("Crf.optimiser", knobs(LearnerFlags)[0], self.optimiser)
        stop: dict[str, Any] = {} if self.tolerance is None else {"tolerance": self.tolerance}
        most: dict[str, Any] = {} if self.passes is None else {"epochs": self.passes}
        if self.optimiser in ("auto", "precise"):
            precise = self.optimiser == "precise"
            return Auto(precise=precise, **most, **stop, rate=self.rate, calibrate=self.calibrate)
        if self.optimiser == "sdca":
            return Sdca(**most, **stop, finish=Lbfgs() if self.passes is None else None)
        if self.optimiser == "lbfgs":
            steps: dict[str, Any] = {} if self.passes is None else {"steps": self.passes}
            return Lbfgs(**steps, **stop, start=Sgd(rate=self.rate))
        return Sgd(**most, rate=self.rate, calibrate=self.calibrate)

    @staticmethod
    def of(learner: "CrfLearner") -> dict[str, Any]:
        """The flat settings of a learner."""
        found: dict[str, Any] = {"passes": None, "tolerance": None, "rate": None, "calibrate": False}
        if isinstance(learner, Auto):
            own = {"passes": learner.epochs, "tolerance": learner.tolerance, "rate": learner.rate}
            name = "precise" if learner.precise else "auto"
            return {**found, **own, "optimiser": name, "calibrate": learner.calibrate}
        if isinstance(learner, Sdca):
            most = learner.epochs if learner.finish is None else None
            return {
                **found,
                "optimiser": "sdca",
                "passes": most,
                "tolerance": _unless(learner.tolerance, Sdca()),
            }
        if isinstance(learner, Lbfgs):
            steps = None if learner.steps == Lbfgs().steps else learner.steps
            rate = None if learner.start is None else learner.start.rate
            stop = _unless(learner.tolerance, Lbfgs())
            return {**found, "optimiser": "lbfgs", "passes": steps, "tolerance": stop, "rate": rate}
        epochs = None if learner.epochs == SGD_PASSES else learner.epochs
        own = {"passes": epochs, "rate": learner.rate, "calibrate": learner.calibrate}
        return {**found, **own, "optimiser": "fast"}


def _unless(tolerance: float, usual: Sdca | Lbfgs) -> float | None:
    return None if tolerance == usual.tolerance else tolerance


CrfLearner = Auto | Sdca | Sgd | Lbfgs


@dataclass(frozen=True, kw_only=True)
class Crf(TransitionRules, Likelihood):
    """A conditional random field: maximises the sum of log p(y|x) - c1 |w|_1 - c2 |w|^2, p(y|x) = exp(s(x, y)) / Z(x).

    learner: the optimiser; its penalties are those set here. Flags and files name it by flat settings (optimiser,
             passes, tolerance, rate, calibrate), which may be given instead.

    >>> Crf(learner=Sgd(epochs=3)) == Crf(optimiser="fast", passes=3)
    True
    """

    c1: float = knob(0.0, "L1 penalty c1 |w|_1: makes most weights zero", low=0.0)
    learner: CrfLearner = composed(Auto(), LearnerFlags)
    patience: int = knob(3, "with dev data: passes without a better score before stopping", low=1)
    order: int = knob(1, "number of previous labels in a transition", low=1, high=2)
    states: str = knob(
        "all",
        "which (feature, label) pairs have a weight: all, or those observed in training",
        choices=("all", "observed"),
    )
    prune: float | None = knob(
        None,
        "prune labels with a lower probability by the token's own features; auto: 0.001 with 100 labels or more; "
        "0: no pruning",
        low=0.0,
        high=1.0,
    )
    inside: str = knob("auto", "internal tag scheme; auto: BIO labels are learnt as BIOES", choices=INSIDE)
    second_pass: bool = knob(
        False,
        "train a second model that reads the first model's most frequent label of a word's other occurrences in the "
        "document",
    )
    class_weight: str | None = knob(
        None, "weights of sentences, the mean over their labels: balanced, or a list such as 'B-PER=3, O=0.5'"
    )
    unknown: str | None = knob(
        None, "marker of unknown labels: training sums over all labels at these tokens"
    )
    fixed: str | None = knob(
        None,
        "weights that are not trained: transitions, 'A->B=2.0, *-></s>' (no value: 0; *: every label), or a file "
        "of lines with a feature, a label and a weight, separated by tabs",
    )
    start: str | None = knob(
        None,
        "model file of a CRF to continue from: its weights are the centre of the penalty; new words and labels are "
        "added",
    )
    checkpoint: str | None = knob(
        None, "file written after every pass; a run that finds its own checkpoint continues from there"
    )
    min_weight: float = knob(
        MIN_WEIGHT,
        "set weights below this absolute value to zero after training, and drop features without weights",
        low=0.0,
    )
    bits: int | None = knob(
        None, "bits per weight in the model file, stored as integers with a scale", low=2, high=16
    )
    optimiser: InitVar[str | None] = None
    passes: InitVar[int | None] = None
    tolerance: InitVar[float | None] = None
    rate: InitVar[float | None] = None
    calibrate: InitVar[bool | None] = None

    @property
    def fixed_file(self) -> str | None:
        """The file of fixed weights; None if there is none or transitions are fixed."""
        return None if self.fixed is None or "->" in self.fixed else self.fixed

    def __post_init__(
        self,
        optimiser: str | None,
        passes: int | None,
        tolerance: float | None,
        rate: float | None,
        calibrate: bool | None,
    ) -> None:
        flat = {
            "optimiser": optimiser,
            "passes": passes,
            "tolerance": tolerance,
            "rate": rate,
            "calibrate": calibrate,
        }
        given = {name: value for name, value in flat.items() if value is not None}
        if given:
            learner = LearnerFlags(**{**LearnerFlags.of(self.learner), **given}).learner()
            object.__setattr__(self, "learner", learner)


@dataclass(frozen=True)
class CrfObjective:
    """The objective and the initial step size, once labels and features are known."""

    c2: float
    margin: float
    recall: float
    rate: float


def suited_objective(
    config: Likelihood,
    *,
    rate: float | None,
    names: bool,
    certain: bool,
    features_per_token: float,
    with_margin: bool = False,
) -> CrfObjective:
    """A penalty and a margin that suit the labels, and a step size that suits the features.

    rate:        the step size that is set, if one is
    names:       whether labels mark names
    certain:     labels are neither soft nor partly unknown; otherwise there is no margin
    with_margin: other labels than names get a margin too, if neither it nor the penalty is set
    """
    if config.margin and not certain:
        raise ConfigError(
            "Crf.margin needs one known label per token, not soft or unknown labels; set it to 0"
        )
    names = names and certain
    margin, c2 = config.margin, config.c2
    if margin is None and getattr(config, "c1", 0.0) > 0:
        margin = 0.0
    if margin is None:
        margin = NAMES_MARGIN if names else MARGIN if with_margin and certain and c2 is None else 0.0
        c2 = MARGIN_C2 if c2 is None and margin == MARGIN else c2
    return CrfObjective(
        c2=(NAMES_C2 if names and margin > 0 else C2) if c2 is None else c2,
        margin=margin,
        recall=(NAMES_RECALL if names else 1.0) if config.recall is None else config.recall,
        rate=suited_rate(features_per_token) if rate is None else rate,
    )


def has_margin(config: "Crf", labels: int) -> bool:
    """Whether labels other than names get a margin: if the learner is automatic and dual ascent applies."""
    plain = isinstance(config.learner, Auto) and not config.learner.precise and config.order == 1
    return (
        plain and config.c1 == 0 and config.fixed_file is None and not config.prune and labels < MANY_LABELS
    )


def chosen_learner(
    config: Crf, chosen: CrfObjective, sentences: int, dual_bytes: int | None
) -> LikelihoodLearner:
    """The learner that the config names, or the one that suits the data.

    sentences:  number of training sentences
    dual_bytes: memory that dual ascent needs; None: dual ascent does not apply to the problem
    """
    asked, c2, rate = config.learner, chosen.c2, chosen.rate
    dual = dual_bytes is not None and c2 > 0
    if isinstance(asked, Auto):
        return _suited_learner(asked, config, chosen, sentences, dual_bytes if dual else None)
    if isinstance(asked, Sdca):
        if not dual:
            raise ConfigError(
                "Crf.optimiser 'sdca' needs c2 > 0, order 1, known labels and no template with y[-1]; "
                "use 'auto', 'sgd' or 'lbfgs'"
            )
        return replace(asked, c1=config.c1, c2=c2)
    if isinstance(asked, Lbfgs):
        start = None if asked.start is None else replace(asked.start, c2=c2, rate=rate)
        return replace(asked, c1=config.c1, c2=c2, start=start)
    if config.c1 > 0:
        raise ConfigError("Crf.optimiser 'sgd' needs c1 = 0; use 'auto' or 'lbfgs'")
    return replace(asked, c2=c2, rate=rate)


def _suited_learner(
    asked: Auto, config: Crf, chosen: CrfObjective, sentences: int, dual_bytes: int | None
) -> LikelihoodLearner:
    """Dual ascent if its duals fit in memory, otherwise L-BFGS if precise, c1 > 0 or c2 = 0, otherwise SGD."""
    c2, precise, tolerance = chosen.c2, asked.precise, asked.tolerance
    if dual_bytes is not None and dual_bytes <= MOST_DUAL_BYTES:
        usual = ELASTIC_GAP if config.c1 > 0 else 0.001 if sentences < FEW_SENTENCES else 0.005
        batch = _batch_tolerance(precise, config.c1)
        return Sdca(
            c1=config.c1,
            c2=c2,
            epochs=asked.epochs or (40 if precise else 20) * (2 if config.c1 > 0 else 1),
            tolerance=tolerance if tolerance is not None else 0.001 if precise else usual,
            still=0.0 if precise else 0.001,
            finish=None if asked.epochs else Lbfgs(c1=config.c1, c2=c2, tolerance=batch),
        )
    if precise or config.c1 > 0 or c2 == 0:
        return Lbfgs(
            c1=config.c1,
            c2=c2,
            steps=asked.epochs or 500,
            tolerance=tolerance if tolerance is not None else _batch_tolerance(precise, config.c1),
            start=Sgd(c2=c2, rate=chosen.rate),
        )
    return Sgd(c2=c2, epochs=asked.epochs or SGD_PASSES, rate=chosen.rate, calibrate=asked.calibrate)


def _batch_tolerance(precise: bool, c1: float) -> float:
    """The tolerance of L-BFGS; larger for OWL-QN, whose last steps do not improve held-out accuracy."""
    return 1e-6 if precise else 3e-3 if c1 > 0 else 1e-4


def learner_rate(learner: CrfLearner) -> float | None:
    """The initial step size of SGD if it is set; None: chosen from the data."""
    rate: float | None = LearnerFlags.of(learner)["rate"]
    return rate
