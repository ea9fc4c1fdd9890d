"""The linear-chain conditional random field: globally normalised, trained on the conditional likelihood.

Two passes: a second tagger reads the first one's labels of the same word elsewhere in the document. On its own training
sentences the first tagger is too accurate for the second to learn from its labels, so each fifth of them is labelled by
a tagger trained on the other four. Krishnan and Manning 2006, "An effective two-stage model for exploiting non-local
dependencies in named entity recognition".
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch._core import kept_rows, row_strengths
from chaffinch.errors import ConfigError, warn_about_data
from chaffinch.features.rows import FeatureRows
from chaffinch.features.templates import columns_of, parse_all
from chaffinch.learners.likelihood import KeptDuals, LikelihoodLearner, PrunedSgd, Sdca, Sgd
from chaffinch.learners.training import Checkpoint
from chaffinch.model import LabelSet, TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.potentials import Additive, Pruned, Pruning
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.model.two_pass import TwoPassModel, after_first_pass
from chaffinch.modelfile import ModelFile, fingerprint
from chaffinch.progress import Progress, keep_going
from chaffinch.recipes.crf_config import (
    MANY_LABELS,
    MIN_WEIGHT,
    SGD_PASSES,
    Auto,
    Crf,
    chosen_learner,
    has_margin,
    learner_rate,
    suited_objective,
)
from chaffinch.recipes.crf_duals import MOST_KEPT_BYTES
from chaffinch.recipes.crf_memory import CANNOT, CrfMemory, can_learn_on
from chaffinch.recipes.crf_problem import (
    CrfLayout,
    FixedWeights,
    bigram_observations,
    crf_problem,
    margin_costs,
    sentence_weights,
    soft_rows,
)
from chaffinch.recipes.encoding import (
    InnerLabels,
    encoded,
    inner_labels,
    refuse_empty,
    suggested_preset,
)
from chaffinch.recipes.fingerprints import held_out_fingerprint
from chaffinch.recipes.recipe import Change, Recipe, TaggingTask, Trained, are_corrections, doubled
from chaffinch.recipes.rules import LabelRules
from chaffinch.recipes.training import train_on_sentences
from chaffinch.scorers import Linear
from chaffinch.text.first_pass import FIRST, MAJORITY
from chaffinch.text.stretch import document_groups, natural_stretch

# -- the second pass --------------------------------------------------------------------------------------------------


FOLDS = 5


def train_twice(task: TaggingTask, once: Callable[[TaggingTask], Trained], stretch: int | None) -> Trained:
    """Train the first model, then the second on its labels; the history is that of the second.

    once:    trains one model; the task of the second also has the columns ``first`` and ``majority``
    stretch: consecutive sentences that count as one document if the data mark none; None: estimated
    """
    plain = replace(task, dev=None, on_epoch=keep_going, features=_without_first_pass(task.features))
    stretch = stretch or natural_stretch(task.table)
    first = once(plain).model
    labels = _crossed_labels(plain, once, first, stretch)
    table = after_first_pass(task.table, labels, first.labels, stretch)
    dev = None
    if task.dev is not None:
        dev = after_first_pass(task.dev, first.decode(task.dev, task.threads), first.labels, stretch)
    second = once(replace(task, table=table, columns=(*task.columns, FIRST, MAJORITY), dev=dev))
    return Trained(TwoPassModel(first, second.model, stretch), second.history)


def second_templates(names: bool) -> list[str]:
    """The additional templates of the second pass: over the majority label and, except for names, over the first
    pass's labels of the neighbouring tokens.
    """
    majority = [f"{MAJORITY}[-1..1]", f"{MAJORITY}[0]|caps[0]", f"{MAJORITY}[0]|w[0]"]
    if names:
        return majority
    f = FIRST
    around = [f"{f}[-2..2]", f"{f}[-1]|{f}[1]", f"{f}[-1]|{f}[0]|{f}[1]", f"{f}[0]|w[0]", f"{f}[1]|w[0]"]
    return [*majority, *around]


def _crossed_labels(
    task: TaggingTask, once: Callable[[TaggingTask], Trained], first: TaggingModel, stretch: int
) -> NDArray[np.int32]:
    """Out-of-fold labels of all training tokens, with the ids of ``first``."""
    fold = _folds(document_groups(task.table, stretch))
    found = np.zeros(task.table.n_tokens, np.int32)

    def label(k: int) -> None:
        rest, held = fold != k, task.table.of_sentences(fold == k)
        if held.n_tokens == 0:
            return
        model = first
        if rest.any():
            weight = None if task.weight is None else task.weight[rest]
            part_task = replace(
                task, table=task.table.of_sentences(rest), weight=weight, threads=1, fold=True
            )
            model = once(part_task).model
        place = {label: i for i, label in enumerate(first.labels.outer)}
        known = np.array([place[label] for label in model.labels.outer], np.int32)
        found[np.repeat(fold == k, np.diff(task.table.ptr))] = known[model.decode(held, 1)]

    with ThreadPoolExecutor(task.threads or os.cpu_count() or 1) as pool:
        list(pool.map(label, range(FOLDS)))
    return found


def _without_first_pass(features: str | Sequence[str] | None) -> str | Sequence[str] | None:
    """The templates that the first pass can use, if templates are listed."""
    if features is None or isinstance(features, str):
        return features
    return [t for t in features if not {FIRST, MAJORITY} & set(columns_of(parse_all([t])))]


def _folds(groups: NDArray[np.int32]) -> NDArray[np.int64]:
    """The fold of each sentence: folds of equal size, documents kept whole if there are enough."""
    N = len(groups)
    starts = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1) != 0)
    if len(starts) < FOLDS:
        return np.arange(N) * FOLDS // max(N, 1)
    document = np.cumsum(np.isin(np.arange(N), starts)) - 1
    return starts[document] * FOLDS // N


# -- the recipe -------------------------------------------------------------------------------------------------------


__all__ = ["RECIPE", "Crf", "load", "smaller", "train", "train_once"]

# With many labels each token keeps only labels with at least this probability by its own features, MOST_STATES at most.
PRUNED_BELOW = 0.001
MOST_STATES = 16


def train(task: TaggingTask, config: Crf) -> Trained:
    """Train one model, or two if ``second_pass`` is set."""
    start = task.start
    if task.sharding is not None and (start is not None or config.start or config.second_pass):
        raise ConfigError(
            "an engine cannot train a second pass, nor start from another model; leave out second_pass and start"
        )
    if task.sharding is not None and config.checkpoint is not None:
        raise ConfigError("an engine writes its own checkpoints; leave out the checkpoint")
    if config.start is not None and start is None:
        start = _model_of(config.start)
    if start is not None:
        return _learn_near(task, config, start)
    if not config.second_pass:
        return train_once(task, config)
    if config.checkpoint is not None or task.soft is not None:
        raise ConfigError("Crf.second_pass supports neither checkpoints nor soft labels; set it to False")
    return train_twice(task, lambda one: train_once(one, config), config.stretch)


def _learn_near(task: TaggingTask, config: Crf, start: TaggingModel) -> Trained:
    """Train on further sentences, near the weights of a model."""
    if task.soft is not None or task.unknown is not None or config.unknown is not None:
        raise ConfigError(
            "learning further sentences needs one known label per token, not soft or unknown labels"
        )
    memory = remember(start, config, task.seed)
    if memory is None:
        raise ConfigError(CANNOT)
    weight = np.ones(task.table.n_sentences, np.float32) if task.weight is None else task.weight
    none = np.zeros(0, np.float32)
    trained = learn_on(memory, Change(none.astype(bool), none, task.table, weight), task.threads)
    if not trained.all_right and are_corrections(len(weight), len(weight)):
        warn_about_data(
            "not every further sentence is right after learning it: other sentences or weights that are held "
            "contradict it; train on all data"
        )
    return trained


def remember(model: TaggingModel, config: Crf, seed: int) -> CrfMemory | None:
    """A memory without sentences that holds the weights of a model; None if they cannot be held."""
    if not isinstance(model, ChainModel) or not can_learn_on(model, config):
        return None
    return CrfMemory.around(model, config, seed)


def learn_on(memory: CrfMemory, change: Change, threads: int) -> Trained:
    """Add and remove sentences and run dual ascent to its tolerance; the given memory does not change.

    The weight of corrections that are still wrong is doubled until they are right: other sentences may contradict them.
    """
    taught = (change.weight > memory.weight)[~change.dropped]
    memory = memory.weighing(change.weight).without(change.dropped)
    if change.fresh is not None:
        weight = change.fresh_weight
        if weight is None:
            weight = np.ones(change.fresh.n_sentences, np.float32)
        memory = memory.with_sentences(change.fresh, weight, threads)
    taught = np.append(taught, np.ones(memory.n_sentences - len(taught), bool))
    memory, w, gap = memory.solve()
    wrong: NDArray[np.bool_] | None = None
    while are_corrections(int(taught.sum()), memory.n_sentences):
        wrong = memory.mistakes(w, taught)
        weight = np.where(wrong, doubled(memory.weight), memory.weight)
        if np.array_equal(weight, memory.weight):
            break
        memory, w, gap = memory.weighing(weight).solve()
    return replace(_trained(memory, w, gap), all_right=wrong is not None and not wrong.any())


def solve(memory: CrfMemory) -> Trained:
    """The model at the optimum of a memory's sentences."""
    return _trained(*memory.solve())


def _trained(memory: CrfMemory, w: NDArray[np.float32], gap: float) -> Trained:
    config = memory.config
    lean, kept = smaller(memory.encoder, memory.weights(w), config.min_weight, config.bits)
    model = ChainModel(lean, Additive(kept), memory.labels)
    return Trained(model, [Progress("pass", 1, None, {"gap": gap})], memory=memory)


def train_once(task: TaggingTask, config: Crf) -> Trained:
    """Encode, learn pass by pass, keep the last pass, or the best if there is dev data."""
    inner, encoder, rows = _read(task, config)
    chosen = suited_objective(
        config,
        rate=learner_rate(config.learner),
        names=inner.names,
        certain=task.soft is None and inner.allowed is None,
        features_per_token=len(rows.ids) / max(len(inner.y), 1),
        with_margin=has_margin(config, len(inner.labels.inner)) and not encoder.features.label_templates,
    )
    shape = CrfLayout(
        encoder.n_features, len(inner.labels.inner), config.order, bigram_observations(encoder, config.order)
    )
    rules = LabelRules.of(config, task, inner)
    path = config.fixed_file
    fixed = None if path is None else FixedWeights.read(path, encoder, inner.labels)
    weight = sentence_weights(task.table.ptr, inner.labels, inner.y, config.class_weight)
    if task.weight is not None:
        weight = task.weight if weight is None else weight * task.weight
    pruning = chosen_pruning(task, config, shape, inner)
    problem = crf_problem(
        shape,
        rows,
        inner,
        seed=task.seed,
        observed_only=config.states == "observed" and pruning is None,
        fixed=fixed,
        weight=weight,
        soft=None if task.soft is None else soft_rows(*task.soft, inner.labels),
        cost=margin_costs(inner.labels, chosen.margin, chosen.recall) if chosen.margin else None,
        chain=rules.chain(shape.Y, config.order) if rules.asked else None,
    )
    dual = config.order == 1 and not shape.observations and inner.allowed is None
    learner: LikelihoodLearner
    models: CrfModels | PrunedModels
    duals = KeptDuals()
    if pruning is not None:
        models = PrunedModels(encoder, inner, pruning, rules)
        learner = PrunedSgd(
            c2=chosen.c2,
            rate=chosen.rate,
            epochs=(isinstance(config.learner, Auto | Sgd) and config.learner.epochs) or SGD_PASSES,
            threshold=pruning.threshold,
            most=pruning.most,
            all_pairs=config.states == "all",
        )
    else:
        models = CrfModels(encoder, inner, shape, rules, fixed)
        bytes_needed = shape.dual_bytes(rows) if dual else None
        learner = chosen_learner(config, chosen, task.table.n_sentences, bytes_needed)
        plain = fixed is None and not rules.asked and task.soft is None and config.states == "all"
        plain = plain and task.sharding is None
        if isinstance(learner, Sdca) and task.keep and plain and shape.dual_bytes(rows) <= MOST_KEPT_BYTES:
            learner = replace(learner, kept=duals)
    checkpoint = None
    if config.checkpoint is not None:
        own = () if rows.values is None else (rows.values,)
        told = [repr(config), repr(chosen), str(task.seed), held_out_fingerprint(task.dev)]
        asked = fingerprint(told, inner.y, rows.ids, *own)
        checkpoint = Checkpoint(config.checkpoint, asked)
    training = train_on_sentences(
        task, learner, problem, models.model, patience=config.patience, checkpoint=checkpoint
    )
    memory = None
    if duals.w is not None and np.array_equal(duals.w, training.made.w):
        memory = CrfMemory.of(config, chosen, encoder, inner, rows, weight, duals.state, duals.w, task.seed)
    del problem, rows, duals
    smaller = config.min_weight > 0 or config.c1 > 0 or config.bits is not None
    return Trained(
        models.smaller(training.made, config.min_weight, config.bits)
        if smaller or pruning is not None
        else models.model(training.made),
        training.history,
        memory=memory,
        shards=training.shards,
    )


@dataclass(frozen=True)
class CrfModels:
    """Makes models from weights; holds everything that does not change in training."""

    encoder: TemplateEncoder
    inner: InnerLabels
    shape: CrfLayout
    rules: LabelRules
    fixed: FixedWeights | None

    def model(self, scorer: Linear) -> TaggingModel:
        """A model of these weights."""
        bigrams = self.shape.bigrams(scorer.w) if self.shape.observations else ()
        weights = replace(self._weights(scorer), bigrams=bigrams)
        return ChainModel(self.encoder, Additive(weights), self.inner.labels, needs=self.rules.needs)

    def smaller(self, scorer: Linear, min_weight: float, bits: int | None) -> TaggingModel:
        """The same without small weights and without features that have none left, rounded to ``bits``."""
        if self.shape.observations:
            return self.model(scorer)
        lean, kept = smaller(self.encoder, self._weights(scorer, view=True), min_weight, bits)
        return ChainModel(lean, Additive(kept), self.inner.labels, needs=self.rules.needs)

    def _weights(self, scorer: Linear, *, view: bool = False) -> ChainWeights:
        found = self.rules.put_into(self.shape.split(scorer.w, view=view and self.fixed is None))
        if self.fixed is not None:
            found.dense[self.fixed.features, self.fixed.labels] = self.fixed.values
        return found


# Rows of labels (ptr [F+1], labels [nnz], weights [nnz]), then pair, start and end in one.
PrunedWeights: TypeAlias = tuple[
    NDArray[np.int64], NDArray[np.uint16], NDArray[np.float32], NDArray[np.float32]
]


@dataclass(frozen=True)
class PrunedModels:
    """Makes models from a pruned learner's weights; holds everything that does not change in training."""

    encoder: TemplateEncoder
    inner: InnerLabels
    pruning: Pruning
    rules: LabelRules

    def model(self, weights: PrunedWeights) -> ChainModel:
        """A model of these weights."""
        ptr, columns, unary, chain = weights
        Y = len(self.inner.labels.inner)
        pair, start, end = np.split(chain.copy(), [Y * Y, Y * Y + Y])
        sparse = SparseWeights(np.diff(ptr).astype(np.uint16), columns, unary, 1.0)
        weights_by_part = ChainWeights(sparse, start, end, pair.reshape(Y, Y))
        source = Pruned(self.rules.put_into(weights_by_part), self.pruning)
        return ChainModel(self.encoder, source, self.inner.labels)

    def smaller(self, weights: PrunedWeights, min_weight: float, bits: int | None) -> ChainModel:
        """The same without small weights and without features that have none left, rounded to ``bits``."""
        ptr, columns, unary, _ = weights
        row = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        scale = 1.0
        values: NDArray[Any] = unary
        if bits is not None:
            scale = float(np.abs(unary).max(initial=1e-9)) / (2 ** (bits - 1) - 1)
            values = np.rint(unary / np.float32(scale)).astype(np.int8 if bits <= 8 else np.int16)
        kept = (np.abs(unary) >= min_weight) & (values != 0)
        counts = np.bincount(row[kept], minlength=len(ptr) - 1)
        sparse = SparseWeights(counts[counts > 0].astype(np.uint16), columns[kept], values[kept], scale)
        full = replace(self.model(weights).weights, unary=sparse)
        return ChainModel(self.encoder.pruned(counts > 0), Pruned(full, self.pruning), self.inner.labels)


def chosen_pruning(task: TaggingTask, config: Crf, shape: CrfLayout, inner: InnerLabels) -> Pruning | None:
    """The pruning of the lattice; None: no pruning."""
    asked = config.prune
    plain = (
        config.order == 1
        and not shape.observations
        and inner.allowed is None
        and task.soft is None
        and config.fixed_file is None
        and not config.need.strip()
        and config.c1 == 0
        and _is_quick(config.learner)
    )
    if asked and not plain:
        raise ConfigError(
            "Crf.prune needs c1 = 0, order 1, known labels, the optimiser 'auto' or 'fast', no fixed weights, "
            "and no template with y[-1]; set it to 0"
        )
    if asked is None:
        asked = PRUNED_BELOW if plain and shape.Y >= MANY_LABELS else 0.0
    return Pruning(asked, MOST_STATES) if asked > 0 else None


def _is_quick(learner: Any) -> bool:
    """Whether the learner is SGD, or chosen automatically and not precise."""
    return isinstance(learner, Sgd) or (isinstance(learner, Auto) and not learner.precise)


def load(file: ModelFile) -> TaggingModel:
    """The model of a file."""
    if not TwoPassModel.absent(file):
        return TwoPassModel.loaded(file)
    return ChainModel.loaded(file, TemplateEncoder.loaded(file))


def smaller(
    encoder: TemplateEncoder, weights: ChainWeights, min_weight: float, bits: int | None
) -> tuple[TemplateEncoder, ChainWeights]:
    """The weights without small ones, rounded to ``bits``, and an encoder of the features that have some left."""
    every = weights.dense
    largest = np.empty(len(every), np.float32)
    row_strengths(every, 1, largest)
    if min_weight == MIN_WEIGHT and not np.any(largest >= min_weight):
        min_weight = 0.0  # the default saves space: data without a signal keep their small weights
    keep = (largest >= min_weight) & (largest > 0)
    refuse_empty(keep, min_weight, float(largest.max(initial=0.0)))
    # The rest works on the remaining weights: the whole table may be the largest object in memory.
    unary = np.empty((int(np.count_nonzero(keep)), every.shape[1]), np.float32)
    kept_rows(every, keep.view(np.uint8), min_weight, unary)
    if bits is not None:
        unary = SparseWeights.of(unary, bits).dense(unary.shape[1])
        left = np.asarray(unary.any(axis=1))
        keep[keep], unary = left, unary[left]
    return encoder if keep.all() else encoder.pruned(keep), replace(weights, unary=unary, bits=bits)


def _model_of(path: str) -> TaggingModel:
    """The CRF of a file."""
    file = modelfile.read(path)
    if file.header.recipe != RECIPE.name:
        raise ConfigError(
            f"Crf.start: {path} holds a model of the recipe {file.header.recipe!r}, expected a crf"
        )
    return load(file)


def _read(task: TaggingTask, config: Crf) -> tuple[InnerLabels, TemplateEncoder, FeatureRows]:
    """The labels and the features."""
    inside = "as given" if task.soft is not None else config.inside
    inner = inner_labels(task, inside, config.unknown if task.unknown is None else task.unknown)
    if task.soft is not None:
        inner = inner.with_labels_of(LabelSet.plain(task.soft[0]))
    encoder, rows = encoded(
        task,
        config,
        preset=suggested_preset(task, inner),
        second=second_templates(inner.names) if MAJORITY in task.columns else (),
    )
    return inner, encoder, rows


RECIPE = Recipe(
    "crf",
    "conditional random field on the linear chain",
    Crf,
    train,
    load,
    options=("weight", "soft", "unknown", "start", "attributes", "sharding"),
    learn_on=learn_on,
    remember=remember,
)
