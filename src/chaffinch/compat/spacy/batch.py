"""The tokens of several docs as one token table, without a Python object per token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.text.table import Column, TokenTable


@dataclass(frozen=True)
class Batch:
    """The sentences of several docs as one token table.

    bounds: doc n has the tokens bounds[n] .. bounds[n+1] of all docs together
    words:  int64 [tokens of the table], their numbers among the tokens of all docs
    doc_of: the doc of each sentence
    """

    docs: Sequence[Any]
    table: TokenTable
    bounds: list[int]
    words: NDArray[np.int64]
    doc_of: list[int]

    @classmethod
    def of(cls, docs: Sequence[Any], columns: Mapping[str, str]) -> "Batch":
        """The table of all tokens but white space; strings are looked up once per type."""
        bounds = np.concatenate([[0], np.cumsum([len(doc) for doc in docs])]).astype(np.int64)
        strings = docs[0].vocab.strings
        types, ids = _types(docs, "ORTH", strings)
        words = np.flatnonzero(~np.array([word.isspace() for word in types], bool)[ids])
        starts = np.zeros(int(bounds[-1]) + 1, bool)
        starts[bounds] = True
        for doc, a in zip(docs, bounds.tolist(), strict=False):
            if len(doc) and doc.has_annotation("SENT_START"):
                starts[a : a + len(doc)] |= doc.to_array("SENT_START") == 1
        # The sentence of a word begins at the last start before it; sentences of white space only are dropped.
        begun = np.cumsum(starts[:-1])[words]
        first = np.flatnonzero(np.diff(begun, prepend=-1))
        ptr = np.append(first, len(words)).astype(np.int64)
        made = {}
        for name, attribute in columns.items():
            kinds, cells = (types, ids) if attribute == "text" else _types(docs, attribute.upper(), strings)
            if len(words) and "" in kinds and (cells[words] == kinds.index("")).any():
                raise DataError(
                    f"the model reads the column {name} from token.{attribute}_, which is not set: "
                    "add a component that sets it before this one"
                )
            made[name] = Column(kinds, np.ascontiguousarray(cells[words]))
        doc_of = np.searchsorted(bounds, words[first], side="right") - 1
        return cls(docs, TokenTable(ptr, made), bounds.tolist(), words, doc_of.tolist())


def _types(docs: Sequence[Any], attribute: str, strings: Any) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct values of a token attribute as strings, and the index of each token's value among them."""
    values = np.concatenate([doc.to_array(attribute).ravel() for doc in docs])
    distinct, ids = np.unique(values, return_inverse=True)
    if attribute == "POS":
        from spacy import symbols

        names = [symbols.NAMES[int(value)] if value else "" for value in distinct.tolist()]
    else:
        names = [strings[value] if value else "" for value in distinct.tolist()]
    return names, ids.astype(np.int32)
