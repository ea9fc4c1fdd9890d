"""A queue for annotators: rows that a model is uncertain about, and an audit set drawn at random."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.active.choice import Pool, choose, choose_centres
from chaffinch.active.vectors import points

AUDIT = 5  # one row in five is drawn at random: only these rows give an unbiased score


@dataclass(frozen=True)
class QueueRow:
    """A row of the pool, why it was chosen (``doubt``, ``start``, ``audit``), and the model's uncertainty."""

    number: int
    chosen: str
    doubt: float | None


@dataclass(frozen=True)
class Queue:
    """Queue rows in the order of labelling, and how many rows were skipped as near-duplicates."""

    rows: list[QueueRow]
    collapsed: int

    @property
    def audit(self) -> list[int]:
        """The positions of the audit set in the queue."""
        return [i for i, row in enumerate(self.rows) if row.chosen == "audit"]


def choose_queue(
    texts: Sequence[str], doubt: NDArray[np.float64], n: int, strategy: str, seed: int, audit: int = AUDIT
) -> Queue:
    """The next n rows: one in ``audit`` drawn at random from the whole pool, the others by a strategy.

    ``audit`` = 0: none is drawn at random.

    >>> made = choose_queue(["a b", "c d", "e f", "g h", "i j", "k l"], np.arange(6.0), 5, "doubt", 0)
    >>> [row.chosen for row in made.rows], made.rows[0].number
    (['doubt', 'doubt', 'doubt', 'doubt', 'audit'], 5)
    """
    drawn = _drawn(len(texts), n, seed, audit)
    rest = [i for i in range(len(texts)) if i not in set(drawn)]
    pool = Pool([texts[i] for i in rest], doubt[rest], points([texts[i] for i in rest]))
    found = choose(strategy, pool, n - len(drawn), seed, taken=[texts[i] for i in drawn])
    doubts = [QueueRow(rest[i], "doubt", float(doubt[rest[i]])) for i in found.rows]
    return Queue(
        _woven(doubts, [QueueRow(i, "audit", float(doubt[i])) for i in drawn], audit), found.collapsed
    )


def start_queue(texts: Sequence[str], n: int, seed: int, audit: int = AUDIT) -> Queue:
    """The first n rows of a pool without a model: the centres of its clusters, and the audit set."""
    drawn = _drawn(len(texts), n, seed, audit)
    rest = [i for i in range(len(texts)) if i not in set(drawn)]
    few = [texts[i] for i in rest]
    found = choose_centres(few, points(few), n - len(drawn), seed)
    centres = [QueueRow(rest[i], "start", None) for i in found.rows]
    return Queue(_woven(centres, [QueueRow(i, "audit", None) for i in drawn], audit), found.collapsed)


def _drawn(size: int, n: int, seed: int, audit: int) -> list[int]:
    """The rows of the audit set, drawn uniformly at random."""
    count = min(size, n // audit) if audit else 0
    return np.random.default_rng(seed).permutation(size)[:count].tolist()


def _woven(chosen: list[QueueRow], drawn: list[QueueRow], audit: int) -> list[QueueRow]:
    """The queue rows in order; every ``audit``-th is from the audit set, so that annotators may stop anywhere."""
    made, left, right = [], iter(chosen), iter(drawn)
    for place in range(len(chosen) + len(drawn)):
        turn = (right, left) if audit and place % audit == audit - 1 else (left, right)
        made.append(next(turn[0], None) or next(turn[1]))
    return made
