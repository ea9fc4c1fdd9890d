"""K-best lists of a parser, as a reranker takes them."""

from collections.abc import Callable, Sequence

import numpy as np

from chaffinch.corpus.brackets import nodes
from chaffinch.estimators.parser import Parser, trees_of
from chaffinch.estimators.reranker import cross_validated
from chaffinch.model.candidates import CandidateList, tree_losses
from chaffinch.model.head_grammar import HeadGrammar
from chaffinch.text.document import Tree


def tree_lists(
    parser: Parser,
    sentences: Sequence[Sequence[str]],
    k: int,
    gold: Sequence[Tree] | None = None,
    grammar: HeadGrammar | None = None,
) -> list[CandidateList]:
    """The k best trees of each sentence; with the right trees, how wrong each is (1 - F1 of its brackets).

    grammar: what else is asked how likely each tree is
    """
    found = []
    for n, parses in enumerate(parser.predict_kbest(sentences, k)):
        trees = [tree for _, tree in parses]
        scores = np.maximum([score for score, _ in parses], LOWEST)
        losses = None if gold is None else tree_losses(gold[n], trees)
        others = None if grammar is None else grammar.scores(trees)
        found.append(CandidateList(sentences[n], trees, scores, losses, others))
    return found


LOWEST = -1e30  # the score of a sentence that no tree was found for


def cross_validated_tree_lists(
    make: Callable[[], Parser], trees: Sequence[Tree], k: int, folds: int, *, grammar: bool = False
) -> list[CandidateList]:
    """Lists for training by parsers that have not seen their sentences; ``make`` gives one yet to be trained.

    grammar: a grammar with heads, counted off the trees that the parser has seen, is asked too
    """
    plain = trees_of(trees)

    def listed(rest: np.ndarray, part: np.ndarray) -> list[CandidateList]:
        seen = [plain[n] for n in rest.tolist()]
        parser, counted = make().fit(seen), HeadGrammar.counted(seen) if grammar else None
        held = [plain[n] for n in part.tolist()]
        return tree_lists(parser, [words_of(tree) for tree in held], k, held, counted)

    return cross_validated(len(plain), folds, listed)


def words_of(tree: Tree) -> list[str]:
    """The words of a tree."""
    return [node.word for node in nodes(tree) if node.word is not None]
