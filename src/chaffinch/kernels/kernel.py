"""The interface of kernels, and kernels made of kernels: sums, products, multiples, the normalised kernel.

A kernel offers blocks of its Gram matrix, its diagonal, and expansions over support objects.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError

Block = NDArray[np.floating]
EXPANSION_ROWS = 256
Self = TypeVar("Self")


class Objects(Protocol):
    """Prepared objects of a kernel: they have a length and can be selected by number."""

    def __len__(self) -> int: ...

    def taken(self: Self, which: NDArray[Any]) -> Self:
        """Some of the objects, in the order named."""
        ...


@dataclass(frozen=True)
class NamedKernel:
    """A kernel with a name, and the kind of its objects."""

    kind: "type[Kernel]"
    of: str


NAMED: dict[str, NamedKernel] = {}  # every kernel with a name, in the order of definition
VECTORS = "features"  # the kind of objects of a kernel of rows of numbers
OF_BLOCKS = ("diagonal", "expansion", "grouped_expansion")  # methods that follow from ``block``


class Kernel(ABC):
    """k(a, b) = phi(a) . phi(b) for implicit features phi.

    A kernel is a frozen dataclass of its knobs; it defines how objects are prepared and how a block is computed.
    Kernels can be added, multiplied and scaled: ``Rbf() + 0.5 * Polynomial()``.

    gram:      float32 or float64 [n, m]; without B, that of A with itself. A and B are raw or prepared objects
    diagonal:  k(a, a) of each object
    expansion: gram(A, B) @ w, without storing the whole block

    A setting that is None (``Rbf.gamma``, ``Mismatch.alphabet``) is determined from data: a machine takes it from its
    training objects, ``gram(A, B)`` from B, and ``gram(A)`` and ``diagonal(A)`` from A.
    """

    of_vectors = False  # whether its objects are rows of numbers
    length: ClassVar[str | None] = None  # the knob that is the length of the counted n-grams

    def __init_subclass__(cls, *, name: str | None = None, of: str = "") -> None:
        """A kernel with a name can be chosen by settings and saved in a model file.

        of: the kind of its objects: ``features`` (rows of numbers), ``text`` or ``trees``

        A kernel with a ``block`` of its own does not inherit the faster diagonal and expansions of another kernel.
        """
        super().__init_subclass__()
        for method in OF_BLOCKS:
            if overridden(cls, "block", since=method):
                setattr(cls, method, getattr(Kernel, method))
        if of == VECTORS:
            cls.of_vectors = True
        if name is None:
            return
        if name in NAMED and NAMED[name].kind.__qualname__ != cls.__qualname__:
            raise TypeError(
                f"{cls.__name__}: there is already a kernel {name!r}, {NAMED[name].kind.__name__}"
            )
        NAMED[name] = NamedKernel(cls, of)

    @classmethod
    def chosen(cls, settings: Mapping[str, Any]) -> "Kernel":
        """The kernel with the settings that it knows; None leaves a setting at its default.

        ``length`` sets the range of counted lengths to 1 .. ``length``.
        """
        own = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        given = {name: value for name, value in settings.items() if name in own and value is not None}
        if "low" in own:
            given["low"] = 1
        if cls.length is not None and settings.get("length") is not None:
            given[cls.length] = settings["length"]
        return cls(**given)

    def fitted(self, objects: Any) -> "Kernel":
        """The kernel with the settings that are None determined from these objects, raw or prepared."""
        return self

    @abstractmethod
    def prepared(self, objects: Any) -> Objects:
        """The objects in the form that ``block`` reads, such as :class:`Listed`; prepared ones stay as they are."""

    def gram(self, A: Any, B: Any = None, *, threads: int = 0) -> Block:
        """K[i, j] = k(A_i, B_j); if an entry is not finite, DataError names the first."""
        kernel = self.fitted(A if B is None else B)
        a = kernel.prepared(A)
        b = a if B is None or B is A else kernel.prepared(B)
        return kernel.finite(kernel.block(a, b, threads))

    def rows(self, A: Any, which: NDArray[np.integer[Any]], B: Any, threads: int) -> Block:
        """Some rows of the Gram block of prepared objects; an error names the objects by their numbers in A."""
        return self.finite(self.block(A.taken(which), B, threads), which)

    def finite(self, K: Block, which: NDArray[np.integer[Any]] | None = None) -> Block:
        """The block of these objects, or DataError if an entry is not finite."""
        if not np.isfinite(K).all():
            i, j = (int(at[0]) for at in np.nonzero(~np.isfinite(K)))
            raise self._refused(i if which is None else int(which[i]), j, K[i, j])
        return K

    @abstractmethod
    def block(self, A: Any, B: Any, threads: int) -> Block:
        """The Gram block of prepared objects; ``A is B`` if it is symmetric."""

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """k(a, a) of each object: float64 [n]."""
        kernel = self.fitted(A)
        a = kernel.prepared(A)
        out = np.empty(len(a), np.float64)
        for i in range(len(a)):
            one = a.taken(np.array([i]))
            out[i] = kernel.block(one, one, threads)[0, 0]
            if not np.isfinite(out[i]):
                raise kernel._refused(i, i, out[i])
        return out

    def expansion(self, A: Any, B: Any, w: NDArray[np.floating], *, threads: int = 0) -> Block:
        """f(a) = sum_j w_j k(a, B_j): [n, columns of w]."""
        kernel = self.fitted(B)
        a, b = kernel.prepared(A), kernel.prepared(B)
        out = np.empty((len(a), w.shape[1]), np.float64)
        for first in range(0, len(a), EXPANSION_ROWS):
            rows = np.arange(first, min(first + EXPANSION_ROWS, len(a)))
            out[rows] = kernel.rows(a, rows, b, threads) @ w
        return out

    def grouped_expansion(
        self, A: Any, B: Any, bounds: NDArray[np.int64], w: NDArray[np.floating], *, threads: int = 0
    ) -> Block:
        """The expansions over consecutive groups of B: [n, groups, columns of w]."""
        kernel = self.fitted(B)
        a, b = kernel.prepared(A), kernel.prepared(B)
        out = np.zeros((len(a), len(bounds) - 1, w.shape[1]))
        for g, (first, last) in enumerate(pairwise(bounds.tolist())):
            if last > first:
                out[:, g] = kernel.expansion(
                    a, b.taken(np.arange(first, last)), w[first:last], threads=threads
                )
        return out

    def _refused(self, n: int, m: int, value: float) -> DataError:
        return DataError(
            f"{self!r} of object {n + 1} and object {m + 1} is {value}: a kernel must be a finite number"
        )

    def __add__(self, other: "Kernel") -> "Kernel":
        return Sum((self, other))

    def __mul__(self, other: Any) -> "Kernel":
        return Product((self, other)) if isinstance(other, Kernel) else Scaled(self, float(other))

    def __rmul__(self, factor: float) -> "Kernel":
        return self * factor

    def normalised(self) -> "Kernel":
        """k(a, b) / sqrt(k(a, a) k(b, b)): the cosine of phi(a) and phi(b)."""
        return Normalised(self)


def overridden(kind: type[Kernel], method: str, since: str) -> bool:
    """Whether a class closer to ``kind`` than the one that defines ``since`` defines this method."""
    place = {name: [name in vars(c) for c in kind.__mro__].index(True) for name in (method, since)}
    return place[method] < place[since]


@dataclass(frozen=True)
class Views:
    """The same objects, prepared by each of several kernels."""

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

    def fitted(self, objects: Any) -> "Kernel":
        """Each kernel fitted."""
        views = objects.of if isinstance(objects, Views) else [objects] * len(self.kernels)
        return replace(
            self, kernels=tuple(k.fitted(view) for k, view in zip(self.kernels, views, strict=True))
        )

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
    """k(a, b) = k_1(a, b) + k_2(a, b) + ...: the concatenated features of all kernels."""

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
            raise ConfigError(f"a kernel can be multiplied only by a positive number, got {self.factor!r}")

    @property
    def of_vectors(self) -> bool:  # type: ignore[override]
        """Whether the inner kernel is of vectors."""
        return self.kernel.of_vectors

    def fitted(self, objects: Any) -> "Kernel":
        """The same with the inner kernel fitted."""
        return replace(self, kernel=self.kernel.fitted(objects))

    def prepared(self, objects: Any) -> Any:
        """The objects as the inner kernel prepares them."""
        return self.kernel.prepared(objects)

    def block(self, A: Any, B: Any, threads: int) -> Block:
        """See :class:`Kernel`."""
        return self.kernel.block(A, B, threads) * self.factor

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """See :class:`Kernel`."""
        return self.kernel.diagonal(A, threads=threads) * self.factor


@dataclass(frozen=True)
class NormedObjects:
    """Prepared objects and sqrt(k(a, a)) of each."""

    objects: Any
    lengths: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.lengths)

    def taken(self, which: NDArray[Any]) -> "NormedObjects":
        """Some of the objects, in the order named."""
        return NormedObjects(self.objects.taken(which), self.lengths[which])


@dataclass(frozen=True)
class Normalised(Kernel):
    """k(a, b) / sqrt(k(a, a) k(b, b)): the cosine of phi(a) and phi(b).

    An object without features, such as an empty text, has k(a, a) = 0 and similarity 0 to everything, itself included.

    >>> from chaffinch.kernels import LinearKernel
    >>> Normalised(LinearKernel()).gram([[3.0, 4.0], [0.0, 0.0]], [[2.0, 0.0]])
    array([[0.6],
           [0. ]])
    """

    kernel: Kernel

    @property
    def of_vectors(self) -> bool:  # type: ignore[override]
        """Whether the inner kernel is of vectors."""
        return self.kernel.of_vectors

    def fitted(self, objects: Any) -> "Kernel":
        """The same with the inner kernel fitted."""
        inner = objects.objects if isinstance(objects, NormedObjects) else objects
        return replace(self, kernel=self.kernel.fitted(inner))

    def prepared(self, objects: Any) -> NormedObjects:
        """The objects as the inner kernel prepares them, with their norms."""
        if isinstance(objects, NormedObjects):
            return objects
        inner = self.kernel.prepared(objects)
        squares = self.kernel.diagonal(inner)
        if not np.isfinite(squares).all() or (squares < 0).any():
            n = int(np.flatnonzero(~(np.isfinite(squares) & (squares >= 0)))[0])
            raise DataError(
                f"{self.kernel!r} of object {n + 1} with itself is {squares[n]}: expected a number >= 0"
            )
        return NormedObjects(inner, np.sqrt(squares))

    def block(self, A: NormedObjects, B: NormedObjects, threads: int) -> Block:
        """See :class:`Kernel`."""
        K = self.kernel.block(A.objects, A.objects if A is B else B.objects, threads).astype(np.float64)
        return K * np.outer(_inverse(A.lengths), _inverse(B.lengths))

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """One for each object; zero if it has no features."""
        return (self.prepared(A).lengths > 0).astype(np.float64)


def _inverse(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


@dataclass(frozen=True)
class Component(Kernel):
    """A kernel of one component of objects that have several, such as a text and its tree.

    >>> from chaffinch.kernels import Component, LinearKernel, Polynomial
    >>> both = Component(LinearKernel(), 0) + Component(Polynomial(), 1)
    >>> both.gram([([1.0], [2.0])], [([3.0], [1.0])])
    array([[12.]])
    """

    kernel: Kernel
    at: int | str

    def fitted(self, objects: Any) -> "Kernel":
        """The same with the inner kernel fitted to its component."""
        return replace(self, kernel=self.kernel.fitted(self._within(objects)))

    def prepared(self, objects: Any) -> Any:
        """The components, as the inner kernel prepares them."""
        return self.kernel.prepared(self._within(objects))

    def block(self, A: Any, B: Any, threads: int) -> Block:
        """See :class:`Kernel`."""
        return self.kernel.block(A, B, threads)

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """See :class:`Kernel`."""
        return self.kernel.diagonal(self.prepared(A), threads=threads)

    def _within(self, objects: Any) -> Any:
        """The components of raw objects; prepared objects are returned unchanged."""
        if not isinstance(objects, (list, tuple)):
            return objects
        try:
            return [one[self.at] for one in objects]
        except (IndexError, KeyError, TypeError):
            raise DataError(f"expected objects with a component {self.at!r} each") from None


@dataclass(frozen=True)
class Listed:
    """Raw objects in a list."""

    objects: list[Any]

    def __len__(self) -> int:
        return len(self.objects)

    def taken(self, which: NDArray[Any]) -> "Listed":
        """Some of the objects, in the order named."""
        return Listed([self.objects[n] for n in which.tolist()])


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """Any Python function of two objects. It is called once per pair, so it suits small data only.

    A model with such a kernel cannot be saved.

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
