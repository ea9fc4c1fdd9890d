"""Evidence for segmentations: features of tokens by their place, features of spans, and neighbouring segments.

score(y) = sum over segments of  (place weights of their tokens' features + span weights)  +  pairs of neighbours
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.evidence import (
    Columns,
    Decision,
    Explainable,
    Features,
    Named,
    Question,
    Seen,
    Term,
    Without,
    span_offsets,
)
from chaffinch.scorers.segments import places_of
from chaffinch.structures import Parts
from chaffinch.structures.segments import Segment, Segments

Segmentation = Sequence[Segment]
MOST_READINGS = 1024


@dataclass(frozen=True)
class SegmentPotentials:
    """The potentials of a sentence; wanted: the allowed tags of a token."""

    parts: Parts
    token: int | None = None
    wanted: Callable[[str], bool] | None = None


@dataclass(frozen=True, eq=False)
class SegmentExample(Explainable[SegmentPotentials, Segmentation]):
    """The scores of one sentence's segments. Features come in groups: of each token, then of each span and label.

    tokens: of each token, weights [n, 1 + 4 (Y - 1)] of its features   names: their names
    spans:  of the span in each row t L + length - 1, names and weights [n, Y]
    labels: all tags   p: the probability of each [T, labels]
    tags:   the tags of a segmentation
    tag:    the tag that a segment gives one of its tokens if no segment is beside it: (segment, token) -> tag
    """

    given: Segmentation
    structure: Segments
    types: Sequence[str]
    words: Sequence[str]
    tokens: Sequence[NDArray[np.float64]]
    names: Callable[[int, NDArray[np.int64]], Sequence[Named]]
    spans: Mapping[int, tuple[list[str], NDArray[np.float64]]]
    pair: NDArray[np.float64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    labels: Sequence[str]
    p: NDArray[np.floating]
    tags: Callable[[Segmentation], list[str]]
    tag: Callable[[Segment, int], str]

    @property
    def answer(self) -> Segmentation:
        """The predicted segmentation."""
        return self.given

    @cached_property
    def features(self) -> list[Features]:
        """A group for each token, and one for each label of each span that has features."""
        found = [
            Features(w, lambda rows, t=t: self.names(t, rows), t)  # type: ignore[misc]
            for t, w in enumerate(self.tokens)
        ]
        for row, (names, w) in self.spans.items():
            start, length = divmod(row, self.structure.L)
            end = start + length + 1
            for y, label in enumerate(self.types):
                called = f"{label} {start + 1}-{end}: "
                found.append(
                    Features(
                        w[:, y : y + 1],
                        lambda rows, called=called, names=names, start=start, end=end: [  # type: ignore[misc]
                            (called + names[k], Seen("span", span_offsets(start, end))) for k in rows.tolist()
                        ],
                        start,
                    )
                )
        return found

    def decisions(self, question: Question) -> Iterator[Decision]:
        """The tokens in question."""
        for t in question.checked(self.labels).tokens(len(self.words)):
            yield Decision(self.words[t], place=t)

    def potentials(self, without: Without) -> SegmentPotentials:
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
        return SegmentPotentials(Parts(segment=of_spans, pair=self.pair, start=self.start, end=self.end))

    def forbid(
        self, potentials: SegmentPotentials, decision: Decision, against: str | None
    ) -> SegmentPotentials:
        """Forbid segments that give a token a forbidden tag."""
        assert decision.place is not None
        t, given = decision.place, self.wording(self.answer, decision)

        def wanted(tag: str) -> bool:
            return tag != given if against is None else tag == against

        L, Y = self.structure.L, self.structure.Y
        blocks = {name: block.copy() for name, block in potentials.parts.items()}
        for start in range(max(0, t - L + 1), t + 1):
            for length in range(t - start + 1, min(L, len(self.words) - start) + 1):
                for label in range(Y):
                    if not wanted(self.tag(Segment(start, start + length, label), t)):
                        blocks["segment"][start * L + length - 1, label] = -np.inf
        return SegmentPotentials(Parts(**blocks), t, wanted)

    def best(self, potentials: SegmentPotentials) -> Segmentation | None:
        """The best segmentation that gives a token an allowed tag."""
        t, wanted = potentials.token, potentials.wanted
        try:
            score, y = self.structure.kbest(potentials.parts, 1)[0]
            if t is None or wanted is None or (score > -np.inf and wanted(self.tags(y)[t])):
                return y
        except DataError:
            if t is None or wanted is None:
                return None
        # If tags depend on neighbouring spans, segments alone do not determine them: search the k best.
        readings = self.structure.kbest(self._potentials, MOST_READINGS)
        return next((y for s, y in readings if s > -np.inf and wanted(self.tags(y)[t])), None)

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

    def wording(self, y: Segmentation, decision: Decision) -> str:
        """The tag."""
        assert decision.place is not None
        return self.tags(y)[decision.place]

    def probability(self, said: str, decision: Decision) -> float:
        """Summed over the segments that give the tag."""
        return float(self.p[decision.place, self.labels.index(said)])

    def spelt(self, y: Segmentation) -> tuple[str, ...]:
        """All tags."""
        return tuple(self.tags(y))

    @cached_property
    def _potentials(self) -> Parts:
        return self.potentials({}).parts

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
