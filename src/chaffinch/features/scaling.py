"""Scaling of numbers beside text: centred, divided by their spread, large values compressed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.features.rows import SparseRows, number_table
from chaffinch.modelfile import Saved, array

# A row of n-grams has length 1; this gives the numbers together about the same length.
SHARE = 0.5
# The distance between the quartiles of a normal distribution, in standard deviations.
QUARTILES = 1.349


SECTION = "scaling."


@dataclass(frozen=True)
class NumberScaling(Saved):
    """The scale of each column in training, applied to new values.

        z = SHARE asinh((x - center) / spread) / sqrt(columns)

    center:  the median; 0 for sparse columns, whose zeros stay zeros
    spread:  the distance between the quartiles over 1.349, or the standard deviation if they coincide; 0 for a
             constant column, which gives 0
    missing: columns with NaN in training; each has an indicator column after the numbers. NaN counts as the median.

    >>> scaling = NumberScaling.of(np.array([[1.0, 7.0], [2.0, 7.0], [3.0, np.nan], [1000.0, 7.0]]))
    >>> scaling.center.tolist(), scaling.missing.tolist(), scaling.width
    ([2.5, 7.0], [1], 3)
    >>> scaling.rows(np.array([[2.5, np.nan]])).dense().tolist()
    [[0.0, 0.0, 0.5]]
    """

    center: NDArray[np.float32] = array("float32", "B", finite=True)
    spread: NDArray[np.float32] = array("float32", "B", finite=True)
    missing: NDArray[np.int64] = array("int64", "missing", below="B")

    @property
    def columns(self) -> int:
        """The number of columns of numbers."""
        return len(self.center)

    @property
    def width(self) -> int:
        """The number of columns of features."""
        return len(self.center) + len(self.missing)

    @classmethod
    def of(cls, matrix: Any) -> "NumberScaling":
        """The scaling of a table of numbers, dense or sparse."""
        if hasattr(matrix, "tocsr"):
            return cls._of_sparse(matrix.tocsc())
        table = _table(matrix)
        absent = np.isnan(table)
        center = np.zeros(table.shape[1])
        spread = np.zeros(table.shape[1])
        for j in range(table.shape[1]):
            seen = table[~absent[:, j], j]
            if len(seen):
                low, center[j], high = np.percentile(seen, (25, 50, 75))
                spread[j] = (high - low) / QUARTILES or float(np.std(seen))
        return cls(_narrow(center), _narrow(spread), np.flatnonzero(absent.any(axis=0)))

    @classmethod
    def _of_sparse(cls, matrix: Any) -> "NumberScaling":
        """The scaling of a sparse matrix: the median absolute value of its non-zeros."""
        spread = np.zeros(matrix.shape[1])
        for j in range(matrix.shape[1]):
            seen = np.abs(matrix.data[matrix.indptr[j] : matrix.indptr[j + 1]].astype(np.float64))
            spread[j] = np.median(seen[seen > 0]) if (seen > 0).any() else 0.0
        return cls(_narrow(np.zeros(len(spread))), _narrow(spread), np.zeros(0, np.int64))

    def rows(self, matrix: Any) -> SparseRows:
        """The features of new numbers."""
        scale = SHARE / np.sqrt(max(self.columns, 1))
        if hasattr(matrix, "tocsr"):
            given = SparseRows.of(matrix)
            spread = self.spread.astype(np.float64)[given.ids]
            known = np.where(spread > 0, given.weights() / np.where(spread > 0, spread, 1.0), 0.0)
            values = (scale * np.arcsinh(known)).astype(np.float32)
            return SparseRows(given.ptr, given.ids, values, given.columns + len(self.missing))
        table = _table(matrix)
        absent = np.isnan(table)
        center, spread = self.center.astype(np.float64), self.spread.astype(np.float64)
        moved = np.where(absent, 0.0, table - center) / np.where(spread > 0, spread, 1.0)
        scaled = np.where(spread > 0, scale * np.arcsinh(moved), 0.0)
        indicators = SHARE * absent[:, self.missing] / np.sqrt(max(len(self.missing), 1))
        return SparseRows.of(np.hstack([scaled, indicators]))

    def names(self, given: list[str]) -> list[str]:
        """The names of the columns of features; ``given`` names those of the numbers.

        >>> NumberScaling.of(np.array([[1.0], [np.nan]])).names(["year"])
        ['year', 'year missing']
        """
        return given + [f"{given[j]} missing" for j in self.missing.tolist()]


def _table(matrix: Any) -> NDArray[np.float64]:
    """A dense table of numbers in which NaN stands for a missing value."""
    wide = number_table(matrix).astype(np.float64)
    if np.isinf(wide).any() or (np.abs(np.nan_to_num(wide)) > np.finfo(np.float32).max).any():
        n, j = np.argwhere(~(np.abs(np.nan_to_num(wide, posinf=np.inf)) <= np.finfo(np.float32).max))[0]
        raise DataError(
            f"document {n + 1}: column {j + 1} beside the text holds infinity or a number beyond float32"
        )
    return wide


def _narrow(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rounded as in a file, so that a loaded model scales exactly as the saved one."""
    return np.asarray(np.minimum(values, np.finfo(np.float32).max), dtype=np.float32)
