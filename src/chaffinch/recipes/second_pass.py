"""Two passes: a second tagger reads the first one's labels of the same word elsewhere in the document.

On its own training sentences the first tagger is too accurate for the second to learn from its labels.
So each fifth of the training sentences is labelled by a tagger trained on the other four. Krishnan and Manning
2006, "An effective two-stage model for exploiting non-local dependencies in named entity recognition".
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.templates import columns_of, parse_all
from chaffinch.model import TaggingModel
from chaffinch.model.two_pass import TwoPassModel, after_first_pass
from chaffinch.progress import keep_going
from chaffinch.recipes.recipe import TaggingTask, Trained
from chaffinch.text.first_pass import FIRST, MAJORITY
from chaffinch.text.stretch import document_groups, natural_stretch

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
