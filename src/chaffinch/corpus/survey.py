"""Counts of the annotations of a corpus, made in one pass, so that a conversion can report losses beforehand."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Interner
from chaffinch.corpus.annotations import has_scores, is_predicted
from chaffinch.text.document import LABEL, Document
from chaffinch.text.table import Column

# The layers that count as annotations; text, tokens, ids and fields do not.
ANNOTATIONS = ("tree", "links", "spans", "labels", "columns")

BLOCK = 4096  # documents whose tags are interned at a time


@dataclass(slots=True)
class Survey:
    """Counts of a corpus.

    counts:  documents that have each layer of a document ("spans": how many have spans)
    totals:  spans, links and scores of all documents together
    columns: documents by column name, in order of first occurrence; fields likewise
    labels:  the distinct labels of documents
    """

    documents: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)
    columns: dict[str, int] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    _interner: Interner = field(default_factory=Interner)
    _waiting: list[list[str]] = field(default_factory=list)
    _ids: list[NDArray[np.int32]] = field(default_factory=list)
    _lengths: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def layers(self) -> frozenset[str]:
        """The layers that at least one document has."""
        return frozenset(layer for layer, count in self.counts.items() if count)

    @property
    def annotations(self) -> frozenset[str]:
        """The layers that are annotations."""
        return self.layers & frozenset(ANNOTATIONS)

    def add(self, d: Document) -> None:
        """Count one document."""
        self.documents += 1
        for layer in ("tokens", *ANNOTATIONS, "shares", "fields"):
            self.counts[layer] += bool(getattr(d, layer))
        self.counts["text"] += bool(d.text)
        self.counts["id"] += d.id is not None
        self.counts["group"] += d.group is not None
        scored = sum(s.score is not None for s in d.spans)
        self.counts["scores"] += has_scores(d)
        self.counts["predicted"] += is_predicted(d)
        self.totals["scores"] += scored
        self.totals["spans"] += len(d.spans)
        self.totals["labels"] += len(d.labels)
        for name in d.columns:
            self.columns[name] = self.columns.get(name, 0) + 1
        for name in d.fields:
            self.fields[name] = self.fields.get(name, 0) + 1
        self.labels.update(d.labels)
        self._waiting.append(d.columns.get(LABEL, []))
        if len(self._waiting) == BLOCK:
            self._intern()

    def tags(self) -> tuple[Column, NDArray[np.int64]]:
        """The tags of all documents as one column, and the bounds of the documents in it."""
        self._intern()
        ids = np.concatenate([np.empty(0, np.int32), *self._ids])
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        return Column(self._interner.strings(), ids), np.cumsum(lengths)

    def _intern(self) -> None:
        """Replace the waiting tags by ids of four bytes each."""
        ptr, ids = self._interner.intern_nested(self._waiting)
        self._ids.append(ids)
        self._lengths.append(np.diff(ptr))
        self._waiting = []


def survey(documents: Iterable[Document]) -> Survey:
    """The counts of a corpus.

    >>> found = survey([Document("Ann left", labels=["news"]), Document("on", labels=["news"], id="2")])
    >>> found.documents, sorted(found.annotations), found.counts["id"]
    (2, ['labels'], 1)
    """
    found = Survey()
    for d in documents:
        found.add(d)
    return found
