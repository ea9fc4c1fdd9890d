"""Features of your own: the features of each token, given as dicts, lists of strings, or CRFsuite's text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import AttributeIndex
from chaffinch.errors import DataError

# The name of the column that holds them.
ATTRIBUTES = "attributes"

# Names of features that hold the word itself; the first that a token has is shown as its word.
WORD_NAMES = (
    "word",
    "w",
    "token",
    "text",
    "form",
    "word.lower()",
    "word.lower",
    "w.lower()",
    "w.lower",
    "w[0]",
)


class AttributeRows(NamedTuple):
    """The features of each token in CSR: ids of ``names``, and values, None if all are 1."""

    names: AttributeIndex
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32] | None


@dataclass(frozen=True, eq=False)
class Attributes:
    """The features that were given with the tokens, in their own form or as rows of ids.

    alone: tokens have only these features, no words
    given: sentences of tokens: dicts, lists or sets of strings, (string, weight) tuples in lists, or CRFsuite's text;
           None: only ``found`` is kept

    >>> own = Attributes(True, [[{"w": "a", "cap": True, "length": 2.5}, ["w:a", ("w:b", 0.5)]]])
    >>> rows = own.rows
    >>> rows.names.names(rows.ids), rows.values.tolist()
    (['w:a', 'cap', 'length', 'w:a', 'w:b'], [1.0, 1.0, 2.5, 1.0, 0.5])
    """

    alone: bool
    given: list[Any] | None = None
    found: AttributeRows | None = None

    @cached_property
    def rows(self) -> AttributeRows:
        """The features as ids of the names, in order of first occurrence."""
        if self.found is not None:
            return self.found
        index = AttributeIndex()
        return AttributeRows(index, *self.into(index, growing=True))

    def into(
        self, index: AttributeIndex, *, growing: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32] | None]:
        """ptr, ids and values in another index; names that it lacks are added if ``growing``, else left out."""
        if self.given is None:
            rows = self.rows
            return index.translated(rows.names, rows.ptr, rows.ids, rows.values, growing)
        try:
            return index.read(self.given, growing)[1:]
        except (TypeError, ValueError) as e:
            raise DataError(str(e)) from None

    def of_sentences(self, chosen: NDArray[np.int64], bounds: NDArray[np.int64]) -> "Attributes":
        """The features of the chosen sentences, in this order; bounds: those of all sentences, in tokens."""
        if self.given is not None:
            return Attributes(self.alone, [self.given[n] for n in chosen.tolist()])
        rows = self.rows
        tokens = np.concatenate(
            [np.zeros(0, np.int64), *(np.arange(bounds[n], bounds[n + 1]) for n in chosen)]
        )
        sizes = rows.ptr[tokens + 1] - rows.ptr[tokens]
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.repeat(rows.ptr[tokens] - ptr[:-1], sizes) + np.arange(ptr[-1])
        values = None if rows.values is None else rows.values[at]
        return Attributes(self.alone, found=AttributeRows(rows.names, ptr, rows.ids[at], values))

    def lists(self, bounds: NDArray[np.int64]) -> list[list[str]]:
        """Each token in CRFsuite's text, for comparisons and files; bounds: those of the sentences, in tokens."""
        rows = self.rows
        names = [escaped(name) for name in rows.names.names(np.arange(len(rows.names), dtype=np.int32))]
        values = (
            [""] * len(rows.ids)
            if rows.values is None
            else ["" if v == 1 else f":{v:.9g}" for v in rows.values.tolist()]
        )
        cells = [names[i] + v for i, v in zip(rows.ids.tolist(), values, strict=True)]
        tokens = ["\t".join(cells[a:b]) for a, b in pairwise(rows.ptr.tolist())]
        return [tokens[a:b] for a, b in pairwise(bounds.tolist())]

    def words(self, bounds: NDArray[np.int64]) -> list[list[str]]:
        """A word to show for each token: the value of a feature such as ``word`` or ``w[0]``, or its first feature."""
        if self.given is not None:
            return [[shown_word(token) for token in sentence] for sentence in self.given]
        return [[shown_word(cell) for cell in sentence] for sentence in self.lists(bounds)]


def concatenated(parts: Sequence[Attributes]) -> Attributes:
    """The features of several tables, one after the other."""
    alone = all(part.alone for part in parts)
    if all(part.given is not None for part in parts):
        return Attributes(alone, [sentence for part in parts for sentence in part.given or ()])
    index = AttributeIndex()
    every = [part.into(index, growing=True) for part in parts]
    starts = np.cumsum([0, *(len(ids) for _, ids, _ in every)])
    ptr = np.concatenate([[0], *(p[1:] + s for (p, _, _), s in zip(every, starts, strict=False))])
    values = None
    if any(v is not None for _, _, v in every):
        values = np.concatenate([np.ones(len(i), np.float32) if v is None else v for _, i, v in every])
    ids = np.concatenate([ids for _, ids, _ in every])
    return Attributes(alone, found=AttributeRows(index, ptr.astype(np.int64), ids, values))


def escaped(name: str) -> str:
    r"""A name in CRFsuite's text.

    >>> print(escaped("w:a"))
    w\:a
    """
    if "\t" in name or "\n" in name:
        raise DataError(f"the feature {name!r} has a tab or a line break, which CRFsuite's text cannot hold")
    return name.replace("\\", "\\\\").replace(":", "\\:")


def shown_word(token: Any) -> str:
    r"""The word of a token, taken from its features.

    >>> shown_word({"bias": 1.0, "word.lower()": "tea"}), shown_word(["bias", "w[0]=tea"]), shown_word("bias\tw=tea")
    ('tea', 'tea', 'tea')
    """
    if isinstance(token, Mapping):
        found = next((token[k] for k in WORD_NAMES if isinstance(token.get(k), str)), None)
        if found is not None:
            return str(found)
        return next((v for v in token.values() if isinstance(v, str)), str(next(iter(token), "")))
    names = list(_listed(token))
    for name in names:
        key, sign, value = name.partition("=")
        if sign and key in WORD_NAMES:
            return value
        key, sign, value = name.partition(":")
        if sign and key in WORD_NAMES:
            return value
    return names[0] if names else ""


def _listed(token: Any) -> Iterator[str]:
    if isinstance(token, str):
        for cell in token.split("\t"):
            name = re.match(r"(?:\\.|[^:\\]|\\$)*", cell)
            if cell and name is not None:
                yield re.sub(r"\\(.)", r"\1", name[0])
        return
    for item in sorted(token) if isinstance(token, set | frozenset) else token:
        name = item[0] if isinstance(item, tuple) else item
        yield name.decode(errors="replace") if isinstance(name, bytes) else str(name)
