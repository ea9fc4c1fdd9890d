"""Evidence for segmentations: features of tokens by their place, features of spans, and neighbouring segments.

score(y) = sum over segments of  (place weights of their tokens' features + span weights)  +  pairs of neighbours
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.evidence import (
    Columns,
    Decision,
    Features,
    Named,
    Restriction,
    Seen,
    SentenceExample,
    Table,
    Term,
    Without,
    span_offsets,
    token_groups,
)
from chaffinch.model.labels import LabelSet
from chaffinch.scorers.segments import places_of
from chaffinch.structures import Parts
from chaffinch.structures.segments import Segment, Segments

Segmentation = Sequence[Segment]
MOST_READINGS = 1024


@dataclass(frozen=True, eq=False)
class SegmentExample(SentenceExample[Parts, Segmentation]):
    """The scores of one sentence's segments. Features come in groups: of each token, then of each span and label.

    tokens: of each token, weights [n, 1 + 4 (Y - 1)] of its features   names: their names
    spans:  of the span in each row t L + length - 1, names and weights [n, Y]
    labels: all tags   p: the probability of each [T, tags]
    read:   the tags of a segmentation
    tag:    the tag that a segment gives one of its tokens if no segment is beside it: (segment, token) -> tag
    """

    given: Segmentation
    structure: Segments
    types: Sequence[str]
    words: Sequence[str]
    tokens: Sequence[Table]
    names: Callable[[int, NDArray[np.int64]], Sequence[Named]]
    spans: Mapping[int, tuple[list[str], NDArray[np.float64]]]
    pair: NDArray[np.float64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    labels: LabelSet
    p: NDArray[np.floating]
    read: Callable[[Segmentation], list[str]]
    tag: Callable[[Segment, int], str]

    @property
    def answer(self) -> Segmentation:
        """The predicted segmentation."""
        return self.given

    @cached_property
    def features(self) -> list[Features]:
        """A group for each token, and one for each label of each span that has features."""
        L = self.structure.L
        return token_groups(self.tokens, self.names) + [
            Features(w[:, y : y + 1], partial(self._span_names, row, y), row // L)
            for row, (_, w) in self.spans.items()
            for y in range(len(self.types))
        ]

    def potentials(self, without: Without) -> Parts:
        """The scores of all segments; a feature of a span is removed for all labels."""
        T, L, Y = len(self.words), self.structure.L, self.structure.Y
        sums, of_spans = (block.copy() for block in self._sums)
        rows = list(self.spans)
        for g, gone in without.items():
            if g < T:
                sums[g] = self.features[g].without(gone)
            else:
                row = rows[(g - T) // Y]
                of_spans[row] -= self.spans[row][1][gone].sum(axis=0)
        segment = of_spans.reshape(T, L, Y)
        for length in range(1, min(L, T) + 1):
            fits = T - length + 1
            for k in range(length):
                segment[:fits, length - 1] += sums[k : k + fits][
                    :, [places_of(y, length)[k] for y in range(Y)]
                ]
        return Parts(segment=of_spans, pair=self.pair, start=self.start, end=self.end)

    def best(self, potentials: Parts, rule: Restriction | None = None) -> Segmentation | None:
        """The best segmentation; given a rule, without segments that give its token a forbidden tag."""
        if rule is None:
            try:
                return self.structure.kbest(potentials, 1)[0][1]
            except DataError:
                return None
        t, L = rule.decision.place, self.structure.L
        assert t is not None
        segment = potentials["segment"].copy()
        for start in range(max(0, t - L + 1), t + 1):
            for length in range(t - start + 1, min(L, len(self.words) - start) + 1):
                for label in range(self.structure.Y):
                    if not rule.allows(self.tag(Segment(start, start + length, label), t)):
                        segment[start * L + length - 1, label] = -np.inf
        rest = {name: block for name, block in potentials.items() if name != "segment"}
        # If tags depend on neighbouring spans, segments alone do not determine them: search the k best.
        for parts, k in ((Parts(segment=segment, **rest), 1), (self._potentials, MOST_READINGS)):
            with suppress(DataError):
                for score, y in self.structure.kbest(parts, k):
                    if score > -np.inf and rule.allows(self.tags(y)[t]):
                        return y
        return None

    def score(self, y: Segmentation) -> float:
        """The sum of its segments and pairs."""
        labels = [segment.label for segment in y]
        pairs = sum(float(self.pair[a, b]) for a, b in pairwise(labels))
        segments = sum(float(self._potentials["segment"][self._row(s), s.label]) for s in y)
        return segments + pairs + float(self.start[labels[0]] + self.end[labels[-1]])

    def columns(self, y: Segmentation) -> Columns:
        """The place of each token in its segment, and whether there is a segment with these features."""
        T, Y = len(self.words), self.structure.Y
        found = np.full(T + len(self.spans) * Y, -1, np.int64)
        found[:T] = [column for s in y for column in places_of(s.label, s.end - s.start)]
        for segment in y:
            n = self._group.get(self._row(segment))
            if n is not None:
                found[T + n * Y + segment.label] = 0
        return found

    def terms(self, y: Segmentation, near: Sequence[int] | None) -> list[Term]:
        """Pairs of neighbours."""
        found = []
        before = "start"
        for n, segment in enumerate(y):
            label = self.types[segment.label]
            w = self.start[segment.label] if n == 0 else self.pair[y[n - 1].label, segment.label]
            found.append(Term(f"{before} → {label}", float(w), segment.start))
            before = label
        found.append(Term(f"{before} → end", float(self.end[y[-1].label]), len(self.words) - 1))
        return found

    def tags(self, y: Segmentation) -> list[str]:
        """The tags."""
        return self.read(y)

    def probability(self, said: str, decision: Decision) -> float:
        """Summed over the segments that give the tag."""
        return float(self.p[decision.place, self.labels.outer.index(said)])

    def _span_names(self, row: int, y: int, rows: NDArray[np.int64]) -> list[Named]:
        start, length = divmod(row, self.structure.L)
        end, names = start + length + 1, self.spans[row][0]
        seen = Seen("span", span_offsets(start, end))
        return [(f"{self.types[y]} {start + 1}-{end}: {names[k]}", seen) for k in rows.tolist()]

    @cached_property
    def _potentials(self) -> Parts:
        return self.potentials({})

    @cached_property
    def _group(self) -> dict[int, int]:
        return {row: n for n, row in enumerate(self.spans)}

    @cached_property
    def _sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The scores of each token's features [T, places], and of each span's [T L, Y]; -inf beyond the sentence."""
        T, L = len(self.words), self.structure.L
        of_spans = np.zeros((T * L, self.structure.Y))
        ends = np.arange(T)[:, None] + np.arange(L) + 1
        of_spans[(ends > T).reshape(-1)] = -np.inf
        for row, (_, w) in self.spans.items():
            of_spans[row] += w.sum(axis=0)
        return np.stack([w.sum(axis=0) for w in self.tokens]), of_spans

    def _row(self, segment: Segment) -> int:
        return segment.start * self.structure.L + segment.end - segment.start - 1
