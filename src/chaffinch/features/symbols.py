"""Emission symbols: which row of an emission table a word reads, its own or that of a rung of its ladder."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.ladders import LADDERS

_CACHE_LIMIT = 1 << 20


@dataclass(frozen=True)
class Symbols:
    """Words seen often enough are symbols of their own; all others are read through their ladder.

    words: symbol v is words[v]; rungs: symbol V + r is rungs[r], rung 0 being "*"

    >>> symbols = Symbols(words=["the"], rungs=["*", "x", "x-ing"], ladder="classes")
    >>> symbols.of(["the", "jogging", "dog", "Rome"]).tolist()
    [0, 3, 2, 1]
    """

    words: list[str]
    rungs: list[str]
    ladder: str
    _known: dict[str, int] = field(init=False, repr=False, compare=False)
    _rung: dict[str, int] = field(init=False, repr=False, compare=False)
    _unseen: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", {word: v for v, word in enumerate(self.words)})
        object.__setattr__(self, "_rung", {rung: len(self.words) + r for r, rung in enumerate(self.rungs)})

    def __len__(self) -> int:
        return len(self.words) + len(self.rungs)

    def of(self, types: list[str]) -> NDArray[np.int32]:
        """The symbol of each word type."""
        known, unseen = self._known, self._unseen
        found = [known.get(word, -1) for word in types]
        for i, symbol in enumerate(found):
            if symbol < 0:
                word = types[i]
                rung = unseen.get(word)
                if rung is None:
                    if len(unseen) >= _CACHE_LIMIT:
                        unseen.clear()
                    rung = unseen[word] = self.rung(word)
                found[i] = rung
        return np.array(found, dtype=np.int32)

    def rung(self, word: str) -> int:
        """The narrowest known rung of a word's ladder, as a symbol."""
        rungs = self._rung
        narrowest_first = reversed(LADDERS[self.ladder](word))
        return next((rungs[key] for key in narrowest_first if key in rungs), rungs["*"])


@dataclass(frozen=True)
class SymbolTable:
    """Symbols with what was counted of them: see :func:`counted`.

    counts: float64 [S, Y], direct: float64 [S, Y], parent: int32 [S]
    """

    symbols: Symbols
    counts: NDArray[np.float64]
    direct: NDArray[np.float64]
    parent: NDArray[np.int32]


def counted(
    types: list[str], by_type: NDArray[np.float64], ladder: str, *, rare: int, common: int
) -> SymbolTable:
    """Choose the symbols for a vocabulary and count them.

    by_type: [types, Y] how often each word was seen with each label. Words seen ``rare`` times or more are
    symbols. Words that are not, and words seen at most ``common`` times, teach the rungs of their ladder
    what unseen words are like: ``counts`` of a rung are theirs. ``direct`` counts a word once, at its own
    symbol or else at its narrowest rung. ``parent`` is the next wider symbol, -1 for "*".
    """
    totals = by_type.sum(axis=1)
    own = np.flatnonzero(totals >= rare)
    words = [types[i] for i in own.tolist()]
    climb = LADDERS[ladder]
    rung_of: dict[str, int] = {"*": 0}
    parents = [-1]
    at_type: list[int] = []
    at_rung: list[int] = []
    narrowest: dict[int, int] = {}
    for i in np.flatnonzero((totals < rare) | (totals <= common)).tolist():
        above = -1
        for key in dict.fromkeys(climb(types[i])):
            rung = rung_of.setdefault(key, len(parents))
            if rung == len(parents):
                parents.append(above)
            at_type.append(i)
            at_rung.append(rung)
            above = rung
        narrowest[i] = above
    Y = by_type.shape[1]
    rung_counts = np.zeros((len(parents), Y))
    np.add.at(rung_counts, at_rung, by_type[at_type])
    rung_direct = np.zeros((len(parents), Y))
    folded = [i for i in narrowest if totals[i] < rare]
    np.add.at(rung_direct, [narrowest[i] for i in folded], by_type[folded])

    symbols = Symbols(words, list(rung_of), ladder)
    word_parents = [
        narrowest[i] + len(words) if i in narrowest else symbols.rung(types[i]) for i in own.tolist()
    ]
    rung_parents = [p + len(words) if p >= 0 else -1 for p in parents]
    return SymbolTable(
        symbols,
        counts=np.concatenate([by_type[own], rung_counts]),
        direct=np.concatenate([by_type[own], rung_direct]),
        parent=np.array(word_parents + rung_parents, dtype=np.int32),
    )
