"""Unions of features: words and characters, text and numbers."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaffinch.errors import ConfigError, DataError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.rows import SparseRows, joined
from chaffinch.features.scaling import SECTION, NumberScaling
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, fact, inside, listed_strings, nested


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
