"""K-best lists of taggers: candidates with their losses, for reranking."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.estimators.reranker import cross_validated
from chaffinch.estimators.tagger import Tagger
from chaffinch.model.candidates import CandidateList
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.schemes import Scheme, detect, spans
from chaffinch.text.schemes.table import parts
from chaffinch.text.table import TokenTable


def tag_lists(
    tagger: Tagger, table: TokenTable, k: int, *, gold: Sequence[Sequence[str]] | None = None
) -> list[CandidateList]:
    """The k best labellings of each sentence. With gold labels each has a loss.

    The input of a list is the sentence: words, or words and the column after them.

    >>> table = TokenTable.from_lists({"w": [["a", "b"]], "y": [["X", "Y"]]})
    >>> tagger = Tagger("hmm").fit(table)
    >>> found = tag_lists(tagger, table, 2, gold=[["X", "Y"]])[0]
    >>> found.x, found.candidates[0], found.losses.tolist()
    (['a', 'b'], ['X', 'Y'], [0.0, 1.0])
    """
    sentences = sentences_of(table)
    scheme = None if gold is None else detect(gold)
    if scheme is not None and any(parts(label, scheme) is None for label in tagger.classes_.tolist()):
        scheme = None  # labels of another kind among those of the tagger: then tokens are counted
    lists = []
    for n, readings in enumerate(tagger.predict_kbest(table, k)):
        candidates = [labels for _, labels in readings]
        scores = np.array([score for score, _ in readings], np.float64)
        losses = None if gold is None else labelling_losses(gold[n], candidates, scheme)
        lists.append(CandidateList(sentences[n], candidates, scores, losses))
    return lists


def cross_validated_tag_lists(
    make: Callable[[], Tagger], table: TokenTable, k: int, folds: int = 5
) -> list[CandidateList]:
    """Lists for labelled sentences, each by a tagger that was trained on the other folds."""

    def lists(rest: NDArray[np.int64], part: NDArray[np.int64]) -> list[CandidateList]:
        tagger = make().fit(_taken(table, rest))
        held_out = _taken(table, part)
        return tag_lists(tagger, held_out, k, gold=held_out.lists(LABEL))

    return cross_validated(table.n_sentences, folds, lists)


def labelling_losses(
    gold: Sequence[str], candidates: Sequence[Sequence[str]], scheme: Scheme | None
) -> NDArray[np.float64]:
    """For each candidate the spans that it or gold has alone; without a tag scheme, its wrong labels.

    >>> from chaffinch.text.schemes import BIO
    >>> labelling_losses(["B-NP", "I-NP", "O"], [["B-NP", "O", "O"]], BIO)
    array([2.])
    >>> labelling_losses(["DT", "NN"], [["DT", "VB"]], None)
    array([1.])
    """
    if scheme is None:
        return np.array([float(sum(a != b for a, b in zip(gold, y, strict=True))) for y in candidates])
    right = set(spans(gold, scheme))
    return np.array([float(len(right ^ set(spans(y, scheme)))) for y in candidates])


def sentences_of(table: TokenTable) -> list[Any]:
    """Sentences as the features read them: words, or tuples of the word and the next column."""
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
