"""The linear-chain conditional random field: globally normalised, trained on the conditional likelihood."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from chaffinch import modelfile
from chaffinch._core import CrfProblem
from chaffinch.errors import ConfigError
from chaffinch.features.token_rows import FeatureRows
from chaffinch.learners.likelihood import Sgd, calibrated_rate
from chaffinch.model import LabelSet, TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.potentials import Additive, Pruning
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.model.template_encoder import TemplateEncoder
from chaffinch.model.two_pass import TwoPassModel, stretch_of, two_files
from chaffinch.modelfile import ModelFile, fingerprint
from chaffinch.progress import Progress
from chaffinch.recipes.checkpoint import Checkpoint
from chaffinch.recipes.crf_config import Crf, Settled, settled
from chaffinch.recipes.crf_learner import SGD_PASSES, chosen_learner
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
    InnerLabels,
    encoded,
    inner_labels,
    suggested_preset,
)
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.recipes.second_pass import second_templates, trained_twice
from chaffinch.text.first_pass import MAJORITY

__all__ = ["RECIPE", "Crf", "load", "smaller", "train", "train_once"]

# From so many labels on each token tries only those that its own features give this share, and not more than so many.
MANY_LABELS = 100
PRUNED_BELOW = 0.001
MOST_STATES = 16


def train(task: TaggingTask, config: Crf) -> Trained:
    """One model, or two in a row."""
    if config.start is not None and task.start is None:
        task = replace(task, start=_model_of(config.start))
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
    chosen = settled(
        config,
        names=inner.names,
        certain=task.soft is None and inner.allowed is None,
        features_per_token=len(rows.ids) / max(len(inner.y), 1),
    )
    shape = Shape(
        encoder.n_features, len(inner.labels.inner), config.order, bigram_observations(encoder, config.order)
    )
    fixed = None if config.fixed is None else FixedWeights.read(config.fixed, encoder, inner.labels)
    weight = sentence_weights(task.table.ptr, inner.labels, inner.y, config.class_weight)
    if task.weight is not None:
        weight = task.weight if weight is None else weight * task.weight
    pruning = chosen_pruning(task, config, shape, inner)
    cost = margin_costs(inner.labels, chosen.margin, chosen.recall) if chosen.margin else None
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
        asked = fingerprint([repr(config), repr(chosen), str(task.seed)], inner.y, rows.ids)
        checkpoint = Checkpoint(config.checkpoint, asked)
    if pruning is not None:
        trained = _pruned(task, config, chosen, problem, pruning, encoder, inner, checkpoint)
        if checkpoint is not None:
            checkpoint.remove()
        return trained
    w = np.zeros(problem.size, np.float32)
    if isinstance(task.start, ChainModel):
        w = shape.joined(task.start.weights, inner.labels.ids(task.start.labels.inner).astype(np.int64))

    def weights() -> ChainWeights:
        found = shape.split(w, inner.legal if config.constraints else None)
        if fixed is not None:
            found.dense[fixed.features, fixed.labels] = fixed.values
        return found

    def model() -> TaggingModel:
        bigrams = shape.bigrams(w) if shape.observations else ()
        return ChainModel(encoder, Additive(replace(weights(), bigrams=bigrams)), inner.labels)

    dual = config.order == 1 and not shape.observations and inner.allowed is None and task.start is None
    learner = chosen_learner(
        config,
        chosen,
        task.table.n_sentences,
        problem.dual_bytes if dual else None,
        goes_on=task.start is not None,
    )
    if isinstance(learner, Sgd) and config.calibrate:
        few = min(1.0, CALIBRATED / task.table.n_sentences)
        learner = replace(
            learner,
            rate=calibrated_rate(sampled(rows, inner, shape, cost), few * chosen.c2, learner.rate, task.seed),
        )
    passes = learner.passes(problem, w, task.seed, task.threads, checkpoint)
    history = driven(passes, w, model, task, config.patience)
    if checkpoint is not None:
        checkpoint.remove()
    del problem, learner, passes, rows
    if shape.observations or not (config.min_weight > 0 or config.c1 > 0 or config.bits is not None):
        return Trained(model(), history)
    lean, kept = smaller(encoder, weights(), config.min_weight, config.bits)
    return Trained(ChainModel(lean, Additive(kept), inner.labels), history)


def _pruned(
    task: TaggingTask,
    config: Crf,
    chosen: Settled,
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
        c2=chosen.c2,
        rate=chosen.rate,
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
    return ChainModel.loaded(file, TemplateEncoder.loaded(file))


def smaller(
    encoder: TemplateEncoder, weights: ChainWeights, min_weight: float, bits: int | None
) -> tuple[TemplateEncoder, ChainWeights]:
    """The weights without small ones, rounded to ``bits``, and an encoder of the features that have some left."""
    every = weights.dense
    largest = np.maximum(every.max(axis=1, initial=0), -every.min(axis=1, initial=0))
    keep = (largest >= min_weight) & (largest > 0)
    # The rest is done on what is left: the whole table may be the largest thing in memory.
    unary = every[keep]
    unary[np.abs(unary) < min_weight] = 0
    if bits is not None:
        unary = SparseWeights.of(unary, bits).dense(unary.shape[1])
        left = np.asarray(unary.any(axis=1))
        keep[keep], unary = left, unary[left]
    return encoder if keep.all() else encoder.pruned(keep), replace(weights, unary=unary, bits=bits)


def _model_of(path: str) -> TaggingModel:
    """The CRF that a file holds."""
    file = modelfile.read(path)
    if file.header.recipe != RECIPE.name:
        raise ConfigError(
            f"Crf.start: {path} holds a model of the recipe {file.header.recipe!r}, expected a crf"
        )
    return load(file)


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
    if (
        not isinstance(start, ChainModel)
        or not isinstance(start.encoder, TemplateEncoder)
        or not isinstance(start.source, Additive)
        or start.weights.bigrams
    ):
        raise ConfigError("a crf can go on from a crf that has no template with y[-1], and from nothing else")
    return inner.with_labels_of(start.labels), start.encoder, start.encoder.rows(task.table, task.threads)


RECIPE = Recipe(
    "crf",
    "conditional random field on the linear chain",
    Crf,
    train,
    load,
    options=("weight", "soft", "unknown", "start"),
)
