"""Unions of features: words and characters, text and numbers.

Numbers are scaled: centred, divided by their spread, large values compressed.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.rows import SparseRows, joined, number_table
from chaffinch.modelfile import (
    ModelFile,
    Packed,
    Requirements,
    Saved,
    array,
    fact,
    inside,
    listed_strings,
    nested,
)

# -- scaling ----------------------------------------------------------------------------------------------------------


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


# -- the union --------------------------------------------------------------------------------------------------------


@dataclass
class FeatureUnion:
    """The columns of several vectorisers, one after the other, then those of a matrix given beside the text.

    scaled:  whether numbers beside the text are scaled
    scaling: the fitted scale

    >>> union = FeatureUnion((TextVectorizer(ngram_high=1), TextVectorizer(unit="char", ngram_low=2)))
    >>> rows = union.fit_transform(["no tea", "tea"], beside=[[0.5], [1.5]])
    >>> union.names()
    ['tea', 'no', 'te', 'ea', 'no', 'o ', ' t', 'beside[0]']
    >>> union.offsets(), rows.dense()[1].tolist()
    ([0, 2, 7, 8], [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.5])
    """

    vectorizers: tuple[TextVectorizer, ...]
    beside_columns: int = 0
    beside_names: tuple[str, ...] = ()
    scaled: bool = False
    scaling: NumberScaling | None = None

    @property
    def parts(self) -> tuple[TextVectorizer, ...]:
        """Deprecated: the old name of ``vectorizers``."""
        warnings.warn("FeatureUnion.parts is now called vectorizers", DeprecationWarning, stacklevel=2)
        return self.vectorizers

    def fit_transform(
        self, texts: Iterable[str], labels: Sequence[Any] | None = None, beside: Any = None
    ) -> SparseRows:
        """Fit every vectoriser and return their rows joined.

        beside: a sparse or dense matrix, a row per text; or a dict of columns by name
        """
        documents = self._documents(texts)
        blocks = [vectorizer.fit_transform(documents, labels) for vectorizer in self.vectorizers]
        return joined(blocks + self.first_beside(beside))

    def transform(self, texts: Iterable[str], beside: Any = None) -> SparseRows:
        """The rows of new texts; ``beside`` must have the same columns as in fitting."""
        documents = self._documents(texts)
        return joined(
            [vectorizer.transform(documents) for vectorizer in self.vectorizers] + self.more_beside(beside)
        )

    def first_beside(self, beside: Any) -> list[SparseRows]:
        """The block of numbers beside the text in fitting; its width and names are stored."""
        self.beside_names = tuple(beside) if isinstance(beside, Mapping) else ()
        self.beside_columns, self.scaling = 0, None
        if beside is None:
            return []
        table = _columns(beside, self.beside_names)
        self.scaling = NumberScaling.of(table) if self.scaled else None
        block = self._block(table)
        self.beside_columns = block.columns if self.scaling is None else self.scaling.columns
        return [block]

    def more_beside(self, beside: Any) -> list[SparseRows]:
        """The block beside new texts, with the same columns as in fitting, matched by name if they have names."""
        if isinstance(beside, Mapping):
            missing = [name for name in self.beside_names if name not in beside]
            if missing or not self.beside_names:
                raise DataError(
                    f"expected the columns {', '.join(self.beside_names) or 'of a matrix'} beside the text as when "
                    f"fitting, got {', '.join(beside)}"
                )
        table = None if beside is None else _columns(beside, self.beside_names)
        columns = 0 if table is None else _width(table)
        if columns != self.beside_columns:
            raise DataError(
                f"expected {self.beside_columns} columns beside the text as when fitting, got {columns}"
            )
        return [] if table is None else [self._block(table)]

    def _block(self, table: Any) -> SparseRows:
        return SparseRows.of(table) if self.scaling is None else self.scaling.rows(table)

    @property
    def _beside_width(self) -> int:
        """The number of feature columns of the numbers beside the text."""
        return self.beside_columns if self.scaling is None else self.scaling.width

    def offsets(self) -> list[int]:
        """The first column of each block, and the number of columns."""
        bounds = [0]
        for vectorizer in self.vectorizers:
            bounds.append(bounds[-1] + vectorizer.feature_count)
        return [*bounds, bounds[-1] + self._beside_width] if self.beside_columns else bounds

    def names(self) -> list[str]:
        """The name of every column; those of a matrix are ``beside[0]``, ``beside[1]`` ..., hashed ones ``#0`` ..."""
        names = [name for vectorizer in self.vectorizers for name in vectorizer.column_names()]
        beside = list(self.beside_names) or [f"beside[{i}]" for i in range(self.beside_columns)]
        return names + (beside if self.scaling is None else self.scaling.names(beside))

    def packed(self) -> Packed:
        """The content for a model file: the vectorisers' sections under ``0.``, ``1.`` ..."""
        return _Sections(
            "union", 1, self.beside_columns, self.vectorizers, self.beside_names, self.scaling
        ).packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "FeatureUnion":
        """The union of a model file; every number is checked."""
        need = Requirements(file)
        found = _Sections.loaded(need)
        if len(found.beside_names) not in (0, found.beside):
            raise need.fault("the state of a union of features is damaged: every column needs a name")
        scaling = found.scaling
        if scaling is not None and not (scaling.spread >= 0).all():
            raise need.fault("its scaling of numbers is damaged: a spread is below 0")
        names = tuple(found.beside_names)
        return cls(found.parts, found.beside, names, scaling is not None, scaling)

    def _documents(self, texts: Iterable[str]) -> list[str]:
        if not self.vectorizers:
            raise ConfigError("FeatureUnion needs at least one vectoriser")
        if isinstance(texts, str):
            raise DataError("expected a list of texts, got a single text; put it in a list")
        return texts if isinstance(texts, list) else list(texts)


def _columns(beside: Any, names: Sequence[str]) -> Any:
    """A dict of columns as a table."""
    if not isinstance(beside, Mapping):
        return beside
    try:
        return np.column_stack([np.asarray(beside[name], dtype=np.float64) for name in names])
    except ValueError as e:
        raise DataError(f"expected columns of numbers beside the text, one number per text: {e}") from None


def _width(table: Any) -> int:
    """The number of columns of a table; DataError if it is not a table."""
    try:
        shape = np.shape(table)
    except ValueError as error:
        raise DataError(f"a block of features must be a table of numbers: {error}") from None
    if len(shape) != 2:
        raise DataError(f"a block of features must be a table of numbers, got {len(shape)} dimensions")
    return int(shape[1])


def _is_count(n: int) -> bool:
    return n >= 0


@dataclass(frozen=True)
class _Sections(Saved):
    """The sections of a union; parts: its vectorisers   beside: columns of numbers beside the texts."""

    kind: str = fact(str, check="union".__eq__, expected="a union of features")
    version: int = fact(int, check=(1).__eq__, expected="version 1 of the state of a union")
    beside: int = fact(int, check=_is_count, expected="a count of columns", size="B")
    parts: tuple[TextVectorizer, ...] = inside(TextVectorizer, each=True)
    beside_names: Sequence[str] = fact(
        list, check=listed_strings, expected="names of columns", default=(), omit=True
    )
    scaling: NumberScaling | None = nested(NumberScaling, SECTION, optional=True)
