"""A problem: what a learner is given. Examples, the structure of their answers, and a scorer to move."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.learners.lists import ListExamples
from chaffinch.learners.tree_examples import TreeExamples
from chaffinch.scorers import Dense, Example
from chaffinch.scorers.monomials import Monomials


@dataclass(frozen=True)
class Problem:
    """structure: which answers exist; scorer: weights to start from; examples: pairs of x and gold y."""

    structure: Any
    scorer: Any
    examples: "Sequence[tuple[Any, Any]] | SentenceExamples | DenseExamples | ListExamples | TreeExamples"


@dataclass(frozen=True)
class SentenceExamples:
    """Sentences whose features and labels lie end to end, as examples.

    sentences: int64 [N+1], bounds in tokens   ptr: int64 [T+1]   ids: int32 [nnz]   y: int32 [T]
    """

    sentences: NDArray[np.int64]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    y: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sentences) - 1

    def __getitem__(self, n: int) -> tuple[Example, NDArray[np.int32]]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        a, b = int(self.sentences[n]), int(self.sentences[n + 1])
        ptr = self.ptr[a : b + 1]
        return Example(ptr - ptr[0], self.ids[ptr[0] : ptr[-1]]), self.y[a:b]

    def __iter__(self) -> Iterator[tuple[Example, NDArray[np.int32]]]:
        return (self[n] for n in range(len(self)))


@dataclass(frozen=True)
class DenseExamples:
    """Sentences whose positions are rows of numbers, end to end, as examples.

    sentences: int64 [N+1], bounds in positions   rows: float32 [T, D]   y: int32 [T]
    """

    sentences: NDArray[np.int64]
    rows: NDArray[np.float32]
    y: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sentences) - 1

    def __getitem__(self, n: int) -> tuple[Dense, NDArray[np.int32]]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        a, b = int(self.sentences[n]), int(self.sentences[n + 1])
        return Dense(self.rows[a:b]), self.y[a:b]

    def __iter__(self) -> Iterator[tuple[Dense, NDArray[np.int32]]]:
        return (self[n] for n in range(len(self)))


@dataclass(frozen=True)
class MonomialExamples(SentenceExamples):
    """Sentences whose positions are lists of binary features, each list rising, to be multiplied with each other."""

    map: Monomials
