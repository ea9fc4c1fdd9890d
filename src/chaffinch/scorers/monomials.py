"""Monomials: a polynomial kernel over lists of binary features, expanded into products of up to three of them.

    (gamma x.x' + offset)^degree  =  sum over the monomials m of x and x' of  v_m^2

v_m depends only on the size of m. This is the model of the kernel in the primal: one weight for each product, and no
support vectors.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.scorers.linear import Dense, Example, Layout, Linear


@dataclass(frozen=True)
class Monomials:
    """Products of up to ``degree`` of D binary features.

    >>> map = Monomials(D=3, degree=2, gamma=1.0, offset=1.0)
    >>> map.rows, map.squares
    (7, [1.0, 3.0, 2.0, 0.0])
    >>> map.expanded(np.array([0, 2]), np.array([0, 2], np.int32))[1]
    array([0, 1, 3, 5], dtype=int32)
    """

    D: int
    degree: int
    gamma: float = 1.0
    offset: float = 1.0

    @property
    def settings(self) -> tuple[int, int, float, float]:
        """The arguments of the core."""
        return self.D, self.degree, self.gamma, self.offset

    @cached_property
    def native(self) -> _core.MonomialMap:
        """The map of the core."""
        return _core.MonomialMap(*self.settings)

    @property
    def rows(self) -> int:
        """The number of monomials: the constant, features, pairs, triples."""
        return int(self.native.rows)

    @property
    def squares(self) -> list[float]:
        """v^2 of a monomial, by its size 0 to 3."""
        return [float(v) for v in self.native.squares]

    def __deepcopy__(self, _: object) -> "Monomials":
        return self  # immutable

    def expanded(
        self, ptr: NDArray[np.int64], ids: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The monomials of each list of features, as ptr and ids."""
        bounds, rows = self.native.expand(np.ascontiguousarray(ptr), np.ascontiguousarray(ids))
        return bounds, rows

    def factors(self, row: int) -> tuple[int, ...]:
        """The features of a row's product, ascending; empty for the constant.

        >>> [Monomials(D=4, degree=3).factors(row) for row in (0, 4, 5, 10, 14)]
        [(), (3,), (0, 1), (2, 3), (1, 2, 3)]
        """
        firsts = self.native.firsts
        size = next(m for m in range(self.degree, -1, -1) if row >= firsts[m])
        left, found = row - firsts[size], []
        for m in range(size, 0, -1):  # the index of i < j < k among those of its size is C(k,3) + C(j,2) + i
            f = bisect_right(range(self.D), left, key=partial(_subsets, m=m)) - 1
            left -= comb(f, m)
            found.append(f)
        return tuple(reversed(found))

    def score(
        self, ptr: NDArray[np.int64], ids: NDArray[np.int32], w: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """[T, S]: the sum of w [rows, S] over the monomials of each list; monomials are not stored."""
        out = np.empty((len(ptr) - 1, w.shape[1]), np.float32)
        self.native.score(ptr, ids, w, out)
        return out


class MonomialScorer(Linear):
    """A chain's weights over monomials of the features of each position.

    The unary block holds v_m w_m, so that a score is a plain sum; an update is multiplied by v_m^2.
    """

    def __init__(self, layout: Layout, map: Monomials, w: NDArray[np.float32] | None = None) -> None:
        super().__init__(layout, w)
        self.map = map

    def _score(self, x: Example | Dense, w: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        assert isinstance(x, Example)
        self.map.native.score(x.ptr, x.ids, w, out)

    def _add(
        self, x: Example | Dense, delta: NDArray[np.float32], step: float, w: NDArray[np.float32]
    ) -> None:
        for square, ptr, ids in self._by_size(x):
            _core.add_rows(ptr, ids, delta, step * square, w)

    def _squared_length(self, x: Example | Dense, delta: NDArray[np.float32]) -> float:
        return sum(square * _core.squared_length(ptr, ids, delta) for square, ptr, ids in self._by_size(x))

    def _by_size(self, x: Example | Dense) -> list[tuple[float, NDArray[np.int64], NDArray[np.int32]]]:
        """v^2 and the monomials of that size as CSR, for every size."""
        assert isinstance(x, Example)
        ptr, ids = self.map.expanded(x.ptr, x.ids)
        firsts, of = list(self.map.native.firsts), np.repeat(np.arange(x.T), np.diff(ptr))
        sizes = []
        for m in range(self.map.degree + 1):
            chosen = (ids >= firsts[m]) & (ids < firsts[m + 1])
            bounds = np.concatenate([[0], np.cumsum(np.bincount(of[chosen], minlength=x.T))]).astype(np.int64)
            sizes.append((self.map.squares[m], bounds, np.ascontiguousarray(ids[chosen])))
        return sizes


def _subsets(D: int, m: int) -> int:
    return comb(D, m)
