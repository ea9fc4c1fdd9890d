"""Scores of document labels: accuracy, F1 of each label, and what was taken for what."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Interner
from chaffinch.errors import DataError
from chaffinch.evaluate.rates import Floats, Rates, macro, ratio, weighted
from chaffinch.evaluate.tally import Sums, Tally


@dataclass(frozen=True)
class DocumentScores:
    """What was right in a set of labelled documents; F1 of a label is 2 correct / (gold + predicted).

    labels:    the rates of each label that is gold or predicted, by name, sorted
    confusion: int64 [labels, labels], gold in rows, predicted in columns

    >>> scores = score_documents(["a", "a", "b"], ["a", "b", "b"])
    >>> scores.accuracy, scores.macro_f1, scores.confusion.tolist()
    (0.6666666666666666, 0.6666666666666666, [[1, 1], [0, 1]])
    """

    documents: int
    accuracy: float
    macro_f1: float
    weighted_f1: float
    labels: dict[str, Rates]
    confusion: NDArray[np.int64] = field(compare=False, repr=False)

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key."""
        found: dict[str, float] = {
            "documents": self.documents,
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "weighted_f1": self.weighted_f1,
        }
        for name, one in self.labels.items():
            found |= one.as_dict(f"label.{name}")
        return found


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
