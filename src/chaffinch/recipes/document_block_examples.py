"""The examples of blocks of documents: ids or texts in a cache become rows of features and labels."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from chaffinch.cache.documents import DocumentCache, Rows
from chaffinch.features.rows import SparseRows, joined
from chaffinch.learners.examples import DocumentExamples
from chaffinch.model.document_encoder import DocumentEncoder

KEPT_BYTES = 64 << 20  # size of the examples that are kept between passes


def raw_rows(encoder: DocumentEncoder, texts: list[str], threads: int) -> list[Rows]:
    """The counts of each kind of features."""
    assert encoder.union is not None
    found: list[Rows] = []
    for vectorizer, view in zip(encoder.union.vectorizers, encoder.views, strict=True):
        vectorizer.threads = threads
        rows = vectorizer.counted(view.of(texts, encoder.clusters))
        counts = None if rows.values is None else rows.values.astype(np.int32)
        found.append((rows.ptr, rows.ids, counts))
    return found


def weighted_rows(encoder: DocumentEncoder, kinds: Sequence[Rows]) -> SparseRows:
    """The rows that ``encoder.rows`` gives for the texts, from their counts."""
    assert encoder.union is not None
    blocks = []
    for (ptr, ids, counts), vectorizer, scale in zip(
        kinds, encoder.union.vectorizers, encoder.scales, strict=True
    ):
        values = None if counts is None else counts.astype(np.float32)
        rows = SparseRows(ptr, ids, values, vectorizer.feature_count)
        blocks.append(vectorizer.weighted(rows).times(scale))
    return joined(blocks)


def made_examples(
    cache: DocumentCache, encoder: DocumentEncoder, numbers: Sequence[int], threads: int = 1
) -> DocumentExamples:
    """The documents of some blocks, end to end. threads: for deriving features, if the cache holds texts."""
    if cache.holds_texts:
        read = [cache.texts(number) for number in numbers]
        rows = raw_rows(encoder, [text for texts, _ in read for text in texts], threads)
        return DocumentExamples.of_rows(
            weighted_rows(encoder, rows), np.concatenate([y for _, y in read]), len(cache.labels)
        )
    found = [cache.block(number) for number in numbers]
    kinds: list[Rows] = []
    for k in range(cache.kinds):
        pieces = [rows[k] for rows, _ in found]
        starts = np.cumsum([0, *(int(ptr[-1]) for ptr, _, _ in pieces[:-1])])
        ptr = np.concatenate([[0], *(p[1:] + s for (p, _, _), s in zip(pieces, starts, strict=True))])
        counts = None if not cache.counted else np.concatenate([c for _, _, c in pieces if c is not None])
        kinds.append((ptr.astype(np.int64), np.concatenate([ids for _, ids, _ in pieces]), counts))
    return DocumentExamples.of_rows(
        weighted_rows(encoder, kinds), np.concatenate([y for _, y in found]), len(cache.labels)
    )


class DocumentBlockExamples:
    """Makes the examples of some blocks; if those of all blocks fit in memory, they are made once.

    room: bytes
    """

    def __init__(
        self, cache: DocumentCache, encoder: DocumentEncoder, threads: int = 1, room: int = KEPT_BYTES
    ) -> None:
        self._cache, self._encoder, self._threads = cache, encoder, threads
        self._room = room
        self._kept: dict[int, DocumentExamples] = {}

    def made(self, numbers: Sequence[int]) -> DocumentExamples:
        """The examples of these blocks, end to end."""
        for number in numbers:
            if self._room >= 0 and number not in self._kept:
                one = made_examples(self._cache, self._encoder, [number], self._threads)
                self._room -= (
                    one.ids.nbytes + one.ptr.nbytes + (0 if one.values is None else one.values.nbytes)
                )
                self._kept[number] = one
        if self._room < 0:
            self._kept.clear()
        pieces = [self._kept[number] for number in numbers if number in self._kept]
        # Documents without a feature have values where others have factors: such blocks are not put together.
        forms = {(one.values is None, one.factors is None) for one in pieces}
        if self._room < 0 or len(forms) > 1:
            return made_examples(self._cache, self._encoder, numbers, self._threads)
        return end_to_end(pieces)


def end_to_end(pieces: Sequence[DocumentExamples]) -> DocumentExamples:
    """Documents with one label each, over the same features, one piece after the other."""
    first = pieces[0]
    starts = np.cumsum([0, *(len(one.ids) for one in pieces[:-1])])
    ptr = np.concatenate([[0], *(one.ptr[1:] + at for one, at in zip(pieces, starts, strict=True))])
    values = [one.values for one in pieces if one.values is not None]
    by_row = [one.factors[1] for one in pieces if one.factors is not None]
    return replace(
        first,
        ptr=ptr.astype(np.int64),
        ids=np.concatenate([one.ids for one in pieces]),
        values=None if first.values is None else np.concatenate(values),
        factors=None if first.factors is None else (first.factors[0], np.concatenate(by_row)),
        label_ptr=np.arange(len(ptr), dtype=np.int64),
        labels=np.concatenate([one.labels for one in pieces]),
    )
