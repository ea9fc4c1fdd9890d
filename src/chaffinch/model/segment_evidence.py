"""Why a semi-Markov tagger cut and labelled a sentence as it did: features of tokens by their place, and of spans.

score(y) = sum over segments of  (place weights of their tokens' features + span weights)  +  pairs of neighbours
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.evidence import (
    FEATURE,
    Contribution,
    Evidence,
    Question,
    Removal,
    Term,
    told_apart,
    turning_point,
)
from chaffinch.structures import Parts
from chaffinch.structures.segments import Segment, Segments

Place = tuple[int, int]  # a token and one of its features, or the row of a span and one of its
Segmentation = Sequence[Segment]
PLACES = ("alone", "first", "inside", "last")
MOST_READINGS = 1024


@dataclass(frozen=True, eq=False)
class SegmentSentence:
    """One sentence as segments are scored.

    tokens: of each token, names and weights [n, 1 + 4 (Y - 1)] of its features
    spans:  of the span in each row t L + length - 1, names and weights [n, Y]
    tags:   the tags of a segmentation
    tag:    the tag that a segment gives one of its tokens, were there no segment beside it: (segment, token) -> tag
    """

    structure: Segments
    types: Sequence[str]
    words: Sequence[str]
    tokens: Sequence[tuple[list[str], NDArray[np.float64]]]
    spans: Mapping[int, tuple[list[str], NDArray[np.float64]]]
    pair: NDArray[np.float64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    tags: Callable[[Segmentation], list[str]]
    tag: Callable[[Segment, int], str]

    def potentials(self, gone: Sequence[Place] = (), gone_spans: Sequence[Place] = ()) -> Parts:
        """The scores of all segments, some features left out."""
        T, L, Y = len(self.words), self.structure.L, self.structure.Y
        sums, of_spans = (block.copy() for block in self._sums)
        for t, k in gone:
            sums[t] -= self.tokens[t][1][k]
        for row, k in gone_spans:
            of_spans[row] -= self.spans[row][1][k]
        segment = of_spans.reshape(T, L, Y)
        for length in range(1, min(L, T) + 1):
            fits = T - length + 1
            for k in range(length):
                segment[:fits, length - 1] += sums[k : k + fits][:, [place(y, k, length) for y in range(Y)]]
        return Parts(segment=of_spans, pair=self.pair, start=self.start, end=self.end)

    @cached_property
    def _sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of each token's features [T, places], and of each span's [T L, Y]: -inf where none fits."""
        T, L = len(self.words), self.structure.L
        of_spans = np.zeros((T * L, self.structure.Y))
        ends = np.arange(T)[:, None] + np.arange(L) + 1
        of_spans[(ends > T).reshape(-1)] = -np.inf
        for row, (_, w) in self.spans.items():
            of_spans[row] += w.sum(axis=0)
        return np.stack([w.sum(axis=0) for _, w in self.tokens]), of_spans

    def row(self, segment: Segment) -> int:
        """The row of a segment's span."""
        return segment.start * self.structure.L + segment.end - segment.start - 1


def place(y: int, k: int, length: int) -> int:
    """The column of token k of a segment: 0 outside, else alone, first, inside or last of its label."""
    if y == 0:
        return 0
    return 1 + 4 * (y - 1) + (0 if length == 1 else 1 if k == 0 else 3 if k == length - 1 else 2)


def segment_evidence(
    x: SegmentSentence, p: NDArray[np.floating], labels: Sequence[str], question: Question
) -> list[Evidence]:
    """The best segmentation against the best that gives a token another tag.

    p: the probability of each tag [T, labels]
    """
    asked = question.checked(labels).tokens(len(x.words))
    if not x.words:
        return []
    potentials = x.potentials()
    score, y = x.structure.kbest(potentials, 1)[0]
    tags = x.tags(y)
    found = []
    for t in asked:
        if question.is_answer(tags[t], t, x.words[t]):
            continue
        other = _rival(x, potentials, tags[t], t, question.against)
        rival = None if other is None else x.tags(other[1])
        contributions, shared = _contributions(x, y, None if other is None else other[1])
        found.append(
            Evidence(
                subject=x.words[t],
                answer=tags[t],
                score=score,
                contributions=tuple(contributions),
                rival=None if rival is None else rival[t],
                rival_score=None if other is None else other[0],
                shared=shared,
                probability=float(p[t, labels.index(tags[t])]),
                rival_probability=None if rival is None else float(p[t, labels.index(rival[t])]),
                place=t,
                without=None if other is None else _removal(x, y, other[1], tags[t], t, score - other[0]),
                note=""
                if other is not None
                else f"{question.wanted} is in no segmentation of this sentence.",
                whole=None if rival is None else (tuple(tags), tuple(rival)),
            )
        )
    return found


def _rival(
    x: SegmentSentence, potentials: Parts, answer: str, t: int, against: str | None
) -> tuple[float, Segmentation] | None:
    """The best segmentation that gives token t another tag."""

    def wanted(tag: str) -> bool:
        return tag != answer if against is None else tag == against

    L, Y = x.structure.L, x.structure.Y
    blocks = {name: block.copy() for name, block in potentials.items()}
    for start in range(max(0, t - L + 1), t + 1):
        for length in range(t - start + 1, min(L, len(x.words) - start) + 1):
            for label in range(Y):
                if not wanted(x.tag(Segment(start, start + length, label), t)):
                    blocks["segment"][start * L + length - 1, label] = -np.inf
    try:
        score, y = x.structure.kbest(Parts(**blocks), 1)[0]
        if score > -np.inf and wanted(x.tags(y)[t]):
            return score, y
    except DataError:
        pass
    # Where tags depend on what stands beside a span, segments alone do not tell: look through the readings.
    readings = x.structure.kbest(potentials, MOST_READINGS)
    return next(((s, y) for s, y in readings if s > -np.inf and wanted(x.tags(y)[t])), None)


def _contributions(
    x: SegmentSentence, y: Segmentation, rival: Segmentation | None
) -> tuple[list[Contribution], float]:
    """What tells two segmentations apart, and the sum of what they share."""
    found: list[Contribution] = []
    shared = 0.0
    mine, theirs = _columns(y), None if rival is None else _columns(rival)
    for t, (names, w) in enumerate(x.tokens):
        if theirs is not None and mine[t] == theirs[t]:
            shared += float(w[:, mine[t]].sum())
            continue
        other = np.zeros(len(w)) if theirs is None else w[:, theirs[t]]
        found += [
            Contribution(name, a, b, place=t)
            for name, a, b in zip(names, w[:, mine[t]].tolist(), other.tolist(), strict=True)
            if a or b
        ]
    apart, alike = told_apart(_terms(x, y), [] if rival is None else _terms(x, rival))
    return found + apart, shared + alike


def _columns(y: Segmentation) -> list[int]:
    return [place(s.label, k, s.end - s.start) for s in y for k in range(s.end - s.start)]


def _terms(x: SegmentSentence, y: Segmentation) -> list[Term]:
    """Features of spans, and pairs of neighbours."""
    found = []
    before = "start"
    for n, segment in enumerate(y):
        label = x.types[segment.label]
        w = x.start[segment.label] if n == 0 else x.pair[y[n - 1].label, segment.label]
        found.append(Term(f"{before} → {label}", float(w), segment.start))
        before = label
        names, weights = x.spans.get(x.row(segment), ([], np.zeros((0, x.structure.Y))))
        for name, weight in zip(names, weights[:, segment.label].tolist(), strict=True):
            shown = _span_name(x, segment, name)
            found.append(Term(shown, weight, segment.start, FEATURE, segment.end - 1))
    found.append(Term(f"{before} → end", float(x.end[y[-1].label]), len(x.words) - 1))
    return found


def _span_name(x: SegmentSentence, segment: Segment, name: str) -> str:
    return f"{x.types[segment.label]} {segment.start + 1}-{segment.end}: {name}"


def _removal(
    x: SegmentSentence, y: Segmentation, rival: Segmentation, answer: str, t: int, margin: float
) -> Removal | None:
    """Features left out one after the other, the most telling first, until the token gets another tag."""
    mine, theirs = _columns(y), _columns(rival)
    telling: list[tuple[float, int, int, bool, Contribution]] = []
    for u, (names, w) in enumerate(x.tokens):
        for k, (name, a, b) in enumerate(
            zip(names, w[:, mine[u]].tolist(), w[:, theirs[u]].tolist(), strict=True)
        ):
            telling += [(b - a, u, k, False, Contribution(name, a, b, place=u))] if a > b else []
    for segment in (s for s in y if s not in rival and x.row(s) in x.spans):
        row = x.row(segment)
        names, w = x.spans[row]
        for k, (name, a) in enumerate(zip(names, w[:, segment.label].tolist(), strict=True)):
            shown = _span_name(x, segment, name)
            seen = Contribution(shown, a, place=segment.start, last=segment.end - 1)
            telling += [(-a, row, k, True, seen)] if a > 0 else []
    telling.sort(key=lambda entry: entry[:4])

    def tag_without(n: int) -> str:
        tokens = [(u, k) for _, u, k, span, _ in telling[:n] if not span]
        spans = [(u, k) for _, u, k, span, _ in telling[:n] if span]
        return x.tags(x.structure.argmax(x.potentials(tokens, spans)))[t]

    found = turning_point([-entry[0] for entry in telling], margin, answer, tag_without)
    return None if found is None else Removal(tuple(entry[4] for entry in telling[: found[0]]), found[1])
