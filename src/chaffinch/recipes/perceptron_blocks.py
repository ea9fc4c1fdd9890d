"""The structured perceptron and MIRA for a corpus that is not in memory: features are derived block by block."""

from typing import Any

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.learners.block_online import BlockOnline
from chaffinch.learners.block_sgd import ExampleBlocks
from chaffinch.learners.problem import Problem
from chaffinch.learners.training import Checkpoint
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.potentials import Additive
from chaffinch.modelfile import fingerprint
from chaffinch.recipes import crf_blocks
from chaffinch.recipes.crf_blocks import BlockExamples, BlockLabels, CachedTask, encoded_blocks
from chaffinch.recipes.encoding import InnerLabels
from chaffinch.recipes.fingerprints import held_out_fingerprint
from chaffinch.recipes.perceptron import MiraTagger, StructuredPerceptron, learner_of
from chaffinch.recipes.recipe import TaggingTask, Trained
from chaffinch.recipes.rules import LabelRules, TransitionRules
from chaffinch.recipes.scored_rows import ScoredRows
from chaffinch.recipes.training import tag_score, train_in_place
from chaffinch.scorers import Layout, Linear

TABLES = (
    3  # tables of the size of the weights: these, the sums of their average, and the average or variances
)


def train_online_blocks(task: CachedTask, config: StructuredPerceptron | MiraTagger) -> Trained:
    """Count features block by block, learn mixture by mixture, keep the last epoch, or the best on dev data."""
    usual = TransitionRules()
    for name in ("legal", "forbid", "need", "fixed"):
        if getattr(config, name) != getattr(usual, name):
            raise ConfigError(f"{name} needs training in memory; leave it out, or train without a cache")
    if task.sharding is not None:
        raise ConfigError(
            "training in shards from a cache is for the recipe crf; leave out the engine or the cache"
        )
    if task.cache.n_tokens == 0:
        raise ConfigError("expected at least one sentence to train on, got none")
    labels = BlockLabels.of(task.cache, config.inside)
    encoder, by_block = encoded_blocks(task, config, labels, TABLES)
    inner = InnerLabels(labels.labels, np.zeros(0, np.int32), labels.scheme)
    rules = LabelRules.of(config, TaggingTask(task.cache.block(0), task.columns), inner)
    Y = len(labels.labels.inner)
    examples = ExampleBlocks(task.cache.sentences_by_block, BlockExamples(task, by_block, labels).made)
    problem = Problem(rules.chain(Y), Linear(Layout.chain(encoder.n_features, Y)), examples)
    learner = BlockOnline(rule=learner_of(config, task.seed), mixed=crf_blocks.MIXED)

    def model(scorer: Linear, features: Any = None) -> ChainModel:
        weights = rules.put_into(ChainWeights.of(scorer, None))
        features = features or TemplateEncoder(encoder)
        return ChainModel(features, Additive(weights), inner.labels, needs=rules.needs)

    how: dict[str, Any] = {}
    if task.dev is not None:
        rows = ScoredRows.of(task.dev, TemplateEncoder(encoder), task.threads)
        lean = Layout.chain(len(rows.features), Y)
        how["held_out_score"] = tag_score(task.dev, task.threads)
        how["scored"] = lambda made: model(rows.scorer(made, lean), rows.encoder)
        how["best"] = task.best_file(problem.scorer.layout, task.checkpoint)
    told = [repr(config), str(task.seed), task.cache.fingerprint, held_out_fingerprint(task.dev)]
    asked = fingerprint([*told, *encoder.templates])
    training = train_in_place(
        task,
        learner,
        problem,
        model=model,
        patience=config.patience,
        checkpoint=None if task.checkpoint is None else Checkpoint(str(task.checkpoint), asked),
        **how,
    )
    return Trained(model(training.made), training.history)
