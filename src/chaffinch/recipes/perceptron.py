"""Perceptron taggers: exact search (perceptron, mira) and incremental search (greedy, easiest-first, beam)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.features.templates import FeatureSet
from chaffinch.features.token_rows import FeatureRows
from chaffinch.knobs import knob
from chaffinch.learners.arow import Arow
from chaffinch.learners.mira import Mira, PassiveAggressive
from chaffinch.learners.online import OnlineLearner, epochs, example_order
from chaffinch.learners.perceptron import Perceptron
from chaffinch.learners.problem import Problem, SentenceExamples
from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel, ChainWeights
from chaffinch.model.dictionary import LabelDictionary
from chaffinch.model.incremental import IncrementalModel, IncrementalWeights, native_templates, observations
from chaffinch.model.template_encoder import TemplateEncoder
from chaffinch.modelfile import ModelFile
from chaffinch.progress import Progress
from chaffinch.recipes.encoding import INSIDE, InnerLabels, encoded, inner_labels, suggested_preset
from chaffinch.recipes.held_out import HeldOut
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.scorers import Layout, Linear
from chaffinch.search import Beam, EasiestFirst, IncrementalSearch, LeftToRight, Legality
from chaffinch.search.legality import seen_pairs
from chaffinch.structures import Chain
from chaffinch.text.document import LABEL
from chaffinch.trust.calibration import fitted_temperature

RULES = ("perceptron", "pa", "mira", "arow")
LEGAL = ("none", "scheme", "seen")
CONSTRAIN = ("prediction", "both")


@dataclass(frozen=True, kw_only=True)
class _Online:
    """Knobs of all taggers that learn online."""

    epochs: int = knob(10, "passes over the training data at most", low=1)
    patience: int = knob(5, "with dev data: epochs without a better score before stopping", low=1)
    average: bool = knob(True, "the mean of the weights over all steps instead of the last")
    inside: str = knob("auto", "auto: BIO labels are learnt as BIOES", choices=INSIDE)
    min_count: int = knob(1, "features seen fewer times are left out", low=1)
    language: str = knob("english", "of stems and prepositions, for the templates that use them")
    clusters: str | None = knob(None, "file of word clusters: path, word")
    gazetteers: str | None = knob(None, "files of phrases, separated by commas, or a folder of .txt files")


@dataclass(frozen=True, kw_only=True)
class StructuredPerceptron(_Online):
    """The structured perceptron: Viterbi, and w += f(x, y) - f(x, y_hat) after each mistake."""

    constraints: bool = knob(True, "never predict a transition that the tag scheme forbids")


@dataclass(frozen=True, kw_only=True)
class MiraTagger(_Online):
    """Margin-infused learning with Viterbi: the smallest change that puts y above its rivals by their cost."""

    rule: str = knob(
        "mira", "mira, passive-aggressive, or with a variance for each weight", choices=RULES[1:]
    )
    C: float = knob(0.1, "mira, pa: largest step", low=0.0)
    k: int = knob(1, "mira: best labellings considered at a time", low=1)
    r: float = knob(1.0, "arow: how slowly variances fall", low=0.0)
    constraints: bool = knob(True, "never predict a transition that the tag scheme forbids")


@dataclass(frozen=True, kw_only=True)
class _Incremental(_Online):
    """Knobs of the taggers that decide label by label."""

    rule: str = knob("mira", "how weights move on a mistake, or on a win by too little", choices=RULES)
    C: float = knob(0.1, "mira, pa: largest step", low=0.0)
    r: float = knob(1.0, "arow: how slowly variances fall", low=0.0)
    window: int = knob(
        3, "labels looked at on a side; templates with y[...] of your own take their place", low=0
    )
    legal: str = knob(
        "scheme",
        "which labels may follow which: all, as the tag scheme says, or seen in training",
        choices=LEGAL,
    )
    constrain: str = knob(
        "prediction", "where these rules hold: when predicting, or in training as well", choices=CONSTRAIN
    )
    inside: str = knob("as given", "auto: BIO labels are learnt as BIOES", choices=INSIDE)
    forbid: str = knob("", "further pairs, such as 'NAME->QTY, <s>->PREP, QTY-></s>'")
    need: str = knob("", "labels that need an earlier one, such as 'I needs B since SEP, X needs Y'")
    min_updates: int = knob(1, "features count only once they were rewarded so often, in training too", low=1)
    min_weight: float = knob(0.0, "weights that are smaller than this in the end become zero", low=0.0)
    bits: int | None = knob(
        None, "weights stored as whole numbers of so many bits, with a scale", low=2, high=16
    )
    dictionary: int = knob(
        0, "words seen at least so often, always with one label, keep it without a search; 0: none", low=0
    )


@dataclass(frozen=True, kw_only=True)
class Greedy(_Incremental):
    """From left to right: each label is decided for good, with those before it as context."""

    own: float = knob(
        0.5, "training: how often a wrong label stays as context, else gold stands there", low=0.0, high=1.0
    )


@dataclass(frozen=True, kw_only=True)
class EasiestFirstTagger(_Incremental):
    """The easiest decision anywhere first: later ones see labels on both sides."""

    ease: str = knob("margin", "what is easy: a high score, or a high margin", choices=("score", "margin"))
    update: str = knob(
        "local",
        "global: reward the best correct choice anywhere and choose again; local: the right label there and then",
        choices=("global", "local"),
    )
    own: float = knob(
        0.5,
        "training: how often a wrong label stays as context; with global updates from the second epoch on",
        low=0.0,
        high=1.0,
    )


@dataclass(frozen=True, kw_only=True)
class BeamTagger(_Incremental):
    """From left to right with several beginnings kept."""

    rule: str = knob("perceptron", "how weights move on a mistake", choices=RULES)
    width: int = knob(8, "beginnings kept", low=1)
    violation: str = knob(
        "max", "learn from the worst beginning, or from where gold falls out", choices=("max", "early")
    )


# -- exact search ---------------------------------------------------------------------------------------------


def train_perceptron(task: TaggingTask, config: StructuredPerceptron) -> Trained:
    """The structured perceptron."""
    learner = Perceptron(epochs=config.epochs, seed=task.seed, average=config.average)
    return _train_chain(task, config, learner, config.constraints)


def train_mira(task: TaggingTask, config: MiraTagger) -> Trained:
    """MIRA, passive-aggressive or AROW on the chain."""
    return _train_chain(task, config, _learner(config, task.seed, config.k), config.constraints)


def load_chain(file: ModelFile) -> TaggingModel:
    """The model of a file."""
    return ChainModel.loaded(file, TemplateEncoder.loaded(file))


def _train_chain(task: TaggingTask, config: _Online, learner: OnlineLearner, constraints: bool) -> Trained:
    inner = inner_labels(task, config.inside)
    encoder, rows = _encoded(task, config, inner, labels=None)
    if encoder.features.label_templates:
        raise ConfigError(
            f"template {encoder.features.label_templates[0].text!r} reads labels; exact search learns pairs of "
            "labels by itself: use greedy, easiest-first or beam for such templates"
        )
    Y = len(inner.labels.inner)
    masks = inner.legal if constraints and inner.legal is not None else (None, None, None)
    problem = Problem(
        Chain(Y, *masks),
        Linear(Layout.chain(encoder.n_features, Y)),
        SentenceExamples(rows.sentences, rows.ptr, rows.ids, inner.y),
    )

    def model(scorer: Linear) -> ChainModel:
        parts = {name: scorer.block(name).copy() for name in ("unary", "pair", "start", "end")}
        if masks[0] is not None:
            parts["pair"][~masks[0]] = -np.inf
            parts["start"][0, ~masks[1]] = -np.inf
            parts["end"][0, ~masks[2]] = -np.inf
        weights = ChainWeights(parts["unary"], parts["start"][0], parts["end"][0], parts["pair"])
        return ChainModel(encoder, weights, inner.labels)

    def passes() -> Iterator[Pass]:
        for epoch in epochs(learner, problem):
            wrong = epoch.wrong / max(1, len(problem.examples))
            yield Pass(epoch.number, wrong, lambda scorer=epoch.scorer: model(scorer()))  # type: ignore[misc]

    return _best(passes(), task, config)


# -- incremental search -----------------------------------------------------------------------------------------


def train_greedy(task: TaggingTask, config: Greedy) -> Trained:
    """From left to right."""
    return _train_incremental(task, config, LeftToRight(), {}, lambda _: config.own)


def train_easiest_first(task: TaggingTask, config: EasiestFirstTagger) -> Trained:
    """Easiest first."""
    settings = {"ease": config.ease, "everywhere": config.update == "global"}
    first = 0.0 if config.update == "global" else config.own
    return _train_incremental(
        task,
        config,
        EasiestFirst(ease=config.ease),
        settings,
        lambda epoch: first if epoch == 1 else config.own,
    )


def train_beam(task: TaggingTask, config: BeamTagger) -> Trained:
    """Beam search."""
    settings = {"width": config.width, "max_violation": config.violation == "max"}
    return _train_incremental(task, config, Beam(width=config.width), settings, lambda _: 1.0)


def load_incremental(file: ModelFile) -> TaggingModel:
    """The model of a file."""
    return IncrementalModel.loaded(file)


def _train_incremental(
    task: TaggingTask,
    config: _Incremental,
    search: IncrementalSearch,
    settings: dict[str, Any],
    own: Callable[[int], float],
) -> Trained:
    inner = inner_labels(task, config.inside)
    both = isinstance(search, EasiestFirst)
    encoder, rows = _encoded(
        task, config, inner, lambda features: label_templates(config.window, both, observed_with(features))
    )
    _check_offsets(encoder, search)
    labels = inner.labels.inner
    legality = Legality.of(
        labels,
        scheme=None if config.legal == "none" else inner.legal,
        seen=seen_pairs(inner.y, rows.sentences, len(labels)) if config.legal == "seen" else None,
        forbid=config.forbid,
        need=config.need,
    )
    dictionary = LabelDictionary()
    if config.dictionary:
        dictionary = LabelDictionary.counted(task.table, inner.y, config.dictionary)
    learner = _learner(config, task.seed)
    trainer = _core.IncrementalTrainer(
        rows.sentences,
        rows.ptr,
        rows.ids,
        observations(encoder, rows),
        inner.y,
        F=encoder.n_features,
        Y=len(labels),
        templates=native_templates(encoder),
        search=search.kind,
        rule=learner.rule,
        amount=learner.amount(),
        seed=task.seed,
        min_updates=config.min_updates,
        known=dictionary.known(task.table),
        **settings,
        **(legality if config.constrain == "both" else Legality()).native(labels),
    )

    def model() -> IncrementalModel:
        weights = _weights(trainer, encoder.n_features, len(labels), config)
        return IncrementalModel(
            encoder, weights, inner.labels, search, legality, dictionary, bits=config.bits
        )

    def passes() -> Iterator[Pass]:
        for number in range(1, config.epochs + 1):
            order = example_order(len(rows.sentences) - 1, task.seed, number)
            decided, mistakes, _ = trainer.epoch(order, own(number))
            yield Pass(number, mistakes / max(1, decided), model)

    trained = _best(passes(), task, config)
    return Trained(_calibrated(trained.model, task), trained.history)


def observed_with(features: FeatureSet) -> list[str]:
    """What label templates look at beside labels: the stem where the features have stems, else the word; the tag."""
    read = {atom.column for template in features.templates for atom in template.atoms}
    return ["stem[0]" if "stem" in read else "lower[0]", *(["pos[0]"] if "pos" in read else [])]


def label_templates(window: int, both_sides: bool, observed: Sequence[str]) -> list[str]:
    """Templates over decided labels: the nearest one, two ... ``window``, the second alone, and with what is observed.

    >>> label_templates(3, False, ["stem[0]"])
    ['y[-1]', 'y[-2]|y[-1]', 'y[-3]|y[-2]|y[-1]', 'y[-2]', 'y[-1]|stem[0]']
    """
    if window == 0:
        return []
    made = []
    for sign in (-1, 1) if both_sides else (-1,):
        for n in range(1, window + 1):
            made.append("|".join(f"y[{o}]" for o in sorted(sign * d for d in range(1, n + 1))))
        made += [f"y[{2 * sign}]"] if window > 1 else []
        made += [f"y[{sign}]|{o}" for o in observed]
    if both_sides:
        made += ["y[-1]|y[1]", *(f"y[-1]|y[1]|{o}" for o in observed)]
    return made


def _check_offsets(encoder: TemplateEncoder, search: IncrementalSearch) -> None:
    if isinstance(search, EasiestFirst):
        return
    for template in encoder.features.label_templates:
        if template.offsets[-1] > 0:
            raise ConfigError(
                f"template {template.text!r} reads a label to the right, which {search.kind} search decides later; "
                "use easiest-first"
            )


def _weights(trainer: Any, F: int, Y: int, config: _Incremental) -> IncrementalWeights:
    rows = trainer.weights(config.average).reshape(-1, _core.padded(Y))[:, :Y]
    if config.min_weight > 0:
        rows = np.where(np.abs(rows) < config.min_weight, np.float32(0), rows)
    template, key = trainer.contexts()
    context = rows[F + 1 :]
    kept = context.any(axis=1)
    return IncrementalWeights(
        np.ascontiguousarray(rows[:F]), template[kept], key[kept], np.ascontiguousarray(context[kept])
    )


def _calibrated(model: TaggingModel, task: TaggingTask) -> TaggingModel:
    """With dev data, confidence that says how often decisions are right."""
    if task.dev is None or not isinstance(model, IncrementalModel) or isinstance(model.search, Beam):
        return model
    steps = model.steps(task.dev, task.threads)
    gold = InnerLabels.of(task.dev.columns[LABEL], task.dev.ptr, "auto")
    place = {label: i for i, label in enumerate(model.labels.inner)}
    y = np.array([place.get(label, -1) for label in gold.labels.inner], np.int32)[gold.y]
    known = y >= 0
    if not known.any():
        return model
    return model.with_temperature(fitted_temperature(steps.scores[known], y[known]))


# -- what they share --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pass:
    """One epoch: the share of mistakes, and the model as it is now."""

    number: int
    wrong: float
    model: Callable[[], TaggingModel]


def _best(passes: Iterator[Pass], task: TaggingTask, config: _Online) -> Trained:
    """The last model, or with dev data the best; on_epoch and patience may stop early."""
    history: list[Progress] = []
    held_out: HeldOut | None = None
    best: TaggingModel | None = None
    best_score, best_number = -np.inf, 0
    last: Pass | None = None
    for last in passes:
        scores = {"wrong": last.wrong}
        if task.dev is not None:
            model = last.model()
            held_out = held_out or HeldOut(task.dev, model.labels, task.threads)
            scores["dev"] = held_out.score(model)
            if scores["dev"] > best_score:
                best, best_score, best_number = model, scores["dev"], last.number
        history.append(Progress("epoch", last.number, config.epochs, scores))
        patient = task.dev is None or last.number - best_number < config.patience
        if not (task.on_epoch(replace(history[-1], model=last.model)) and patient):
            break
    assert last is not None
    return Trained(best or last.model(), history)


def _encoded(
    task: TaggingTask,
    config: _Online,
    inner: InnerLabels,
    labels: Callable[[FeatureSet], list[str]] | None,
) -> tuple[TemplateEncoder, FeatureRows]:
    return encoded(
        task,
        preset=suggested_preset(task, inner),
        min_count=config.min_count,
        language=config.language,
        clusters=config.clusters,
        gazetteers=config.gazetteers,
        labels=labels,
    )


def _learner(config: Any, seed: int, k: int = 1) -> OnlineLearner:
    """The learner that a config's rule names."""
    shared: dict[str, Any] = {"epochs": config.epochs, "seed": seed, "average": config.average}
    match config.rule:
        case "perceptron":
            return Perceptron(**shared)
        case "pa":
            return PassiveAggressive(C=config.C, **shared)
        case "mira":
            return Mira(C=config.C, k=k, **shared)
        case _:
            return Arow(r=config.r, **shared)


PERCEPTRON = Recipe(
    "perceptron", "structured perceptron, Viterbi", StructuredPerceptron, train_perceptron, load_chain
)
MIRA = Recipe("mira", "margin-infused learning, Viterbi", MiraTagger, train_mira, load_chain)
GREEDY = Recipe("greedy", "online learning, left to right", Greedy, train_greedy, load_incremental)
EASIEST_FIRST = Recipe(
    "easiest-first",
    "online learning, easiest decision first",
    EasiestFirstTagger,
    train_easiest_first,
    load_incremental,
)
BEAM = Recipe("beam", "online learning, beam search", BeamTagger, train_beam, load_incremental)
