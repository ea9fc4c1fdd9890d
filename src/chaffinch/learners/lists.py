"""Lists of candidates that lie end to end, as examples for any learner."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.scorers import PartFeatures, Rows
from chaffinch.structures.candidates import Judged


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
        """The first candidate of the least loss of each list, counted over all: int64 [N]."""
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
