"""Documents under the kinds of features among which a choice of settings is made, their folds and scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.rows import SparseRows
from chaffinch.features.shared_counts import SharedCounts
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.recipes.document_task import DocumentTask
from chaffinch.recipes.out_of_fold import FOLDS, FoldScores, HeldOut, Which, first_labels, text_folds
from chaffinch.recipes.text_features import TextFeatures

GIVEN = "given features"


@dataclass(frozen=True)
class RecipeTrial:
    """A kind of features, a recipe and its penalty; None: the recipe has no penalty to choose."""

    features: str
    recipe: str
    C: float | None


Scored = dict[tuple[RecipeTrial, int], FoldScores | None]


class EncodedDocuments:
    """Documents under each kind of features: a sample of them, or all; each is encoded once."""

    def __init__(self, task: DocumentTask, names: tuple[str, ...] | None) -> None:
        self.task, self.names = task, (GIVEN,) if names is None else names
        self.given = names is None
        self._whole: dict[str, tuple[DocumentEncoder, SparseRows]] = {}
        self._estimates: dict[str, int] = {}
        self._held_out: dict[str, HeldOut] = {}
        self.scored: Scored = {}  # folds of all documents under the recipes' own settings

    def features(self, name: str) -> TextFeatures | None:
        """The features of a name."""
        return self.task.features if self.given else TextFeatures.named(name)

    @cached_property
    def fold(self) -> Which:
        """The fold of each document."""
        return fold_of_documents(self.task)

    def shared_counts(self, names: Sequence[str], task: DocumentTask | None = None) -> SharedCounts:
        """Counts that several kinds of features of the documents share; task: of a sample."""
        task = self.task if task is None else task
        found = [self.features(name) or TextFeatures.of(None) for name in names]
        encoders = [one.encoder(len(task.X), task.seed, task.threads) for one in found]
        return SharedCounts(wanted for encoder in encoders for wanted in encoder.counts_wanted())

    def encode(self, names: Sequence[str]) -> None:
        """Encode all documents under these kinds of features."""
        new = [name for name in names if name not in self._whole]
        shared = self.shared_counts(new)
        for name in new:
            self.whole(name, shared)

    def whole(self, name: str, shared: SharedCounts | None = None) -> tuple[DocumentEncoder, SparseRows]:
        """The encoder of all documents, and their rows."""
        if name not in self._whole:
            self._whole[name] = replace(self.task, features=self.features(name)).encoded(shared)
        return self._whole[name]

    def sampled(self, name: str, rows: SparseRows) -> None:
        """Take the rows of a sample to estimate the size of the rows of all documents."""
        self._estimates[name] = len(rows.ids) * len(self.task.X) // len(rows)

    def stored(self, name: str) -> int:
        """The number of stored values of all documents; an estimate if only a sample was encoded."""
        if name in self._estimates and name not in self._whole:
            return self._estimates[name]
        return len(self.whole(name)[1].ids)

    def known_folds(self, name: str) -> HeldOut | None:
        """The folds of all documents, if they were computed already."""
        return self._held_out.get(name)

    def held_out(self, name: str, shared: SharedCounts | None = None) -> HeldOut:
        """The folds of all documents, whose rows are computed once for all learners."""
        if name not in self._held_out:
            encoder, rows = self.whole(name, shared)
            self._held_out[name] = HeldOut(rows, self.fold, encoder)
        return self._held_out[name]


def fold_of_documents(task: DocumentTask) -> Which:
    """The fold of each document: int64 [N]."""
    return text_folds(task.X, label_of_documents(task), FOLDS)


def label_of_documents(task: DocumentTask) -> NDArray[np.int64]:
    """One label of each document, see :func:`first_labels`."""
    N = len(task.X)
    none = SparseRows(np.zeros(N + 1, np.int64), np.zeros(0, np.int32), None, 1)
    return first_labels(task.problem(none).examples)
