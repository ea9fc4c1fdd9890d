"""Online learning with incremental search: greedy, easiest-first and beam taggers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.features.templates import FeatureSet
from chaffinch.knobs import knob
from chaffinch.learners.examples import ContextExamples
from chaffinch.learners.incremental import DecisionLearner, PrefixLearner, SearchLearner
from chaffinch.learners.problem import Problem
from chaffinch.model import TaggingModel
from chaffinch.model.dictionary import LabelDictionary
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.incremental import IncrementalModel, IncrementalWeights
from chaffinch.model.label_observations import native_templates, observations
from chaffinch.modelfile import ModelFile
from chaffinch.recipes.encoding import (
    INSIDE,
    InnerLabels,
    encoded,
    inner_labels,
    refuse_empty,
    suggested_preset,
)
from chaffinch.recipes.perceptron import RULES, OnlineTagger, RuleKnobs, named_learner
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.recipes.rules import LabelRules, TransitionRules
from chaffinch.recipes.training import train_on_sentences
from chaffinch.scorers.contexts import ContextScorer
from chaffinch.search import Beam, EasiestFirst, IncrementalChain, IncrementalSearch, LeftToRight, Legality
from chaffinch.search.legality import LEGAL

CONSTRAIN = ("prediction", "both")


@dataclass(frozen=True, kw_only=True)
class IncrementalTagger(RuleKnobs, OnlineTagger):
    """Knobs of the taggers that decide label by label."""

    rule: str = knob("mira", "update rule for mistakes and wins below the margin", choices=tuple(RULES))
    window: int = knob(
        3,
        "labels in the default label templates on each side; your own templates with y[...] replace them",
        low=0,
        high=20,
    )
    legal: str = knob(
        "scheme",
        "allowed transitions: all, those of the tag scheme, or those seen in training",
        choices=LEGAL,
    )
    constrain: str = knob(
        "prediction", "apply the constraints in prediction only, or in training too", choices=CONSTRAIN
    )
    inside: str = knob(
        "as given", "internal tag scheme; auto: BIO labels are learnt as BIOES", choices=INSIDE
    )
    forbid: str = knob("", "further pairs, such as 'NAME->QTY, <s>->PREP, QTY-></s>'")
    need: str = knob("", "labels that need an earlier one, such as 'I needs B since SEP, X needs Y'")
    min_updates: int = knob(
        1, "minimum number of updates of a feature before it is used, in training too", low=1
    )
    min_weight: float = knob(0.0, "set weights below this absolute value to zero after training", low=0.0)
    bits: int | None = knob(
        None, "bits per weight in the model file, stored as integers with a scale", low=2, high=16
    )
    dictionary: int = knob(
        0,
        "minimum frequency from which a word with only one label in training always gets it; 0: none",
        low=0,
    )


@dataclass(frozen=True, kw_only=True)
class Greedy(IncrementalTagger):
    """Greedy search from left to right: each label is final, with the earlier labels as context."""

    own: float = knob(
        0.5,
        "probability of keeping the model's own wrong label as context in training; otherwise the gold label is used",
        low=0.0,
        high=1.0,
    )


@dataclass(frozen=True, kw_only=True)
class EasiestFirstTagger(IncrementalTagger):
    """Easiest-first search: the easiest position is decided first, and later decisions see labels on both sides."""

    ease: str = knob(
        "margin",
        "the easiest position has the highest score, or the highest margin",
        choices=("score", "margin"),
    )
    update: str = knob(
        "local",
        "global: update towards the best correct choice at any position and choose again; local: update towards the "
        "gold label at the chosen position",
        choices=("global", "local"),
    )
    own: float = knob(
        0.5,
        "probability of keeping the model's own wrong label as context in training; otherwise the gold label is "
        "used; with global updates from the second epoch on",
        low=0.0,
        high=1.0,
    )


@dataclass(frozen=True, kw_only=True)
class BeamTagger(IncrementalTagger):
    """Beam search from left to right."""

    rule: str = knob("perceptron", "update rule for mistakes", choices=tuple(RULES))
    width: int = knob(8, "beam width", low=1, high=10_000)
    violation: str = knob(
        "max",
        "update at the largest violation, or as soon as gold falls off the beam",
        choices=("max", "early"),
    )


def train_greedy(task: TaggingTask, config: Greedy) -> Trained:
    """From left to right."""
    learner = DecisionLearner(**_shared(task, config), own=config.own)
    return _train_incremental(task, config, LeftToRight(), learner)


def train_easiest_first(task: TaggingTask, config: EasiestFirstTagger) -> Trained:
    """Easiest first."""
    learner = DecisionLearner(**_shared(task, config), own=config.own, anywhere=config.update == "global")
    return _train_incremental(task, config, EasiestFirst(ease=config.ease), learner)


def train_beam(task: TaggingTask, config: BeamTagger) -> Trained:
    """Beam search."""
    learner = PrefixLearner(**_shared(task, config), violation=config.violation)
    return _train_incremental(task, config, Beam(width=config.width), learner)


def _shared(task: TaggingTask, config: IncrementalTagger) -> dict[str, Any]:
    return {"rule": named_learner(config, task.seed), "min_updates": config.min_updates}


def load(file: ModelFile) -> TaggingModel:
    """The model of a file."""
    return IncrementalModel.loaded(file)


def _train_incremental(
    task: TaggingTask, config: IncrementalTagger, search: IncrementalSearch, learner: SearchLearner
) -> Trained:
    inner = inner_labels(task, config.inside)
    both = isinstance(search, EasiestFirst)
    encoder, rows = encoded(
        task,
        config,
        preset=suggested_preset(task, inner),
        labels=lambda features: label_templates(config.window, both, observed_with(features)),
    )
    _check_offsets(encoder, search)
    labels = inner.labels.inner
    legality = _legality(task, config, inner)
    dictionary = LabelDictionary()
    if config.dictionary and task.without_words:
        raise ConfigError("a label dictionary lists words, and the tokens have none; set dictionary to 0")
    if config.dictionary:
        dictionary = LabelDictionary.counted(task.table, inner.y, config.dictionary)
    observed, known = observations(encoder, rows), dictionary.known(task.table)
    problem = Problem(
        IncrementalChain(labels, search, legality if config.constrain == "both" else Legality()),
        ContextScorer.zeros(encoder.n_features, len(labels), native_templates(encoder)),
        ContextExamples(rows.sentences, rows.ptr, rows.ids, inner.y, observed, known, rows.values),
    )

    def model(scorer: ContextScorer) -> IncrementalModel:
        weights = IncrementalWeights(scorer.unary, scorer.template, scorer.key, scorer.context)
        made = IncrementalModel(encoder, weights, inner.labels, search, legality, dictionary)
        # Rounded now, so that the model predicts the same after it is saved and loaded.
        return made if not smaller else made.pruned(config.min_weight, config.bits)

    smaller = config.min_weight > 0 or config.bits is not None
    training = train_on_sentences(task, learner, problem, model, patience=config.patience)
    made = model(training.made)
    if smaller or config.min_updates > 1:
        largest = max(float(np.abs(w).max(initial=0.0)) for w in (training.made.unary, training.made.context))
        refuse_empty(made.magnitudes(), config.min_weight, largest)
        made = made.reduced()
    return Trained(made, training.history)


def _legality(task: TaggingTask, config: IncrementalTagger, inner: InnerLabels) -> Legality:
    """The rules of the config and of the tag scheme; gold labels that break a rule of the config are named."""
    given = TransitionRules(legal=config.legal, forbid=config.forbid, need=config.need)
    rules = LabelRules.of(given, task, inner)
    if rules.needs and inner.labels.inner != inner.labels.outer:
        raise ConfigError("need works only with labels that are learnt as given: set inside to 'as given'")
    follows, starts, ends = rules.legal or (None, None, None)
    return Legality(follows, starts, ends, rules.needs)


def _check_offsets(encoder: TemplateEncoder, search: IncrementalSearch) -> None:
    if isinstance(search, EasiestFirst):
        return
    for template in encoder.features.label_templates:
        if template.offsets[-1] > 0:
            raise ConfigError(
                f"template {template.text!r} reads a label to the right, which {search.kind} search decides later; "
                "use easiest-first"
            )


GREEDY = Recipe(
    "greedy", "online learning, left to right", Greedy, train_greedy, load, options=("attributes",)
)
EASIEST_FIRST = Recipe(
    "easiest-first",
    "online learning, easiest decision first",
    EasiestFirstTagger,
    train_easiest_first,
    load,
    options=("attributes",),
)
BEAM = Recipe("beam", "online learning, beam search", BeamTagger, train_beam, load, options=("attributes",))


# -- templates over decided labels, for features that have none ----------------------------------------------------


def observed_with(features: FeatureSet) -> list[str]:
    """The observations of label templates: the stem if the features have stems, otherwise the word; the tag."""
    if not features.templates:
        return []
    read = {atom.column for template in features.templates for atom in template.atoms}
    return ["stem[0]" if "stem" in read else "lower[0]", *(["pos[0]"] if "pos" in read else [])]


def label_templates(window: int, both_sides: bool, observed: Sequence[str]) -> list[str]:
    """Templates over decided labels: the nearest one, two ... ``window``, the second alone, and the first observed.

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
