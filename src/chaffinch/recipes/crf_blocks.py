"""The CRF of a corpus that is not in memory: features are derived block by block from a cache of ids.

The objective, the features and the labels are the same as in memory; the weights are found by SGD, which needs a few
blocks at a time. Dual ascent runs only in memory: its duals take more memory than the corpus.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import give_back_memory
from chaffinch.cache import Cache
from chaffinch.errors import ConfigError
from chaffinch.features.blocks import BlockEncoder
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.rows import FeatureRows
from chaffinch.learners.best_pass import BEST, BestInFile
from chaffinch.learners.block_sgd import BlockSgd, ExampleBlocks
from chaffinch.learners.costs import LabelCosts
from chaffinch.learners.examples import CrfExamples
from chaffinch.learners.likelihood import Sgd
from chaffinch.learners.problem import Problem
from chaffinch.learners.shards import Sharding
from chaffinch.learners.training import Checkpoint
from chaffinch.model import LabelSet
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.modelfile import fingerprint
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.recipes.crf import CrfModels
from chaffinch.recipes.crf_config import (
    MIN_WEIGHT,
    SGD_PASSES,
    Auto,
    Crf,
    CrfObjective,
    has_margin,
    learner_rate,
    suited_objective,
)
from chaffinch.recipes.crf_problem import CrfLayout, margin_costs
from chaffinch.recipes.encoding import (
    FEW,
    OUTSIDE,
    InnerLabels,
    TemplateFeatures,
    as_bio,
    new_encoder,
    refuse_empty,
    suggested_preset,
)
from chaffinch.recipes.fingerprints import held_out_fingerprint
from chaffinch.recipes.recipe import TaggingTask, Trained
from chaffinch.recipes.rules import LabelRules
from chaffinch.recipes.scored_rows import ScoredRows
from chaffinch.recipes.training import tag_score, train_in_place
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Chain
from chaffinch.text.document import LABEL
from chaffinch.text.schemes import BIO, BIOES, Scheme, convert_column, repair_column
from chaffinch.text.schemes.legality import fault_counts, fewest_faults
from chaffinch.text.table import TokenTable

# With more weights than fit here, the rarest features are left out.
MOST_WEIGHT_BYTES = 768 << 20
SAMPLED_BLOCKS = (
    4  # evenly spaced, to choose a preset and to detect whether sentences are in the order of a text
)
KEPT_BYTES = 256 << 20  # size of labels and rows that are kept between passes
MIXED = 8  # blocks in memory at a time
ROWS = 1 << 16  # rows of weights that are read at a time


@dataclass(frozen=True)
class CachedTask:
    """The training data of a tagger as a cache, and the settings of its training.

    cache:      sentences with their columns, labels in column ``y``
    columns:    the columns that features may read, the word first
    checkpoint: file from which a stopped run resumes; or None
    sharding:   the engine to train on, in shards; None: train in this process
    """

    cache: Cache
    columns: tuple[str, ...]
    dev: TokenTable | None = None
    features: str | Sequence[str] | None = None
    seed: int = 0
    threads: int = 0
    on_epoch: Listener = keep_going
    checkpoint: Path | None = None
    sharding: Sharding | None = None

    def block(self, number: int) -> TokenTable:
        """A block with the columns that features may read."""
        table = self.cache.block(number)
        return replace(table, columns={name: table.columns[name] for name in self.columns})

    def best_file(self, layout: Layout, checkpoint: Path | None) -> BestInFile | None:
        """The file of the best pass, beside the checkpoint or the cache; None if nothing can be written there."""
        beside = self.cache.path if checkpoint is None else checkpoint
        if self.sharding is not None or not os.access(beside.parent, os.W_OK):
            return None
        return BestInFile(beside.with_name(beside.name + BEST), layout)

    def sample(self) -> TokenTable:
        """A few blocks as a table, all columns included."""
        n = self.cache.n_blocks
        return self.cache.table(
            sorted({k * n // SAMPLED_BLOCKS for k in range(min(n, SAMPLED_BLOCKS))} | {0})
        )


@dataclass(frozen=True)
class BlockLabels:
    """Inner labels of a corpus that is read block by block; see :class:`InnerLabels`.

    names:  whether labels are spans and most tokens are outside
    source: the scheme of the given tags, if they are repaired or recoded
    """

    labels: LabelSet
    scheme: Scheme | None
    names: bool
    source: Scheme | None = None
    repaired: bool = False
    recoded: bool = False

    @classmethod
    def of(cls, cache: Cache, inside: str) -> "BlockLabels":
        """The labels of a cache, in one pass over it, and one more if they are repaired or recoded."""
        types, counts = cache.vocabulary(LABEL), cache.counts(LABEL)
        faults: dict[str, int] = {}
        for table in cache.blocks():
            for name, n in fault_counts(table.columns[LABEL], table.ptr).items():
                faults[name] = faults.get(name, 0) + n
        scheme = fewest_faults(faults)
        outside = int(counts[types.index(OUTSIDE)]) if OUTSIDE in types else 0
        repaired = scheme is not None and faults[scheme.name] > 0
        if scheme is not None and faults[scheme.name] * FEW > cache.n_tokens - outside:
            scheme, repaired = None, False
        names = scheme is not None and outside > 0.5 * cache.n_tokens
        made = cls(LabelSet.plain(types), scheme, names, scheme, repaired)
        if repaired:
            given = {tag for table in cache.blocks() for tag in made._column(table).types}
            made = replace(made, labels=LabelSet.plain(sorted(given)))
        if scheme is BIO and inside == "auto":
            outer, made = made.labels.outer, replace(made, recoded=True)
            seen = {tag for table in cache.blocks() for tag in made._column(table).types}
            labels = LabelSet.recoded(outer, {tag: as_bio(tag) for tag in seen})
            made = replace(made, labels=labels, scheme=BIOES)
        return made

    def _column(self, table: TokenTable) -> Any:
        column = table.columns[LABEL]
        if self.repaired and self.source is not None:
            column = repair_column(column, table.ptr, self.source)
        return convert_column(column, table.ptr, BIO, BIOES) if self.recoded else column

    def ids(self, table: TokenTable) -> NDArray[np.int32]:
        """The inner ids of a block's tokens."""
        return self.labels.column_ids(self._column(table))

    def inner(self, table: TokenTable) -> InnerLabels:
        """The inner labels of a block."""
        return InnerLabels(self.labels, self.ids(table), self.scheme)


class BlockExamples:
    """Makes the examples of some blocks, and keeps what fits in memory for the next pass.

    Labels take one or two bytes per token; if those of all blocks fit, rows of features are kept too, block by block,
    until no room is left. Everything else is derived from the cache each time.

    room: bytes
    """

    def __init__(
        self, task: CachedTask, encoder: BlockEncoder, labels: BlockLabels, room: int = KEPT_BYTES
    ) -> None:
        self._task, self._encoder, self._labels = task, encoder, labels
        self._narrow = np.uint8 if len(labels.labels.inner) <= 1 << 8 else np.uint16
        all_labels = task.cache.n_tokens * np.dtype(self._narrow).itemsize
        self._keeps_labels = all_labels <= room and len(labels.labels.inner) <= 1 << 16
        self._room = room - (all_labels if self._keeps_labels else 0)
        self._y: dict[int, NDArray[Any]] = {}
        self._rows: dict[int, FeatureRows] = {}

    def made(self, numbers: Sequence[int]) -> CrfExamples:
        """The examples of these blocks, end to end."""
        sentences, ptr, gold, at = [], [], [], 0
        tokens = int(self._task.cache.tokens_by_block[list(numbers)].sum())
        ids = np.empty(tokens * self._encoder.most, np.int32)  # memory that is not written to is not taken
        for number in numbers:  # one piece at a time: all of them are as large as the whole
            rows, y = self._piece(number)
            sentences.append(rows.sentences)
            ptr.append(rows.ptr)
            gold.append(y)
            ids[at : at + len(rows.ids)] = rows.ids
            at += len(rows.ids)
        y = np.concatenate(gold, dtype=np.int32)
        return CrfExamples(_end_to_end(sentences), _end_to_end(ptr), ids[:at], y)

    def _piece(self, number: int) -> tuple[FeatureRows, NDArray[Any]]:
        if number in self._rows and number in self._y:
            return self._rows[number], self._y[number]
        table = self._task.cache.block(number)
        y = self._y.get(number)
        if y is None:
            y = self._labels.ids(table)
            if self._keeps_labels:
                self._y[number] = y = y.astype(self._narrow)
        block = replace(table, columns={name: table.columns[name] for name in self._task.columns})
        rows = self._encoder.rows(block, self._task.threads)
        size = rows.ids.nbytes + rows.ptr.nbytes + rows.sentences.nbytes
        if self._keeps_labels and size <= self._room:
            self._rows[number] = rows
            self._room -= size
        return rows, y


def train_blocks(task: CachedTask, config: Crf) -> Trained:
    """Count features block by block, learn mixture by mixture, keep the last pass, or the best if there is dev data."""
    refuse_settings(config)
    if task.cache.n_tokens == 0:
        raise ConfigError("expected at least one sentence to train on, got none")
    labels = BlockLabels.of(task.cache, config.inside)
    encoder, by_block = encoded_blocks(task, config, labels)
    Y = len(labels.labels.inner)
    shape = CrfLayout(encoder.n_features, Y)
    chosen = objective(config, labels, encoder, task.cache.n_tokens)
    cost = margin_costs(labels.labels, chosen.margin, chosen.recall) if chosen.margin else None
    examples = ExampleBlocks(
        task.cache.sentences_by_block,
        BlockExamples(task, by_block, labels).made,
        task.cache.n_tokens,
        task.cache.fingerprint,
    )
    problem = Problem(
        Chain(Y),
        Linear(shape.layout),
        examples,
        None,
        None if cost is None else LabelCosts(cost),
        task.seed,
    )
    learner = block_learner(config, chosen)
    inner = InnerLabels(labels.labels, np.zeros(0, np.int32), labels.scheme)
    rules = LabelRules.of(config, TaggingTask(task.cache.block(0), task.columns), inner)
    models = CrfModels(TemplateEncoder(encoder), inner, shape, rules, None)
    path = task.checkpoint if config.checkpoint is None else Path(config.checkpoint)
    told = [repr(config), repr(chosen), str(task.seed), task.cache.fingerprint]
    asked = fingerprint([*told, held_out_fingerprint(task.dev), *encoder.templates])
    training = train_in_place(
        task,
        learner,
        problem,
        model=models.model,
        patience=config.patience,
        checkpoint=None if path is None else Checkpoint(str(path), asked),
        **scoring(task, models, path),
    )
    made, history, shards = [training.made], training.history, training.shards
    del problem, examples, by_block, training
    return Trained(
        finished(models, made.pop(), config), history, shards=shards
    )  # ``finished`` frees the weights


def scoring(task: CachedTask, models: CrfModels, checkpoint: Path | None) -> dict[str, Any]:
    """How :func:`train_passes` scores held-out sentences and keeps the best pass, without a copy of the weights."""
    if task.dev is None:
        return {}
    rows = ScoredRows.of(task.dev, models.encoder, task.threads)
    lean = CrfLayout(len(rows.features), models.shape.Y)
    own = replace(models, encoder=cast(TemplateEncoder, rows.encoder), shape=lean)
    return {
        "held_out_score": tag_score(task.dev, task.threads),
        "scored": lambda made: own.model(rows.scorer(made, lean.layout)),
        "best": task.best_file(models.shape.layout, checkpoint),
    }


def refuse_settings(config: Crf) -> None:
    """Raise for settings that need all sentences in memory."""
    usual = Crf()
    quick = isinstance(config.learner, Sgd) or (
        isinstance(config.learner, Auto) and not config.learner.precise
    )
    if not quick or (isinstance(config.learner, Auto | Sgd) and config.learner.calibrate):
        raise ConfigError(
            "training from a cache uses SGD: leave out optimiser and calibrate, or set optimiser to fast"
        )
    for name in (
        *("order", "states", "prune", "second_pass", "class_weight", "unknown", "fixed", "start", "c1"),
        *("legal", "forbid", "need"),
    ):
        if getattr(config, name) != getattr(usual, name):
            raise ConfigError(f"Crf.{name} needs training in memory; leave it out, or train without a cache")


def objective(config: Crf, labels: BlockLabels, encoder: FeatureEncoder, tokens: int) -> CrfObjective:
    """The objective and the initial step size, as in memory."""
    return suited_objective(
        config,
        rate=learner_rate(config.learner),
        names=labels.names,
        certain=True,
        features_per_token=int(encoder.counts().sum(dtype=np.int64)) / max(tokens, 1),
        with_margin=has_margin(config, len(labels.labels.inner)),
    )


def block_learner(config: Crf, chosen: CrfObjective) -> BlockSgd:
    """SGD with the settings of the config."""
    epochs = (isinstance(config.learner, Auto | Sgd) and config.learner.epochs) or SGD_PASSES
    return BlockSgd(c2=chosen.c2, rate=chosen.rate, epochs=epochs, mixed=MIXED)


def finished(models: CrfModels, made: Linear, config: Crf) -> Any:
    """The model without small weights. Rows are moved in place: a second table would not fit."""
    shape, w = models.shape, made.w
    F, Y, S = shape.F, shape.Y, shape.S
    if config.min_weight <= 0 and config.bits is None:
        return models.model(made)
    rows = w[: (F + Y + 2) * S].reshape(-1, S)
    largest = np.empty(F, np.float32)
    for at in range(0, F, ROWS):
        part = rows[at : min(at + ROWS, F), :Y]
        largest[at : at + len(part)] = np.maximum(part.max(axis=1, initial=0), -part.min(axis=1, initial=0))
    least = config.min_weight
    if least == MIN_WEIGHT and not np.any(largest >= least):
        least = 0.0  # data without a signal keep their small weights
    keep = (largest >= least) & (largest > 0)
    refuse_empty(keep, least, float(largest.max(initial=0.0)))
    kept = np.concatenate([np.flatnonzero(keep), F + np.arange(Y + 2)])
    for at in range(0, len(kept), ROWS):  # writing never overtakes reading
        rows[at : at + len(kept[at : at + ROWS])] = rows[kept[at : at + ROWS]]
    lean = CrfLayout(int(keep.sum()), Y)
    small = Linear(lean.layout, w[: lean.size].copy())
    del part, rows, w, made  # all views, so that the whole table is freed
    give_back_memory()
    encoder = models.encoder if keep.all() else models.encoder.pruned(keep)
    return replace(models, encoder=encoder, shape=lean).smaller(small, least, config.bits)


def encoded_blocks(
    task: CachedTask, config: TemplateFeatures, labels: BlockLabels, tables: int = 1
) -> tuple[FeatureEncoder, BlockEncoder]:
    """The encoder, fitted block by block. tables: the number of tables of weights that the learner has in memory."""
    sample = task.sample()
    shown = TaggingTask(sample, task.columns, features=task.features, threads=task.threads)
    encoder = new_encoder(shown, config, preset=suggested_preset(shown, labels.inner(sample)))
    done = 0

    def watch(_: TokenTable) -> None:
        nonlocal done
        done += 1
        task.on_epoch(Progress("counting", done, task.cache.n_blocks))

    by_block = BlockEncoder.fitted(
        encoder,
        lambda: (task.block(k) for k in range(task.cache.n_blocks)),
        sample=sample,
        most=MOST_WEIGHT_BYTES // (4 * tables * CrfLayout(1, len(labels.labels.inner)).S),
        watch=watch,
    )
    if encoder.label_templates:
        raise ConfigError(
            f"template {encoder.label_templates[0].text!r} reads labels, which needs training in memory"
        )
    return encoder, by_block


def _end_to_end(bounds: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    starts = np.cumsum([0, *(int(b[-1]) for b in bounds[:-1])])
    return np.concatenate([[0], *(b[1:] + s for b, s in zip(bounds, starts, strict=True))]).astype(np.int64)
