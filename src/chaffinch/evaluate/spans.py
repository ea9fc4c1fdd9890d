"""Scores of spans in running text, without tokens or tags: each span has a label and character offsets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chaffinch.errors import DataError
from chaffinch.evaluate.outputs import Classes, DocumentOutputs, Rules, probability
from chaffinch.evaluate.rates import Floats, Rates, rates, ratio
from chaffinch.evaluate.reliability import Confidences
from chaffinch.evaluate.tags import SpanScores, span_scores_by_key
from chaffinch.evaluate.tally import Sums, Tally
from chaffinch.text.document import Document, Span

_TYPED = 5


@dataclass(frozen=True)
class TextSpanScores:
    """The scores of the spans of a set of texts; ``exact_match`` is the fraction of texts without an error."""

    documents: int
    exact_match: float
    span: SpanScores
    untyped: Rates

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key."""
        found: dict[str, float] = {"documents": self.documents, "exact_match": self.exact_match}
        return found | self.untyped.as_dict("untyped") | self.span.as_dict()


def score_spans(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> TextSpanScores:
    """Precision, recall and F1 of spans, with and without their labels.

    >>> score_spans([[Span("PER", 0, 3)]], [[Span("LOC", 0, 3)]]).untyped.f1
    1.0
    """
    tally, types = span_tally(gold, predicted)
    sums = tally.sums()
    return TextSpanScores(
        documents=tally.N,
        exact_match=float(tally.score(sums)["exact_match"]),
        span=SpanScores.of(sums[_TYPED:], types),
        untyped=Rates.of(*sums[2:_TYPED].tolist()),
    )


def span_tally(
    gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]], also: Sequence[str] = ()
) -> tuple[Tally, list[str]]:
    """One row of counts per text, and the span types; ``also`` adds types to them."""
    if len(gold) != len(predicted):
        raise DataError(f"gold has {len(gold)} texts, the prediction has {len(predicted)}")
    types = sorted({s.label for side in (gold, predicted) for spans in side for s in spans} | set(also))
    ids = {kind: i for i, kind in enumerate(types)}
    counts = np.zeros((len(gold), _TYPED + 3 * len(types)), dtype=np.int32)
    for row, a, b in zip(counts, gold, predicted, strict=True):
        typed = [{(s.label, s.start, s.end) for s in side} for side in (a, b)]
        bare = [{(s.start, s.end) for s in side} for side in (a, b)]
        row[:_TYPED] = 1, typed[0] == typed[1], len(bare[0]), len(bare[1]), len(bare[0] & bare[1])
        for which, spans in enumerate((*typed, typed[0] & typed[1])):
            for kind, _, _ in spans:
                row[_TYPED + 3 * ids[kind] + which] += 1

    def by_key(sums: Sums) -> dict[str, Floats]:
        untyped = rates(sums[..., 2], sums[..., 3], sums[..., 4])
        named = zip(("precision", "recall", "f1"), untyped, strict=True)
        plain = {"exact_match": ratio(sums[..., 1], sums[..., 0])} | {f"untyped.{k}": v for k, v in named}
        return plain | span_scores_by_key(sums[..., _TYPED:], types)

    return Tally.from_dense(counts, by_key), types


class SpanOutputs(DocumentOutputs):
    """Texts with spans."""

    task = "spans"
    sizes = ("documents",)
    headline = (
        "span.micro.f1",
        "span.micro.precision",
        "span.micro.recall",
        "span.macro.f1",
        "untyped.f1",
        "exact_match",
    )

    @classmethod
    def holds(cls, documents: Sequence[Document]) -> bool:
        """Whether any text has a span."""
        return any(d.spans for d in documents)

    def scored(self, rules: Rules) -> tuple[TextSpanScores, list[Tally]]:
        """Spans by label and offsets."""
        spans = [[d.spans for d in side] for side in (self.gold, *self.outputs)]
        types = sorted({s.label for side in spans for each in side for s in each})
        return score_spans(spans[0], spans[1]), [span_tally(spans[0], s, types)[0] for s in spans[1:]]

    def confidences(self) -> Confidences | None:
        """The score of each predicted span, if all have one."""
        p, right = [], []
        for gold, d in zip(self.gold, self.outputs[0], strict=True):
            true = {(s.label, s.start, s.end) for s in gold.spans}
            for s in d.spans:
                sure = probability(s.score)
                if sure is None:
                    return None
                p.append(sure)
                right.append((s.label, s.start, s.end) in true)
        return Confidences("spans", np.array(p), np.array(right, bool)) if p else None

    def classes(self, scores: TextSpanScores) -> Classes:
        """The types."""
        return Classes("type", "span.type", scores.span.types)
