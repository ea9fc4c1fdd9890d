"""Fertile matching: links between two sentences in which a word may have a second link."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures.parts import Parts, Shape

FIRST, MORE_SOURCE, MORE_TARGET = 0, 1, 2
BLOCKS = ("edge", "more_source", "more_target")

KindLink = tuple[int, int, int]
KindLinks = frozenset[KindLink]


@dataclass(frozen=True)
class GoldKindLinks:
    """The gold answer with possible links; a possible link of any kind costs nothing."""

    links: KindLinks
    possible: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class FertileMatching:
    """Links (i, j, kind): first links are a matching; a further link takes the second place of i or of j.

        s(y) = sum over links of edge[i, j], more_source[i, j] or more_target[i, j], by kind
             + sum over i whose first place is empty of source[i] + the same for targets

    Each word has two places. A first link takes the first place of both words. A link of kind ``more_source`` takes the
    second place of i and the first of j, one of kind ``more_target`` the first of i and the second of j. So i may have
    two links, to words that have no other link, and the best answer is a matching of places: see :class:`Matching`.

    Blocks of the parts: ``edge``, ``more_source``, ``more_target`` [n, m], ``source`` [n] and ``target`` [m] for empty
    first places. Ties are broken as in :class:`Matching`.

    >>> edge, more = np.array([[2.0, 0.0]]), np.array([[0.0, 1.0]])
    >>> potentials = Parts(edge=edge, more_source=more, more_target=more - 9, source=np.zeros(1), target=np.zeros(2))
    >>> sorted(FertileMatching().argmax(potentials))
    [(0, 0, 0), (0, 1, 1)]
    """

    wrong: float = 1.0
    missed: float = 1.0

    def shape(self, n: int, m: int) -> dict[str, tuple[int, ...]]:
        """The shape of the parts for n sources and m targets."""
        return dict.fromkeys(BLOCKS, (n, m)) | {"source": (n,), "target": (m,)}

    def parts(self, shape: Shape, y: "Collection[KindLink] | GoldKindLinks") -> Parts:
        """One for each link in the block of its kind, and for each first place that is empty."""
        n, m = shape["edge"]
        blocks = {name: np.zeros((n, m)) for name in BLOCKS}
        free = np.ones((2, n)), np.ones((2, m))
        for i, j, kind in y.links if isinstance(y, GoldKindLinks) else y:
            if not (0 <= i < n and 0 <= j < m and kind in (FIRST, MORE_SOURCE, MORE_TARGET)):
                raise DataError(f"there is no link {i}-{j} of kind {kind} between {n} and {m} words")
            places = (int(kind == MORE_SOURCE), i), (int(kind == MORE_TARGET), j)
            if not free[0][places[0]] or not free[1][places[1]]:
                raise DataError(f"the link {i}-{j} of kind {kind} shares a place with another link")
            free[0][places[0]] = free[1][places[1]] = 0
            blocks[BLOCKS[kind]][i, j] = 1
        return Parts(**blocks, source=free[0][0], target=free[1][0])

    def cost(self, shape: Shape, y: "Collection[KindLink] | GoldKindLinks") -> Parts:
        """``wrong`` for each link that is not in gold, half of ``missed`` for each first place left empty.

        Missing a further link leaves one first place empty, so it costs half as much as missing a first link.
        """
        gold = self.parts(shape, y)
        blocks = {name: self.wrong * (1 - gold[name]) for name in BLOCKS}
        if isinstance(y, GoldKindLinks):
            for i, j in y.possible:
                for block in blocks.values():
                    block[i, j] = 0
        half = self.missed / 2
        return Parts(**blocks, source=half * (1 - gold["source"]), target=half * (1 - gold["target"]))

    def argmax(self, potentials: Parts) -> KindLinks:
        """The best set of links."""
        n, m = potentials["edge"].shape
        return _kinds(self._searched(potentials, 1)[0], n, m)

    def kbest(self, potentials: Parts, k: int) -> list[tuple[float, KindLinks]]:
        """The k best sets of links with their scores, best first."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        n, m = potentials["edge"].shape
        links, scores = self._searched(potentials, k)
        if k == 1:
            best = _kinds(links, n, m)
            return [(potentials.dot(self.parts(potentials.shape, best)), best)]
        rows = np.split(links, len(scores))
        return [(float(score), _kinds(row, n, m)) for score, row in zip(scores, rows, strict=True)]

    def _searched(self, potentials: Parts, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The column matched to each row in each of the k best matchings of places [k * 2n], and their scores [k]."""
        n, m = potentials["edge"].shape
        parts = np.concatenate([np.ravel(potentials[name]) for name in self.shape(n, m)], dtype=np.float64)
        if np.isnan(parts).any() or (parts == np.inf).any():
            raise DataError("expected a finite potential (or -inf)")
        links, scores = _core.best_fertile_matchings(n, m, parts, k)
        if not len(scores):
            raise DataError("every matching is forbidden")
        return links, scores


def with_kinds(links: Collection[tuple[int, int]], first: Collection[tuple[int, int]]) -> KindLinks:
    """Links with their kinds: those of ``first``, a matching, then the other links for which a place is free.

    >>> sorted(with_kinds({(0, 0), (0, 1), (0, 2)}, {(0, 0)}))
    [(0, 0, 0), (0, 1, 1)]
    """
    found = {(i, j, FIRST) for i, j in first}
    sources, targets = {(0, i) for i, _ in first}, {(0, j) for _, j in first}
    for i, j in sorted(set(links) - set(first)):
        for kind in (MORE_SOURCE, MORE_TARGET):
            place = (int(kind == MORE_SOURCE), i), (int(kind == MORE_TARGET), j)
            if place[0] not in sources and place[1] not in targets:
                sources.add(place[0])
                targets.add(place[1])
                found.add((i, j, kind))
                break
    return frozenset(found)


def _kinds(links: NDArray[np.int64], n: int, m: int) -> KindLinks:
    """The links that the indices of parts stand for."""
    found = links[links >= 0]
    return frozenset(
        zip((found // m % n).tolist(), (found % m).tolist(), (found // (n * m)).tolist(), strict=True)
    )
