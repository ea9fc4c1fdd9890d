"""What every kernel offers: blocks of its Gram matrix, its diagonal, and expansions over support objects."""

from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError

Block = NDArray[np.floating]
EXPANSION_ROWS = 256
Self = TypeVar("Self")


class Objects(Protocol):
    """Objects as a kernel reads them quickly: counted, and taken by number."""

    def __len__(self) -> int: ...

    def taken(self: Self, which: NDArray[Any]) -> Self:
        """Some of the objects, in the order named."""
        ...


class Kernel:
    """k(a, b) = phi(a) . phi(b) for some features phi that need never be written down.

    A kernel is a frozen dataclass of its knobs; it says how objects are prepared and how a block is filled. Kernels
    are added, multiplied and scaled: ``Rbf() + 0.5 * Polynomial()``.

    gram:      float32 or float64 [n, m]; without B, that of A with itself. A and B are raw or prepared objects
    diagonal:  k(a, a) of each
    expansion: gram(A, B) @ w, the block never held whole
    settled:   the same kernel with what depends on the training objects decided
    """

    of_vectors = False  # whether its objects are rows of numbers

    def settled(self, objects: Any) -> "Kernel":
        """The kernel with settings that were left open decided from the training objects."""
        return self

    def prepared(self, objects: Any) -> Any:
        """The objects in the form that ``gram`` reads; prepared ones come back as they are."""
        raise NotImplementedError

    def gram(self, A: Any, B: Any = None, *, threads: int = 0) -> Block:
        """K[i, j] = k(A_i, B_j); every entry is a finite number, or DataError names the first that is not."""
        a = self.prepared(A)
        b = a if B is None or B is A else self.prepared(B)
        K = self.block(a, b, threads)
        if not np.isfinite(K).all():
            i, j = (int(at[0]) for at in np.nonzero(~np.isfinite(K)))
            raise DataError(
                f"{self!r} of object {i + 1} and object {j + 1} is {K[i, j]}: a kernel must be a finite number"
            )
        return K

    def block(self, A: Any, B: Any, threads: int) -> Block:
        """The Gram block of prepared objects; ``A is B`` where it is symmetric."""
        raise NotImplementedError

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """k(a, a) of each object: float64 [n]."""
        a = self.prepared(A)
        out = np.empty(len(a), np.float64)
        for i in range(len(a)):
            one = a.taken(np.array([i]))
            out[i] = self.gram(one, one, threads=threads)[0, 0]
        return out

    def expansion(self, A: Any, B: Any, w: NDArray[np.floating], *, threads: int = 0) -> Block:
        """f(a) = sum_j w_j k(a, B_j): [n, columns of w]."""
        a, b = self.prepared(A), self.prepared(B)
        out = np.empty((len(a), w.shape[1]), np.float64)
        for first in range(0, len(a), EXPANSION_ROWS):
            rows = np.arange(first, min(first + EXPANSION_ROWS, len(a)))
            out[rows] = self.gram(a.taken(rows), b, threads=threads) @ w
        return out

    def grouped_expansion(
        self, A: Any, B: Any, bounds: NDArray[np.int64], w: NDArray[np.floating], *, threads: int = 0
    ) -> Block:
        """The expansions over groups of B, which lie one after the other: [n, groups, columns of w]."""
        a, b = self.prepared(A), self.prepared(B)
        out = np.zeros((len(a), len(bounds) - 1, w.shape[1]))
        for g, (first, last) in enumerate(pairwise(bounds.tolist())):
            if last > first:
                out[:, g] = self.expansion(a, b.taken(np.arange(first, last)), w[first:last], threads=threads)
        return out

    def __add__(self, other: "Kernel") -> "Kernel":
        from chaffinch.kernels.algebra import Sum

        return Sum((self, other))

    def __mul__(self, other: Any) -> "Kernel":
        from chaffinch.kernels.algebra import Product, Scaled

        return Product((self, other)) if isinstance(other, Kernel) else Scaled(self, float(other))

    def __rmul__(self, factor: float) -> "Kernel":
        return self * factor

    def normalised(self) -> "Kernel":
        """k(a, b) / sqrt(k(a, a) k(b, b)): the cosine of phi(a) and phi(b)."""
        from chaffinch.kernels.algebra import Normalised

        return Normalised(self)
