"""Word associations from sentence pairs: IBM model 1 in both directions, and Dice coefficients."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.modelfile import Packed, Requirements, Saved, array, nested, strings

Words = Sequence[str]
Pair = tuple[Words, Words]
Matrix = NDArray[np.float32]

LEAST = 1e-4  # cells of t below this are dropped
FAINT = 0.02  # cells of Dice below this are dropped
STEM = 4  # letters of a stem


@dataclass(frozen=True)
class WordTable(Saved):
    """Values of word pairs, as compressed rows."""

    rows: NDArray[np.int64] = array("int64", "rows", bounds="cells")
    columns: NDArray[np.int32] = array("int32", "cells", below="partners")
    values: NDArray[np.float32] = array("float32", "cells", finite=True)

    def above(self, least: float) -> "WordTable":
        """The table without the cells below ``least``."""
        kept = self.values >= least
        rows = np.concatenate([[0], np.cumsum(kept)])[self.rows].astype(np.int64)
        return WordTable(rows, self.columns[kept], self.values[kept])

    def matrix(self, e: NDArray[np.int32], f: NDArray[np.int32]) -> Matrix:
        """The value of each pair [n, m]; zero if there is none. An id of -1 is an unseen word."""
        out = np.empty((len(e), len(f)), np.float32)
        _core.look_up(self.rows, self.columns, self.values, e, f, 0.0, out)
        return out


class Associations:
    """Associations between words of two languages.

    view:     the normalisation of words, such as ``str.lower``
    forward:  t(f|e), null word included   backward: t(e|f)   dice: 2 c(e, f) / (c(e) + c(f)) over sentence pairs

    >>> lines = [("the house", "la maison"), ("the book", "le livre"), ("a book", "un livre")]
    >>> text = [(e.split(), f.split()) for e, f in lines]
    >>> found = Associations.learnt(text, str.lower, rounds=10)
    >>> found.posteriors(["the", "book"], ["le", "livre"])[0].round(1)
    array([[0.6, 0. ],
           [0.2, 0.5]], dtype=float32)
    """

    def __init__(
        self,
        view: Callable[[str], str],
        vocabularies: tuple[Mapping[str, int], Mapping[str, int]],
        counts: tuple[NDArray[np.int32], NDArray[np.int32]],
        tables: Mapping[str, WordTable],
    ) -> None:
        self.view = view
        self.vocabularies = vocabularies
        self.counts = counts
        self.tables = tables

    @classmethod
    def learnt(
        cls, text: Sequence[Pair], view: Callable[[str], str], rounds: int = 5, threads: int = 0
    ) -> "Associations":
        """Estimate associations from sentence pairs without links."""
        sides = [[[view(w) for w in pair[side]] for pair in text] for side in (0, 1)]
        vocabularies = tuple(
            {w: i for i, w in enumerate(sorted(set(chain.from_iterable(side))))} for side in sides
        )
        ids = [_ids(list(chain.from_iterable(side)), v) for side, v in zip(sides, vocabularies, strict=True)]
        ptr = [np.cumsum([0, *map(len, side)], dtype=np.int64) for side in sides]
        E, F = map(len, vocabularies)
        there = _core.TranslationTable(ptr[0], ids[0], E, ptr[1], ids[1], F, threads)
        back = _core.TranslationTable(ptr[1], ids[1], F, ptr[0], ids[0], E, threads)
        for table in (there, back):
            table.train(rounds, threads)
        meetings = [_meetings(ids[s], ptr[s], len(vocabularies[s])) for s in (0, 1)]
        rows, columns = there.rows()[:-1], there.columns()
        together = there.together()[: rows[-1]]
        e = np.repeat(np.arange(E), np.diff(rows))
        dice = 2 * together / (meetings[0][e] + meetings[1][columns[: rows[-1]]])
        tables = {
            "forward": WordTable(there.rows(), columns, there.t().astype(np.float32)).above(LEAST),
            "backward": WordTable(back.rows(), back.columns(), back.t().astype(np.float32)).above(LEAST),
            "dice": WordTable(rows, columns[: rows[-1]], dice.astype(np.float32)).above(FAINT),
        }
        counts = tuple(
            np.bincount(i, minlength=len(v)).astype(np.int32) for i, v in zip(ids, vocabularies, strict=True)
        )
        return cls(view, (vocabularies[0], vocabularies[1]), (counts[0], counts[1]), tables)

    def ids(self, words: Words, side: int) -> NDArray[np.int32]:
        """Words as ids; -1 for unseen words."""
        return _ids([self.view(w) for w in words], self.vocabularies[side])

    def posteriors(self, e_words: Words, f_words: Words) -> tuple[Matrix, Matrix]:
        """p(i|j) under t(f|e), p(j|i) under t(e|f): each [n, m]; the rest of the mass is the null word's."""
        e, f = self.ids(e_words, 0), self.ids(f_words, 1)
        return self._posterior("forward", e, f, 0), np.ascontiguousarray(
            self._posterior("backward", f, e, 1).T
        )

    def dice(self, e_words: Words, f_words: Words) -> Matrix:
        """Dice's coefficient of each pair [n, m]."""
        return self.tables["dice"].matrix(self.ids(e_words, 0), self.ids(f_words, 1))

    def frequencies(self, words: Words, side: int) -> NDArray[np.int32]:
        """The count of each word."""
        ids = self.ids(words, side)
        if not len(self.counts[side]):
            return np.zeros(len(ids), np.int32)
        return np.where(ids >= 0, self.counts[side][ids], 0).astype(np.int32)

    def _posterior(self, name: str, e: NDArray[np.int32], f: NDArray[np.int32], side: int) -> Matrix:
        null = np.array([len(self.vocabularies[side])], np.int32)
        t = self.tables[name].matrix(np.concatenate([e, null]), f)
        total = t.sum(axis=0)
        return np.asarray(t[:-1] / np.where(total == 0, 1, total), np.float32)

    def packed(self, prefix: str) -> Packed:
        """The content for a model file; names begin with the prefix."""
        (e, f), tables = self.vocabularies, self.tables
        return _Sections(
            tuple(e), tuple(f), *self.counts, tables["forward"], tables["backward"], tables["dice"]
        ).packed(prefix)

    @classmethod
    def loaded(cls, need: Requirements, prefix: str, view: Callable[[str], str]) -> "Associations":
        """The associations of a model file, every index checked."""
        found = _Sections.loaded(need, prefix)
        vocabularies = tuple({w: i for i, w in enumerate(side)} for side in (found.words_0, found.words_1))
        tables = {"forward": found.forward, "backward": found.backward, "dice": found.dice}
        return cls(view, (vocabularies[0], vocabularies[1]), (found.counts_0, found.counts_1), tables)


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of associations: words of both sides, their counts, and tables; t has a row of the null word."""

    words_0: tuple[str, ...] = strings("e", distinct=True, name="words.0")
    words_1: tuple[str, ...] = strings("f", distinct=True, name="words.1")
    counts_0: NDArray[np.int32] = array("int32", "e", below=2**31 - 1, name="counts.0")
    counts_1: NDArray[np.int32] = array("int32", "f", below=2**31 - 1, name="counts.1")
    forward: WordTable = nested(WordTable, "forward.", rows="e+2", partners="f")
    backward: WordTable = nested(WordTable, "backward.", rows="f+2", partners="e")
    dice: WordTable = nested(WordTable, "dice.", rows="e+1", partners="f")


def stem(word: str) -> str:
    """The first letters of a word in lower case.

    >>> stem("Houses")
    'hous'
    """
    return word.lower()[:STEM]


def ibm1_links(
    associations: Associations, pair: Pair
) -> tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]:
    """The links of IBM model 1: the most probable i of each j under t(f|e), the most probable j of each i under t(e|f).

    A word whose most probable partner is the null word gets no link. The intersection of both is the usual baseline.
    """
    forward, backward = associations.posteriors(*pair)
    return _best(forward, False), _best(backward.T, True)


def _best(p: Matrix, turned: bool) -> frozenset[tuple[int, int]]:
    """For each column the row of the highest posterior, if that is above the null word's."""
    if not p.size:
        return frozenset()
    best, null = p.argmax(axis=0), 1 - p.sum(axis=0)
    links = ((int(i), j) for j, i in enumerate(best) if p[i, j] > max(0.0, null[j]))
    return frozenset((j, i) if turned else (i, j) for i, j in links)


def _ids(words: Sequence[str], vocabulary: Mapping[str, int]) -> NDArray[np.int32]:
    return np.fromiter((vocabulary.get(w, -1) for w in words), np.int32, len(words))


def _meetings(ids: NDArray[np.int32], ptr: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The number of sentences in which each word occurs."""
    sentence = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    return np.bincount(np.unique(sentence * max(1, size) + ids) % max(1, size), minlength=size)
