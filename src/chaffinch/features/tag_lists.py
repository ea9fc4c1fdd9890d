"""Global features of k-best lists of labellings: 64-bit keys of what a whole labelled sentence shows."""

from collections.abc import Callable, Sequence
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.text.schemes.table import OUTSIDE

LETTERS = "BIESLU"


class KeyedRows(NamedTuple):
    """Features of candidates by key. ptr: int64 [candidates+1]   keys: uint64 [nnz]   values: float32 [nnz]."""

    ptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float32]


def tag_list_features(
    words: Sequence[Sequence[str]],
    candidates: Sequence[Sequence[Sequence[str]]],
    extra: Sequence[Sequence[str]] | None = None,
    threads: int = 0,
) -> KeyedRows:
    """The features of every candidate of every list, but for what all candidates of a list have alike.

    words:      of each sentence   candidates: of each sentence, labellings   extra: a further column, such as tags

    >>> rows = tag_list_features([["Anna", "sings"]], [[["B-PER", "O"], ["O", "O"], ["O", "O"]]])
    >>> len(rows.ptr) - 1, len(rows.keys) == rows.ptr[-1]
    (3, np.True_)
    """
    place: dict[str, int] = {}
    tags = np.fromiter(
        (place.setdefault(tag, len(place)) for tag in chain.from_iterable(chain.from_iterable(candidates))),
        np.int32,
    )
    labels = list(place)
    kinds = [span_of(tag) for tag in labels]
    return KeyedRows(
        *_core.tag_list_features(
            np.cumsum([0, *map(len, candidates)], dtype=np.int64),
            np.cumsum([0, *map(len, words)], dtype=np.int64),
            tags,
            _core.string_keys(labels),
            np.where([kind != "" for kind in kinds], _core.string_keys(kinds), 0).astype(np.uint64),
            np.array([tag[0] in "BSU" for tag in labels], np.uint8),
            np.array([tag[0] in "ESLU" for tag in labels], np.uint8),
            _keys(words, str.lower),
            _keys(words, word_shape),
            np.zeros(0, np.uint64) if extra is None else _keys(extra, str),
            threads,
        )
    )


def span_of(tag: str) -> str:
    """What tells the span of a tag from others: its type with a mark before it; nothing where there is no span."""
    letter, dash, kind = tag.partition("-")
    if tag == OUTSIDE or letter not in LETTERS or (dash and not kind):
        return ""
    return f"-{kind}" if dash else ("-" if len(tag) == 1 else "")


def _keys(sentences: Sequence[Sequence[str]], function: Callable[[str], str]) -> NDArray[np.uint64]:
    """A key for each token, the function called once for each type."""
    place: dict[str, int] = {}
    ids = np.fromiter((place.setdefault(w, len(place)) for w in chain.from_iterable(sentences)), np.int64)
    keys = _core.string_keys([function(w) for w in place])
    return np.asarray(keys[ids])


def word_shape(word: str) -> str:
    """Capitals, small letters, digits and marks, each run once: ``McDonald's`` is ``XxXx'x``."""
    kinds = ("X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word)
    return "".join(kind for kind, _ in groupby(kinds))
