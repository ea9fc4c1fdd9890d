"""Rows of features of documents and of tokens, and the conversion of other matrices to rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import DocumentRows, KernelRows
from chaffinch.errors import DataError

MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class SparseRows:
    """Documents as sparse vectors: row n has the features ids[ptr[n]] .. ids[ptr[n+1]-1], ascending.

    ptr:     int64 [N+1]
    ids:     int32 [nnz]
    values:  float32 [nnz], or None if every value is 1 or given by the factors
    columns: number of features
    factors: float32 [columns] and [N]: a value is the factor of its feature times that of its row; or None

    >>> rows = SparseRows.of([[0.0, 2.0], [3.0, 0.0]])
    >>> rows.beside(SparseRows.of([[1.0], [1.0]])).ids.tolist()
    [1, 2, 0, 2]
    """

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32] | None
    columns: int
    factors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.columns

    def weights(self) -> NDArray[np.float32]:
        """The explicit values: float32 [nnz]."""
        return explicit_values(self)

    def native(self, bias: float) -> DocumentRows:
        """The rows in the core's form; ``bias`` is the value of a constant feature."""
        none = np.zeros(0, np.float32)
        values = none if self.values is None else self.values
        return DocumentRows(self.ptr, self.ids, values, self.columns, bias, *(self.factors or (none, none)))

    @cached_property
    def for_kernels(self) -> KernelRows:
        """The rows in the form of the core's kernels, checked and indexed once."""
        rows = self.spelt_out()
        values = np.zeros(0, np.float32) if rows.values is None else rows.values
        return KernelRows(rows.ptr, rows.ids, values, rows.columns)

    def spelt_out(self) -> "SparseRows":
        """The same with values instead of factors."""
        return self if self.factors is None else SparseRows(self.ptr, self.ids, self.weights(), self.columns)

    def dense(self) -> NDArray[np.float32]:
        """The same as a float32 [N][columns] array, for small matrices."""
        out = np.zeros(self.shape, dtype=np.float32)
        out[np.repeat(np.arange(len(self)), np.diff(self.ptr)), self.ids] = self.weights()
        return out

    def times(self, scale: float) -> "SparseRows":
        """The rows with every value multiplied by a factor."""
        if scale == 1.0:
            return self
        if self.factors is not None:
            by_feature, by_row = self.factors
            return replace(self, factors=(by_feature, by_row * np.float32(scale)))
        return SparseRows(self.ptr, self.ids, self.weights() * np.float32(scale), self.columns)

    def taken(self, which: NDArray[np.integer[Any]]) -> "SparseRows":
        """The selected rows, in the given order."""
        sizes = self.ptr[1:][which] - self.ptr[:-1][which]
        ptr = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=ptr[1:])
        at = np.repeat(self.ptr[which] - ptr[:-1], sizes) + np.arange(ptr[-1])
        values = None if self.values is None else self.values[at]
        factors = None if self.factors is None else (self.factors[0], self.factors[1][which])
        return SparseRows(ptr, self.ids[at], values, self.columns, factors)

    def above(self, other: "SparseRows") -> "SparseRows":
        """These rows followed by those of another block with the same columns.

        >>> SparseRows.of([[0.0, 2.0]]).above(SparseRows.of([[3.0, 0.0]])).dense().tolist()
        [[0.0, 2.0], [3.0, 0.0]]
        """
        return SparseRows(
            np.concatenate([self.ptr, other.ptr[1:] + self.ptr[-1]]),
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.weights(), other.weights()]),
            self.columns,
        )

    def beside(self, *others: "SparseRows") -> "SparseRows":
        """These rows joined with those of other blocks, whose columns follow in order."""
        blocks = (self, *others)
        for block in others:
            if len(block) != len(self):
                raise DataError(
                    f"expected blocks of features with the same number of rows, got {len(self)} and {len(block)}"
                )
        columns = sum(block.columns for block in blocks)
        if columns > MOST_COLUMNS:
            raise DataError(f"expected at most {MOST_COLUMNS} columns, got {columns}")
        ptr = np.sum([block.ptr for block in blocks], axis=0)
        ids = np.empty(int(ptr[-1]), dtype=np.int32)
        binary = all(block.values is None and block.factors is None for block in blocks)
        values = None if binary else np.empty(len(ids), dtype=np.float32)
        free, first_column = ptr[:-1].copy(), 0
        for block in blocks:
            sizes = np.diff(block.ptr)
            to = np.repeat(free - block.ptr[:-1], sizes) + np.arange(len(block.ids))
            ids[to] = block.ids + np.int32(first_column)
            if values is not None:
                values[to] = block.weights()
            free += sizes
            first_column += block.columns
        return SparseRows(ptr, ids, values, columns)

    @classmethod
    def none(cls, columns: int) -> "SparseRows":
        """No rows."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), columns)

    @classmethod
    def of(cls, matrix: Any) -> "SparseRows":
        """Rows from a SciPy sparse matrix or array, a NumPy array, or nested lists of numbers."""
        if isinstance(matrix, SparseRows):
            return matrix
        return _from_sparse(matrix) if hasattr(matrix, "tocsr") else _from_dense(matrix)


def indexed_rows(rows: Sequence[Any], columns: int) -> SparseRows:
    """Rows of ``index:value``, indices from 1: strings as in SVM-light files, or dicts.

    Indices beyond ``columns`` are dropped.

    >>> indexed_rows(["2:0.5 3:1", {1: 2.0}, ""], 2).dense().tolist()
    [[0.0, 0.5], [2.0, 0.0], [0.0, 0.0]]
    """
    ptr, ids, values = [0], [], []
    for n, row in enumerate(rows, 1):
        cells: dict[int, float] = {}
        for index, value in _cells(row, n):
            if index < 1 or index in cells:
                raise DataError(f"row {n}: expected indices from 1, each once, found {index}")
            cells[index] = value
        kept = sorted((index - 1, value) for index, value in cells.items() if index <= columns and value)
        ids += [index for index, _ in kept]
        values += [value for _, value in kept]
        ptr.append(len(ids))
    return SparseRows(np.array(ptr, np.int64), np.array(ids, np.int32), _finite(np.array(values)), columns)


def _cells(row: Any, n: int) -> list[tuple[int, float]]:
    """The indices and values of one row."""
    cells = row.items() if isinstance(row, Mapping) else (cell.split(":") for cell in row.split())
    try:
        return [(int(index), float(value)) for index, value in cells]
    except (TypeError, ValueError):
        raise DataError(
            f"row {n}: expected index:value pairs such as '3:0.5 7:1', found {row!r:.80}"
        ) from None


def joined(blocks: Sequence[SparseRows]) -> SparseRows:
    """Blocks of features side by side."""
    if not blocks:
        raise DataError("expected at least one block of features, got none")
    return blocks[0].beside(*blocks[1:]) if len(blocks) > 1 else blocks[0]


def _from_sparse(matrix: Any) -> SparseRows:
    csr = matrix.tocsr().copy()
    csr.sum_duplicates()
    if csr.shape[1] > MOST_COLUMNS:
        raise DataError(f"expected at most {MOST_COLUMNS} columns, got {csr.shape[1]}")
    values = _finite(csr.data)
    ids = np.ascontiguousarray(csr.indices, dtype=np.int32)
    return SparseRows(np.ascontiguousarray(csr.indptr, dtype=np.int64), ids, values, int(csr.shape[1]))


def number_table(matrix: Any) -> NDArray[Any]:
    """A dense table of real numbers; DataError for anything else."""
    try:
        block = np.asarray(matrix)
    except ValueError as error:
        raise DataError(f"a block of features must be a table of numbers: {error}") from None
    if block.ndim != 2 or not (np.issubdtype(block.dtype, np.number) or block.dtype == np.bool_):
        raise DataError(
            f"a block of features must be a table of numbers, got {block.ndim} dimensions of {block.dtype}"
        )
    if np.iscomplexobj(block):
        raise DataError("a block of features must be real numbers, got complex ones")
    return block


def explicit_values(rows: Any) -> NDArray[np.float32]:
    """The values of rows that have values, or factors of features and rows, or neither: float32 [nnz]."""
    if rows.values is not None:
        values: NDArray[np.float32] = rows.values
        return values
    if rows.factors is None:
        return np.ones(len(rows.ids), dtype=np.float32)
    by_feature, by_row = rows.factors
    made: NDArray[np.float32] = by_feature[rows.ids] * np.repeat(by_row, np.diff(rows.ptr))
    return made


def _from_dense(matrix: Any) -> SparseRows:
    block = number_table(matrix)
    rows, ids = np.nonzero(block)
    ptr = np.zeros(len(block) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(block)), out=ptr[1:])
    return SparseRows(ptr, ids.astype(np.int32), _finite(block[rows, ids]), block.shape[1])


def _finite(values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(values, dtype=np.float32)
    if not np.isfinite(narrow).all():
        raise DataError("a block of features holds NaN, infinity or a number beyond float32")
    return narrow


@dataclass(frozen=True)
class FeatureRows:
    """The features of every token, as compressed rows, and the observations of label templates.

    ptr:          int64 [T+1], the features of token t are ids[ptr[t]:ptr[t+1]]
    ids:          int32 [nnz], each in [0, n_features)
    values:       float32 [nnz], the values of the features; None: all are 1
    observations: int32 [T, L], one column per label template: the id of its observed value at the token, -1
                  if training did not have it; 0 everywhere for a template of labels alone
    sentences:    int64 [N+1], bounds of the sentences in tokens
    """

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    observations: NDArray[np.int32]
    sentences: NDArray[np.int64]
    values: NDArray[np.float32] | None = None

    @property
    def n_tokens(self) -> int:
        """The number of tokens, T."""
        return len(self.ptr) - 1


@dataclass(frozen=True)
class LabelTemplate:
    """A template that reads labels: weights are found by (observation, labels at the offsets).

    text:           as written
    offsets:        of the labels, ascending, 0 excluded
    n_observations: observations are 0 .. n_observations - 1, the most frequent first
    """

    text: str
    offsets: tuple[int, ...]
    n_observations: int
