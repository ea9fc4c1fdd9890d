"""Scores of document labels: accuracy, F1 of each label, and confusions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Interner
from chaffinch.corpus.annotations import PREDICTION
from chaffinch.errors import DataError, warn_about_data
from chaffinch.evaluate.outputs import (
    Classes,
    Confusions,
    DocumentOutputs,
    Rules,
    predicted_label,
    predicted_probability,
    row_place,
)
from chaffinch.evaluate.rates import Floats, LabelRates, Rates, macro, ratio, weighted
from chaffinch.evaluate.reliability import Confidences
from chaffinch.evaluate.tally import Sums, Tally
from chaffinch.text.document import Document


@dataclass(frozen=True)
class DocumentScores(LabelRates):
    """The scores of a set of labelled documents; F1 of a label is 2 correct / (gold + predicted).

    labels:    the rates of each label that is gold or predicted, by name, sorted
    confusion: int64 [labels, labels], gold in rows, predicted in columns

    >>> scores = score_documents(["a", "a", "b"], ["a", "b", "b"])
    >>> scores.accuracy, scores.macro_f1, scores.confusion.tolist()
    (0.6666666666666666, 0.6666666666666666, [[1, 1], [0, 1]])
    """

    accuracy: float
    macro_f1: float
    weighted_f1: float
    confusion: NDArray[np.int64] = field(compare=False, repr=False)


@dataclass(frozen=True)
class LabelPair:
    """Gold and predicted labels of the same documents, as ids into one sorted label list."""

    labels: list[str]
    y: NDArray[np.int32]
    y_hat: NDArray[np.int32]

    @classmethod
    def from_lists(
        cls, gold: Sequence[str], predicted: Sequence[str], also: Sequence[str] = ()
    ) -> "LabelPair":
        """The pair from one label per document; ``also`` adds labels to the list."""
        if len(gold) != len(predicted):
            raise DataError(f"gold has {len(gold)} documents, the prediction has {len(predicted)}")
        interner = Interner()
        for label in sorted({*gold, *predicted, *also}):
            interner.intern(label)
        _, ids = interner.intern_nested([list(gold), list(predicted)])
        return cls(interner.strings(), ids[: len(gold)].copy(), ids[len(gold) :].copy())

    def confusion(self) -> NDArray[np.int64]:
        """int64 [labels, labels]: how often gold (row) was predicted as (column)."""
        L = len(self.labels)
        return np.bincount(self.y.astype(np.int64) * L + self.y_hat, minlength=L * L).reshape(L, L)

    def scores(self) -> DocumentScores:
        """The scores; labels that occur on neither side are left out."""
        confusion = self.confusion()
        gold, predicted, correct = confusion.sum(axis=1), confusion.sum(axis=0), confusion.diagonal()
        present = np.flatnonzero(gold + predicted)
        gold, predicted, correct = gold[present], predicted[present], correct[present]
        p, r, f1 = ratio(correct, predicted), ratio(correct, gold), ratio(2 * correct, gold + predicted)
        columns = (x.tolist() for x in (p, r, f1, gold, predicted, correct))
        rows = (Rates(*row) for row in zip(*columns, strict=True))
        return DocumentScores(
            documents=len(self.y),
            accuracy=float(ratio(correct.sum(), gold.sum())),
            macro_f1=float(macro(f1, np.ones(len(f1), dtype=np.bool_))),
            weighted_f1=float(weighted(f1, gold)),
            labels=dict(zip((self.labels[i] for i in present.tolist()), rows, strict=True)),
            confusion=confusion[np.ix_(present, present)],
        )

    def tally(self) -> Tally:
        """One row per document: gold, predicted and correct of each label."""
        N, K = len(self.y), 3 * len(self.labels)
        right = self.y == self.y_hat
        columns = np.stack([3 * self.y, 3 * self.y_hat + 1, 3 * self.y + 2], axis=1)
        kept = np.stack([np.ones(N, np.bool_), np.ones(N, np.bool_), right], axis=1)
        ptr = np.zeros(N + 1, dtype=np.int64)
        np.cumsum(kept.sum(axis=1), out=ptr[1:])
        chosen = columns[kept].astype(np.int32)
        return Tally(ptr, chosen, np.ones(len(chosen), dtype=np.int32), K, self._by_key)

    def _by_key(self, sums: Sums) -> dict[str, Floats]:
        each = sums.reshape(*sums.shape[:-1], -1, 3)
        gold, predicted, correct = each[..., 0], each[..., 1], each[..., 2]
        f1 = ratio(2 * correct, gold + predicted)
        return {
            "accuracy": ratio(correct.sum(-1), gold.sum(-1)),
            "macro_f1": macro(f1, (gold + predicted) > 0),
            "weighted_f1": weighted(f1, gold),
        } | {f"label.{name}.f1": f1[..., i] for i, name in enumerate(self.labels)}


def score_documents(gold: Sequence[str], predicted: Sequence[str]) -> DocumentScores:
    """Accuracy, macro F1, the rates of each label and the confusion matrix of one label per document."""
    return LabelPair.from_lists(gold, predicted).scores()


class LabelOutputs(DocumentOutputs):
    """Documents with one label each."""

    task = "documents"
    sizes = ("documents",)
    headline = ("accuracy", "macro_f1", "weighted_f1")
    in_one_file = True

    @classmethod
    def holds(cls, documents: Sequence[Document]) -> bool:
        """Whether any document has a label."""
        return any(d.labels for d in documents)

    @classmethod
    def check(cls, path: str | Path, documents: Sequence[Document], predicted: bool) -> None:
        """Raise unless every document has exactly one label; a column of predictions replaces it."""
        for n, d in enumerate(documents):
            if predicted and PREDICTION in d.fields:
                continue
            if len(d.labels) != 1:
                raise DataError(f"{row_place(path, n, d)}: expected one label, found {len(d.labels)}")

    def scored(self, rules: Rules) -> tuple[DocumentScores, list[Tally]]:
        """Accuracy and the F1 of each label."""
        y_hats = [[predicted_label(d) for d in output] for output in self.outputs]
        every = sorted({label for y_hat in y_hats for label in y_hat})
        known = sorted({d.labels[0] for d in self.gold})
        if every and known and not {*every} & {*known}:
            warn_about_data(
                f"no prediction is a gold label: gold has {_some(known)}, the output {_some(every)}; "
                "--label names the gold column"
            )
        pairs = [LabelPair.from_lists([d.labels[0] for d in self.gold], y_hat, every) for y_hat in y_hats]
        return pairs[0].scores(), [pair.tally() for pair in pairs]

    def confidences(self) -> Confidences | None:
        """The probability of each document's label, if all have one; documents without an answer are left out."""
        p, right = [], []
        for gold, d in zip(self.gold, self.outputs[0], strict=True):
            label = predicted_label(d)
            if not label:
                continue
            sure = predicted_probability(d, label)
            if sure is None:
                return None
            p.append(sure)
            right.append(label == gold.labels[0])
        return Confidences(self.task, np.array(p), np.array(right, bool)) if p else None

    def classes(self, scores: DocumentScores) -> Classes:
        """The labels."""
        return Classes("label", "label", scores.labels)

    def confusions(self, scores: DocumentScores, rules: Rules) -> Confusions:
        """The labels, and the shortest text of each frequent confusion."""
        names = list(scores.labels)
        errors = scores.confusion - np.diag(scores.confusion.diagonal())
        rows = []
        for at in np.argsort(-errors, axis=None, kind="stable")[:MOST_PAIRS].tolist():
            a, b = divmod(at, len(names))
            if not errors[a, b]:
                break
            texts = (
                d.text
                for d, p in zip(self.gold, self.outputs[0], strict=True)
                if d.labels[0] == names[a] and predicted_label(p) == names[b]
            )
            example = min(texts, key=len)
            shown = example if len(example) < LONGEST_EXAMPLE else example[: LONGEST_EXAMPLE - 1] + "…"
            rows.append((names[a], names[b], f"{errors[a, b]:,}", shown))
        return Confusions("label", names, scores.confusion, pairs=rows)


MOST_PAIRS = 15
LONGEST_EXAMPLE = 240


def _some(labels: Sequence[str]) -> str:
    return ", ".join(labels[:3]) + (", ..." if len(labels) > 3 else "")
