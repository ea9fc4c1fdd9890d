"""Kernels of vectors: functions of an inner product, over dense or sparse rows."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.rows import SparseRows
from chaffinch.kernels.kernel import Block, Kernel, overridden
from chaffinch.knobs import check, knob


@dataclass(frozen=True)
class DenseRows:
    """Vectors as a table: float32 [n, d], finite."""

    values: NDArray[np.float32]
    _packed: dict[bool, _core.PackedRows] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def columns(self) -> int:
        """d."""
        return int(self.values.shape[1])

    def packed(self, apart: bool) -> _core.PackedRows:
        """The rows in the packed form of the core, made once: for inner products, or for distances if ``apart``."""
        if apart not in self._packed:
            self._packed[apart] = _core.PackedRows(self.values, apart)
        return self._packed[apart]

    def taken(self, which: NDArray[np.integer[Any]]) -> "DenseRows":
        """Some of the rows, in the order named."""
        return DenseRows(np.ascontiguousarray(self.values[which]))

    @classmethod
    def of(cls, table: Any) -> "DenseRows":
        """The rows of a table; DataError if a number is not finite."""
        try:
            values = np.asarray(table)
        except ValueError as error:
            raise DataError(f"expected a table of numbers: {error}") from None
        if values.ndim != 2 or not (np.issubdtype(values.dtype, np.number) or values.dtype == np.bool_):
            raise DataError(f"expected a table of numbers, got {values.ndim} dimensions of {values.dtype}")
        with np.errstate(over="ignore"):
            narrow = np.ascontiguousarray(values, dtype=np.float32)
        if not np.isfinite(narrow).all():
            row = int(np.flatnonzero(~np.isfinite(narrow).all(axis=1))[0])
            raise DataError(f"row {row + 1} holds NaN, infinity or a number beyond float32")
        return cls(narrow)


Vectors = DenseRows | SparseRows


class VectorKernel(Kernel):
    """A kernel of rows of numbers: a NumPy table, a SciPy sparse matrix, or :class:`SparseRows`."""

    of_vectors = True
    apart = False  # whether it is a function of |a - b|

    def __init_subclass__(cls, **named: str) -> None:
        """A kernel with a ``native`` of its own does not inherit the diagonal of another kernel."""
        super().__init_subclass__(**named)
        if overridden(cls, "native", since="of_products"):
            cls.diagonal = Kernel.diagonal  # type: ignore[method-assign]

    def fitted(self, objects: Any) -> "VectorKernel":
        """See :class:`Kernel`."""
        return self

    @abstractmethod
    def native(self) -> _core.VectorKernel:
        """The kernel of the core; it checks every setting."""

    def prepared(self, objects: Any) -> Vectors:
        """Dense rows, or sparse rows if the input is sparse."""
        if isinstance(objects, (DenseRows, SparseRows)):
            return objects
        return SparseRows.of(objects) if hasattr(objects, "tocsr") else DenseRows.of(objects)

    def block(self, A: Vectors, B: Vectors, threads: int) -> Block:
        """The block of two dense or two sparse sides; in a mixed pair, the sparse side is made dense."""
        native, (A, B) = self.native(), _alike(A, B)
        out = np.empty((len(A), len(B)), np.float32)
        if isinstance(A, DenseRows) and isinstance(B, DenseRows):
            _core.dense_gram(native, A.values, B.packed(self.apart), threads, out)
        elif isinstance(A, SparseRows) and isinstance(B, SparseRows):
            _core.sparse_gram(native, A.for_kernels, B.for_kernels, threads, out)
        return out

    def expansion(self, A: Any, B: Any, w: NDArray[np.floating], *, threads: int = 0) -> Block:
        """f(a) = sum_j w_j k(a, B_j): float32 [n, columns of w]; products are computed in cache-sized blocks."""
        a, b = _alike(self.prepared(A), self.prepared(B))
        if isinstance(a, DenseRows) or isinstance(b, DenseRows):
            return self.grouped_expansion(a, b, np.array([0, len(b)]), w, threads=threads)[:, 0]
        narrow = np.ascontiguousarray(w, np.float32)
        out = np.empty((len(a), narrow.shape[1]), np.float32)
        _core.sparse_expansion(self.fitted(b).native(), a.for_kernels, b.for_kernels, narrow, threads, out)
        return out

    def grouped_expansion(
        self, A: Any, B: Any, bounds: NDArray[np.int64], w: NDArray[np.floating], *, threads: int = 0
    ) -> Block:
        """See :class:`Kernel`; float32."""
        a, b = _alike(self.prepared(A), self.prepared(B))
        if not isinstance(a, DenseRows) or not isinstance(b, DenseRows):
            return super().grouped_expansion(a, b, bounds, w, threads=threads)
        narrow = np.ascontiguousarray(w, np.float32)
        out = np.empty((len(a), len(bounds) - 1, narrow.shape[1]), np.float32)
        _core.dense_expansion(self.fitted(b).native(), a.values, b.values, bounds, narrow, threads, out)
        return out

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """k(a, a) of each row, from its norm."""
        return self.of_products(_squares(self.prepared(A)))

    @abstractmethod
    def of_products(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """k(a, a), given a.a."""


@dataclass(frozen=True, kw_only=True)
class LinearKernel(VectorKernel, name="linear", of="features"):
    """k(a, b) = a.b

    >>> LinearKernel().gram([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[11.,  2.]], dtype=float32)
    """

    def native(self) -> _core.VectorKernel:
        """See :class:`VectorKernel`."""
        return _core.VectorKernel(_core.VectorKernelKind.linear, 1, 1.0, 0.0)

    def of_products(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """See :class:`VectorKernel`."""
        return z


@dataclass(frozen=True, kw_only=True)
class Polynomial(VectorKernel, name="polynomial", of="features"):
    """k(a, b) = (gamma a.b + offset)^degree: all products of up to ``degree`` features.

    >>> Polynomial().gram([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[144.,   9.]], dtype=float32)
    """

    degree: int = knob(2, "the power: 2 is the quadratic kernel, 3 the cubic", low=1, high=20)
    gamma: float = knob(1.0, "multiplier of inner products", low=1e-9)
    offset: float = knob(1.0, "constant added before the power is taken", low=0.0)

    def native(self) -> _core.VectorKernel:
        """See :class:`VectorKernel`."""
        check(self)
        return _core.VectorKernel(_core.VectorKernelKind.polynomial, self.degree, self.gamma, self.offset)

    def of_products(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """See :class:`VectorKernel`."""
        return np.asarray((self.gamma * z + self.offset) ** self.degree)


@dataclass(frozen=True, kw_only=True)
class Rbf(VectorKernel, name="rbf", of="features"):
    """k(a, b) = exp(-gamma |a - b|^2): Gaussian bumps, one around each support vector.

    >>> Rbf(gamma=0.5).gram([[1.0, 2.0]], [[1.0, 2.0], [1.0, 0.0]]).round(3)
    array([[1.   , 0.135]], dtype=float32)
    """

    apart = True
    gamma: float | None = knob(
        None, "inverse squared width; by default 1 / (columns * variance) of the data", low=1e-12
    )

    def fitted(self, objects: Any) -> "Rbf":
        """gamma = 1 / (columns * variance of all values), as scikit-learn's "scale"."""
        return self if self.gamma is not None else replace(self, gamma=_scale(self.prepared(objects)))

    def native(self) -> _core.VectorKernel:
        """See :class:`VectorKernel`."""
        check(self)
        if self.gamma is None:
            raise ConfigError("Rbf.gamma is None: blocks of prepared objects need a number")
        return _core.VectorKernel(_core.VectorKernelKind.rbf, 1, self.gamma, 0.0)

    def of_products(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """See :class:`VectorKernel`."""
        return np.ones_like(z)


@dataclass(frozen=True, kw_only=True)
class Sigmoid(VectorKernel, name="sigmoid", of="features"):
    """k(a, b) = tanh(gamma a.b + offset): not positive semi-definite for every setting, as in other packages.

    >>> Sigmoid(gamma=0.1).gram([[1.0, 2.0]], [[1.0, 2.0]]).round(3)
    array([[0.462]], dtype=float32)
    """

    gamma: float = knob(0.01, "multiplier of inner products", low=1e-9)
    offset: float = knob(0.0, "constant added to the scaled inner product")

    def native(self) -> _core.VectorKernel:
        """See :class:`VectorKernel`."""
        check(self)
        return _core.VectorKernel(_core.VectorKernelKind.sigmoid, 1, self.gamma, self.offset)

    def of_products(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """See :class:`VectorKernel`."""
        return np.asarray(np.tanh(self.gamma * z + self.offset))


def _alike(A: Vectors, B: Vectors) -> tuple[Vectors, Vectors]:
    if A.columns != B.columns:
        raise DataError(f"rows of {A.columns} numbers cannot be compared with rows of {B.columns}")
    if isinstance(A, DenseRows) != isinstance(B, DenseRows):
        return _dense(A), _dense(B)
    return A, B


def _dense(rows: Vectors) -> DenseRows:
    return rows if isinstance(rows, DenseRows) else DenseRows(rows.dense())


def _squares(rows: Vectors) -> NDArray[np.float64]:
    if isinstance(rows, DenseRows):
        return np.einsum("ij,ij->i", rows.values, rows.values, dtype=np.float64)
    of = np.repeat(np.arange(len(rows)), np.diff(rows.ptr))
    return np.asarray(np.bincount(of, rows.weights().astype(np.float64) ** 2, len(rows)), np.float64)


def _scale(rows: Vectors) -> float:
    cells = len(rows) * rows.columns
    values = (rows.values if isinstance(rows, DenseRows) else rows.weights()).astype(np.float64)
    if cells == 0:
        return 1.0
    variance = float((values**2).sum() / cells - (values.sum() / cells) ** 2)
    return 1.0 / (rows.columns * variance) if variance > 0 else 1.0
