"""Which rows of a pool to label next: by doubt, by doubt among typical texts, or at random.

Sentences to tag: entropy of the labelling over the root of the length, the highest first. Texts to classify: plain
doubt prefers texts of unknown words and loses to chance, so it is multiplied by density, and a batch takes the best
text of each of its clusters; half of a mixed batch is drawn at random. Settles and Craven 2008; Zhdanov 2019.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.active.vectors import Points, SeenVectors, clusters, density
from chaffinch.errors import ConfigError

CANDIDATES = 10  # times the batch: how many of the best texts are clustered

Doubts = NDArray[np.float64]


@dataclass(frozen=True)
class Pool:
    """Rows that may be labelled: their texts, how much a model doubts its answers, and the texts as points."""

    texts: Sequence[str]
    doubt: Doubts
    points: Points


@dataclass(frozen=True)
class Chosen:
    """Numbers of rows in the order of their use, and how many rows were passed over as near-duplicates."""

    rows: list[int]
    collapsed: int


def random_rows(pool: Pool, _: int, seed: int) -> list[int]:
    """Every row in an order that the seed decides."""
    return np.random.default_rng(seed).permutation(len(pool.texts)).tolist()


def most_doubted(pool: Pool, _: int, __: int) -> list[int]:
    """Every row, the most doubted first."""
    return np.argsort(-pool.doubt, kind="stable").tolist()


def typical_doubts(pool: Pool, n: int, seed: int) -> list[int]:
    """Every row: first the most useful of each cluster of the best, then the rest; usefulness = doubt x density."""
    use = pool.doubt * density(pool.points)
    order = np.argsort(-use, kind="stable")
    best = order[: CANDIDATES * n]
    which, _ = clusters(pool.points[best], n, seed)
    heads = [best[which == c][0] for c in dict.fromkeys(which.tolist())]  # clusters by their best row
    first = set(map(int, heads))
    return [*map(int, heads), *(i for i in order.tolist() if i not in first)]


def mixed(pool: Pool, n: int, seed: int) -> list[int]:
    """Every row: in turn one by doubt x density and one at random."""
    useful, chance = typical_doubts(pool, (n + 1) // 2, seed), random_rows(pool, n, seed)
    return list(dict.fromkeys(i for pair in zip(useful, chance, strict=True) for i in pair))


# By name: what it is, and the function that orders a pool.
STRATEGIES: dict[str, tuple[str, Callable[[Pool, int, int], list[int]]]] = {
    "random": ("drawn at random", random_rows),
    "doubt": ("the most doubted first", most_doubted),
    "typical": ("doubt x density, one of each cluster", typical_doubts),
    "mixed": ("half of each batch by doubt x density, half at random", mixed),
}


def choose(strategy: str, pool: Pool, n: int, seed: int = 0, *, taken: Sequence[str] = ()) -> Chosen:
    """The next n rows by a strategy, near-duplicates of chosen rows and of ``taken`` texts passed over."""
    if strategy not in STRATEGIES:
        raise ConfigError(f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if not pool.texts:
        return Chosen([], 0)
    return _first(STRATEGIES[strategy][1](pool, n, seed), pool.texts, n, taken)


def choose_centres(texts: Sequence[str], points: Points, n: int, seed: int = 0) -> Chosen:
    """The text nearest to the centre of each of n clusters, the largest cluster first: a start without any model."""
    if not texts:
        return Chosen([], 0)
    which, middle = clusters(points, n, seed)
    distance = ((points - middle[which]) ** 2).sum(axis=1)
    sizes = np.bincount(which, minlength=len(middle))
    heads = []
    for c in np.argsort(-sizes, kind="stable").tolist():
        inside = np.flatnonzero(which == c)
        if len(inside):
            heads.append(int(inside[distance[inside].argmin()]))
    known = set(heads)
    return _first([*heads, *(i for i in range(len(texts)) if i not in known)], texts, n, ())


def _first(order: Sequence[int], texts: Sequence[str], n: int, taken: Sequence[str]) -> Chosen:
    """The first n of an order whose texts are not nearly the same."""
    seen, collapsed = SeenVectors(), 0
    rows: list[int] = []
    for text in taken:
        seen.add(text)
    for i in order:
        if len(rows) == n:
            break
        if seen.add(texts[i]):
            rows.append(i)
        else:
            collapsed += 1
    return Chosen(rows, collapsed)
