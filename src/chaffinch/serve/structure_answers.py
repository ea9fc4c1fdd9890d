"""Parsers and aligners behind the server, read-only: trees with their constituents, links between two sentences."""

from collections.abc import Sequence
from typing import Any

from chaffinch.corpus.brackets import bracketed
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Aligner, Parser
from chaffinch.kinds.links import LinkKind
from chaffinch.kinds.trees import TreeKind
from chaffinch.serve.answers import Answer, Answering, InputRow, row_of_words
from chaffinch.serve.messages import Asked, Input, one_input
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import Document, Tree

LONGEST = 120  # words of a sentence: the work grows with the third power
MOST_SENTENCES = 500


class TreeAnswering(Answering):
    """Trees of sentences."""

    kind = TreeKind
    name = "trees"

    def labels(self, model: Parser) -> list[str]:
        """Labels of phrases and of words."""
        return list(model.labels_)

    def has_probabilities(self, model: Parser) -> bool:
        """The probability of a whole tree is not computed."""
        return False

    def rows(self, model: Parser, body: Input) -> list[InputRow]:
        """Texts are cut into words."""
        form = one_input(body, "text", "texts", "tokens", "sentences")
        if form in ("text", "texts"):
            given: list[Any] = [body.text] if body.text is not None else list(body.texts or [])
        else:
            given = [body.tokens] if body.tokens is not None else list(body.sentences or [])
        return _short([row_of_words(one) for one in given])

    def row_of(self, model: Parser, document: Document) -> InputRow:
        """The words of a document."""
        offsets = [(token.start, token.end) for token in document.tokens]
        words = document.words()
        return InputRow(document.text, "\x1e".join(words), words, None, offsets)

    def cost(self, row: InputRow) -> int:
        """The third power of the length."""
        return 1 + len(row.words) ** 3

    def answers(self, model: Parser, rows: Sequence[InputRow], asked: Asked) -> list[Answer]:
        """A tree each; an empty sentence has none."""
        _no_lists(asked)
        given = [[_as_in_trees(word) for word in row.words] for row in _short(rows)]
        parsed = iter(model.predict([words for words in given if words]))
        return [
            _tree_answer(row, next(parsed) if words else None) for row, words in zip(rows, given, strict=True)
        ]

    def plain(self, answer: Tree) -> str:
        """Brackets."""
        return bracketed(answer)

    def gold(self, answer: Tree) -> Answer:
        """Brackets."""
        return {"tree": bracketed(answer)}


class LinkAnswering(Answering):
    """Links between the words of a sentence and of its translation."""

    kind = LinkKind
    name = "links"

    def labels(self, model: Aligner) -> list[str]:
        """Links have none."""
        return []

    def has_probabilities(self, model: Aligner) -> bool:
        """Links have none."""
        return False

    def rows(self, model: Aligner, body: Input) -> list[InputRow]:
        """One pair of sentences."""
        if body.source is None or body.target is None:
            raise DataError(
                "expected source and target in the request, the words of a sentence and its translation"
            )
        one_input(body, "source")
        row = row_of_words(body.source)
        row.target = list(body.target)
        row.key += "\x1f" + "\x1e".join(row.target)
        return _short([row])

    def row_of(self, model: Aligner, document: Document) -> InputRow:
        """The words of a pair."""
        row = row_of_words(document.words())
        row.target = [] if document.links is None else list(document.links.target)
        return row

    def cost(self, row: InputRow) -> int:
        """The third power of the length."""
        return 1 + max(len(row.words), len(row.target)) ** 3

    def answers(self, model: Aligner, rows: Sequence[InputRow], asked: Asked) -> list[Answer]:
        """Links as pairs of word numbers, from 0."""
        _no_lists(asked)
        found = model.predict([(row.words, row.target) for row in _short(rows)])
        return [
            {"source": row.words, "target": row.target, "links": sorted(map(list, links)), "certainty": None}
            for row, links in zip(rows, found, strict=True)
        ]

    def plain(self, answer: Any) -> list[list[int]]:
        """Pairs of word numbers, from 0."""
        return sorted(map(list, answer))

    def gold(self, answer: Any) -> Answer:
        """Pairs of word numbers, from 0."""
        return {"links": self.plain(answer)}


def _short(rows: Sequence[InputRow]) -> list[InputRow]:
    longest = max((max(len(row.words), len(row.target)) for row in rows), default=0)
    if longest > LONGEST or len(rows) > MOST_SENTENCES:
        raise DataError(
            f"expected at most {MOST_SENTENCES} sentences of at most {LONGEST} words, got {len(rows)}, the longest of "
            f"{longest}"
        )
    return list(rows)


def _no_lists(asked: Asked) -> None:
    if asked.kbest or asked.probabilities:
        raise ConfigError("kbest and probabilities work only for tags and documents")


def _as_in_trees(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def _tree_answer(row: InputRow, tree: Tree | None) -> Answer:
    return {
        "text": row.text,
        "tokens": row.offsets,
        "tree": None if tree is None else bracketed(tree),
        "nodes": [] if tree is None else _nodes(tree),
        "certainty": None,
    }


def _nodes(tree: Tree) -> list[Answer]:
    """Every phrase and every word's part of speech with its tokens, in preorder."""
    sizes: dict[int, int] = {}
    order = list(nodes(tree))
    for node in reversed(order):
        sizes[id(node)] = 1 if node.word is not None else sum(sizes[id(child)] for child in node.children)
    made, waiting = [], [(tree, 0)]
    while waiting:
        node, start = waiting.pop()
        made.append({"start": start, "end": start + sizes[id(node)], "label": node.label})
        below = []
        for child in node.children:
            below.append((child, start))
            start += sizes[id(child)]
        waiting += reversed(below)
    return made
