"""Dual: scores as sums over support examples, each with a coefficient for every label."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.kernels import GramRows, Kernel
from chaffinch.structures.parts import Parts

BLOCK = 1 << 24  # maximum number of entries of a Gram block


def row_blocks(n: int, support: int) -> Iterator[NDArray[np.int64]]:
    """The numbers 0 .. n - 1 in runs whose Gram blocks with the support objects are not too large."""
    step = max(1, BLOCK // max(1, support))
    return (np.arange(first, min(first + step, n)) for first in range(0, n, step))


class Share(NamedTuple):
    """value * weight of one label's score and value * rival of another's.

    example: the support example that it comes from; None for a constant, or if ``name`` is enough
    """

    name: str
    value: float
    weight: float
    rival: float
    example: int | None = None


class Shares(NamedTuple):
    """All contributions, and the two scores that they sum to.

    what: what the scores are: ``scores``, ``votes``, ``A against B alone``
    """

    what: str
    score: float
    rival: float
    shares: Sequence[Share]


class Dual:
    """score(x, y) = sum over support examples i of  alpha_i(y) k(x_i, x)  +  b_y

    kernel:       k
    support:      the support examples, as the kernel prepared them
    alpha:        float [support, Y]
    intercepts:   float64 [Y]

    >>> from chaffinch.kernels import LinearKernel
    >>> dual = Dual(LinearKernel(), [[1.0, 0.0], [0.0, 1.0]], np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> dual.scores([[1.0, 1.0]])
    array([[2., 1.]])
    """

    def __init__(
        self,
        kernel: Kernel,
        support: Any,
        alpha: NDArray[np.floating],
        intercepts: NDArray[np.float64] | None = None,
    ) -> None:
        self.kernel = kernel.fitted(support)
        self.support = self.kernel.prepared(support)
        self.alpha = alpha
        self.intercepts = np.zeros(alpha.shape[1]) if intercepts is None else intercepts
        if len(alpha) != len(self.support) or self.intercepts.shape != (alpha.shape[1],):
            raise DataError(
                f"expected coefficients [{len(self.support)}, labels] and an intercept for each label, "
                f"found {list(alpha.shape)} and {list(self.intercepts.shape)}"
            )

    def scores(self, objects: Any, threads: int = 0) -> NDArray[np.float64]:
        """The scores of new objects: float64 [n, Y]."""
        if len(self.support) == 0:
            return np.tile(self.intercepts, (len(self.kernel.prepared(objects)), 1))
        found = self.kernel.expansion(objects, self.support, self.alpha, threads=threads)
        return found.astype(np.float64) + self.intercepts

    def of_block(self, K: NDArray[np.floating]) -> NDArray[np.float64]:
        """The scores given the Gram block of objects and support [n, support]."""
        return K.astype(np.float64) @ self.alpha + self.intercepts

    def shares(self, x: Any, y: int, z: int, names: Sequence[str], threads: int = 0) -> list[Shares]:
        """alpha_i(y) k(x_i, x) of every support example, for two labels of the one object in x."""
        K = self.kernel.gram(x, self.support, threads=threads)[0] if len(self.support) else np.zeros(0)
        s = self.scores(x, threads)[0]
        found = [
            Share("", float(K[i]), float(self.alpha[i, y]), float(self.alpha[i, z]), i)
            for i in np.flatnonzero(K * (np.abs(self.alpha[:, y]) + np.abs(self.alpha[:, z]))).tolist()
        ]
        bias = Share("intercept", 1.0, float(self.intercepts[y]), float(self.intercepts[z]))
        return [Shares("scores", float(s[y]), float(s[z]), [*found, bias])]


class DualInTraining:
    """The dual scorer in training: an example x is its number among N training objects.

        F_n(y) = sum_i alpha_i(y) k(x_i, x_n)       kept up to date, so that a right answer costs nothing

    Updates add to alpha_x(y): for the perceptron, the count of mistakes with gold label y, minus those in which x was
    mistaken for y. With a budget, the support example with the largest margin without itself is removed (Crammer et
    al. 2003): F_i(y_i) - alpha_i(y_i) k_ii - max over the other labels.

    w: float64 [N, Y], alpha under the name that the online loop averages
    """

    def __init__(
        self, rows: GramRows, Y: int, w: NDArray[np.floating] | None = None, budget: int | None = None
    ) -> None:
        if budget is not None and budget < 1:
            raise ConfigError(f"the budget of support examples must be >= 1, got {budget}")
        self.rows, self.Y, self.budget = rows, Y, budget
        self.w = np.zeros((len(rows), Y)) if w is None else np.array(w, np.float64)
        self._diagonal: NDArray[np.float64] | None = None
        self._scores: NDArray[np.float64] | None = None

    def with_weights(self, w: NDArray[np.floating]) -> "DualInTraining":
        """The same scorer with a copy of other coefficients."""
        return DualInTraining(self.rows, self.Y, w, self.budget)

    def shape(self, x: int) -> dict[str, tuple[int, ...]]:
        """The size of the parts of any example."""
        return {"choice": (self.Y,)}

    def potentials(self, x: int) -> Parts:
        """F_x."""
        return Parts(choice=self._F()[x].copy())

    def update(self, x: int, delta: Parts, step: float = 1.0) -> None:
        """alpha_x(y) += step * delta(y)"""
        change = step * delta["choice"].astype(np.float64)
        self._add(x, change)
        if self.budget is not None and np.count_nonzero(self.w.any(axis=1)) > self.budget:
            self._drop_one()

    def sq_norm(self, x: int, delta: Parts) -> float:
        """|delta|^2 k(x, x)"""
        return float((delta["choice"].astype(np.float64) ** 2).sum() * self._k()[x])

    def finished(self) -> Dual:
        """The scorer of new objects, support examples only."""
        support = np.flatnonzero(self.w.any(axis=1))
        return Dual(self.rows.kernel, self.rows.objects.taken(support), self.w[support])

    def _add(self, n: int, change: NDArray[np.float64]) -> None:
        F, row = self._F(), self.rows.row(n)
        self.w[n] += change
        for y in np.flatnonzero(change).tolist():
            F[:, y] += change[y] * row

    def _drop_one(self) -> None:
        support = np.flatnonzero(self.w.any(axis=1))
        own = self.w[support]
        F = self._F()[support] - own * self._k()[support, None]
        gold = own.argmax(axis=1)
        right = F[np.arange(len(F)), gold]
        F[np.arange(len(F)), gold] = -np.inf
        n = int(support[np.argmax(right - F.max(axis=1))])
        self._add(n, -self.w[n])

    def _F(self) -> NDArray[np.float64]:
        if self._scores is None:
            self._scores = np.zeros((len(self.rows), self.Y))
            for n in np.flatnonzero(self.w.any(axis=1)).tolist():
                self._scores += np.outer(self.rows.row(n), self.w[n])
        return self._scores

    def _k(self) -> NDArray[np.float64]:
        if self._diagonal is None:
            self._diagonal = self.rows.kernel.diagonal(self.rows.objects)
        return self._diagonal
