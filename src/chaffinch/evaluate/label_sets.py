"""Scores of documents that may have several labels: the fraction of exactly correct sets, and F1 over all labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.evaluate.outputs import Classes, DocumentOutputs, Rules, predicted_labels, probability
from chaffinch.evaluate.rates import Floats, LabelRates, Rates, macro, ratio
from chaffinch.evaluate.reliability import Confidences
from chaffinch.evaluate.tally import Sums, Tally
from chaffinch.text.document import Document


@dataclass(frozen=True)
class LabelSetScores(LabelRates):
    """The scores of documents with any number of labels each.

    accuracy: the fraction of documents whose labels are exactly the gold ones
    micro_f1: F1 of all (document, label) pairs together; macro_f1: the mean F1 of the labels

    >>> scores = score_label_sets([["a", "b"], ["a"], []], [["a"], ["a"], []])
    >>> round(scores.accuracy, 3), scores.micro_f1, scores.macro_f1
    (0.667, 0.8, 0.5)
    """

    accuracy: float
    micro_f1: float
    macro_f1: float


@dataclass(frozen=True)
class LabelSets:
    """Gold and predicted label sets of the same documents: bool [N, labels] each."""

    labels: list[str]
    y: NDArray[np.bool_]
    y_hat: NDArray[np.bool_]

    @classmethod
    def from_lists(
        cls, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], also: Sequence[str] = ()
    ) -> "LabelSets":
        """From lists of labels per document; ``also`` adds labels to the list."""
        if len(gold) != len(predicted):
            raise DataError(f"gold has {len(gold)} documents, the prediction has {len(predicted)}")
        labels = sorted({name for side in (gold, predicted) for one in side for name in one} | {*also})
        place = {name: i for i, name in enumerate(labels)}
        tables = [np.zeros((len(gold), len(labels)), dtype=np.bool_) for _ in range(2)]
        for table, side in zip(tables, (gold, predicted), strict=True):
            for n, one in enumerate(side):
                table[n, [place[name] for name in one]] = True
        return cls(labels, *tables)

    def tally(self) -> Tally:
        """One row per document: gold, predicted and correct of each label, whether all are correct, and a 1."""
        both = self.y & self.y_hat
        each = np.stack([self.y, self.y_hat, both], axis=2).reshape(len(self.y), -1)
        exact = (self.y == self.y_hat).all(axis=1, keepdims=True)
        counts = np.hstack([each, exact, np.ones_like(exact)]).astype(np.int32)
        return Tally.from_dense(counts, self._by_key)

    def scores(self) -> LabelSetScores:
        """The scores; labels that occur on neither side are left out."""
        tally = self.tally()
        values = tally.score(tally.sums())
        columns = (side.sum(axis=0).tolist() for side in (self.y, self.y_hat, self.y & self.y_hat))
        rates = {
            name: Rates.of(*row) for name, row in zip(self.labels, zip(*columns, strict=True), strict=True)
        }
        return LabelSetScores(
            documents=len(self.y),
            accuracy=float(values["accuracy"]),
            micro_f1=float(values["micro_f1"]),
            macro_f1=float(values["macro_f1"]),
            labels={name: one for name, one in rates.items() if one.gold or one.predicted},
        )

    def _by_key(self, sums: Sums) -> dict[str, Floats]:
        each = sums[..., :-2].reshape(*sums.shape[:-1], -1, 3)
        gold, predicted, correct = each[..., 0], each[..., 1], each[..., 2]
        f1 = ratio(2 * correct, gold + predicted)
        return {
            "micro_f1": ratio(2 * correct.sum(-1), gold.sum(-1) + predicted.sum(-1)),
            "accuracy": ratio(sums[..., -2], sums[..., -1]),
            "macro_f1": macro(f1, (gold + predicted) > 0),
        } | {f"label.{name}.f1": f1[..., i] for i, name in enumerate(self.labels)}


def score_label_sets(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> LabelSetScores:
    """Exact sets, micro and macro F1, and the rates of each label."""
    return LabelSets.from_lists(gold, predicted).scores()


class LabelSetOutputs(DocumentOutputs):
    """Documents with any number of labels each."""

    task = "label-sets"
    sizes = ("documents",)
    headline = ("micro_f1", "macro_f1", "accuracy")
    in_one_file = True

    @classmethod
    def holds(cls, documents: Sequence[Document]) -> bool:
        """Whether any document has several labels."""
        return any(len(d.labels) > 1 for d in documents)

    def scored(self, rules: Rules) -> tuple[LabelSetScores, list[Tally]]:
        """Exact sets and the F1 of each label."""
        sets = [[predicted_labels(d) for d in output] for output in self.outputs]
        given = sorted({name for output in sets for one in output for name in one})
        sides = [LabelSets.from_lists([d.labels for d in self.gold], output, given) for output in sets]
        return sides[0].scores(), [side.tally() for side in sides]

    def confidences(self) -> Confidences | None:
        """The probability of each predicted label, if the output has one for all of them (predict --json)."""
        p, right = [], []
        for gold, d in zip(self.gold, self.outputs[0], strict=True):
            for label in predicted_labels(d):
                sure = probability(d.shares.get(label))
                if sure is None:
                    return None
                p.append(sure)
                right.append(label in gold.labels)
        return Confidences("labels", np.array(p), np.array(right, bool)) if p else None

    def classes(self, scores: LabelSetScores) -> Classes:
        """The labels."""
        return Classes("label", "label", scores.labels)
