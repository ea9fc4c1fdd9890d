"""Emission symbols: the row of the emission table for a word, its own or a back-off class (a rung of its ladder).

A ladder lists the classes of an unseen word from the widest, "*", to the narrowest;
a model that has never seen the word uses the narrowest rung that it knows. The ladders are ``one``,
``classes`` (case and ending) and ``suffix`` (case, then one to five last letters, then the word in lower case).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import EmissionSymbols, Interner, ladders
from chaffinch.text.columns import code_point_kinds

LADDERS = ("one", "classes", "suffix")


@dataclass(frozen=True)
class Symbols:
    """Frequent words have their own symbols; all others back off along their ladder.

    words: symbol v is words[v]; rungs: symbol V + r is rungs[r], and rung 0 is "*"

    >>> symbols = Symbols(words=["the"], rungs=["*", "x", "x-ing"], ladder="classes")
    >>> symbols.of(["the", "jogging", "dog", "Rome"]).tolist()
    [0, 3, 2, 1]
    """

    words: list[str]
    rungs: list[str]
    ladder: str

    def __len__(self) -> int:
        return len(self.words) + len(self.rungs)

    def of(self, types: list[str]) -> NDArray[np.int32]:
        """The symbol of each word type."""
        return self._index.find(types)

    def of_interned(self, types: Interner, first: int) -> NDArray[np.int32]:
        """The symbol of each word type of a table, from an id on."""
        return self._index.find_interned(types, first)

    @cached_property
    def _index(self) -> EmissionSymbols:
        return EmissionSymbols(self.words, self.rungs, self.ladder, code_point_kinds)


@dataclass(frozen=True)
class SymbolTable:
    """Symbols with their counts: see :func:`counted`.

    counts: float64 [S, Y], direct: float64 [S, Y], parent: int32 [S]
    """

    symbols: Symbols
    counts: NDArray[np.float64]
    direct: NDArray[np.float64]
    parent: NDArray[np.int32]


def climbed(word: str, ladder: str) -> list[str]:
    """The ladder of one word, widest rung first.

    >>> climbed("Dog", "suffix")
    ['*', 'Xx', 'Xx g', 'Xx og', 'Xx dog', '= dog']
    >>> climbed("jogging", "classes"), climbed("1990s", "classes"), climbed("dog", "one")
    (['*', 'x', 'x-ing'], ['*', '9x'], ['*'])
    """
    _, ids, names = ladders([word], ladder, code_point_kinds)
    return [names[i] for i in ids.tolist()]


def counted(
    types: list[str], by_type: NDArray[np.float64], ladder: str, *, rare: int, common: int
) -> SymbolTable:
    """Choose the symbols for a vocabulary and count them.

    by_type: [types, Y], counts of words by label. Words seen ``rare`` times or more are
    symbols. Other words, and words seen at most ``common`` times, estimate the rungs of their ladder for
    unseen words: ``counts`` of a rung are theirs. ``direct`` counts a word once, at its own
    symbol or else at its narrowest rung. ``parent`` is the next wider symbol, -1 for "*".
    """
    totals = by_type.sum(axis=1)
    own = np.flatnonzero(totals >= rare)
    teachers = np.flatnonzero((totals > 0) & ((totals < rare) | (totals <= common)))
    ptr, rung, names = ladders([types[i] for i in teachers.tolist()], ladder, code_point_kinds)
    rungs = names or ["*"]
    words = [types[i] for i in own.tolist()]
    symbols = Symbols(words, rungs, ladder)
    V, R, Y = len(words), len(rungs), by_type.shape[1]

    above = np.full(R, -1, dtype=np.int32)
    inner = np.ones(len(rung), dtype=bool)
    inner[ptr[:-1]] = False
    at = np.flatnonzero(inner)
    above[rung[at]] = rung[at - 1] + V

    rung_counts = np.zeros((R, Y))
    np.add.at(rung_counts, rung, np.repeat(by_type[teachers], np.diff(ptr), axis=0))
    narrowest = rung[ptr[1:] - 1]
    rung_direct = np.zeros((R, Y))
    folded = totals[teachers] < rare
    np.add.at(rung_direct, narrowest[folded], by_type[teachers[folded]])

    # Words without their own row use the rung that they would have if unseen.
    unseen = Symbols([], rungs, ladder)
    return SymbolTable(
        symbols,
        counts=np.concatenate([by_type[own], rung_counts]),
        direct=np.concatenate([by_type[own], rung_direct]),
        parent=np.concatenate([unseen.of(words) + V, above]).astype(np.int32),
    )
