"""Scores of word alignments: alignment error rate with its precision and recall."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from chaffinch.errors import DataError
from chaffinch.evaluate.outputs import DocumentOutputs, Rules
from chaffinch.evaluate.rates import Floats, ratio
from chaffinch.evaluate.tally import Sums, Tally
from chaffinch.text.document import Document, Links

Link = tuple[int, int]


@dataclass(frozen=True)
class AlignmentScores:
    """The scores of predicted links A against sure links S and possible links P, which include S.

        precision = |A and P| / |A|,  recall = |A and S| / |S|
        AER = 1 - (|A and S| + |A and P|) / (|A| + |S|)

    Och and Ney 2003, "A systematic comparison of various statistical alignment models".
    """

    pairs: int
    links: int
    sure: int
    precision: float
    recall: float
    f1: float
    aer: float

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key."""
        return {
            "pairs": self.pairs,
            "links": self.links,
            "sure": self.sure,
            "link.precision": self.precision,
            "link.recall": self.recall,
            "link.f1": self.f1,
            "aer": self.aer,
        }


def score_alignments(
    sure: Sequence[Collection[Link]],
    possible: Sequence[Collection[Link]],
    predicted: Sequence[Collection[Link]],
) -> AlignmentScores:
    """Alignment error rate of predicted links; ``possible`` need not repeat the sure ones.

    >>> score_alignments([{(0, 0)}], [{(1, 1)}], [{(0, 0), (1, 1), (2, 2)}]).aer
    0.25
    """
    tally = link_tally(sure, possible, predicted)
    sums = tally.sums()
    s = {key: float(value) for key, value in tally.score(sums).items()}
    return AlignmentScores(
        pairs=tally.N,
        links=int(sums[0]),
        sure=int(sums[1]),
        precision=s["link.precision"],
        recall=s["link.recall"],
        f1=s["link.f1"],
        aer=s["aer"],
    )


def link_tally(
    sure: Sequence[Collection[Link]],
    possible: Sequence[Collection[Link]],
    predicted: Sequence[Collection[Link]],
) -> Tally:
    """One row per sentence pair: |A|, |S|, |A and S|, |A and P|."""
    if not len(sure) == len(possible) == len(predicted):
        raise DataError(f"gold has {len(sure)} sentence pairs, the prediction has {len(predicted)}")
    counts = np.zeros((len(sure), 4), dtype=np.int32)
    for row, s, p, a in zip(counts, map(set, sure), map(set, possible), map(set, predicted), strict=True):
        row[:] = len(a), len(s), len(a & s), len(a & (s | p))
    return Tally.from_dense(counts, _by_key)


def _by_key(sums: Sums) -> dict[str, Floats]:
    A, S, A_and_S, A_and_P = (sums[..., i] for i in range(4))
    precision, recall = ratio(A_and_P, A), ratio(A_and_S, S)
    total = precision + recall
    return {
        "link.precision": precision,
        "link.recall": recall,
        "link.f1": 2.0 * precision * recall / np.where(total == 0.0, 1.0, total),
        "aer": 1.0 - ratio(A_and_S + A_and_P, A + S),
    }


class LinkOutputs(DocumentOutputs):
    """Sentence pairs with links."""

    task = "links"
    sizes = ("pairs",)
    headline = ("aer", "link.precision", "link.recall", "link.f1")

    @classmethod
    def holds(cls, documents: Sequence[Document]) -> bool:
        """Whether any sentence pair has links."""
        return any(d.links is not None for d in documents)

    def scored(self, rules: Rules) -> tuple[AlignmentScores, list[Tally]]:
        """Alignment error rate, precision and recall."""
        none = Links((), frozenset())
        gold = [d.links or none for d in self.gold]
        sure, possible = [one.sure for one in gold], [one.possible for one in gold]
        found = [[(d.links or none).sure for d in output] for output in self.outputs]
        return score_alignments(sure, possible, found[0]), [link_tally(sure, possible, a) for a in found]
