"""Choice: one of n candidates. Multiclass labels, reranking lists, a single step of an incremental search."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.structures.chain import Chain
from chaffinch.structures.parts import Parts, Shape


@dataclass(frozen=True)
class Choice:
    """One of n candidates; the parts are one block, ``choice`` [n].

    Without ``n`` the number of candidates may differ between examples, as in reranking.
    A potential of -inf forbids a candidate. Ties go to the smaller index.

    >>> choice = Choice(3)
    >>> potentials = Parts(choice=np.log([1.0, 2.0, 1.0]))
    >>> choice.argmax(potentials)
    1
    >>> log_z, marginals = choice.logsum(potentials)
    >>> marginals["choice"].round(2)
    array([0.25, 0.5 , 0.25])
    >>> [y for _, y in choice.kbest(potentials, 2)]
    [1, 0]
    """

    n: int | None = None

    def __post_init__(self) -> None:
        if self.n is not None and self.n < 1:
            raise ConfigError(f"Choice.n must be >= 1, got {self.n}")

    def shape(self, n: int) -> dict[str, tuple[int, ...]]:
        """The shape of the parts for n candidates."""
        return {"choice": (n,)}

    def parts(self, shape: Shape, y: int) -> Parts:
        """One at y, zero elsewhere."""
        indicator = np.zeros(self._size(shape), np.float32)
        indicator[self._checked(indicator.size, y)] = 1
        return Parts(choice=indicator)

    def cost(self, shape: Shape, y: int) -> Parts:
        """One for every candidate but y: the zero-one loss."""
        cost = np.ones(self._size(shape), np.float32)
        cost[self._checked(cost.size, y)] = 0
        return Parts(choice=cost)

    def argmax(self, potentials: Parts) -> int:
        """The best candidate; ties go to the first."""
        scores = self._scores(potentials)
        best = int(np.argmax(scores))
        if scores[best] == -np.inf:
            raise DataError("every candidate is forbidden")
        return best

    def logsum(self, potentials: Parts) -> tuple[float, Parts]:
        """log sum_y exp(s_y), and its gradient softmax(s)."""
        scores = self._scores(potentials)
        top = scores.max()
        if top == -np.inf:
            raise DataError("every candidate is forbidden")
        weights = np.exp(scores.astype(np.float64) - top)
        total = weights.sum()
        return float(top + np.log(total)), Parts(choice=(weights / total).astype(scores.dtype))

    def kbest(self, potentials: Parts, k: int) -> list[tuple[float, int]]:
        """The k best candidates with their scores; ties in the order of their index."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        scores = self._scores(potentials)
        order = np.argsort(-scores, kind="stable")[:k]
        found = [(float(scores[y]), int(y)) for y in order if scores[y] > -np.inf]
        if not found:
            raise DataError("every candidate is forbidden")
        return found

    def sample(self, potentials: Parts, *, n: int, seed: int) -> list[int]:
        """n candidates drawn from softmax(s)."""
        scores = self._scores(potentials)
        one_step = Chain(scores.size).sample(Parts(unary=scores[None, :]), n=n, seed=seed)
        return [int(y) for y in one_step[:, 0]]

    def _size(self, shape: Mapping[str, tuple[int, ...]]) -> int:
        (n,) = shape["choice"]
        if self.n is not None and n != self.n:
            raise DataError(f"expected {self.n} candidates, found {n}")
        return n

    def _scores(self, potentials: Parts) -> NDArray[np.floating]:
        scores = potentials["choice"]
        if self._size({"choice": scores.shape}) == 0:
            raise DataError("a choice needs at least one candidate")
        if np.isnan(scores).any() or (scores == np.inf).any():
            y = int(np.flatnonzero(np.isnan(scores) | (scores == np.inf))[0])
            raise DataError(f"candidate {y}: expected a finite potential (or -inf), found {scores[y]}")
        return scores

    @staticmethod
    def _checked(n: int, y: int) -> int:
        if not 0 <= y < n:
            raise DataError(f"expected a candidate from 0 to {n - 1}, found {y}")
        return y


# -- candidates of another model's list, each with its loss ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Judged:
    """The gold answer of a list: the candidate to choose, and the loss of each.

    best:   the index of the candidate with the smallest loss
    losses: float64 [n]
    """

    best: int
    losses: NDArray[np.float64]

    @classmethod
    def of(cls, losses: NDArray[np.float64]) -> "Judged":
        """The first candidate with the smallest loss is gold.

        >>> Judged.of(np.array([2.0, 1.0, 1.0])).best
        1
        """
        if not len(losses) or not np.isfinite(losses).all():
            raise DataError("every candidate needs a finite loss, and a list at least one candidate")
        return cls(int(np.argmin(losses)), np.asarray(losses, np.float64))


@dataclass(frozen=True)
class Candidates(Choice):
    """A choice; the cost of a candidate is its loss minus the smallest loss of the list.

    >>> gold = Judged.of(np.array([2.0, 0.5, 1.0]))
    >>> Candidates().cost({"choice": (3,)}, gold)["choice"]
    array([1.5, 0. , 0.5])
    """

    def parts(self, shape: Shape, y: "int | Judged") -> Parts:
        """One at y, zero elsewhere."""
        return super().parts(shape, y.best if isinstance(y, Judged) else y)

    def cost(self, shape: Shape, y: "int | Judged") -> Parts:
        """loss - loss of the best; the zero-one loss if y is only an index."""
        if not isinstance(y, Judged):
            return super().cost(shape, y)
        if y.losses.shape != tuple(shape["choice"]):
            raise DataError(
                f"expected a loss for each of {shape['choice'][0]} candidates, found {len(y.losses)}"
            )
        return Parts(choice=y.losses - y.losses[y.best])
