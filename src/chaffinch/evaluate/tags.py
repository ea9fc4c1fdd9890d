"""Scores of tag sequences: tokens, sentences, and spans under a named convention."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Interner, SpanCounter
from chaffinch.errors import DataError
from chaffinch.evaluate.conventions import Convention, convention, marks_spans
from chaffinch.evaluate.rates import Floats, Rates, macro, rates, ratio, weighted
from chaffinch.evaluate.tally import Sums, Tally

AUTO = "auto"

Ids = NDArray[np.int32]
Bounds = NDArray[np.int64]
Spans = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]

# Columns of the native counts; three more (gold, predicted, correct) follow for each span type.
_TOKENS, _TOKENS_RIGHT, _SENTENCES, _SENTENCES_RIGHT, _UNTYPED, _TYPED = 0, 1, 2, 3, 4, 7


@dataclass(frozen=True)
class SpanScores:
    """Scores of typed spans: each type by name, and three averages over the types."""

    micro: Rates
    macro: Rates
    weighted: Rates
    types: dict[str, Rates]

    @classmethod
    def of(cls, sums: Sums, types: Sequence[str]) -> "SpanScores":
        """The scores from sums [3 * types]: gold, predicted, correct of each type; absent types are left out."""
        typed = sums.reshape(-1, 3)
        present = np.flatnonzero(typed[:, :2].any(axis=1))
        typed = typed[present]
        p, r, f = rates(typed[:, 0], typed[:, 1], typed[:, 2])
        kinds = [types[i] for i in present.tolist()]
        rows = zip(kinds, p.tolist(), r.tolist(), f.tolist(), typed.tolist(), strict=True)
        all_present = np.ones(len(kinds), dtype=np.bool_)
        counts = typed.sum(axis=0).tolist()
        return cls(
            micro=Rates.of(*counts),
            macro=_averaged((float(macro(x, all_present)) for x in (p, r, f)), counts),
            weighted=_averaged((float(weighted(x, typed[:, 0])) for x in (p, r, f)), counts),
            types={kind: Rates(a, b, c, *n) for kind, a, b, c, n in rows},
        )

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key."""
        found: dict[str, float] = {}
        for name in ("micro", "macro", "weighted"):
            found |= getattr(self, name).as_dict(f"span.{name}")
        for kind, one in self.types.items():
            found |= one.as_dict(f"span.type.{kind}")
        return found


def span_scores_by_key(sums: Sums, types: Sequence[str]) -> dict[str, Floats]:
    """The scores of :class:`SpanScores` for many sums [..., 3 * types] at once."""
    typed = sums.reshape(*sums.shape[:-1], -1, 3)
    gold, predicted, correct = typed[..., 0], typed[..., 1], typed[..., 2]
    p, r, f = rates(gold, predicted, correct)
    micro = rates(gold.sum(-1), predicted.sum(-1), correct.sum(-1))
    present = (gold + predicted) > 0
    found = {}
    for i, (name, each) in enumerate((("precision", p), ("recall", r), ("f1", f))):
        found[f"span.micro.{name}"] = micro[i]
        found[f"span.macro.{name}"] = macro(each, present)
        found[f"span.weighted.{name}"] = weighted(each, gold)
    for i, kind in enumerate(types):
        found[f"span.type.{kind}.f1"] = f[..., i]
    return found


@dataclass(frozen=True)
class TagScores:
    """The scores of a tagged text; ``span`` and ``untyped`` are None if tags mark no spans.

    >>> scores = score_tags([["B-NP", "I-NP", "O"]], [["B-NP", "O", "O"]])
    >>> scores.token_accuracy, scores.span.micro.f1, scores.convention
    (0.6666666666666666, 0.0, 'conlleval')
    """

    tokens: int
    sentences: int
    token_accuracy: float
    sentence_accuracy: float
    convention: str | None = None
    scheme: str | None = None
    span: SpanScores | None = None
    untyped: Rates | None = None

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key."""
        found: dict[str, float] = {
            "tokens": self.tokens,
            "sentences": self.sentences,
            "token_accuracy": self.token_accuracy,
            "sentence_accuracy": self.sentence_accuracy,
        }
        if self.span is not None and self.untyped is not None:
            found |= self.untyped.as_dict("untyped") | self.span.as_dict()
        return found


class TagScorer:
    """Scores sequences of label ids; the labels are parsed once, so it can be used repeatedly.

    >>> scorer = TagScorer(["O", "B-NP", "I-NP"], "seqeval")
    >>> y = np.array([1, 2, 0], dtype=np.int32)
    >>> scorer.score(y, y, np.array([0, 3])).span.micro.f1
    1.0
    """

    def __init__(self, labels: Sequence[str], convention_name: str = AUTO, scheme: str | None = None) -> None:
        self.labels = list(labels)
        self.rules = _rules(self.labels, convention_name, scheme)
        self.types: list[str] = []
        if self.rules is not None:
            self._counter, self.types = self.rules.counter(self.labels)
        else:
            none = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int32)
            cells = convention("conlleval").cells
            self._counter = SpanCounter(len(self.labels), *none, 0, cells, True, False, 0, 0)

    def score(self, y: Ids, y_hat: Ids, ptr: Bounds) -> TagScores:
        """The scores of predicted ids ``y_hat`` against gold ``y``; sentence n is ptr[n] .. ptr[n+1]."""
        return self.scores_of(self._counter.totals(y, y_hat, ptr))

    def tally(self, y: Ids, y_hat: Ids, ptr: Bounds) -> Tally:
        """The counts of each sentence, for intervals and tests."""
        K = _TYPED + 3 * len(self.types)
        return Tally(*self._counter.rows(y, y_hat, ptr), K, self._by_key)

    def spans(self, y: Ids, ptr: Bounds) -> Spans:
        """Sentence, first token, end token (exclusive) and type id of every span, in order."""
        return self._counter.spans(y, ptr)

    def scores_of(self, sums: Sums) -> TagScores:
        """The scores from sums of counts."""
        plain = _plain(sums)
        tokens, sentences = int(sums[_TOKENS]), int(sums[_SENTENCES])
        accuracies = float(plain["token_accuracy"]), float(plain["sentence_accuracy"])
        if self.rules is None:
            return TagScores(tokens, sentences, *accuracies)
        span = SpanScores.of(sums[_TYPED:], self.types)
        untyped = Rates.of(*sums[_UNTYPED:_TYPED].tolist())
        return TagScores(tokens, sentences, *accuracies, self.rules.name, self.rules.scheme, span, untyped)

    def _by_key(self, sums: Sums) -> dict[str, Floats]:
        found = _plain(sums)
        if self.rules is None:
            return found
        untyped = rates(*(sums[..., _UNTYPED + i] for i in range(3)))
        found |= {
            f"untyped.{name}": u for name, u in zip(("precision", "recall", "f1"), untyped, strict=True)
        }
        return found | span_scores_by_key(sums[..., _TYPED:], self.types)


@dataclass(frozen=True)
class TagPair:
    """Gold and predicted tags of the same tokens, as ids into one label list."""

    labels: list[str]
    y: Ids
    y_hat: Ids
    ptr: Bounds

    @classmethod
    def from_lists(cls, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> "TagPair":
        """The pair from lists of lists of tags; their shapes must agree."""
        interner = Interner()
        ptr, y = interner.intern_nested(_as_list(gold))
        other, y_hat = interner.intern_nested(_as_list(predicted))
        if len(ptr) != len(other):
            raise DataError(f"gold has {len(ptr) - 1} sentences, the prediction has {len(other) - 1}")
        differ = np.flatnonzero(ptr != other)
        if len(differ):
            n = int(differ[0]) - 1
            a, b = int(ptr[n + 1] - ptr[n]), int(other[n + 1] - other[n])
            raise DataError(f"sentence {n + 1}: gold has {a} tags, the prediction has {b}")
        return cls(interner.strings(), y, y_hat, ptr)

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """int64 [labels, labels]: how often gold (row) was predicted as (column)."""
        L = len(self.labels)
        pairs = self.y.astype(np.int64) * L + self.y_hat
        return np.bincount(pairs, minlength=L * L).reshape(L, L)


def score_tags(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    convention: str = AUTO,
    scheme: str | None = None,
) -> TagScores:
    """Token, sentence and span scores of predicted tags.

    convention: ``conlleval``, ``seqeval``, ``seqeval-strict`` or ``hmm-project``; ``auto`` is conlleval if the tags
    mark spans, otherwise there are no span scores. Learners that score ids use :class:`TagScorer`.

    >>> score_tags([["DT", "NN"]], [["DT", "VB"]]).as_dict()
    {'tokens': 2, 'sentences': 1, 'token_accuracy': 0.5, 'sentence_accuracy': 0.0}
    """
    pair = TagPair.from_lists(gold, predicted)
    return TagScorer(pair.labels, convention, scheme).score(pair.y, pair.y_hat, pair.ptr)


def _rules(labels: list[str], name: str, scheme: str | None) -> Convention | None:
    if name != AUTO:
        return convention(name, scheme, labels)
    if scheme is not None:
        return convention("seqeval-strict", scheme, labels)
    return convention("conlleval") if marks_spans(labels) else None


def _plain(sums: Sums) -> dict[str, Floats]:
    return {
        "token_accuracy": ratio(sums[..., _TOKENS_RIGHT], sums[..., _TOKENS]),
        "sentence_accuracy": ratio(sums[..., _SENTENCES_RIGHT], sums[..., _SENTENCES]),
    }


def _averaged(means: Iterable[float], counts: list[int]) -> Rates:
    precision, recall, f1 = means
    return Rates(precision, recall, f1, *counts)


def _as_list(rows: Any) -> list[Any]:
    return rows if isinstance(rows, list) else list(rows)
