"""Learners over shards: likelihoods to the exact optimum, perceptrons by mixing, counts by one sum.

likelihood   a few rounds of CoCoA+ (Ma et al. 2015: each shard runs dual ascent with the penalty divided by K, and the
             changes of the weights are averaged), then L-BFGS with gradients that are summed over the shards
perceptron   iterative parameter mixing (McDonald et al. 2010): after each epoch the mean of the shards' weights. The
             result differs from the perceptron on all examples: these models are labelled approximate
counts       one sum
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.learners.block_sgd import DocumentBlocks, ExampleBlocks
from chaffinch.learners.choice import ChoiceWeights, padded, with_intercepts
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoicePerceptron
from chaffinch.learners.count import trigram_counts
from chaffinch.learners.dual import DualLogistic
from chaffinch.learners.examples import DocumentExamples, SentenceExamples
from chaffinch.learners.learner import Learner
from chaffinch.learners.likelihood import Lbfgs, PrunedSgd, Sdca, Sgd
from chaffinch.learners.naive_bayes import LabelCounts, label_counts, label_masses
from chaffinch.learners.native_chain import chain_trainer
from chaffinch.learners.native_likelihood import fits_likelihood
from chaffinch.learners.online import MarginPerceptron, Mira, OnlineLearner, PassiveAggressive, Perceptron
from chaffinch.learners.problem import Pass, Problem, State, example_order
from chaffinch.learners.sharded_likelihood import ShardedLikelihood
from chaffinch.learners.shards import (
    ProblemWork,
    ShardedLearner,
    Sharding,
    ShardNote,
    Term,
    dealt_examples,
    read_shard,
    taken_rows,
)
from chaffinch.modelfile import fingerprint
from chaffinch.structures import Chain

LIKELIHOOD = "CoCoA+ and L-BFGS"
MIXING = "iterative parameter mixing"
COUNTING = "sums of counts"

Weights = NDArray[np.float32]


def sharded(learner: Learner, problem: Problem, sharding: Sharding) -> ShardedLearner:
    """The learner of the same model over shards; ConfigError if there is none."""
    data = problem.examples
    if isinstance(learner, (Sdca, Sgd, Lbfgs)) and not isinstance(learner, PrunedSgd):
        if (isinstance(data, ExampleBlocks) or fits_likelihood(learner, problem)) and getattr(
            learner, "c1", 0.0
        ) == 0:
            return ShardedLikelihood(learner, sharding, LIKELIHOOD)
        raise ConfigError("training in shards needs a penalty c1 of 0, and a chain over features of tokens")
    if isinstance(learner, (ChoiceBatch, DualLogistic)) and isinstance(
        data, (DocumentExamples, DocumentBlocks)
    ):
        if getattr(learner, "l1", 0.0) > 0:
            raise ConfigError("training in shards needs a penalty l1 of 0")
        return ShardedLikelihood(learner, sharding, LIKELIHOOD)
    if type(learner) in (Perceptron, MarginPerceptron, PassiveAggressive, Mira) and (
        type(data) is SentenceExamples and type(problem.structure) is Chain
    ):
        return ShardedPerceptron(learner, sharding, MIXING, exact=False)
    if isinstance(learner, ChoicePerceptron) and isinstance(data, DocumentExamples):
        return ShardedPerceptron(learner, sharding, MIXING, exact=False)
    if isinstance(learner, LabelCounts):
        return ShardedCounts(learner, sharding, COUNTING)
    raise ConfigError(
        f"{type(learner).__name__} cannot be trained in shards; leave out the engine, or train a crf without pruning, "
        "memm, hmm, perceptron or mira without rules on sentences, logistic, maxent, perceptron or nb on documents"
    )


# -- perceptrons --------------------------------------------------------------------------------------------------


class ShardedPerceptron(ShardedLearner):
    """Iterative parameter mixing: each epoch every shard starts from w, and the mean of their weights is the next w.

    With ``average`` the result is the mean over epochs of the mean over shards of the mean over a shard's steps.
    """

    def passes(self, problem: Problem, threads: int = 0, state: State | None = None) -> Iterator[Pass]:
        """One pass for each epoch."""
        self.learner.check(problem)
        frame = self.frame(problem)
        files, K, engine = self.files(problem, frame), self.count(problem), self.sharding.engine
        sentences = isinstance(problem.examples, SentenceExamples)
        shape = (problem.scorer.layout.size,) if sentences else _table(problem)
        w, total, done = np.zeros(shape, np.float32), np.zeros(shape, np.float32), 0
        if state is not None:
            w, total, done = np.array(state["w"]), np.array(state["total"]), int(state["done"][0])
        bias = 0.0 if sentences else self.learner.bias or 0.0

        def made(w: Weights, total: Weights, number: int) -> Any:
            mean = total / np.float32(number) if self.learner.average else w.copy()
            return (
                problem.scorer.with_weights(mean)
                if sentences
                else with_intercepts(ChoiceWeights(mean, "margin"), bias)
            )

        if done >= self.learner.epochs:  # it was finished
            yield Pass(done, {}, lambda: made(w, total, done), state=lambda: dict(state or {}))
        for number in range(done + 1, self.learner.epochs + 1):
            epoch = MixedEpoch(frame, self.learner, number)
            last, mean, wrong = engine.reduce(epoch, files, (engine.broadcast(w),))
            w, total = last / np.float32(K), total + mean / np.float32(K)
            yield Pass(
                number,
                {"wrong": wrong / max(1, len(problem.examples))},
                partial(made, w, total, number),
                self.learner.epochs,
                state=partial(dict, w=w, total=total, done=np.array([number])),
            )


def _table(problem: Problem) -> tuple[int, int]:
    data: DocumentExamples = problem.examples
    return data.F + 1, padded(data.Y)


@dataclass(frozen=True)
class MixedEpoch(ProblemWork):
    """An epoch of a perceptron over each shard."""

    learner: Any
    number: int

    def term(
        self, held: dict[int, Any], number: int, shard: Path, given: Sequence[Any], threads: int
    ) -> Term:
        """The weights after the epoch, their mean over its steps, and the number of mistakes. given: w"""
        if number not in held:
            held[number] = self.frame.opened(shard)
        problem: Problem = held[number]
        w = np.array(given[0])
        if isinstance(self.learner, OnlineLearner):
            return self._sentences(problem, self.learner, number, w)
        run = self.learner.start(problem.examples.F, problem.examples.Y)
        run.resume(w, self.number - 1)
        loss = run.epoch(replace(problem, seed=problem.seed + (number << 20)), threads)
        last = run.raw(average=False)
        mean = run.raw(average=True) if self.learner.average else last
        return last, mean, loss * len(problem.examples)

    def _sentences(self, problem: Problem, learner: OnlineLearner, number: int, w: Weights) -> Term:
        trainer = chain_trainer(learner, problem)
        trainer.begin(w)
        _, _, wrong = trainer.epoch(example_order(len(problem.examples), learner.seed + number, self.number))
        return trainer.weights(False), trainer.weights(True), wrong


# -- counts -------------------------------------------------------------------------------------------------------


class ShardedCounts(ShardedLearner):
    """Naive Bayes from the sums of the shards' counts."""

    def passes(self, problem: Problem, threads: int = 0, state: State | None = None) -> Iterator[Pass]:
        """The one pass."""
        self.learner.check(problem)
        frame = self.frame(problem)
        counts, masses = self.sharding.engine.reduce(CountLabels(frame), self.files(problem, frame))
        made = self.learner.weights(counts, masses)
        yield Pass(1, {}, lambda: made, 1, state=dict)


class CountLabels(ProblemWork):
    """The counts of features and documents by label."""

    def term(
        self, held: dict[int, Any], number: int, shard: Path, given: Sequence[Any], threads: int
    ) -> Term:
        """Of one shard."""
        problem = self.frame.opened(shard)
        return label_counts(problem), label_masses(problem)


@dataclass(frozen=True)
class CountTokens:
    """The counts of an HMM: words by label, and labels by the two before them.

    V: number of words     Y: of labels     key: of the tokens, if they are in shards
    """

    V: int
    Y: int
    key: str = ""

    def counts(
        self, words: NDArray[np.int32], y: NDArray[np.int32], ptr: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[V, Y] and [Y+1, Y+1, Y+1]."""
        pairs = words.astype(np.int64) * self.Y + y
        by_word = np.bincount(pairs, minlength=self.V * self.Y).reshape(-1, self.Y).astype(np.float64)
        return by_word, trigram_counts(y, ptr, self.Y)

    def term(
        self, held: dict[int, Any], number: int, shard: Path, given: Sequence[Any], threads: int
    ) -> Term:
        """Of one shard."""
        arrays = read_shard(shard, self.key)
        return self.counts(arrays["words"], arrays["y"], arrays["sentences"])


def sharded_counts(
    sharding: Sharding,
    counting: CountTokens,
    words: NDArray[np.int32],
    y: NDArray[np.int32],
    ptr: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], ShardNote]:
    """The counts of all tokens by one sum over shards, and the note for the model file."""
    K = sharding.count(len(ptr) - 1, len(y))
    counting = replace(counting, key=fingerprint([f"{COUNTING} {K}"], words, y, ptr))

    def parts() -> Iterator[dict[str, NDArray[Any]]]:
        for which in dealt_examples(len(ptr) - 1, K):
            sentences, tokens = taken_rows(ptr, which)
            yield {"sentences": sentences, "words": words[tokens], "y": y[tokens]}

    by_word, trigrams = sharding.engine.reduce(counting, sharding.written(counting.key, parts(), K))
    return by_word, trigrams, ShardNote(K, COUNTING, exact=True)
