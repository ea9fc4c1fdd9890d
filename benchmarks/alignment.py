"""The alignment benchmarks' sentence pairs with links, the methods that link them, and their scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.corpora import corpus

DEV, TEST = "word_alignment/hansards_dev_en_fr.tsv", "word_alignment/hansards_test_en_fr.tsv"
CZECH = "word_alignment/czenali_en_cs.tsv.gz"


@dataclass(frozen=True)
class Linked:
    """Pairs with their sure and possible links."""

    pairs: list[Any]
    sure: list[Any]
    possible: list[Any]

    def __getitem__(self, which: slice) -> "Linked":
        return Linked(self.pairs[which], self.sure[which], self.possible[which])

    def __add__(self, other: "Linked") -> "Linked":
        return Linked(self.pairs + other.pairs, self.sure + other.sure, self.possible + other.possible)


def linked(relative: str) -> Linked:
    from chaffinch.corpus import read

    documents = list(read(corpus(relative), out_of_range="drop"))
    return Linked(
        [(d.words(), list(d.links.target)) for d in documents if d.links],
        [d.links.sure for d in documents if d.links],
        [d.links.possible for d in documents if d.links],
    )


Fold = tuple[Linked, Linked]


def matched(folds: Sequence[Fold]) -> list[Any]:
    """Trained on the links of one part, with associations from the text of both, as for IBM model 1."""
    from chaffinch import Aligner

    found = []
    for train, test in folds:
        aligner = Aligner(threads=1).fit(train.pairs, train.sure, possible=train.possible, text=test.pairs)
        found += aligner.predict(test.pairs)
    return found


def ibm1(folds: Sequence[Fold], way: str) -> list[Any]:
    """IBM model 1 alone: links from e to f, from f to e, or those that both have."""
    from chaffinch.model.associations import Associations, ibm1_links

    found = []
    for train, test in folds:
        text = Associations.learnt([*train.pairs, *test.pairs], str.lower, threads=1)
        for there, back in (ibm1_links(text, pair) for pair in test.pairs):
            found.append({"there": there, "back": back, "both": there & back}[way])
    return found


def scores(folds: Sequence[Fold], found: list[Any]) -> dict[str, float]:
    from chaffinch.evaluate import score_alignments

    sure = [links for _, test in folds for links in test.sure]
    possible = [links for _, test in folds for links in test.possible]
    met = score_alignments(sure, possible, found)
    return {"AER": met.aer, "precision": met.precision, "recall": met.recall}
