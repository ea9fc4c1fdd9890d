"""Scores of segments from features of spans and of tokens by place: the weights of semi-Markov taggers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.scorers.linear import Example
from chaffinch.structures.parts import Parts
from chaffinch.structures.segments import Segments

PLACES = ("alone", "first", "inside", "last")  # of a token in a segment


class SegmentFeatures(NamedTuple):
    """The features of one sentence: of its T tokens, and of its T L spans, row t L + l - 1 for length l from t."""

    tokens: Example
    spans: Example


@dataclass(eq=False)
class SegmentScorer:
    """Weights in one flat array, as the core reads it.

        segment[t, l, y] = sum over k < l of token[f, place of k in y] for the features f of token t + k
                         + sum over the features g of the span of span[g, y]
        pair, start, end = their weights

    w: float32 [size]   F, G: features of tokens and of spans   longest: int32 [Y], the longest segment of each label
    """

    w: NDArray[np.float32]
    F: int
    G: int
    longest: NDArray[np.int32]

    @classmethod
    def zeros(cls, F: int, G: int, longest: NDArray[np.int32]) -> "SegmentScorer":
        """Weights of zero for F and G features."""
        Y = len(longest)
        widths = ((F, places(Y)), (G, Y), (Y + 2, Y))
        size = sum(count * int(_core.padded(width)) for count, width in widths)
        return cls(np.zeros(size, np.float32), F, G, longest)

    @property
    def L(self) -> int:
        """The length of the longest segment of any label."""
        return int(self.longest.max())

    @cached_property
    def structure(self) -> Segments:
        """The structure that the weights score."""
        return Segments(len(self.longest), self.L, longest=tuple(self.longest.tolist()))

    def blocks(self) -> dict[str, NDArray[np.float32]]:
        """token [F, places], span [G, Y], pair [Y, Y], start [1, Y], end [1, Y]: views, without padding."""
        Y = len(self.longest)
        P = places(Y)
        found, at = {}, 0
        for name, count, width in (
            ("token", self.F, P),
            ("span", self.G, Y),
            ("pair", Y, Y),
            ("start", 1, Y),
            ("end", 1, Y),
        ):
            stride = _core.padded(width)
            found[name] = self.w[at : at + count * stride].reshape(count, stride)[:, :width]
            at += count * stride
        return found

    def by_place(self, y: int) -> dict[str, NDArray[np.float32]]:
        """The weights of token features in segments of label y, by the token's place in the segment."""
        token = self.blocks()["token"]
        if y == 0:
            return {"": token[:, 0]}
        first = 1 + len(PLACES) * (y - 1)
        return {f" ({place})": token[:, first + i] for i, place in enumerate(PLACES)}

    def with_weights(self, w: NDArray[np.floating]) -> "SegmentScorer":
        """The same scorer with a copy of other weights."""
        return SegmentScorer(np.array(w, np.float32), self.F, self.G, self.longest)

    def shape(self, x: SegmentFeatures) -> Mapping[str, tuple[int, ...]]:
        """The size of the parts of x."""
        return self.structure.shape(x.tokens.T)

    def potentials(self, x: SegmentFeatures) -> Parts:
        """The scores of every part of x; those of segments that are too long are zero."""
        T, Y, blocks = x.tokens.T, len(self.longest), self.blocks()
        token, span = _summed(x.tokens, blocks["token"]), _summed(x.spans, blocks["span"])
        segment = span.reshape(T, self.L, Y).astype(np.float64)
        for t, length, y in self._segments(T):
            segment[t, length - 1, y] += token[np.arange(t, t + length), places_of(y, length)].sum()
        ends = {name: blocks[name][0].copy() for name in ("start", "end")}
        return Parts(segment=segment.reshape(T * self.L, Y), pair=blocks["pair"].copy(), **ends)

    def update(self, x: SegmentFeatures, delta: Parts, step: float = 1.0) -> None:
        """w += step * (the features of x, weighted by delta)."""
        T, blocks = x.tokens.T, self.blocks()
        for name in ("pair", "start", "end"):
            if name in delta:
                blocks[name] += np.float32(step) * delta[name].reshape(blocks[name].shape)
        of_spans = delta["segment"].reshape(T, self.L, -1)
        of_tokens = np.zeros((T, blocks["token"].shape[1]))
        for t, length, y in self._segments(T):
            of_tokens[np.arange(t, t + length), places_of(y, length)] += of_spans[t, length - 1, y]
        _add(x.tokens, step * of_tokens, blocks["token"])
        _add(x.spans, step * delta["segment"], blocks["span"])

    def sq_norm(self, x: SegmentFeatures, delta: Parts) -> float:
        """The squared length of the change that an update of step 1 makes."""
        moved = self.with_weights(np.zeros_like(self.w))
        moved.update(x, delta)
        return float(np.vdot(moved.w, moved.w))

    def _segments(self, T: int) -> list[tuple[int, int, int]]:
        """Start, length and label of every segment of T tokens."""
        return [
            (t, length, y)
            for y, longest in enumerate(self.longest.tolist())
            for length in range(1, min(longest, T) + 1)
            for t in range(T - length + 1)
        ]


def places(Y: int) -> int:
    """The number of places of a token: one outside, four in the segments of each other label."""
    return 1 + len(PLACES) * (Y - 1)


def places_of(y: int, length: int) -> list[int]:
    """The places of the tokens of a segment, in turn: columns of token weights.

    >>> places_of(1, 4), places_of(2, 1)
    ([2, 3, 3, 4], [5])
    """
    if y == 0:
        return [0] * length
    names = ["alone"] if length == 1 else ["first", *["inside"] * (length - 2), "last"]
    return [1 + len(PLACES) * (y - 1) + PLACES.index(name) for name in names]


def _summed(x: Example, w: NDArray[np.float32]) -> NDArray[np.float64]:
    """The sum of the rows of w that each row of x names, times their values."""
    out = np.zeros((x.T, w.shape[1]))
    rows = w[x.ids] if x.values is None else x.values[:, None] * w[x.ids]
    np.add.at(out, np.repeat(np.arange(x.T), np.diff(x.ptr)), rows)
    return out


def _add(x: Example, delta: NDArray[np.floating], w: NDArray[np.float32]) -> None:
    """Add each row of delta, times the values, to the rows of w that this row of x names."""
    rows = np.repeat(delta, np.diff(x.ptr), axis=0)
    np.add.at(w, x.ids, (rows if x.values is None else x.values[:, None] * rows).astype(np.float32))
