"""Kernels over candidates: the score of a candidate is a sum over support candidates of other lists."""

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kernels import GramRows
from chaffinch.scorers.dual import Dual
from chaffinch.structures.parts import Parts

Bounds = tuple[int, int]


class KernelLists:
    """score(c) = base(c) + sum over candidates i of alpha_i k(i, c); a list is the candidates from a to b - 1.

    An update adds delta to the coefficients of one list's candidates, so a mistake of the perceptron adds the gold
    candidate with +1 and the wrong one with -1 (Collins and Duffy 2002, "New ranking algorithms for parsing and
    tagging: kernels over discrete structures, and the voted perceptron").

    base: float64 [P], scores of the base model, not learnt   w: float64 [P], alpha

    >>> from chaffinch.kernels import LinearKernel
    >>> lists = KernelLists(GramRows(LinearKernel(), [[1.0], [2.0]]), np.zeros(2))
    >>> lists.update((0, 2), Parts(choice=np.array([-1.0, 1.0])))
    >>> lists.potentials((0, 2))["choice"]
    array([1., 2.])
    """

    def __init__(
        self, rows: GramRows, base: NDArray[np.float64], w: NDArray[np.floating] | None = None
    ) -> None:
        if base.shape != (len(rows),):
            raise DataError(
                f"expected a score of the base model for each of {len(rows)} candidates, found {len(base)}"
            )
        self.rows, self.base = rows, base
        self.w = np.zeros(len(rows)) if w is None else np.array(w, np.float64)
        self._scores: NDArray[np.float64] | None = None

    def with_weights(self, w: NDArray[np.floating]) -> "KernelLists":
        """The same scorer with a copy of other coefficients."""
        return KernelLists(self.rows, self.base, w)

    def shape(self, x: Bounds) -> dict[str, tuple[int, ...]]:
        """One part for each candidate."""
        return {"choice": (x[1] - x[0],)}

    def potentials(self, x: Bounds) -> Parts:
        """The scores of the list's candidates."""
        here = slice(*x)
        return Parts(choice=self.base[here] + self._sums()[here])

    def update(self, x: Bounds, delta: Parts, step: float = 1.0) -> None:
        """alpha += step * delta on the candidates of the list."""
        sums, change = self._sums(), step * delta["choice"].astype(np.float64)
        for k in np.flatnonzero(change).tolist():
            self.w[x[0] + k] += change[k]
            sums += change[k] * self.rows.row(x[0] + k)

    def sq_norm(self, x: Bounds, delta: Parts) -> float:
        """sum over k, l of delta_k delta_l k(k, l)."""
        change = delta["choice"].astype(np.float64)
        used = np.flatnonzero(change)
        return float(
            sum(change[k] * (change[used] @ self.rows.row(x[0] + k)[x[0] + used]) for k in used.tolist())
        )

    def finished(self) -> Dual:
        """The scorer of new candidates, without the base model: those with a coefficient only."""
        support = np.flatnonzero(self.w)
        return Dual(self.rows.kernel, self.rows.objects.taken(support), self.w[support, None])

    def _sums(self) -> NDArray[np.float64]:
        if self._scores is None:
            self._scores = np.zeros(len(self.rows))
            for n in np.flatnonzero(self.w).tolist():
                self._scores += self.w[n] * self.rows.row(n)
        return self._scores
