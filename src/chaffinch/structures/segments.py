"""Segments: a sentence divided into labelled segments, each scored as a whole. The semi-Markov chain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures.parts import Parts, Shape

Scores = NDArray[np.float64]


class Segment(NamedTuple):
    """The positions start .. end-1, with one label."""

    start: int
    end: int
    label: int


Segmentation = tuple[Segment, ...]


@dataclass(frozen=True, eq=False)
class Segments:
    """Segments of at most L positions, with labels 0 .. Y-1, that cover a sentence without gaps.

        s(y) = sum over segments of segment[t, l - 1, label] + sum over neighbours of pair[y', y]
             + start[first label] + end[last label]

    Blocks of the parts: ``segment`` [T * L, Y], row t * L + l - 1 for the segment of length l that begins at t;
    ``pair`` [Y, Y], ``start`` and ``end`` [Y], which are optional. -inf forbids a part.
    ``longest`` [Y] limits the length of segments by label: words outside names are segments of length 1.

    Ties: among equal answers, the one whose last segment has the smallest label, then the one whose last segment is
    the shortest, and so on towards the front. ``kbest`` breaks ties in the same way.

    >>> segments = Segments(Y=2, L=2)
    >>> scores = np.array([[0.0, 0.0], [0.0, 3.0], [1.0, 0.0], [0.0, 0.0], [0.0, 2.5], [0.0, 0.0]])
    >>> potentials = Parts(segment=scores)  # three positions
    >>> segments.argmax(potentials)
    (Segment(start=0, end=2, label=1), Segment(start=2, end=3, label=1))
    >>> round(segments.logsum(potentials)[0], 3)
    5.94
    """

    Y: int
    L: int
    longest: tuple[int, ...] | None = None
    wrong: float = 1.0

    def __post_init__(self) -> None:
        if self.Y < 1 or self.L < 1:
            raise ConfigError(f"Segments needs Y >= 1 and L >= 1, got Y = {self.Y} and L = {self.L}")
        if self.longest is not None and (
            len(self.longest) != self.Y or not all(1 <= n <= self.L for n in self.longest)
        ):
            raise ConfigError(
                f"Segments.longest must give a length from 1 to {self.L} for each of {self.Y} labels"
            )

    def shape(self, T: int) -> dict[str, tuple[int, ...]]:
        """The shape of the parts of T positions."""
        return {
            "segment": (T * self.L, self.Y),
            "pair": (self.Y, self.Y),
            "start": (self.Y,),
            "end": (self.Y,),
        }

    def parts(self, shape: Shape, y: Sequence[Segment]) -> Parts:
        """One for each segment, pair of neighbours, beginning and end."""
        blocks = {name: np.zeros(size, np.float32) for name, size in shape.items()}
        T, at, before = shape["segment"][0] // self.L, 0, None
        for start, end, label in y:
            if start != at or not 0 < end - start <= self._room(label) or end > T:
                raise DataError(f"the segment {label} {start}-{end} does not fit after {at} of {T} positions")
            blocks["segment"][start * self.L + end - start - 1, label] += 1
            if before is None:
                _add(blocks, "start", label)
            else:
                _add(blocks, "pair", (before, label))
            at, before = end, label
        if at != T:
            raise DataError(f"segments end at {at}, the sentence has {T} positions")
        if before is not None:
            _add(blocks, "end", before)
        return Parts(**blocks)

    def cost(self, shape: Shape, y: Sequence[Segment]) -> Parts:
        """``wrong`` for each wrongly labelled position of a segment that is not in gold; half of it if there is none.

        So a segment with correct labels but wrong bounds costs half of ``wrong``.
        """
        rows, Y = shape["segment"]
        T = rows // self.L
        gold = np.zeros(T, np.int64)
        for start, end, label in y:
            gold[start:end] = label
        differs = np.concatenate([np.zeros((1, Y)), np.cumsum(gold[:, None] != np.arange(Y), axis=0)])
        cost = np.zeros((T, self.L, Y), np.float32)
        for length in range(1, min(self.L, T) + 1):
            inside = differs[length:] - differs[:-length]
            cost[: T - length + 1, length - 1] = self.wrong * np.maximum(inside, 0.5)
        for start, end, label in y:
            cost[start, end - start - 1, label] = 0
        return Parts(segment=cost.reshape(rows, Y))

    def argmax(self, potentials: Parts) -> Segmentation:
        """The best segmentation."""
        return self.kbest(potentials, 1)[0][1]

    def kbest(self, potentials: Parts, k: int) -> list[tuple[float, Segmentation]]:
        """The k best segmentations with their scores, best first."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        segment, pair, start, end = self._scores(potentials)
        if not len(segment):
            return [(0.0, ())]
        flat, bounds, scores = _core.best_segments(segment, pair, start, end, k)
        if not len(scores):
            raise DataError("every segmentation is forbidden")
        rows = flat.reshape(-1, 3).tolist()
        found, first = [], 0
        for score, last in zip(scores.tolist(), bounds.tolist(), strict=True):
            found.append((score, tuple(Segment(t, t + n, y) for t, n, y in rows[first:last])))
            first = last
        return found

    def logsum(self, potentials: Parts) -> tuple[float, Parts]:
        """log of the sum over all segmentations of exp(score), and the marginals of every part."""
        scores = self._scores(potentials)
        if not len(scores[0]):
            return 0.0, Parts.zeros(potentials.shape)
        marginals = [np.empty_like(block) for block in scores]
        log_z = _core.sum_segments(*scores, *marginals)
        if log_z == -np.inf:
            raise DataError("every segmentation is forbidden")
        named = dict(zip(("segment", "pair", "start", "end"), marginals, strict=True))
        return log_z, Parts(**{name: named[name].reshape(potentials[name].shape) for name in potentials})

    def _room(self, label: int) -> int:
        if not 0 <= label < self.Y:
            raise DataError(f"expected a label from 0 to {self.Y - 1}, found {label}")
        return self.L if self.longest is None else self.longest[label]

    def _scores(self, potentials: Parts) -> tuple[Scores, Scores, Scores, Scores]:
        segment = np.array(potentials["segment"], np.float64)
        if segment.ndim != 2 or segment.shape[1] != self.Y or len(segment) % self.L:
            raise DataError(f"expected segment [T * {self.L}, {self.Y}], found {segment.shape}")
        segment = segment.reshape(-1, self.L, self.Y)
        blocks = [segment]
        for name, size in (("pair", (self.Y, self.Y)), ("start", (self.Y,)), ("end", (self.Y,))):
            block = potentials.get(name)
            blocks.append(np.zeros(size) if block is None else np.ascontiguousarray(block, np.float64))
        for name, block in zip(("segment", "pair", "start", "end"), blocks, strict=True):
            if np.isnan(block).any() or (block == np.inf).any():
                raise DataError(f"{name}: expected a finite potential (or -inf), found {block.max()}")
        if self.longest is not None:
            for label, n in enumerate(self.longest):
                segment[:, n:, label] = -np.inf
        return blocks[0], blocks[1], blocks[2], blocks[3]


def _add(blocks: dict[str, NDArray[np.float32]], name: str, at: int | tuple[int, int]) -> None:
    if name in blocks:
        blocks[name][at] += 1
