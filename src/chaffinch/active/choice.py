"""Strategies of active learning: rows by uncertainty, by uncertainty times density, or at random.

Sentences to tag: the mean entropy of a token's label, the highest first. Texts to classify: uncertainty alone prefers
texts of unknown words and does worse than random sampling, so it is multiplied by density, and a batch takes the best
text of each cluster; half of a mixed batch is drawn at random. Settles and Craven 2008; Zhdanov 2019.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.active.vectors import Points, SeenVectors, clusters, density
from chaffinch.errors import ConfigError

CANDIDATES = 10  # batch sizes: the number of best texts that are clustered

Doubts = NDArray[np.float64]


@dataclass(frozen=True)
class Pool:
    """The unlabelled rows: their texts, the model's uncertainty about each, and the texts as points."""

    texts: Sequence[str]
    doubt: Doubts
    points: Points


@dataclass(frozen=True)
class Chosen:
    """The chosen row numbers in order, and how many rows were skipped as near-duplicates."""

    rows: list[int]
    collapsed: int


def random_rows(pool: Pool, _: int, seed: int) -> list[int]:
    """Every row in random order, by the seed."""
    return np.random.default_rng(seed).permutation(len(pool.texts)).tolist()


def most_doubted(pool: Pool, _: int, __: int) -> list[int]:
    """Every row, the most uncertain first."""
    return np.argsort(-pool.doubt, kind="stable").tolist()


def typical_doubts(pool: Pool, n: int, seed: int) -> list[int]:
    """Every row by uncertainty x density: first the best row of each cluster of the top rows, then the rest."""
    use = pool.doubt * density(pool.points)
    order = np.argsort(-use, kind="stable")
    best = order[: CANDIDATES * n]
    which, _ = clusters(pool.points[best], n, seed)
    heads = [best[which == c][0] for c in dict.fromkeys(which.tolist())]  # clusters by their best row
    first = set(map(int, heads))
    return [*map(int, heads), *(i for i in order.tolist() if i not in first)]


def mixed(pool: Pool, n: int, seed: int) -> list[int]:
    """Every row, alternately by uncertainty x density and at random."""
    useful, chance = typical_doubts(pool, (n + 1) // 2, seed), random_rows(pool, n, seed)
    return list(dict.fromkeys(i for pair in zip(useful, chance, strict=True) for i in pair))


# By name: a description, and the function that orders a pool.
STRATEGIES: dict[str, tuple[str, Callable[[Pool, int, int], list[int]]]] = {
    "random": ("drawn at random", random_rows),
    "doubt": ("the most uncertain first", most_doubted),
    "typical": ("uncertainty x density, one of each cluster", typical_doubts),
    "mixed": ("half of each batch by uncertainty x density, half at random", mixed),
}


def choose(strategy: str, pool: Pool, n: int, seed: int = 0, *, taken: Sequence[str] = ()) -> Chosen:
    """The next n rows by a strategy; near-duplicates of chosen rows and of ``taken`` texts are skipped."""
    if strategy not in STRATEGIES:
        raise ConfigError(f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if not pool.texts:
        return Chosen([], 0)
    return _first(STRATEGIES[strategy][1](pool, n, seed), pool.texts, n, taken)


def choose_centres(texts: Sequence[str], points: Points, n: int, seed: int = 0) -> Chosen:
    """The text nearest to the centre of each of n clusters, the largest cluster first: for a start without a model."""
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
    """The first n rows of an order, without near-duplicates."""
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
