"""Features of links and of unaligned words: associations, spelling, positions, neighbours, frequencies, words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.model.associations import Associations, Matrix, Pair
from chaffinch.scorers import PartFeatures, Rows

Ints = NDArray[np.int64]

ASSOCIATED = np.array([0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])
DISTANT = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6])
ALIKE = np.array([0.3, 0.45, 0.6, 0.75, 0.9, 1.0])
STEPS = np.array([1, 2, 3, 5, 9])  # distances in words from the position that a neighbouring anchor predicts
SEEN = np.array([1, 2, 4, 8, 16, 64, 256])
RANKS = 4
ANCHOR = 0.4  # mutual association from which a link is an anchor

# Families of features and their numbers of columns; the order is that of the weights.
EDGE = {
    "link": 1,
    "forward": 1,
    "backward": 1,
    "both": 1,
    "stem forward": 1,
    "stem backward": 1,
    "stem both": 1,
    "dice": 1,
    "stem dice": 1,
    "both, by level": len(ASSOCIATED) + 1,
    "stem both, by level": len(ASSOCIATED) + 1,
    "dice, by level": len(ASSOCIATED) + 1,
    "best of row and column": 4,
    "stem best of row and column": 4,
    "rank in row": RANKS + 1,
    "rank in column": RANKS + 1,
    "spelling": len(ALIKE) + 1,
    "spelling of long words": 1,
    "same word": 3,
    "marks": 4,
    "numbers": 4,
    "distance": 1,
    "distance, by level": len(DISTANT) + 1,
    "distance and association": 3 * (len(DISTANT) + 1),
    "ends": 4,
    "neighbours": 1,
    "crossing neighbours": 1,
    "beside in the row": 1,
    "beside in the column": 1,
    "from the anchor before": 2 * len(STEPS) + 3,
    "from the anchor behind": 2 * len(STEPS) + 3,
    "frequencies": (len(SEEN) + 1) ** 2,
    "frequency and association": 3 * (len(SEEN) + 1),
}
ALONE = {
    "alone": 1,
    "alone, frequency": len(SEEN) + 1,
    "alone, best": 1,
    "alone, best by level": len(ASSOCIATED) + 1,
    "alone, kind": 3,
}


def _places(families: Mapping[str, int], start: int) -> dict[str, int]:
    places = {}
    for name, size in families.items():
        places[name] = start
        start += size
    return places


EDGE_AT = _places(EDGE, 0)
SOURCE_AT = _places(ALONE, sum(EDGE.values()))
TARGET_AT = _places(ALONE, sum(EDGE.values()) + sum(ALONE.values()))
LINKS = sum(EDGE.values())  # features of links that are not of single words
COMMON = LINKS + 2 * sum(ALONE.values())


@dataclass(frozen=True)
class AlignmentFeatures:
    """Turns a sentence pair into the parts of a matching.

    words, stems: associations of words and of their first letters
    fertility:    1, or 2: then further links have the features of links again, with weights of their own
    lexicon:      pairs of words with a feature of their own, and words (with None for the other) with one
                  for being unaligned: numbered from COMMON on
    """

    words: Associations
    stems: Associations
    lexicon: Mapping[tuple[str | None, str | None], int]
    fertility: int = 1

    @property
    def F(self) -> int:
        """The number of features."""
        return COMMON + len(self.lexicon) + 2 * (self.fertility - 1) * LINKS

    def __call__(self, pair: Pair) -> PartFeatures:
        """The features of every link and every unaligned word."""
        e, f = pair
        n, m = len(e), len(f)
        columns = _Columns(n * m)
        both = self._edges(columns, e, f)
        lower = [[w.lower() for w in side] for side in pair]
        columns.own([self.lexicon.get((a, b), -1) for a in lower[0] for b in lower[1]])
        rows = {"edge": columns.rows()}
        for side, at, name in ((0, SOURCE_AT, "source"), (1, TARGET_AT, "target")):
            best = both.max(axis=1 - side, initial=0.0)
            key = [(w, None) if side == 0 else (None, w) for w in lower[side]]
            rows[name] = self._alone(pair[side], side, at, best, [self.lexicon.get(k, -1) for k in key])
        shape: dict[str, tuple[int, ...]] = {"edge": (n, m), "source": (n,), "target": (m,)}
        if self.fertility > 1:
            start = COMMON + len(self.lexicon)
            for k, name in enumerate(("more_source", "more_target")):
                rows[name], shape[name] = _moved(rows["edge"], start + k * LINKS), (n, m)
        return PartFeatures(shape, rows)

    def _edges(self, columns: "_Columns", e: Sequence[str], f: Sequence[str]) -> Matrix:
        n, m = len(e), len(f)
        a, b = self.words.posteriors(e, f)
        c, d = self.stems.posteriors(e, f)
        word, stem = np.sqrt(a * b), np.sqrt(c * d)
        dice, stem_dice = self.words.dice(e, f), self.stems.dice(e, f)
        both = np.maximum(word, stem)
        at = EDGE_AT
        columns.value(at["link"], np.ones((n, m)))
        for name, matrix in (
            ("forward", a), ("backward", b), ("both", word), ("stem forward", c), ("stem backward", d),
            ("stem both", stem), ("dice", dice), ("stem dice", stem_dice),
        ):  # fmt: skip
            columns.value(at[name], matrix)
        levels = np.searchsorted(ASSOCIATED, both, side="right")
        columns.one_of(at["both, by level"], np.searchsorted(ASSOCIATED, word, side="right"))
        columns.one_of(at["stem both, by level"], np.searchsorted(ASSOCIATED, stem, side="right"))
        columns.one_of(at["dice, by level"], np.searchsorted(ASSOCIATED, dice, side="right"))
        columns.one_of(at["best of row and column"], _best(word))
        columns.one_of(at["stem best of row and column"], _best(stem))
        mixed = both + dice + stem_dice
        columns.one_of(at["rank in row"], _rank(mixed, 1))
        columns.one_of(at["rank in column"], _rank(mixed, 0))
        self._spelling(columns, e, f)
        i, j = (np.arange(n)[:, None] + 0.5) / max(n, 1), (np.arange(m)[None, :] + 0.5) / max(m, 1)
        distance = np.abs(i - j)
        far = np.searchsorted(DISTANT, distance, side="right")
        strength = np.searchsorted([0.1, 0.5], both, side="right")
        columns.value(at["distance"], distance)
        columns.one_of(at["distance, by level"], far)
        columns.one_of(at["distance and association"], far * 3 + strength)
        first, last = np.zeros((n, m), np.int64), np.zeros((n, m), np.int64)
        first[:1], last[-1:] = 1, 1
        first[:, :1] += 1
        last[:, -1:] += 1
        columns.one_of(
            at["ends"], np.where(first == 2, 1, np.where(last == 2, 2, np.where(first + last > 0, 3, 0)))
        )
        columns.value(at["neighbours"], _shifted(both, 1, 1) + _shifted(both, -1, -1))
        columns.value(at["crossing neighbours"], _shifted(both, 1, -1) + _shifted(both, -1, 1))
        columns.value(at["beside in the row"], _shifted(both, 0, 1) + _shifted(both, 0, -1))
        columns.value(at["beside in the column"], _shifted(both, 1, 0) + _shifted(both, -1, 0))
        for name, steps in zip(
            ("from the anchor before", "from the anchor behind"), _jumps(both), strict=True
        ):
            columns.one_of(at[name], steps)
        seen = [
            np.searchsorted(SEEN, self.words.frequencies(words, side), side="right")
            for side, words in ((0, e), (1, f))
        ]
        pairs = seen[0][:, None] * (len(SEEN) + 1) + seen[1][None, :]
        columns.one_of(at["frequencies"], pairs)
        rarer = np.minimum(seen[0][:, None], seen[1][None, :])
        columns.one_of(at["frequency and association"], rarer * 3 + np.minimum(levels // 3, 2))
        return both

    def _spelling(self, columns: "_Columns", e: Sequence[str], f: Sequence[str]) -> None:
        at, (n, m) = EDGE_AT, (len(e), len(f))
        lower = [w.lower() for w in e], [w.lower() for w in f]
        alike = np.empty((n, m), np.float32)
        _core.similarities(*lower, alike)
        same = np.array([[a == b for b in lower[1]] for a in lower[0]], bool).reshape(n, m)
        exact = np.array([[a == b for b in f] for a in e], bool).reshape(n, m)
        long = np.minimum(*np.meshgrid(*([len(w) for w in side] for side in lower), indexing="ij")) >= 4
        columns.one_of(at["spelling"], np.searchsorted(ALIKE, alike, side="right"))
        columns.value(at["spelling of long words"], alike * long)
        columns.one_of(at["same word"], np.where(exact, 2, np.where(same, 1, 0)))
        for name, has in (("marks", _is_mark), ("numbers", _has_digit)):
            rows, others = (np.array([has(w) for w in side], bool) for side in (e, f))
            kind = rows[:, None] * 1 + others[None, :] * 1
            columns.one_of(at[name], np.where((kind == 2) & same, 3, kind))

    def _alone(
        self, words: Sequence[str], side: int, at: Mapping[str, int], best: Matrix, named: list[int]
    ) -> Rows:
        columns = _Columns(len(words))
        seen = np.searchsorted(SEEN, self.words.frequencies(words, side), side="right")
        columns.value(at["alone"], np.ones(len(words)))
        columns.one_of(at["alone, frequency"], seen)
        columns.value(at["alone, best"], best)
        columns.one_of(at["alone, best by level"], np.searchsorted(ASSOCIATED, best, side="right"))
        columns.one_of(
            at["alone, kind"],
            np.array([1 if _is_mark(w) else 2 if _has_digit(w) else 0 for w in words], np.int64),
        )
        columns.own(named)
        return columns.rows()


class _Columns:
    """Features of P parts, family by family."""

    def __init__(self, P: int) -> None:
        self.P = P
        self._ids: list[Ints] = []
        self._values: list[NDArray[np.floating]] = []

    def value(self, column: int, values: NDArray[np.floating]) -> None:
        """One feature with a value for each part."""
        self._ids.append(np.full(self.P, column))
        self._values.append(values.reshape(-1))

    def one_of(self, column: int, which: NDArray[np.integer]) -> None:
        """One of a family of features for each part."""
        self._ids.append(column + which.reshape(-1).astype(np.int64))
        self._values.append(np.ones(self.P))

    def own(self, ids: list[int]) -> None:
        """A feature of its own for some parts; -1 for none."""
        found = np.array(ids, np.int64)
        self._ids.append(np.maximum(found, 0))
        self._values.append((found >= 0).astype(np.float64))

    def rows(self) -> Rows:
        """The rows of all features, without zeros."""
        ids = np.stack(self._ids, axis=1) if self.P else np.zeros((0, 1), np.int64)
        values = np.stack(self._values, axis=1).astype(np.float32) if self.P else np.zeros((0, 1), np.float32)
        kept = np.abs(values) > 1e-4
        ptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
        return Rows(ptr, ids[kept].astype(np.int32), values[kept])


def _moved(rows: Rows, start: int) -> Rows:
    """The features of links except lexical ones, numbered from ``start`` on."""
    kept = rows.ids < LINKS
    ptr = np.concatenate([[0], np.cumsum(kept)])[rows.ptr].astype(np.int64)
    return Rows(ptr, (rows.ids[kept] + start).astype(np.int32), rows.values[kept])


def _best(matrix: Matrix) -> Ints:
    """0: best neither in its row nor in its column, 1 and 2: in one of them, 3: in both."""
    if not matrix.size:
        return np.zeros(matrix.shape, np.int64)
    row = (matrix == matrix.max(axis=1, keepdims=True)) & (matrix > 0)
    column = (matrix == matrix.max(axis=0, keepdims=True)) & (matrix > 0)
    return row * 1 + column * 2


def _rank(matrix: Matrix, axis: int) -> Ints:
    """The rank in the row or column, at most RANKS; RANKS for zeros."""
    if not matrix.size:
        return np.zeros(matrix.shape, np.int64)
    order = np.argsort(np.argsort(-matrix, axis=axis, kind="stable"), axis=axis, kind="stable")
    return np.where(matrix > 0, np.minimum(order, RANKS), RANKS)


def _shifted(matrix: Matrix, di: int, dj: int) -> Matrix:
    """matrix[i + di, j + dj], zero outside."""
    n, m = matrix.shape
    out = np.zeros_like(matrix)
    out[max(0, -di) : n - max(0, di), max(0, -dj) : m - max(0, dj)] = matrix[
        max(0, di) : n + min(0, di), max(0, dj) : m + min(0, dj)
    ]
    return out


def _jumps(both: Matrix) -> tuple[Ints, Ints]:
    """The distance of j from the positions that the nearest anchors before and after i predict, as signed levels.

    An anchor is a link that is best in its row and in its column, with an association of at least ANCHOR.
    """
    n, m = both.shape
    anchor = (_best(both) == 3) & (both >= ANCHOR)
    partner = np.where(anchor.any(axis=1), anchor.argmax(axis=1), -1) if both.size else np.zeros(n, np.int64)
    found = []
    nothing = 2 * len(STEPS) + 2
    for order, sign in ((range(n), 1), (range(n - 1, -1, -1), -1)):
        expected, known = np.zeros(n, np.int64), np.zeros(n, bool)
        last = None
        for i in order:
            if last is not None:
                expected[i], known[i] = partner[last] + (i - last), True
            if partner[i] >= 0:
                last = i
        off = np.arange(m)[None, :] - expected[:, None]
        level = np.searchsorted(STEPS, np.abs(off), side="right")
        signed = np.where(off * sign < 0, len(STEPS) + 1 + level, level)
        found.append(np.where(known[:, None], signed, nothing))
    return found[0], found[1]


def _is_mark(word: str) -> bool:
    return not any(c.isalnum() for c in word)


def _has_digit(word: str) -> bool:
    return any(c.isdigit() for c in word)
