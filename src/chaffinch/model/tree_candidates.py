"""Lists of trees to rerank: their features, and their losses against the right tree."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus.brackets import nodes
from chaffinch.evaluate.trees import PUNCTUATION, brackets
from chaffinch.features.tag_lists import KeyedRows
from chaffinch.features.tree_lists import tree_list_features, tree_list_names
from chaffinch.model.candidates import CandidateList, TagCandidates
from chaffinch.text.document import Tree


class TreeCandidates(TagCandidates):
    """The ready-made features of trees.

    keys: uint64 [F], ascending
    """

    def _names(self, one: CandidateList) -> dict[int, str]:
        return tree_list_names(one.candidates)

    def _found(self, lists: Sequence[CandidateList]) -> KeyedRows:
        return tree_list_features([one.candidates for one in lists], [one.scores for one in lists])


def tree_losses(gold: Tree, candidates: Sequence[Tree]) -> NDArray[np.float64]:
    """1 - F1 of each candidate's brackets, as evalb counts them."""
    deleted = [node.label in PUNCTUATION for node in nodes(gold) if node.word is not None]
    right = Counter(brackets(gold, deleted))
    losses = []
    for candidate in candidates:
        found = Counter(brackets(candidate, deleted))
        total = right.total() + found.total()
        losses.append(1 - 2 * (right & found).total() / total if total else 0.0)
    return np.array(losses)
