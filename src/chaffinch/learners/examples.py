"""Examples stored end to end in arrays; each is a sequence of pairs of x and gold y, which any learner can read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import DocumentRows
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.rows import SparseRows, explicit_values
from chaffinch.scorers import Dense, Example, PartFeatures, Rows
from chaffinch.scorers.contexts import ContextFeatures
from chaffinch.scorers.monomials import Monomials
from chaffinch.scorers.segments import SegmentFeatures
from chaffinch.structures.choice import Judged
from chaffinch.structures.segments import Segment, Segmentation


@dataclass(frozen=True)
class SentenceExamples:
    """Sentences with features and labels stored end to end, as examples.

    sentences: int64 [N+1], bounds in tokens   ptr: int64 [T+1]   ids: int32 [nnz]   y: int32 [T]
    values:    float32 [nnz], the values of the features; None: all are 1
    """

    sentences: NDArray[np.int64]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    y: NDArray[np.int32]
    values: NDArray[np.float32] | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.sentences) - 1

    def __getitem__(self, n: int) -> tuple[Example, NDArray[np.int32]]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        a, b = int(self.sentences[n]), int(self.sentences[n + 1])
        return _cut(self.ptr, self.ids, a, b, self.values), self.y[a:b]

    def __iter__(self) -> Iterator[tuple[Example, NDArray[np.int32]]]:
        return (self[n] for n in range(len(self)))


@dataclass(frozen=True)
class ContextExamples:
    """Sentences for incremental search, stored end to end.

    sentences, ptr, ids, y: as those of :class:`SentenceExamples`
    observations: int32 [T, columns of the label templates]   known: int32 [T], labels that need no search, or -1
    values: float32 [nnz], the values of the features; None: all are 1
    """

    sentences: NDArray[np.int64]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    y: NDArray[np.int32]
    observations: NDArray[np.int32]
    known: NDArray[np.int32] | None = None
    values: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.sentences) - 1

    def __getitem__(self, n: int) -> tuple[ContextFeatures, NDArray[np.int32]]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        a, b = int(self.sentences[n]), int(self.sentences[n + 1])
        known = None if self.known is None else self.known[a:b]
        tokens = _cut(self.ptr, self.ids, a, b, self.values)
        return ContextFeatures(tokens, self.observations[a:b], known), self.y[a:b]

    def __iter__(self) -> Iterator[tuple[ContextFeatures, NDArray[np.int32]]]:
        return (self[n] for n in range(len(self)))


@dataclass(frozen=True)
class SegmentExamples:
    """Sentences with features of tokens and of spans, cut into labelled segments, stored end to end.

    sentences: int64 [N+1], bounds in tokens   ptr, ids, values: features of tokens   span_ptr [T L + 1], span_ids: of
    spans
    gold: int32 [segments, 3], start, length and label of each   gold_ptr: int64 [N+1], bounds in segments
    """

    sentences: NDArray[np.int64]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    span_ptr: NDArray[np.int64]
    span_ids: NDArray[np.int32]
    gold: NDArray[np.int32]
    gold_ptr: NDArray[np.int64]
    values: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.sentences) - 1

    def __getitem__(self, n: int) -> tuple[SegmentFeatures, Segmentation]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        a, b = int(self.sentences[n]), int(self.sentences[n + 1])
        L = (len(self.span_ptr) - 1) // max(1, len(self.ptr) - 1)
        rows = self.gold[self.gold_ptr[n] : self.gold_ptr[n + 1]].tolist()
        y = tuple(Segment(t, t + length, label) for t, length, label in rows)
        return SegmentFeatures(
            _cut(self.ptr, self.ids, a, b, self.values), _cut(self.span_ptr, self.span_ids, a * L, b * L)
        ), y

    def __iter__(self) -> Iterator[tuple[SegmentFeatures, Segmentation]]:
        return (self[n] for n in range(len(self)))


def _cut(
    ptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    a: int,
    b: int,
    values: NDArray[np.float32] | None = None,
) -> Example:
    """Rows a to b."""
    bounds = ptr[a : b + 1]
    inside = slice(int(bounds[0]), int(bounds[-1]))
    return Example(bounds - bounds[0], ids[inside], None if values is None else values[inside])


@dataclass(frozen=True)
class CrfExamples(SentenceExamples):
    """Sentences with soft, partial or unknown labels, offsets or fixed weights; for the likelihood in the core.

    soft:         float32 [T, Y], probabilities of the labels instead of y; None: y is certain
    allowed:      uint8 [T, Y], which labels a token may have; None: y alone
    offset:       float32 [T, Y], added to the scores
    observed:     int32 [T, templates], rows of weights on label pairs; observations: the number of rows per template
    trainable:    uint8 [size of w], which weights move; None: all
    """

    soft: NDArray[np.float32] | None = None
    allowed: NDArray[np.uint8] | None = None
    offset: NDArray[np.float32] | None = None
    observed: NDArray[np.int32] | None = None
    observations: tuple[int, ...] = ()
    trainable: NDArray[np.uint8] | None = None

    def native(self) -> dict[str, Any]:
        """The arguments of the core besides the sentences."""
        names = ("soft", "allowed", "offset", "observed", "trainable")
        return {name: getattr(self, name) for name in names} | {"observations": list(self.observations)}


@dataclass(frozen=True)
class DenseExamples:
    """Sentences with a row of numbers at each position, stored end to end, as examples.

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
    """Sentences with a sorted list of binary features at each position, for products of features."""

    map: Monomials


@dataclass(frozen=True)
class TreeExamples:
    """Features of all spans of all sentences, and the trees.

    bounds: int64 [N+1], in words   ptr: int64 [rows+1], a row for each span   ids: int32 [nnz]
    nodes:  int32 [sum of 2T-1, 3]  open: uint8 [rows], spans that may be nodes; None: all
    """

    bounds: NDArray[np.int64]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    nodes: NDArray[np.int32]
    open: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, n: int) -> tuple[Example, NDArray[np.int32]]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        ptr = self.ptr[self._rows[n] : self._rows[n + 1] + 1]
        first, last = 2 * int(self.bounds[n]) - n, 2 * int(self.bounds[n + 1]) - n - 1
        return Example(ptr - ptr[0], self.ids[ptr[0] : ptr[-1]]), self.nodes[first:last]

    def __iter__(self) -> Iterator[tuple[Example, NDArray[np.int32]]]:
        return (self[n] for n in range(len(self)))

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        T = np.diff(self.bounds)
        return np.concatenate([[0], np.cumsum(T * (T + 1) // 2)]).astype(np.int64)


@dataclass(frozen=True)
class ListExamples:
    """The features and losses of all candidates of N lists.

    lists: int64 [N+1], bounds in candidates   rows: features of all candidates   losses: float64 [candidates]
    """

    lists: NDArray[np.int64]
    rows: Rows
    losses: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.lists) - 1

    def __getitem__(self, n: int) -> tuple[PartFeatures, Judged]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        a, b = int(self.lists[n]), int(self.lists[n + 1])
        return features_of(self.rows, a, b), Judged.of(self.losses[a:b])

    def __iter__(self) -> Iterator[tuple[PartFeatures, Judged]]:
        return (self[n] for n in range(len(self)))

    @property
    def best(self) -> NDArray[np.int64]:
        """The first candidate with the smallest loss of each list, numbered over all lists: int64 [N]."""
        starts = self.lists[:-1]
        least = np.minimum.reduceat(self.losses, starts) if len(self) else self.losses
        right = np.flatnonzero(self.losses == np.repeat(least, np.diff(self.lists)))
        return right[np.searchsorted(right, starts)]


def features_of(rows: Rows, a: int, b: int) -> PartFeatures:
    """The candidates a .. b-1 as one choice."""
    ptr = rows.ptr[a : b + 1]
    inside = slice(int(ptr[0]), int(ptr[-1]))
    return PartFeatures(
        {"choice": (b - a,)}, {"choice": Rows(ptr - ptr[0], rows.ids[inside], rows.values[inside])}
    )


@dataclass(frozen=True)
class DocumentExamples:
    """Documents over F features and Y labels; as examples, rows of numbers with the bias as one more feature.

    ptr, ids, values: rows as CSR, int64 [N+1], int32 [nnz], float32 [nnz] or None if every value is 1
    factors:    instead of values, float32 [F] and [N]: a value is the factor of its feature times that of its row; or
                None
    label_ptr, labels: the labels of each document as CSR; one each, unless documents have several
    soft:       target distributions float32 [N, Y] instead of the labels; or None
    bias:       the value of the constant feature
    """

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32] | None
    F: int
    label_ptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    Y: int
    soft: NDArray[np.float32] | None = None
    factors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
    bias: float = 0.0

    @classmethod
    def of_rows(
        cls,
        rows: SparseRows,
        labels: NDArray[np.int32],
        Y: int,
        label_ptr: NDArray[np.int64] | None = None,
        soft: NDArray[np.float32] | None = None,
    ) -> "DocumentExamples":
        """Rows and their labels; label_ptr: None if each row has one."""
        own = np.arange(len(rows) + 1, dtype=np.int64) if label_ptr is None else label_ptr
        return cls(rows.ptr, rows.ids, rows.values, rows.columns, own, labels, Y, soft, rows.factors)

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __getitem__(self, n: int) -> tuple[Dense, int]:
        if not 0 <= n < len(self):
            raise IndexError(n)
        row = np.zeros((1, self.F + 1), np.float32)
        inside = slice(int(self.ptr[n]), int(self.ptr[n + 1]))
        np.add.at(row[0], self.ids[inside], self.weights()[inside])
        row[0, -1] = self.bias
        first = self.labels[self.label_ptr[n] : self.label_ptr[n + 1]]
        return Dense(row), int(first[0]) if len(first) else -1

    def __iter__(self) -> Iterator[tuple[Dense, int]]:
        return (self[n] for n in range(len(self)))

    @property
    def single(self) -> bool:
        """Whether every document has exactly one label."""
        return bool(np.array_equal(self.label_ptr, np.arange(len(self) + 1)))

    def rows(self) -> DocumentRows:
        """The rows in the form of the core's learners."""
        none = np.zeros(0, np.float32)
        values = none if self.values is None else self.values
        return DocumentRows(self.ptr, self.ids, values, self.F, self.bias, *(self.factors or (none, none)))

    def weights(self) -> NDArray[np.float32]:
        """The explicit values: float32 [nnz]."""
        return explicit_values(self)

    def targets(self) -> NDArray[np.float32]:
        """q [N, Y]: the soft targets, or 1 for the labels of a document and 0 for others."""
        if self.soft is not None:
            return self.soft
        q = np.zeros((len(self), self.Y), dtype=np.float32)
        q[np.repeat(np.arange(len(self)), np.diff(self.label_ptr)), self.labels] = 1.0
        return q

    def two_labels(self, learner: str) -> None:
        """DataError if every document has the same single label."""
        if self.single and (self.labels == self.labels[:1]).all():
            raise DataError(
                f"{learner} needs at least two classes, and all {len(self)} documents are of one class"
            )

    def one_label_each(self, learner: str) -> NDArray[np.int32]:
        """y [N]; ConfigError if documents have soft targets, several labels or none."""
        if self.soft is not None:
            raise ConfigError(
                f"{learner} needs labels, not soft targets; use recipe logistic for soft targets"
            )
        if not self.single:
            raise ConfigError(f"{learner} needs one label per document; one-vs-rest recipes take several")
        return self.labels
