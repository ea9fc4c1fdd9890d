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
                    rung = unseen[word] = self._narrowest(word)
                found[i] = rung
        return np.array(found, dtype=np.int32)

    def _narrowest(self, word: str) -> int:
        rung = self._rung
        for key in reversed(LADDERS[self.ladder](word)):
            if key in rung:
                return rung[key]
        return rung["*"]
