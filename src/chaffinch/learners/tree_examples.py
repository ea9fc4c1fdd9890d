"""Sentences with trees, as examples: their spans' features end to end."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch.scorers import Example


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
