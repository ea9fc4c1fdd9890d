"""Matching: links between two sentences, each word in one link at most."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures.parts import Parts, Shape

Link = tuple[int, int]
Links = frozenset[Link]


@dataclass(frozen=True)
class GoldLinks:
    """The gold answer with possible links.

    links:    a matching
    possible: links that cost nothing, whether predicted or missed
    """

    links: Links
    possible: Links = frozenset()


@dataclass(frozen=True)
class Matching:
    """A set of links (i, j) in which each source i and each target j occurs at most once.

        s(y) = sum over links of edge[i, j] + sum over unlinked i of source[i] + sum over unlinked j of target[j]

    Blocks of the parts: ``edge`` [n, m], ``source`` [n], ``target`` [m]. -inf forbids a link, or an unlinked word.
    ``wrong`` is the cost of a link that is not in gold, ``missed`` that of a missed gold link.

    Ties: which of several best matchings is returned depends only on the potentials; ``kbest`` lists all of them, the
    answer of argmax first. There is no logsum: the sum over matchings is a permanent.

    >>> matching = Matching()
    >>> edge = np.array([[2.0, 0.5], [1.0, -1.0]])
    >>> potentials = Parts(edge=edge, source=np.zeros(2), target=np.zeros(2))
    >>> [(score, sorted(links)) for score, links in matching.kbest(potentials, 3)]
    [(2.0, [(0, 0)]), (1.5, [(0, 1), (1, 0)]), (1.0, [(0, 0), (1, 1)])]
    >>> sorted(matching.argmax(potentials))
    [(0, 0)]
    """

    wrong: float = 1.0
    missed: float = 1.0

    def shape(self, n: int, m: int) -> dict[str, tuple[int, ...]]:
        """The shape of the parts for n sources and m targets."""
        return {"edge": (n, m), "source": (n,), "target": (m,)}

    def parts(self, shape: Shape, y: Collection[Link] | GoldLinks) -> Parts:
        """One for each link and for each word without one."""
        n, m = shape["edge"]
        edge, source, target = np.zeros((n, m)), np.ones(n), np.ones(m)
        for i, j in _links(y):
            if not (0 <= i < n and 0 <= j < m):
                raise DataError(f"the link {i}-{j} points outside sentences of {n} and {m} words")
            if not source[i] or not target[j]:
                raise DataError(f"the link {i}-{j} shares a word with another link")
            edge[i, j], source[i], target[j] = 1, 0, 0
        return Parts(edge=edge, source=source, target=target)

    def cost(self, shape: Shape, y: Collection[Link] | GoldLinks) -> Parts:
        """``wrong`` for each link that is not in gold, half of ``missed`` for each end of a missed gold link."""
        gold = self.parts(shape, y)
        edge = self.wrong * (1 - gold["edge"])
        if isinstance(y, GoldLinks):
            for i, j in y.possible:
                edge[i, j] = 0
        half = self.missed / 2
        return Parts(edge=edge, source=half * (1 - gold["source"]), target=half * (1 - gold["target"]))

    def argmax(self, potentials: Parts) -> Links:
        """The best matching."""
        return _pairs(self._searched(potentials, 1)[0])

    def kbest(self, potentials: Parts, k: int) -> list[tuple[float, Links]]:
        """The k best matchings with their scores, best first."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        links, scores = self._searched(potentials, k)
        if k == 1:
            best = _pairs(links)
            found = self.parts(potentials.shape, best)
            return [(potentials.dot(found), best)]
        rows = np.split(links, len(scores))
        return [(float(score), _pairs(row)) for score, row in zip(scores, rows, strict=True)]

    def _searched(self, potentials: Parts, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The target of each source in each of the k best matchings, -1 for none [k * n], and their scores [k]."""
        edge, source, target = self._scores(potentials)
        links, scores = _core.best_matchings(edge, source, target, k)
        if not len(scores):
            raise DataError("every matching is forbidden")
        return links, scores

    @staticmethod
    def _scores(potentials: Parts) -> list[NDArray[np.float64]]:
        edge = potentials["edge"]
        blocks = [edge]
        for name, size in (("source", edge.shape[0]), ("target", edge.shape[1])):
            block = potentials.get(name)
            blocks.append(np.zeros(size) if block is None else block)
        for name, block in zip(("edge", "source", "target"), blocks, strict=True):
            if np.isnan(block).any() or (block == np.inf).any():
                raise DataError(f"{name}: expected a finite potential (or -inf), found {block.max()}")
        return [np.ascontiguousarray(block, np.float64) for block in blocks]


def _pairs(targets: NDArray[np.int32]) -> Links:
    return frozenset((i, j) for i, j in enumerate(targets.tolist()) if j >= 0)


def _links(y: Collection[Link] | GoldLinks) -> Collection[Link]:
    return y.links if isinstance(y, GoldLinks) else y
