"""Sparse weights as a file keeps them: floats, or small whole numbers with a scale."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch.modelfile import Requirements, Saved, array
from chaffinch.modelfile.schema import AS_STORED


def _number(a: NDArray[Any]) -> float:
    return float(a[0])


@dataclass(frozen=True)
class SparseWeights(Saved):
    """Rows of weights [R, Y] without their zeros.

    counts: uint16 [R], weights in each row   columns: uint16 [nnz], ascending within a row
    values: float32, int16 or int8 [nnz]; whole numbers are multiples of ``scale``

    >>> sparse = SparseWeights.of(np.array([[0, 2, -1], [0, 0, 0]], np.float32), bits=8)
    >>> sparse.values.tolist(), sparse.dense(3)[0, 1]
    ([127, -64], np.float32(2.0))
    """

    counts: NDArray[np.uint16] = array("uint16", "rows", stored=("uint8", "uint16"), sums="n")
    columns: NDArray[np.uint16] = array("uint16", "n", stored=("uint8", "uint16"), below="width")
    values: NDArray[Any] = array(AS_STORED, "n", stored=("float32", "int8", "int16"))
    scale: float = array("float32", 1, finite=True, made=_number)

    @classmethod
    def of(cls, w: NDArray[np.float32], bits: int | None = None) -> "SparseWeights":
        """The non-zero weights; with ``bits`` they are scaled so that the largest becomes 2^(bits-1) - 1."""
        scale = 1.0
        if bits is not None:
            top = float(np.abs(w).max(initial=0.0))
            scale = top / (2 ** (bits - 1) - 1) if top > 0 else 1.0
            w = np.rint(w / np.float32(scale)).astype(np.int8 if bits <= 8 else np.int16)
        rows, columns = np.nonzero(w)
        return cls(
            np.bincount(rows, minlength=len(w)).astype(np.uint16),
            columns.astype(np.uint16),
            w[rows, columns],
            scale,
        )

    @property
    def bits(self) -> int | None:
        """The number of bits of the whole numbers; None if the weights are floats.

        >>> SparseWeights.of(np.array([[0.5, -3.0]], np.float32), bits=6).bits
        6
        """
        if self.values.dtype == np.float32:
            return None
        return int(np.abs(self.values.astype(np.int32)).max(initial=1)).bit_length() + 1

    def dense(self, Y: int) -> NDArray[np.float32]:
        """The rows with their zeros: float32 [R, Y]."""
        w = np.zeros((len(self.counts), Y), np.float32)
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        w[rows, self.columns] = self.values.astype(np.float32) * np.float32(self.scale)
        return w

    def column(self, y: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Rows with a weight in column y, and the weights."""
        here = np.flatnonzero(self.columns == y)
        rows = np.searchsorted(np.cumsum(self.counts, dtype=np.int64), here, side="right")
        return rows.astype(np.int32), self.values[here].astype(np.float32) * np.float32(self.scale)

    def of_rows(self, rows: NDArray[np.int32]) -> "SparseWeights":
        """The rows of these numbers, in this order."""
        counts = self.counts[rows]
        ends = np.cumsum(self.counts, dtype=np.int64)[rows]
        places = np.repeat(ends - np.cumsum(counts, dtype=np.int64), counts) + np.arange(int(counts.sum()))
        return SparseWeights(counts, self.columns[places], self.values[places], self.scale)

    @classmethod
    def loaded(cls, need: Requirements, prefix: str = "", **given: Any) -> Self:
        """The weights of a file, every index checked; ``rows`` and ``width`` are bound."""
        found = super().loaded(need, prefix, **given)
        largest = np.abs(found.values.astype(np.float64)).max(initial=0.0) * abs(found.scale)
        if not largest <= np.finfo(np.float32).max:
            raise need.fault(f"array '{prefix}values' holds a number that is not finite")
        return found
