"""The training data and the features that CRFsuite generates from them."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import CrfObjective64, CrfProblem

THREADS = 1  # CRFsuite has one


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """Sequences of items with their labels, end to end.

    bounds: int64 [N+1], of sequences in items   ptr: int64 [T+1], of items in features   y: int32 [T]
    """

    bounds: NDArray[np.int64]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32]
    y: NDArray[np.int32]

    @classmethod
    def joined(cls, parts: "list[LabelledItems]") -> "LabelledItems":
        """The sequences of several sets as one set."""
        lengths = [np.diff(part.bounds) for part in parts]
        sizes = [np.diff(part.ptr) for part in parts]
        return cls(
            _sums(lengths),
            _sums(sizes),
            np.concatenate([np.zeros(0, np.int32), *(part.ids for part in parts)]),
            np.concatenate([np.zeros(0, np.float32), *(part.values for part in parts)]),
            np.concatenate([np.zeros(0, np.int32), *(part.y for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def items(self) -> NDArray[np.int64]:
        """The item of each feature."""
        return np.repeat(np.arange(len(self.y)), np.diff(self.ptr))

    @cached_property
    def inside(self) -> NDArray[np.int64]:
        """The items that follow another in their sequence."""
        first = np.zeros(len(self.y) + 1, bool)
        first[self.bounds] = True
        return np.flatnonzero(~first[:-1])

    def each(self) -> "list[LabelledItems]":
        """The sequences one by one."""
        made = []
        for a, b in pairwise(self.bounds.tolist()):
            begin, end = self.ptr[a], self.ptr[b]
            bounds = np.array([0, b - a], np.int64)
            made.append(
                LabelledItems(
                    bounds,
                    self.ptr[a : b + 1] - begin,
                    self.ids[begin:end],
                    self.values[begin:end],
                    self.y[a:b],
                )
            )
        return made


def _sums(sizes: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes]))]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class FeatureCells:
    """The weights of a model: cells of [A, Y] and, after them, of [Y, Y]; sorted.

    A: attributes   Y: labels
    """

    A: int
    Y: int
    cells: NDArray[np.int64]

    @classmethod
    def of(
        cls, data: LabelledItems, A: int, Y: int, least: float, states: bool, transitions: bool
    ) -> "FeatureCells":
        """The features whose values add up to at least ``least``.

        Negative sums are below the default of 0, so features with them are left out, as in CRFsuite.
        states, transitions: also features that do not occur, with a sum of 0
        """
        y, at = data.y.astype(np.int64), data.inside
        found = [data.ids * np.int64(Y) + y[data.items], A * Y + y[at - 1] * Y + y[at]]
        values = [data.values.astype(np.float64), np.ones(len(at))]
        if states:
            every = np.unique(data.ids).astype(np.int64)
            found.append((every[:, None] * Y + np.arange(Y)).ravel())
        if transitions:
            found.append(A * Y + np.arange(Y * Y))
        values.append(np.zeros(sum(map(len, found)) - sum(map(len, values))))
        cells, place = np.unique(np.concatenate(found), return_inverse=True)
        total = np.bincount(place, np.concatenate(values), minlength=len(cells))
        return cls(A, Y, cells[total >= least])

    def __len__(self) -> int:
        return len(self.cells)


class CrfsuiteObjective:
    """CRFsuite's objective without the L1 term: -log p(y|x) summed over the sequences, + c2 |w|^2."""

    def __init__(self, data: LabelledItems, features: FeatureCells, c2: float) -> None:
        A, Y = features.A, features.Y
        empty = CrfProblem(data.bounds, data.ptr, data.ids, data.y, A, Y, values=data.values)
        S, rows = empty.stride, features.cells // Y
        self.place = rows * S + features.cells % Y + np.where(rows < A, 0, empty.blocks[0] - A * S)
        self.w = np.zeros(empty.size)
        self.gradient = np.empty(empty.size)
        trained = np.zeros(empty.size, np.uint8)
        trained[self.place] = 1
        problem = CrfProblem(
            data.bounds, data.ptr, data.ids, data.y, A, Y, values=data.values, trainable=trained
        )
        self.native = CrfObjective64(problem, c2, THREADS)

    def __call__(self, w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The value and the gradient at the weights of the features."""
        self.w[self.place] = w
        value = self.native(self.w, self.gradient)
        return value, self.gradient[self.place]
