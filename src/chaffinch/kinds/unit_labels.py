"""The protocol of kinds whose labels out-of-fold models can judge, for the doctor."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.kinds.corpora import Corpus
from chaffinch.text.document import Document


@dataclass(frozen=True)
class Doubt:
    """Adjacent doubtful labels: the units of a row, and the first token if they are tokens."""

    row: int
    units: NDArray[np.int64]
    token: int | None = None


# -- the protocol -------------------------------------------------------------------------------------------------


class UnitLabels(ABC):
    """A kind whose labels out-of-fold models can judge; a unit has one label: a token, a text."""

    @abstractmethod
    def labelled_rows(
        self, files: Sequence[Sequence[Document]]
    ) -> tuple[Corpus, list[tuple[int, int]]] | None:
        """The rows of files whose labels out-of-fold models can judge, and their places: file and document."""

    def questions(self, corpus: Any) -> Iterator[tuple[str | None, Any]]:
        """The questions to models: the labels of a corpus, or, with several labels per text, each label by itself."""
        yield None, corpus

    @abstractmethod
    def unit_labels(self, corpus: Any) -> tuple[list[str], NDArray[np.int32]]:
        """The labels in order, and the one of each unit."""

    def units_of(self, corpus: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The units of some rows."""
        return rows

    @abstractmethod
    def unit_probabilities(
        self, train: Any, asked: Any, seed: int, threads: int
    ) -> tuple[list[str], NDArray[np.float32]]:
        """The labels of a quick model of one corpus, and their probabilities [units, labels] on another."""

    def doubts(self, corpus: Any, units: NDArray[np.int64]) -> Iterator[Doubt]:
        """Doubtful units; adjacent ones are merged."""
        return (Doubt(i, np.array([i])) for i in units.tolist())
