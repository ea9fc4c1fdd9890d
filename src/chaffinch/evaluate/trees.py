"""Bracket scores of parse trees, by the rules of evalb with Collins's parameters."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from chaffinch.corpus.brackets import EMPTY, plain_label, stripped
from chaffinch.errors import DataError
from chaffinch.evaluate.outputs import Classes, DocumentOutputs, Rules
from chaffinch.evaluate.rates import Floats, Rates, rates, ratio
from chaffinch.evaluate.tally import Sums, Tally
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import Document, Tree

# Root labels that are not scored, punctuation tags whose words are deleted, and one equivalence of labels.
ROOTS = frozenset({"TOP", "ROOT", "S1", ""})
PUNCTUATION = frozenset({",", ":", "``", "''", "."})
EQUIVALENT = {"PRT": "ADVP"}

Bracket = tuple[str, int, int]


@dataclass(frozen=True)
class TreeScores:
    """The scores of a set of parse trees.

    bracket:     labelled constituents
    exact_match: fraction of the trees with exactly the gold constituents
    tag_accuracy: fraction of the words (without punctuation) with the gold part of speech
    """

    trees: int
    bracket: Rates
    exact_match: float
    tag_accuracy: float
    labels: dict[str, Rates]

    @classmethod
    def of(cls, tally: Tally, labels: Sequence[str]) -> "TreeScores":
        """The scores from the counts of :func:`tree_tally`."""
        sums = tally.sums()
        scores = {key: float(value) for key, value in tally.score(sums).items()}
        rows = zip(labels, sums[_LABELLED:].reshape(-1, 3).tolist(), strict=True)
        return cls(
            trees=tally.N,
            bracket=Rates.of(*sums[:3].tolist()),
            exact_match=scores["exact_match"],
            tag_accuracy=scores["tag_accuracy"],
            labels={name: Rates.of(*counts) for name, counts in rows if any(counts)},
        )

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key."""
        found: dict[str, float] = {"trees": self.trees}
        found |= self.bracket.as_dict("bracket")
        found |= {"exact_match": self.exact_match, "tag_accuracy": self.tag_accuracy}
        for name, one in self.labels.items():
            found |= one.as_dict(f"bracket.label.{name}")
        return found


def score_trees(gold: Sequence[Tree], predicted: Sequence[Tree], strip_empty: bool = True) -> TreeScores:
    """Labelled bracket precision, recall and F1, exact match and tag accuracy.

    Constituents are compared by (label, first word, last word) after deleting punctuation, the outermost TOP
    and (``strip_empty``) traces; labels lose their function tags; PRT counts as ADVP.

    >>> noun = Tree("NP", (Tree("DT", word="the"), Tree("NN", word="finch")))
    >>> verb = Tree("VP", (Tree("VBZ", word="sings"),))
    >>> score_trees([Tree("S", (noun, verb))], [Tree("S", (*noun.children, verb))]).bracket.recall
    0.6666666666666666
    """
    return TreeScores.of(*tree_tally(gold, predicted, strip_empty))


def tree_tally(
    gold: Sequence[Tree], predicted: Sequence[Tree], strip_empty: bool = True, also: Iterable[str] = ()
) -> tuple[Tally, list[str]]:
    """One row of counts per tree, and the bracket labels; ``also`` adds labels to them."""
    if len(gold) != len(predicted):
        raise DataError(f"gold has {len(gold)} trees, the prediction has {len(predicted)}")
    pairs = [_compared(n, a, b, strip_empty) for n, (a, b) in enumerate(zip(gold, predicted, strict=True))]
    labels = sorted({label for a, b, *_ in pairs for label, _, _ in (*a, *b)} | set(also))
    ids = {label: i for i, label in enumerate(labels)}
    counts = np.zeros((len(pairs), _LABELLED + 3 * len(labels)), dtype=np.int32)
    for row, (a, b, words, tags_right) in zip(counts, pairs, strict=True):
        row[3], row[4] = words, tags_right
        row[5], row[6] = 1, int(a == b)
        for which, brackets in enumerate((a, b, a & b)):
            row[which] = brackets.total()
            for (label, _, _), times in brackets.items():
                row[_LABELLED + 3 * ids[label] + which] += times
    return Tally.from_dense(counts, _by_key), labels


def brackets(tree: Tree, deleted: Sequence[bool]) -> list[Bracket]:
    """The constituents of a tree over the words that are not deleted, without preterminals and empty constituents."""
    found: list[Bracket] = []
    stay = read = 0  # words so far: those not deleted, and all
    waiting: list[tuple[Tree, int | None]] = [(tree, None)]  # a start: the node's words have been read
    while waiting:
        node, start = waiting.pop()
        if node.word is not None:
            stay += not deleted[read]
            read += 1
        elif start is None:
            waiting.append((node, stay))
            waiting.extend((child, None) for child in reversed(node.children))
        else:
            label = plain_label(node.label)
            if label not in ROOTS and stay > start:
                found.append((EQUIVALENT.get(label, label), start, stay))
    return found


_LABELLED = 7
_NOTHING = Tree("")


def _compared(
    n: int, gold: Tree, predicted: Tree, strip_empty: bool
) -> tuple[Counter[Bracket], Counter[Bracket], int, int]:
    """The brackets of both sides, the number of words, and the number of words with the gold tag."""
    if strip_empty:
        gold, predicted = stripped(gold) or _NOTHING, stripped(predicted) or _NOTHING
    a, b = ([node for node in nodes(tree) if node.word is not None] for tree in (gold, predicted))
    if len(a) != len(b):
        raise DataError(f"tree {n + 1}: gold has {len(a)} words, the prediction has {len(b)}")
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if x.word != y.word:
            raise DataError(f"tree {n + 1}: word {i + 1} is {x.word!r} in gold, {y.word!r} in the prediction")
    # The gold tags decide what is punctuation on both sides, so that a wrong tag cannot shift the words.
    deleted = [leaf.label in PUNCTUATION or leaf.label == EMPTY for leaf in a]
    right = sum(x.label == y.label for x, y, gone in zip(a, b, deleted, strict=True) if not gone)
    sides = Counter(brackets(gold, deleted)), Counter(brackets(predicted, deleted))
    return *sides, len(a) - sum(deleted), right


def _by_key(sums: Sums) -> dict[str, Floats]:
    p, r, f = rates(sums[..., 0], sums[..., 1], sums[..., 2])
    return {
        "bracket.precision": p,
        "bracket.recall": r,
        "bracket.f1": f,
        "exact_match": ratio(sums[..., 6], sums[..., 5]),
        "tag_accuracy": ratio(sums[..., 4], sums[..., 3]),
    }


class TreeOutputs(DocumentOutputs):
    """Sentences with parse trees."""

    task = "trees"
    sizes = ("trees",)
    remark = (
        "Trees carry no probabilities, so there is no calibration error. chaffinch train prints the calibration error "
        "of phrases on held-out trees; predict --marginals lists phrases with their probabilities."
    )
    headline = ("bracket.f1", "bracket.precision", "bracket.recall", "exact_match", "tag_accuracy")
    same_text = False

    @classmethod
    def holds(cls, documents: Sequence[Document]) -> bool:
        """Whether any sentence has a tree."""
        return any(d.tree is not None for d in documents)

    def scored(self, rules: Rules) -> tuple[TreeScores, list[Tally]]:
        """Brackets and parts of speech."""
        trees = [[d.tree or _NOTHING for d in side] for side in (self.gold, *self.outputs)]
        # A comparison needs one label list for both outputs: the labels of either.
        compared = trees[1:] if len(trees) > 2 else []
        used = {plain_label(node.label) for side in compared for tree in side for node in nodes(tree)}
        tallies = [tree_tally(trees[0], side, also=used) for side in trees[1:]]
        return TreeScores.of(*tallies[0]), [tally for tally, _ in tallies]

    def convention(self, rules: Rules) -> str:
        """The rules of evalb."""
        return "evalb"

    def classes(self, scores: TreeScores) -> Classes:
        """The constituents by label."""
        return Classes("constituent", "bracket.label", scores.labels)
