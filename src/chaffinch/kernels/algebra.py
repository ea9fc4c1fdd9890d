"""Kernels from kernels: sums, products, multiples, the normalised kernel, a kernel of one part of an object."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.kernels.kernel import Block, Kernel


@dataclass(frozen=True)
class Views:
    """The same objects as each of several kernels prepared them."""

    of: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.of[0])

    def taken(self, which: NDArray[Any]) -> "Views":
        """Some of the objects, in the order named."""
        return Views(tuple(view.taken(which) for view in self.of))


@dataclass(frozen=True)
class _Several(Kernel):
    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        if not self.kernels or not all(isinstance(k, Kernel) for k in self.kernels):
            raise ConfigError(f"{type(self).__name__} takes kernels, got {self.kernels!r}")

    @property
    def of_vectors(self) -> bool:  # type: ignore[override]
        """Whether all its kernels are of vectors."""
        return all(k.of_vectors for k in self.kernels)

    def settled(self, objects: Any) -> "Kernel":
        """Each kernel settled."""
        return replace(self, kernels=tuple(k.settled(objects) for k in self.kernels))

    def prepared(self, objects: Any) -> Views:
        """A view for each kernel."""
        return (
            objects if isinstance(objects, Views) else Views(tuple(k.prepared(objects) for k in self.kernels))
        )

    def _blocks(self, A: Views, B: Views, threads: int) -> list[NDArray[np.float64]]:
        return [
            kernel.block(a, a if A is B else b, threads).astype(np.float64)
            for kernel, a, b in zip(self.kernels, A.of, B.of, strict=True)
        ]

    def _diagonals(self, A: Any, threads: int) -> list[NDArray[np.float64]]:
        views = self.prepared(A).of
        return [k.diagonal(view, threads=threads) for k, view in zip(self.kernels, views, strict=True)]


class Sum(_Several):
    """k(a, b) = k_1(a, b) + k_2(a, b) + ...: the features of all, side by side."""

    def block(self, A: Views, B: Views, threads: int) -> Block:
        """See :class:`Kernel`."""
        return np.add.reduce(self._blocks(A, B, threads))

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """See :class:`Kernel`."""
        return np.asarray(np.add.reduce(self._diagonals(A, threads)))


class Product(_Several):
    """k(a, b) = k_1(a, b) k_2(a, b) ...: pairs of features, one from each."""

    def block(self, A: Views, B: Views, threads: int) -> Block:
        """See :class:`Kernel`."""
        return np.multiply.reduce(self._blocks(A, B, threads))

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """See :class:`Kernel`."""
        return np.asarray(np.multiply.reduce(self._diagonals(A, threads)))


@dataclass(frozen=True)
class Scaled(Kernel):
    """k(a, b) = factor * k_1(a, b)."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        if not 0 < self.factor < np.inf:
            raise ConfigError(f"a kernel is multiplied by a positive number, got {self.factor!r}")

    @property
    def of_vectors(self) -> bool:  # type: ignore[override]
        """As the kernel within."""
        return self.kernel.of_vectors

    def settled(self, objects: Any) -> "Kernel":
        """The kernel within, settled."""
        return replace(self, kernel=self.kernel.settled(objects))

    def prepared(self, objects: Any) -> Any:
        """As the kernel within."""
        return self.kernel.prepared(objects)

    def block(self, A: Any, B: Any, threads: int) -> Block:
        """See :class:`Kernel`."""
        return self.kernel.block(A, B, threads) * self.factor

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """See :class:`Kernel`."""
        return self.kernel.diagonal(A, threads=threads) * self.factor


@dataclass(frozen=True)
class Measured:
    """Prepared objects and sqrt(k(a, a)) of each."""

    objects: Any
    lengths: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.lengths)

    def taken(self, which: NDArray[Any]) -> "Measured":
        """Some of the objects, in the order named."""
        return Measured(self.objects.taken(which), self.lengths[which])


@dataclass(frozen=True)
class Normalised(Kernel):
    """k(a, b) / sqrt(k(a, a) k(b, b)): the cosine of phi(a) and phi(b).

    An object without features (an empty text, say) has k(a, a) = 0 and is like nothing, not even itself.

    >>> from chaffinch.kernels import LinearKernel
    >>> Normalised(LinearKernel()).gram([[3.0, 4.0], [0.0, 0.0]], [[2.0, 0.0]])
    array([[0.6],
           [0. ]])
    """

    kernel: Kernel

    @property
    def of_vectors(self) -> bool:  # type: ignore[override]
        """As the kernel within."""
        return self.kernel.of_vectors

    def settled(self, objects: Any) -> "Kernel":
        """The kernel within, settled."""
        return replace(self, kernel=self.kernel.settled(objects))

    def prepared(self, objects: Any) -> Measured:
        """The objects as the kernel within prepares them, measured once."""
        if isinstance(objects, Measured):
            return objects
        inner = self.kernel.prepared(objects)
        squares = self.kernel.diagonal(inner)
        if not np.isfinite(squares).all() or (squares < 0).any():
            n = int(np.flatnonzero(~(np.isfinite(squares) & (squares >= 0)))[0])
            raise DataError(
                f"{self.kernel!r} of object {n + 1} with itself is {squares[n]}: expected a number >= 0"
            )
        return Measured(inner, np.sqrt(squares))

    def block(self, A: Measured, B: Measured, threads: int) -> Block:
        """See :class:`Kernel`."""
        K = self.kernel.block(A.objects, A.objects if A is B else B.objects, threads).astype(np.float64)
        return K * np.outer(_inverse(A.lengths), _inverse(B.lengths))

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """One, or zero where there are no features."""
        return (self.prepared(A).lengths > 0).astype(np.float64)


@dataclass(frozen=True)
class Part(Kernel):
    """A kernel of one part of objects that have several: of a text and its tree, say.

    >>> from chaffinch.kernels import LinearKernel, Polynomial
    >>> both = Part(LinearKernel(), 0) + Part(Polynomial(), 1)
    >>> both.gram([([1.0], [2.0])], [([3.0], [1.0])])
    array([[12.]])
    """

    kernel: Kernel
    at: int | str

    def settled(self, objects: Any) -> "Kernel":
        """The kernel within, settled on its part."""
        return replace(self, kernel=self.kernel.settled(self._parts(objects)))

    def prepared(self, objects: Any) -> Any:
        """The parts, as the kernel within prepares them."""
        return self.kernel.prepared(self._parts(objects) if isinstance(objects, (list, tuple)) else objects)

    def block(self, A: Any, B: Any, threads: int) -> Block:
        """See :class:`Kernel`."""
        return self.kernel.block(A, B, threads)

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """See :class:`Kernel`."""
        return self.kernel.diagonal(self.prepared(A), threads=threads)

    def _parts(self, objects: Sequence[Any]) -> list[Any]:
        try:
            return [one[self.at] for one in objects]
        except (IndexError, KeyError, TypeError):
            raise DataError(f"expected objects with a part {self.at!r} each") from None


@dataclass(frozen=True)
class Listed:
    """Objects as they are, in a list."""

    objects: list[Any]

    def __len__(self) -> int:
        return len(self.objects)

    def taken(self, which: NDArray[Any]) -> "Listed":
        """Some of the objects, in the order named."""
        return Listed([self.objects[n] for n in which.tolist()])


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """Any Python function of two objects. It is called once per pair, so it is for few objects or bold ideas.

    Such a kernel lives in the program that defines it: a model that uses it cannot be saved.

    >>> FunctionKernel(lambda a, b: float(a == b)).gram(["tea", "cake"], ["tea"])
    array([[1.],
           [0.]])
    """

    function: Callable[[Any, Any], float]

    def __repr__(self) -> str:
        return f"FunctionKernel({getattr(self.function, '__name__', type(self.function).__name__)})"

    def prepared(self, objects: Any) -> Listed:
        """The objects, listed."""
        return objects if isinstance(objects, Listed) else Listed(list(objects))

    def block(self, A: Listed, B: Listed, threads: int) -> Block:
        """See :class:`Kernel`."""
        K = np.empty((len(A), len(B)), np.float64)
        for i, a in enumerate(A.objects):
            for j, b in enumerate(B.objects):
                value = K[j, i] if A is B and j < i else self.function(a, b)
                try:
                    K[i, j] = value
                except (TypeError, ValueError):
                    raise DataError(
                        f"a kernel function must return a number, got {value!r} for objects {i + 1} and {j + 1}"
                    ) from None
        return K


def _inverse(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
