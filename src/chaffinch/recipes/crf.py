"""The linear-chain conditional random field: globally normalised, trained on the conditional likelihood."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from chaffinch._core import CrfProblem
from chaffinch.errors import ConfigError
from chaffinch.features.token_rows import FeatureRows
from chaffinch.knobs import knob
from chaffinch.learners.likelihood import (
    MOST_DUAL_BYTES,
    RATE,
    Lbfgs,
    LikelihoodLearner,
    Sdca,
    Sgd,
    calibrated_rate,
    suited_rate,
)
from chaffinch.model import LabelSet, TaggingModel
from chaffinch.model.bigram_chain import BigramChainModel
from chaffinch.model.chain import ChainModel, ChainWeights
from chaffinch.model.pruned_chain import PRUNING, PrunedChainModel, Pruning
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.model.template_encoder import TemplateEncoder
from chaffinch.model.two_pass import TwoPassModel, stretch_of, two_files
from chaffinch.modelfile import ModelFile, fingerprint
from chaffinch.progress import Progress
from chaffinch.recipes.checkpoint import Checkpoint
from chaffinch.recipes.crf_problem import (
    CALIBRATED,
    FixedWeights,
    Shape,
    bigram_observations,
    made_problem,
    margin_costs,
    sampled,
    sentence_weights,
    soft_rows,
)
from chaffinch.recipes.crf_pruned import PrunedLearner, PrunedModels, PrunedWeights
from chaffinch.recipes.driving import Step, driven, followed
from chaffinch.recipes.encoding import (
    INSIDE,
    InnerLabels,
    TemplateFeatures,
    encoded,
    inner_labels,
    suggested_preset,
)
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.recipes.second_pass import second_templates, trained_twice
from chaffinch.text.first_pass import MAJORITY

# The penalty, and what is asked of names besides; chosen on held-out parts of three corpora.
C2 = 0.5
NAMES_C2 = 2.0
NAMES_MARGIN = 6.0
NAMES_RECALL = 1.3

# From so many labels on each token tries only those that its own features give this share, and not more than so many.
MANY_LABELS = 100
PRUNED_BELOW = 0.001
MOST_STATES = 16

SGD_PASSES = 5

# From so many sentences on five passes of SGD are enough for a margin.
MANY_SENTENCES = 1000

OPTIMISERS = ("auto", "precise", "fast", "sdca", "sgd", "lbfgs")


@dataclass(frozen=True, kw_only=True)
class Crf(TemplateFeatures):
    """A conditional random field: p(y|x) = exp(s(x, y)) / Z(x), maximised with c1 |w|_1 + c2 |w|^2 taken off."""

    c1: float = knob(0.0, "L1 penalty c1 |w|_1: makes most weights zero", low=0.0)
    c2: float | None = knob(None, "L2 penalty c2 |w|^2; auto: 2 where labels are names, else 0.5", low=0.0)
    margin: float | None = knob(
        None,
        "by how much a wrong label has to be worse (softmax margin); 0 is the plain likelihood, whose probabilities "
        "are honest; auto: 6 where labels are names, else 0",
        low=0.0,
    )
    recall: float | None = knob(
        None,
        "margin: how many times as much it costs to miss a name; auto: 1.3 where labels are names, else 1",
        low=0.0,
    )
    optimiser: str = knob(
        "auto",
        "auto: dual coordinate ascent where it can, SGD where it cannot or there is a margin and much data, L-BFGS "
        "where neither can; precise: dual ascent or L-BFGS, run to the optimum; fast: SGD",
        choices=OPTIMISERS,
    )
    passes: int | None = knob(None, "passes over the training data at most; else the optimiser's own", low=1)
    tolerance: float | None = knob(None, "when to stop; else the optimiser's own", low=0.0)
    rate: float | None = knob(
        None,
        "SGD: the first step size; auto: 0.2, less where tokens have more than 40 features",
        low=0.0,
    )
    calibrate: bool = knob(False, "SGD: halve the step size for as long as a sample of sentences fits better")
    patience: int = knob(3, "with dev data: passes without a better score before stopping", low=1)
    order: int = knob(1, "labels of history", low=1, high=2)
    states: str = knob(
        "all",
        "which (feature, label) pairs have a weight: all, or those observed in training",
        choices=("all", "observed"),
    )
    prune: float | None = knob(
        None,
        "labels that a token's own features give less than this share are not tried there; auto: 0.001 from 100 labels "
        "on; 0: all labels are tried",
        low=0.0,
        high=1.0,
    )
    inside: str = knob("auto", "auto: BIO labels are learnt as BIOES", choices=INSIDE)
    second_pass: bool = knob(
        False, "a second model reads which label the first gave to most other uses of a word in its document"
    )
    constraints: bool = knob(True, "never predict a transition that the tag scheme forbids")
    class_weight: str | None = knob(
        None, "how much sentences count, by the mean of their labels: balanced, or such as 'B-PER=3, O=0.5'"
    )
    unknown: str | None = knob(
        None, "the label of tokens whose label is not known: all labels are summed over there"
    )
    fixed: str | None = knob(
        None, "file of weights that are given, not trained: feature, label, weight, separated by tabs"
    )
    checkpoint: str | None = knob(
        None, "file written after every pass; a run that finds one of its own goes on from there"
    )
    min_weight: float = knob(
        0.005,
        "weights that are smaller than this in the end become zero, features without weights go",
        low=0.0,
    )
    bits: int | None = knob(
        None, "weights stored as whole numbers of so many bits, with a scale", low=2, high=16
    )


def train(task: TaggingTask, config: Crf) -> Trained:
    """One model, or two in a row."""
    if not config.second_pass:
        return train_once(task, config)
    if config.checkpoint is not None or task.start is not None or task.soft is not None:
        raise ConfigError(
            "Crf.second_pass has no checkpoint, no soft labels and no model to go on from; set it to False"
        )
    return trained_twice(task, lambda part: train_once(part, config), config.stretch)


def train_once(task: TaggingTask, config: Crf) -> Trained:
    """Encode, learn pass by pass, keep the last pass or, with dev data, the best."""
    inner, encoder, rows = _read(task, config)
    config = _settled(task, config, inner, len(rows.ids) / max(len(inner.y), 1))
    shape = Shape(
        encoder.n_features, len(inner.labels.inner), config.order, bigram_observations(encoder, config.order)
    )
    fixed = None if config.fixed is None else FixedWeights.read(config.fixed, encoder, inner.labels)
    weight = sentence_weights(task.table.ptr, inner.labels, inner.y, config.class_weight)
    if task.weight is not None:
        weight = task.weight if weight is None else weight * task.weight
    pruning = chosen_pruning(task, config, shape, inner)
    cost = margin_costs(inner.labels, config.margin, config.recall or 1.0) if config.margin else None
    problem = made_problem(
        shape,
        rows,
        inner,
        observed_only=config.states == "observed" and pruning is None,
        fixed=fixed,
        weight=weight,
        soft=None if task.soft is None else soft_rows(*task.soft, inner.labels),
        cost=cost,
    )
    checkpoint = None
    if config.checkpoint is not None:
        asked = fingerprint([repr(config), str(task.seed)], inner.y, rows.ids)
        checkpoint = Checkpoint(config.checkpoint, asked)
    if pruning is not None:
        trained = _pruned(task, config, problem, pruning, encoder, inner, checkpoint)
        if checkpoint is not None:
            checkpoint.remove()
        return trained
    w = np.zeros(problem.size, np.float32)
    if isinstance(task.start, ChainModel):
        w = shape.joined(task.start.weights, inner.labels.ids(task.start.labels.inner).astype(np.int64))

    def weights() -> ChainWeights:
        found = shape.split(w, inner.legal if config.constraints else None)
        if fixed is not None:
            found.unary[fixed.features, fixed.labels] = fixed.values
        return found

    def model() -> TaggingModel:
        if shape.observations:
            return BigramChainModel(encoder, weights(), shape.bigrams(w), inner.labels)
        return ChainModel(encoder, weights(), inner.labels)

    dual = config.order == 1 and not shape.observations and inner.allowed is None and task.start is None
    learner = chosen_learner(
        config,
        task.table.n_sentences,
        problem.dual_bytes if dual else None,
        goes_on=task.start is not None,
    )
    if isinstance(learner, Sgd) and config.calibrate:
        few = min(1.0, CALIBRATED / task.table.n_sentences)
        learner = replace(
            learner,
            rate=calibrated_rate(
                sampled(rows, inner, shape, cost), few * (config.c2 or 0.0), learner.rate, task.seed
            ),
        )
    passes = learner.passes(problem, w, task.seed, task.threads, checkpoint)
    history = driven(passes, w, model, task, config.patience)
    if checkpoint is not None:
        checkpoint.remove()
    del problem, learner, passes, rows
    if shape.observations or not (config.min_weight > 0 or config.c1 > 0 or config.bits is not None):
        return Trained(model(), history)
    kept = smaller(encoder, weights(), config.min_weight, config.bits)
    return Trained(ChainModel(encoder, kept, inner.labels, config.bits), history)


def _pruned(
    task: TaggingTask,
    config: Crf,
    problem: CrfProblem,
    pruning: Pruning,
    encoder: TemplateEncoder,
    inner: InnerLabels,
    checkpoint: Checkpoint | None,
) -> Trained:
    """The same on lattices of the labels that are likely at each token."""
    learner = PrunedLearner(
        problem,
        pruning,
        c2=C2 if config.c2 is None else config.c2,
        rate=RATE if config.rate is None else config.rate,
        epochs=config.passes or SGD_PASSES,
        seed=task.seed,
        all_pairs=config.states == "all",
    )
    models = PrunedModels(encoder, inner, pruning, config.constraints)
    best: list[PrunedWeights] = []

    def steps() -> Iterator[Step]:
        for met in learner.passes(checkpoint):
            progress = Progress("pass", met.number, None, {"objective": met.objective})
            yield Step(progress, lambda: models.model(learner.weights()))

    history = followed(
        steps(), task, config.patience, lambda _: best.__setitem__(slice(None), [learner.weights()])
    )
    weights = best[0] if best else learner.weights()
    return Trained(models.smaller(weights, config.min_weight, config.bits), history)


def chosen_pruning(task: TaggingTask, config: Crf, shape: Shape, inner: InnerLabels) -> Pruning | None:
    """What of the lattice is left out; None: nothing."""
    asked = config.prune
    plain = (
        config.order == 1
        and not shape.observations
        and inner.allowed is None
        and task.soft is None
        and task.start is None
        and config.fixed is None
        and config.c1 == 0
        and config.optimiser in ("auto", "fast", "sgd")
    )
    if asked and not plain:
        raise ConfigError(
            "Crf.prune needs c1 = 0, order 1, known labels, the optimiser 'auto' or 'fast', no fixed weights, "
            "no template with y[-1] and no model to go on from; set it to 0"
        )
    if asked is None:
        asked = PRUNED_BELOW if plain and shape.Y >= MANY_LABELS else 0.0
    return Pruning(asked, MOST_STATES) if asked > 0 else None


def load(file: ModelFile) -> TaggingModel:
    """The model of a file."""
    if (both := two_files(file)) is not None:
        return TwoPassModel(load(both[0]), load(both[1]), stretch_of(file))
    encoder = TemplateEncoder.loaded(file)
    if PRUNING in file.header.details:
        return PrunedChainModel.loaded(file, encoder)
    kind = BigramChainModel if encoder.features.label_templates else ChainModel
    return kind.loaded(file, encoder)


def smaller(
    encoder: TemplateEncoder, weights: ChainWeights, min_weight: float, bits: int | None
) -> ChainWeights:
    """The weights without small ones, rounded to ``bits``; the encoder forgets the features that have none left."""
    every = weights.unary
    largest = np.maximum(every.max(axis=1, initial=0), -every.min(axis=1, initial=0))
    keep = (largest >= min_weight) & (largest > 0)
    unary = every[
        keep
    ]  # the rest is done on what is left: the whole table may be the largest thing in memory
    unary[np.abs(unary) < min_weight] = 0
    if bits is not None:
        unary = SparseWeights.of(unary, bits).dense(unary.shape[1])
        left = np.asarray(unary.any(axis=1))
        keep[keep], unary = left, unary[left]
    if not keep.all():
        encoder.features.prune(keep)
    return replace(weights, unary=unary)


def chosen_learner(
    config: Crf, sentences: int, dual_bytes: int | None, goes_on: bool = False
) -> LikelihoodLearner:
    """The learner that the config asks for, or the one that fits.

    sentences:  how many there are to learn from
    dual_bytes: what dual ascent would keep in memory; None: the problem is not one for it
    goes_on:    training starts from weights that are not zero
    """
    name, rate = config.optimiser, RATE if config.rate is None else config.rate
    c2 = C2 if config.c2 is None else config.c2
    dual = dual_bytes is not None and config.c1 == 0 and c2 > 0
    if name == "sdca" and not dual:
        raise ConfigError(
            "Crf.optimiser 'sdca' needs c1 = 0, c2 > 0, order 1, known labels, no template with y[-1] and no model "
            "to go on from; use 'auto', 'sgd' or 'lbfgs'"
        )
    if name in ("fast", "sgd") and config.c1 > 0:
        raise ConfigError(f"Crf.optimiser {name!r} needs c1 = 0; use 'auto' or 'lbfgs'")
    precise = name == "precise"
    if name in ("auto", "precise"):
        # With a margin dual ascent takes many more passes than the five of SGD, which do as well on many sentences.
        quick = precise or not config.margin or sentences < MANY_SENTENCES
        fits = dual_bytes is not None and dual_bytes <= MOST_DUAL_BYTES
        name = (
            "sdca" if dual and fits and quick else "lbfgs" if precise or config.c1 > 0 or c2 == 0 else "sgd"
        )
    if name == "sdca":
        return Sdca(
            c2=c2,
            passes_at_most=config.passes or (40 if precise else 20),
            tolerance=config.tolerance if config.tolerance is not None else 0.001 if precise else 0.02,
            still=0.0 if precise else 0.001,
            finish=Lbfgs(c2=c2, tolerance=1e-6 if precise else 1e-4, fisher=True)
            if not config.passes
            else None,
        )
    if name == "lbfgs":
        return Lbfgs(
            c1=config.c1,
            c2=c2,
            steps_at_most=config.passes or 500,
            tolerance=config.tolerance if config.tolerance is not None else 1e-6 if precise else 1e-4,
            start=None if goes_on else Sgd(c2=c2, rate=rate),
        )
    return Sgd(c2=c2, epochs=config.passes or SGD_PASSES, rate=rate)


def _read(task: TaggingTask, config: Crf) -> tuple[InnerLabels, TemplateEncoder, FeatureRows]:
    """The labels and the features; those of the model to go on from, if there is one."""
    inside = "as given" if task.soft is not None else config.inside
    inner = inner_labels(task, inside, config.unknown if task.unknown is None else task.unknown)
    if task.soft is not None:
        inner = inner.with_labels_of(LabelSet.plain(task.soft[0]))
    if task.start is None:
        encoder, rows = encoded(
            task,
            config,
            preset=suggested_preset(task, inner),
            second=second_templates(inner.names) if MAJORITY in task.columns else (),
        )
        return inner, encoder, rows
    start = task.start
    if not isinstance(start, ChainModel) or not isinstance(start.encoder, TemplateEncoder):
        raise ConfigError("a crf can go on from a crf that has no template with y[-1], and from nothing else")
    return inner.with_labels_of(start.labels), start.encoder, start.encoder.rows(task.table, task.threads)


def _settled(task: TaggingTask, config: Crf, inner: InnerLabels, features_per_token: float) -> Crf:
    """The config with a penalty and a margin that suit the labels, and a rate that suits the features, where it leaves
    them open.

    Where labels are soft or partly unknown there is no margin.
    """
    certain = task.soft is None and inner.allowed is None
    if config.margin and not certain:
        raise ConfigError("Crf.margin needs labels that are known, each for certain; set it to 0")
    names = inner.names and certain
    margin = (NAMES_MARGIN if names else 0.0) if config.margin is None else config.margin
    return replace(
        config,
        c2=(NAMES_C2 if names and margin > 0 else C2) if config.c2 is None else config.c2,
        margin=margin,
        recall=(NAMES_RECALL if names else 1.0) if config.recall is None else config.recall,
        rate=suited_rate(features_per_token) if config.rate is None else config.rate,
    )


RECIPE = Recipe(
    "crf",
    "conditional random field on the linear chain",
    Crf,
    train,
    load,
    options=("weight", "soft", "unknown", "start"),
)
