"""Several kinds of features side by side: words and characters, text and numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.features.ngrams import Arrays, Strings, TextVectorizer
from chaffinch.features.rows import SparseRows, joined


@dataclass
class FeatureUnion:
    """The columns of several vectorisers, one after the other, then those of a matrix given beside the text.

    >>> union = FeatureUnion((TextVectorizer(ngram_high=1), TextVectorizer(unit="char", ngram_low=2)))
    >>> rows = union.fit_transform(["no tea", "tea"], beside=[[0.5], [1.5]])
    >>> union.names()
    ['tea', 'no', 'te', 'ea', 'no', 'o ', ' t', 'beside[0]']
    >>> union.offsets(), rows.dense()[1].tolist()
    ([0, 2, 7, 8], [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.5])
    """

    parts: tuple[TextVectorizer, ...]
    beside_columns: int = 0

    def fit_transform(
        self, texts: Iterable[str], labels: Sequence[Any] | None = None, beside: Any = None
    ) -> SparseRows:
        """Fit every part and return their rows joined; beside: a sparse or dense matrix, a row per text."""
        documents = self._documents(texts)
        blocks = [part.fit_transform(documents, labels) for part in self.parts]
        extra = [] if beside is None else [SparseRows.of(beside)]
        self.beside_columns = sum(block.columns for block in extra)
        return joined(blocks + extra)

    def transform(self, texts: Iterable[str], beside: Any = None) -> SparseRows:
        """The rows of new texts; a matrix beside them if there was one when fitting, as wide as that."""
        documents = self._documents(texts)
        extra = [] if beside is None else [SparseRows.of(beside)]
        columns = sum(block.columns for block in extra)
        if columns != self.beside_columns:
            raise DataError(
                f"expected {self.beside_columns} columns beside the text as when fitting, got {columns}"
            )
        return joined([part.transform(documents) for part in self.parts] + extra)

    def offsets(self) -> list[int]:
        """The first column of each block, and how many columns there are."""
        bounds = [0]
        for part in self.parts:
            bounds.append(bounds[-1] + part.feature_count)
        return [*bounds, bounds[-1] + self.beside_columns] if self.beside_columns else bounds

    def names(self) -> list[str]:
        """The name of every column; those of the matrix are ``beside[0]``, ``beside[1]`` ..."""
        names = [name for part in self.parts for name in part.names()]
        return names + [f"beside[{i}]" for i in range(self.beside_columns)]

    def state(self) -> tuple[dict[str, Any], Arrays, Strings]:
        """What a model file keeps: the parts' states, their arrays and strings under ``0.``, ``1.`` ..."""
        headers: list[dict[str, Any]] = []
        arrays: Arrays = {}
        strings: Strings = {}
        for i, part in enumerate(self.parts):
            header, part_arrays, part_strings = part.state()
            headers.append(header)
            arrays |= {f"{i}.{name}": array for name, array in part_arrays.items()}
            strings |= {f"{i}.{name}": listed for name, listed in part_strings.items()}
        return (
            {"kind": "union", "version": 1, "parts": headers, "beside": self.beside_columns},
            arrays,
            strings,
        )

    @classmethod
    def from_state(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], strings: Mapping[str, list[str]]
    ) -> "FeatureUnion":
        """The union that ``state`` described; every number is checked."""
        if header.get("kind") != "union" or header.get("version") != 1:
            raise ModelFileError("expected the state of a union of features, version 1")
        headers, beside = header.get("parts"), header.get("beside")
        if not isinstance(headers, list) or not all(isinstance(h, dict) for h in headers):
            raise ModelFileError(
                "the state of a union of features is damaged: parts must be a list of headers"
            )
        if type(beside) is not int or beside < 0:
            raise ModelFileError("the state of a union of features is damaged: beside must be a count")
        parts = (
            TextVectorizer.from_state(part, _under(f"{i}.", arrays), _under(f"{i}.", strings))
            for i, part in enumerate(headers)
        )
        return cls(tuple(parts), beside)

    def _documents(self, texts: Iterable[str]) -> list[str]:
        if not self.parts:
            raise ConfigError("FeatureUnion needs at least one vectoriser")
        if isinstance(texts, str):
            raise DataError("expected a list of texts, got one text: put it in a list")
        return texts if isinstance(texts, list) else list(texts)


def _under(prefix: str, named: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}
