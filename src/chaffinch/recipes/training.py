"""Training of taggers, parsers and aligners: their tasks, and the scores on held-out data that stop them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.evaluate import score_alignments
from chaffinch.evaluate.tags import TagScorer
from chaffinch.evaluate.trees import score_trees
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Problem
from chaffinch.learners.sharded import sharded
from chaffinch.learners.training import PATIENCE, Checkpoint, Training, train_passes
from chaffinch.model import TaggingModel
from chaffinch.model.associations import Pair
from chaffinch.model.parsing import ParsingModel, Sentence
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.fingerprints import held_out_fingerprint
from chaffinch.recipes.recipe import TaggingTask, Trained
from chaffinch.structures.matching import Links
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import LABEL, Tree
from chaffinch.text.table import TokenTable

Score = Callable[[Any], float]
Link = tuple[int, int]


def train_on_sentences(
    task: TaggingTask,
    learner: Learner,
    problem: Problem,
    model: Callable[[Any], TaggingModel],
    *,
    patience: int = PATIENCE,
    checkpoint: Checkpoint | None = None,
) -> Training:
    """Train on a task's problem and stop on its held-out sentences.

    model: makes a tagger from the result of a pass
    """
    return train_in_place(
        task,
        learner,
        problem,
        model=model,
        held_out_score=None if task.dev is None else tag_score(task.dev, task.threads),
        patience=patience,
        checkpoint=checkpoint,
    )


def train_in_place(
    task: Any, learner: Learner, problem: Problem, *, dev: str | None = None, **how: Any
) -> Training:
    """Train in this process, or in shards on the engine of the task.

    dev: the fingerprint of the held-out data; None: that of the task's
    how: further arguments of :func:`train_passes`
    """
    if task.sharding is None:
        return train_passes(learner, problem, threads=task.threads, on_epoch=task.on_epoch, **how)
    parts = sharded(learner, problem, task.sharding)
    dev = held_out_fingerprint(task.dev) if dev is None else dev
    how["checkpoint"] = task.sharding.checkpoint(parts.frame(problem).key, dev)
    training = train_passes(parts, problem, threads=task.threads, on_epoch=task.on_epoch, **how)
    return replace(training, shards=parts.note(problem))


def train_tagger(
    task: TaggingTask,
    learner: Learner,
    problem: Problem,
    model: Callable[[Any], TaggingModel],
    patience: int = PATIENCE,
) -> Trained:
    """:func:`train_on_sentences` for callers that need only the model and its history."""
    training = train_on_sentences(task, learner, problem, model, patience=patience)
    return Trained(model(training.made), training.history, shards=training.shards)


def tag_score(dev: TokenTable, threads: int) -> Score:
    """Span F1 if labels mark spans, otherwise token accuracy."""
    column = dev.columns[LABEL]
    known: list[tuple[NDArray[np.int32], TagScorer]] = []  # labels are parsed once

    def score(model: TaggingModel) -> float:
        if not known:
            outer = model.labels.outer
            place = {label: i for i, label in enumerate([*outer, *set(column.types) - set(outer)])}
            gold = np.array([place[t] for t in column.types], np.int32)[column.ids]
            known.append((gold, TagScorer(list(place))))
        gold, scorer = known[0]
        found = scorer.score(gold, model.decode(dev, threads), dev.ptr)
        return found.token_accuracy if found.span is None else found.span.micro.f1

    return score


def document_score(rows: Any, gold: NDArray[np.bool_], several: bool, threads: int) -> Score:
    """Accuracy of documents; if they may have several labels, micro F1.

    rows: as the model's encoder makes them     gold: bool [N, Y]
    """

    def score(model: Any) -> float:
        scores = model.scores_of_rows(rows, threads)
        if not several:
            return float(gold[np.arange(len(scores)), scores.argmax(axis=1)].mean())
        given = model.given(scores)
        both = int((given & gold).sum())
        return 2.0 * both / max(1, int(given.sum()) + int(gold.sum()))

    return score


def tree_score(trees: Sequence[Tree], threads: int) -> Score:
    """The F1 of brackets."""
    words = [Sentence([node.word for node in nodes(tree) if node.word is not None]) for tree in trees]

    def score(model: ParsingModel) -> float:
        return score_trees(trees, [found[0].tree for found in model.parses(words, 1, threads)]).bracket.f1

    return score


def link_score(pairs: Sequence[Pair], sure: Sequence[Links], possible: Sequence[Links]) -> Score:
    """One minus the alignment error rate."""
    return lambda model: 1 - score_alignments(sure, possible, model.align(pairs)).aer


def list_score(losses: Sequence[NDArray[np.float64]], scores: Callable[[Any], Sequence[Any]]) -> Score:
    """Minus the mean loss of the chosen candidates. scores: gives a model's scores of all candidates of each list."""

    def score(model: Any) -> float:
        chosen = [float(loss[int(np.argmax(s))]) for loss, s in zip(losses, scores(model), strict=True)]
        return -float(np.mean(chosen)) if chosen else 0.0

    return score


@dataclass(frozen=True)
class ParsingTask:
    """Trees without traces and function tags.

    dev:    held-out trees: the best pass on them is kept; or None
    weight: float32 [trees], the weight of the loss of each tree; None: all are equal
    """

    trees: Sequence[Tree]
    seed: int = 0
    threads: int = 0
    on_epoch: Listener = keep_going
    dev: Sequence[Tree] | None = None
    weight: NDArray[np.float32] | None = None


def train_parser(
    task: ParsingTask, learner: Learner, problem: Problem, model: Callable[[Any], ParsingModel]
) -> Trained:
    """Train on a problem and stop on the task's held-out trees. model: makes a parser from the result of a pass."""
    training = train_passes(
        learner,
        problem,
        threads=task.threads,
        model=model,
        on_epoch=task.on_epoch,
        held_out_score=None if task.dev is None else tree_score(task.dev, task.threads),
    )
    return Trained(model(training.made), training.history)
