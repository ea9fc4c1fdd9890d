"""Tallies: counts per sentence; every score is a function of their sums.

    score = g(sum over the sentences n of counts[n])

So a bootstrap sample needs only new sums, and two systems are compared on the same samples.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import resampled_sums
from chaffinch.evaluate.rates import Floats

Sums = NDArray[np.int64]
ScoreSums = Callable[[Sums], dict[str, Floats]]


@dataclass(frozen=True)
class Tally:
    """Sparse counts of N sentences (or documents, trees, pairs) in K columns.

    ptr: int64 [N+1]; columns, values: int32 [nnz]
    score: maps sums [..., K] to scores [...] by stable key
    """

    ptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.int32]
    K: int
    score: ScoreSums

    @classmethod
    def from_dense(cls, counts: NDArray[np.integer], score: ScoreSums) -> "Tally":
        """A tally from counts [N, K]."""
        N, K = counts.shape
        rows, columns = np.nonzero(counts)
        ptr = np.zeros(N + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=N), out=ptr[1:])
        return cls(ptr, columns.astype(np.int32), counts[rows, columns].astype(np.int32), K, score)

    @property
    def N(self) -> int:
        """The number of sentences."""
        return len(self.ptr) - 1

    def sums(self) -> Sums:
        """The total counts: int64 [K]."""
        return np.bincount(self.columns, weights=self.values, minlength=self.K).astype(np.int64)

    def bootstrap(self, resamples: int, seed: int, threads: int = 0) -> Sums:
        """Sums over N sentences drawn with replacement, int64 [resamples, K]."""
        flat = resampled_sums(self.ptr, self.columns, self.values, self.K, resamples, seed, False, threads)
        return flat.reshape(resamples, self.K)

    def half(self, resamples: int, seed: int, threads: int = 0) -> Sums:
        """Sums over random subsets, each sentence with probability 1/2: int64 [resamples, K]."""
        flat = resampled_sums(self.ptr, self.columns, self.values, self.K, resamples, seed, True, threads)
        return flat.reshape(resamples, self.K)
