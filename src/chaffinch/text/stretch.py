"""Stretches of sentences that serve as documents if a corpus does not mark any."""

import numpy as np
from numpy.typing import NDArray

from chaffinch.text.document import WORD
from chaffinch.text.table import TokenTable

# Number of sentences of a stretch, if neighbouring sentences belong together.
STRETCH = 50

# Sentences within which a word may recur, and the required ratio to chance.
_NEAR = 10
_OFTENER = 3.0
_LEAST = 0.05


def document_groups(table: TokenTable, stretch: int) -> NDArray[np.int32]:
    """The documents that sentences belong to, int32 [sentences]; stretches if the corpus marks none."""
    if table.groups is not None:
        return table.groups
    return np.arange(table.n_sentences, dtype=np.int32) // stretch


def natural_stretch(table: TokenTable) -> int:
    """The length of stretches: ``STRETCH`` for running text, or 1 if the order of sentences is arbitrary.

    In running text a capitalised word inside a sentence often recurs within the next ten, in
    posts and in shuffled sentences no more often than within ten sentences elsewhere in the corpus. If there
    are too few sentences to tell, they count as running text.

    >>> running = [["saw", f"Name{i // 5}", "again"] for i in range(200)]
    >>> mixed = [running[37 * i % 200] for i in range(200)]
    >>> [natural_stretch(TokenTable.from_lists({"w": sentences})) for sentences in (running, mixed)]
    [50, 1]
    """
    N = table.n_sentences
    if table.groups is not None or N < 4 * _NEAR:
        return STRETCH
    words = table.columns[WORD]
    lower: dict[str, int] = {}
    folded = np.array([lower.setdefault(w.lower(), len(lower)) for w in words.types] or [0], np.int64)
    capital = np.array([w[:1].isupper() for w in words.types] or [False])
    chosen = capital[words.ids] & (words.ids >= 0)
    chosen[table.ptr[:-1][np.diff(table.ptr) > 0]] = False
    sentence = np.repeat(np.arange(N), np.diff(table.ptr))[chosen]
    word = folded[words.ids[chosen]] * (2 * N)
    uses = np.unique(word + sentence)

    def recurring(start: NDArray[np.int64]) -> float:
        """The share of words used again in the ten sentences from ``start`` on."""
        found = np.searchsorted(uses, word + start)
        there = uses[np.minimum(found, len(uses) - 1)]
        return float(np.mean((there >= word + start) & (there < word + start + _NEAR)))

    if len(uses) == 0:
        return 1
    near, far = recurring(sentence + 1), recurring((sentence + N // 2) % N)
    return STRETCH if near >= max(_LEAST, _OFTENER * far) else 1
