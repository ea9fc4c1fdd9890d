"""Columns for a second pass of labelling: the first label of each token, and that of its word elsewhere."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chaffinch.text.document import WORD
from chaffinch.text.table import Column, TokenTable

FIRST = "first"
MAJORITY = "majority"

# Number of tokens that are counted at a time.
_BLOCK = 1 << 14


def with_first_pass(
    table: TokenTable, labels: NDArray[np.int32], kinds: Sequence[str], groups: NDArray[np.int32]
) -> TokenTable:
    """The table with two more columns.

    first:    the kind of label that the token was given
    majority: the most frequent kind of the other uses of its word in its document, ignoring case; no value if the
              word has no other use. Ties go to the kind that is first in alphabetical order.

    labels: int32 [tokens]   kinds: the kind of each label   groups: int32 [sentences], the document of each

    >>> table = TokenTable.from_lists({"w": [["Ann", "saw", "Bo"], ["ann", "and", "Ann"], ["Bo"]]})
    >>> labels = np.array([1, 0, 1, 0, 0, 1, 0], np.int32)
    >>> found = with_first_pass(table, labels, ["O", "PER"], np.array([0, 0, 1], np.int32))
    >>> column = found.columns["majority"]
    >>> [column.types[i] if i >= 0 else None for i in column.ids.tolist()]
    ['O', None, None, 'PER', None, 'O', None]
    """
    names = sorted(set(kinds))
    kind = np.array([names.index(k) for k in kinds], np.int32)[labels]
    words = table.columns[WORD]
    lower: dict[str, int] = {}
    folded = np.array([lower.setdefault(w.lower(), len(lower)) for w in words.types] or [0], np.int64)
    document = np.repeat(groups.astype(np.int64), np.diff(table.ptr))
    _, use, count = np.unique(
        document * max(len(lower), 1) + folded[words.ids], return_inverse=True, return_counts=True
    )
    elsewhere = np.flatnonzero((count[use] > 1) & (words.ids >= 0))
    majority = np.full(table.n_tokens, -1, np.int32)
    majority[elsewhere] = _most_others(use[elsewhere], kind[elsewhere], len(names))
    columns = {**table.columns, FIRST: Column(names, kind), MAJORITY: Column(names, majority)}
    return replace(table, columns=columns, weight=None)


def _most_others(use: NDArray[np.int64], kind: NDArray[np.int32], K: int) -> NDArray[np.int32]:
    """For each token, the most frequent kind of the other tokens of the same use."""
    _, use = np.unique(use, return_inverse=True)
    counts = np.zeros((int(use.max(initial=-1)) + 1, K), np.int32)
    np.add.at(counts, (use, kind), 1)
    found = np.empty(len(use), np.int32)
    for a in range(0, len(use), _BLOCK):
        own = slice(a, a + _BLOCK)
        others = counts[use[own]]
        others[np.arange(len(others)), kind[own]] -= 1
        found[own] = others.argmax(axis=1)
    return found
