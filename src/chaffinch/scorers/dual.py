"""Dual: scores as sums over support examples, each with a coefficient for every label.

Dual scores new objects. Three scorers are trained in the dual: DualInTraining (labels), KernelLists (candidates of
lists) and KernelChain (positions of a chain).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.kernels import GramRows, Kernel
from chaffinch.structures.parts import Parts

BLOCK = 1 << 24  # maximum number of entries of a Gram block
MOST_BYTES = 2 << 30  # of a Gram matrix


def row_blocks(n: int, support: int) -> Iterator[NDArray[np.int64]]:
    """The numbers 0 .. n - 1 in runs, so that a Gram block of a run and the support has at most BLOCK entries."""
    step = max(1, BLOCK // max(1, support))
    return (np.arange(first, min(first + step, n)) for first in range(0, n, step))


class Share(NamedTuple):
    """A contribution of value * weight to the score of one label, and of value * rival to that of another.

    example: the support example that it comes from; None for a constant, or if ``name`` is enough
    """

    name: str
    value: float
    weight: float
    rival: float
    example: int | None = None


class Shares(NamedTuple):
    """All contributions, and the two scores that they sum to.

    what: the kind of scores: ``scores``, ``votes``, ``A against B alone``
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

        F_n(y) = sum_i alpha_i(y) k(x_i, x_n)       kept up to date, so that a correct answer costs nothing

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


class Observed(NamedTuple):
    """Positions first .. last - 1 of the objects that a :class:`KernelChain` was made for."""

    first: int
    last: int

    @property
    def T(self) -> int:
        """The number of positions."""
        return self.last - self.first


@dataclass(frozen=True)
class Observations:
    """The objects of all positions, a kernel, and its Gram matrix, computed once.

    >>> from chaffinch.kernels import Polynomial
    >>> x = Observations(Polynomial(degree=2), np.eye(3, dtype=np.float32))
    >>> x.gram[0]
    array([4., 1., 1.], dtype=float32)
    """

    kernel: Kernel
    objects: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", self.kernel.fitted(self.objects))
        object.__setattr__(self, "objects", self.kernel.prepared(self.objects))
        n = len(self.objects)
        if 4 * n * n > MOST_BYTES:
            raise ConfigError(
                f"the Gram matrix of {n:,} positions needs {4 * n * n / 2**30:.1f} GB; train on fewer, or expand a "
                "polynomial kernel into its products (Monomials)"
            )
        object.__setattr__(self, "_gram", self.kernel.gram(self.objects))

    @property
    def gram(self) -> NDArray[np.float32]:
        """float32 [n, n]."""
        made: NDArray[np.float32] = self._gram  # type: ignore[attr-defined]
        return made


class KernelChain:
    """unary[t, y] = sum over support positions s of  a[s, y] k(x_t, x_s);   pair, start and end as in a linear chain.

    An update adds to the coefficients of the example's own positions, so every learner that updates a scorer by parts
    can train it: FrankWolfe, NSlack, ExponentiatedGradient and ChainSmo give the kernelised max-margin Markov network
    (Taskar, Guestrin and Koller 2003). The perceptron's loop cannot train it: it averages a flat w.
    """

    def __init__(self, observations: Observations, Y: int) -> None:
        self.observations = observations
        self.a = np.zeros((len(observations.objects), Y), np.float32)
        self.shared = {
            "pair": np.zeros((Y, Y), np.float32),
            "start": np.zeros(Y, np.float32),
            "end": np.zeros(Y, np.float32),
        }

    def __deepcopy__(self, _: object) -> "KernelChain":
        made = KernelChain(self.observations, self.a.shape[1])
        made.a = self.a.copy()
        made.shared = {name: block.copy() for name, block in self.shared.items()}
        return made

    @property
    def support(self) -> NDArray[np.int64]:
        """The positions that have a coefficient."""
        return np.flatnonzero(self.a.any(axis=1))

    def shape(self, x: Observed) -> dict[str, tuple[int, ...]]:
        """The size of the parts of x."""
        return {"unary": (x.T, self.a.shape[1])} | {name: block.shape for name, block in self.shared.items()}

    def potentials(self, x: Observed) -> Parts:
        """The scores of every part of x."""
        unary = self.observations.gram[x.first : x.last] @ self.a
        return Parts(unary=unary, **{name: block.copy() for name, block in self.shared.items()})

    def scores(self, objects: Any, threads: int = 0) -> NDArray[np.float32]:
        """unary [T, Y] of positions with these objects."""
        s = self.support
        kernel, known = self.observations.kernel, self.observations.objects
        return np.asarray(kernel.expansion(objects, known.taken(s), self.a[s], threads=threads), np.float32)

    def update(self, x: Observed, delta: Parts, step: float = 1.0) -> None:
        """a += step * delta at the positions of x."""
        for name, block in delta.items():
            target = self.a[x.first : x.last] if name == "unary" else self.shared[name]
            target += np.float32(step) * block.astype(np.float32)

    def sq_norm(self, x: Observed, delta: Parts) -> float:
        """The squared length of the change that an update of step 1 makes in the kernel's space."""
        total = sum(
            float(np.sum(block.astype(np.float64) ** 2)) for n, block in delta.items() if n != "unary"
        )
        if "unary" in delta:
            K = self.observations.gram[x.first : x.last, x.first : x.last].astype(np.float64)
            d = delta["unary"].astype(np.float64)
            total += float(np.sum((K @ d) * d))
        return total
