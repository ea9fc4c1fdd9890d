"""K-best lists of taggers and parsers: candidates with their losses, for reranking."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.estimators.parser import Parser, trees_of, words_of
from chaffinch.estimators.reranker import cross_validated
from chaffinch.estimators.tagger import Tagger
from chaffinch.model.candidates import CandidateList, tree_losses
from chaffinch.model.head_grammar import HeadGrammar
from chaffinch.text.document import LABEL, WORD, Tree
from chaffinch.text.schemes import Scheme, detect, spans
from chaffinch.text.schemes.table import letter_and_type
from chaffinch.text.table import TokenTable


def tag_lists(
    tagger: Tagger,
    table: TokenTable,
    k: int,
    *,
    gold: Sequence[Sequence[str]] | None = None,
    wrong: float = 1.0,
) -> list[CandidateList]:
    """The k best labellings of each sentence. With gold labels each has a loss.

    The input of a list is the sentence: words, or words and the column after them.
    wrong: the cost of a spurious span; a missed one costs 1

    >>> table = TokenTable.from_lists({"w": [["a", "b"]], "y": [["X", "Y"]]})
    >>> tagger = Tagger("hmm").fit(table)
    >>> found = tag_lists(tagger, table, 2, gold=[["X", "Y"]])[0]
    >>> found.x, found.candidates[0], found.losses.tolist()
    (['a', 'b'], ['X', 'Y'], [0.0, 1.0])
    """
    lists = []
    for sentence, readings in zip(sentences_of(table), tagger.predict_kbest(table, k), strict=True):
        scores = np.array([score for score, _ in readings], np.float64)
        lists.append(CandidateList(sentence, [labels for _, labels in readings], scores))
    return lists if gold is None else _judged(lists, gold, wrong)


def cross_validated_tag_lists(
    make: Callable[[], Tagger], table: TokenTable, k: int, folds: int = 5, *, wrong: float | None = None
) -> list[CandidateList]:
    """Out-of-fold lists for labelled sentences.

    wrong: as for ``tag_lists``; None: the value that suits the F1 of these lists' first labellings
    """

    def lists(rest: NDArray[np.int64], held: NDArray[np.int64]) -> list[CandidateList]:
        return tag_lists(make().fit(_taken(table, rest)), _taken(table, held), k)

    made, gold = cross_validated(table.n_sentences, folds, lists), table.lists(LABEL)
    return _judged(made, gold, worth_of_a_wrong_span(gold, made) if wrong is None else wrong)


def worth_of_a_wrong_span(gold: Sequence[Sequence[str]], lists: Sequence[CandidateList]) -> float:
    """F / (2 - F) for the F1 of the first labellings: the number of missed spans that cost as much as a spurious one.

        F = 2 right / (found + wanted):   one more right span adds (2 - F) / (found + wanted), one more wrong takes F

    So a low F1 favours doubtful spans. 1 if labels mark no spans.
    """
    scheme = _scheme(gold, lists)
    if scheme is None:
        return 1.0
    right = both = 0
    for labels, one in zip(gold, lists, strict=True):
        wanted, found = set(spans(labels, scheme)), set(spans(one.candidates[0], scheme))
        right += len(wanted & found)
        both += len(wanted) + len(found)
    F = 2 * right / both if both else 1.0
    return F / (2 - F)


def labelling_losses(
    gold: Sequence[str], candidates: Sequence[Sequence[str]], scheme: Scheme | None, wrong: float = 1.0
) -> NDArray[np.float64]:
    """The loss of each candidate: missed spans plus ``wrong`` per spurious one; without a scheme, wrong labels.

    >>> from chaffinch.text.schemes import BIO
    >>> labelling_losses(["B-NP", "I-NP", "O"], [["B-NP", "O", "O"]], BIO, wrong=0.5)
    array([1.5])
    >>> labelling_losses(["DT", "NN"], [["DT", "VB"]], None)
    array([1.])
    """
    if scheme is None:
        return np.array([float(sum(a != b for a, b in zip(gold, y, strict=True))) for y in candidates])
    right = set(spans(gold, scheme))
    found = [set(spans(y, scheme)) for y in candidates]
    return np.array([len(right - y) + wrong * len(y - right) for y in found], np.float64)


def _judged(
    lists: Sequence[CandidateList], gold: Sequence[Sequence[str]], wrong: float
) -> list[CandidateList]:
    scheme = _scheme(gold, lists)
    return [
        replace(one, losses=labelling_losses(labels, one.candidates, scheme, wrong))
        for labels, one in zip(gold, lists, strict=True)
    ]


def _scheme(gold: Sequence[Sequence[str]], lists: Sequence[CandidateList]) -> Scheme | None:
    """The tag scheme of the gold labels if the candidates' labels fit it too; None: tokens are counted."""
    scheme = detect(gold)
    labels = {label for one in lists for y in one.candidates for label in y}
    return (
        None
        if scheme is not None and any(letter_and_type(label, scheme) is None for label in labels)
        else scheme
    )


def sentences_of(table: TokenTable) -> list[Any]:
    """Sentences in the form that features read: words, or tuples of a word and the next column."""
    columns = [name for name in table.columns if name != LABEL]
    words = table.lists(WORD if WORD in columns else columns[0])
    if len(columns) < 2:
        return words
    more = table.lists(columns[1])
    return [list(zip(a, b, strict=True)) for a, b in zip(words, more, strict=True)]


def _taken(table: TokenTable, sentences: NDArray[np.int64]) -> TokenTable:
    """Some sentences of a table, in this order."""
    lists = {name: table.lists(name) for name in table.columns}
    return TokenTable.from_lists(
        {name: [rows[i] for i in sentences.tolist()] for name, rows in lists.items()}
    )


def tree_lists(
    parser: Parser,
    sentences: Sequence[Sequence[str]],
    k: int,
    gold: Sequence[Tree] | None = None,
    grammar: HeadGrammar | None = None,
) -> list[CandidateList]:
    """The k best trees of each sentence; with gold trees, the loss of each (1 - F1 of its brackets).

    grammar: a further model that scores each tree
    """
    found = []
    for n, parses in enumerate(parser.predict_kbest(sentences, k)):
        trees = [tree for _, tree in parses]
        scores = np.maximum([score for score, _ in parses], LOWEST)
        losses = None if gold is None else tree_losses(gold[n], trees)
        others = None if grammar is None else grammar.scores(trees)
        found.append(CandidateList(sentences[n], trees, scores, losses, others))
    return found


LOWEST = -1e30  # the score of a sentence without a tree


def cross_validated_tree_lists(
    make: Callable[[], Parser], trees: Sequence[Tree], k: int, folds: int, *, grammar: bool = False
) -> list[CandidateList]:
    """Out-of-fold lists for training; ``make`` returns an untrained parser.

    grammar: also score trees by a lexicalised grammar, counted from the parser's training trees
    """
    plain = trees_of(trees)

    def listed(rest: np.ndarray, held: np.ndarray) -> list[CandidateList]:
        seen = [plain[n] for n in rest.tolist()]
        parser, counted = make().fit(seen), HeadGrammar.counted(seen) if grammar else None
        gold = [plain[n] for n in held.tolist()]
        return tree_lists(parser, [words_of(tree) for tree in gold], k, gold, counted)

    return cross_validated(len(plain), folds, listed)
