"""The encoder of document classifiers: n-grams of text, numbers beside them, or numbers alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError, ModelFileError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.rows import SparseRows
from chaffinch.features.union import FeatureUnion

SECTION = "features."


@dataclass(frozen=True)
class DocumentEncoder:
    """Documents to rows of features.

    union:   the vectorisers, each one's columns after the other's; None: documents are rows of numbers
    scales:  what each vectoriser's values are multiplied by, so that none drowns the others
    columns: how many numbers come with each document, beside the text or instead of it

    >>> encoder = DocumentEncoder.of([TextVectorizer(ngram_high=1)], [2.0])
    >>> encoder.fitted_rows(["tea", "no tea"], None, None).dense().tolist()
    [[2.0, 0.0], [2.0, 2.0]]
    """

    union: FeatureUnion | None
    scales: tuple[float, ...] = ()
    columns: int = 0

    @classmethod
    def of(cls, parts: Sequence[TextVectorizer], scales: Sequence[float]) -> "DocumentEncoder":
        """An encoder of text, yet to be fitted."""
        return cls(FeatureUnion(tuple(parts)), tuple(scales))

    @property
    def n_features(self) -> int:
        """F."""
        return self.columns if self.union is None else self.union.offsets()[-1]

    def fitted_rows(self, texts: list[str], labels: Sequence[Any] | None, beside: Any) -> SparseRows:
        """Learn the features of texts; their rows."""
        if self.union is None:
            raise DataError("this encoder reads numbers, not texts")
        return self._scaled(self.union.fit_transform(texts, labels, beside))

    def rows(self, X: Any, beside: Any, threads: int) -> SparseRows:
        """The rows of new documents."""
        if self.union is None:
            return SparseRows.of(X)
        for part in self.union.parts:
            part.threads = threads
        return self._scaled(self.union.transform(X, beside))

    def restricted(self, keep: NDArray[np.bool_]) -> "DocumentEncoder":
        """The encoder of some of the columns; numbers and hashed n-grams are always kept.

        keep: bool [F], made true for what cannot go
        """
        if self.union is None:
            keep[:] = True
            return self
        parts, bounds = [], self.union.offsets()
        for i, part in enumerate(self.union.parts):
            here = keep[bounds[i] : bounds[i + 1]]
            if part.hash_bits:
                here[:] = True
            parts.append(part if here.all() else part.restricted(here))
        keep[bounds[len(self.union.parts)] :] = True
        return DocumentEncoder(FeatureUnion(tuple(parts), self.union.beside_columns), self.scales)

    def names(self) -> list[str]:
        """The name of every column."""
        return [f"x{i}" for i in range(self.columns)] if self.union is None else self.union.names()

    def packed(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]], dict[str, list[str]]]:
        """What a model file keeps: small facts, arrays, string lists."""
        if self.union is None:
            return {"columns": self.columns}, {}, {}
        header, arrays, strings = self.union.state()
        for part in header["parts"]:
            part["settings"]["threads"] = 0  # which change nothing, so that the file does not depend on them
        return (
            {"union": header, "scales": list(self.scales)},
            {SECTION + name: narrow(array) for name, array in arrays.items()},
            {SECTION + name: listed for name, listed in strings.items()},
        )

    @classmethod
    def unpacked(
        cls,
        details: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        strings: Mapping[str, Iterable[str]],
    ) -> "DocumentEncoder":
        """The encoder that ``packed`` described; every index is checked."""
        if "union" not in details:
            columns = details.get("columns")
            if type(columns) is not int or columns < 1:
                raise ModelFileError("the encoder of documents is damaged: columns must be a count")
            return cls(None, (), columns)
        wide = {
            name.removeprefix(SECTION): widened(name, a)
            for name, a in arrays.items()
            if name.startswith(SECTION)
        }
        lists = {
            name.removeprefix(SECTION): list(s) for name, s in strings.items() if name.startswith(SECTION)
        }
        union = FeatureUnion.from_state(details["union"], wide, lists)
        scales = details.get("scales")
        if not isinstance(scales, list) or len(scales) != len(union.parts):
            raise ModelFileError("the encoder of documents is damaged: there must be a scale for each part")
        return cls(union, tuple(float(s) for s in scales))

    def _scaled(self, rows: SparseRows) -> SparseRows:
        if self.union is None or all(scale == 1.0 for scale in self.scales):
            return rows
        by_column = np.ones(rows.columns, dtype=np.float32)
        bounds = self.union.offsets()
        for i, scale in enumerate(self.scales):
            by_column[bounds[i] : bounds[i + 1]] = scale
        return SparseRows(rows.ptr, rows.ids, rows.weights() * by_column[rows.ids], rows.columns)


def narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Factors in 32 bits, and numbers of 32 bits that fit into fewer."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int32 and len(array) and array.min() >= -1 and array.max() < 2**16 - 1:
        return (array + 1).astype(np.uint16)
    return array


def widened(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """What ``narrow`` was given."""
    if array.dtype == np.uint16:
        return array.astype(np.int32) - 1
    return array.astype(np.float64) if name.endswith(".scale") and array.dtype == np.float32 else array
