"""Sentences to parse, as a question sheet."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaffinch.corpus import detect
from chaffinch.corpus.brackets import bracketed, nodes, stripped
from chaffinch.errors import DataError
from chaffinch.estimators import Parser
from chaffinch.evaluate.mistakes import Reading
from chaffinch.evaluate.sources import TREES, DocumentSource
from chaffinch.evaluate.trees import brackets
from chaffinch.files import display_name
from chaffinch.lab.input_columns import words_to_parse
from chaffinch.lab.sheets.sheet import Confusion, Source, missed_and_invented, rows_of
from chaffinch.text.document import Document, Tree


class TreeSheet:
    """Sentences and their parse trees, taken apart as evalb does; parts of speech count too."""

    unit = "words"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.labelled = "tree" in detect(path).carries
        self.gold: list[Tree] = []
        if self.labelled:
            self.documents = [d for d in rows_of(path, {}) if d.tree is not None and stripped(d.tree)]
            self.gold = [stripped(d.tree) or d.tree for d in self.documents if d.tree is not None]
            self.sentences: list[Any] = [_leaves(tree) for tree in self.gold]
        else:
            self.sentences = words_to_parse(path)
            self.documents = [
                Document.from_words([w if isinstance(w, str) else w[0] for w in words])
                for words in self.sentences
            ]
        if not self.documents:
            raise DataError(f"{display_name(path)}: has no tree")
        self.units = sum(map(len, self.sentences))

    def ask(self, model: Parser) -> list[Tree]:
        """A tree each."""
        return model.predict(self.sentences)

    def in_source(self, found: Source) -> list[Tree]:
        """The trees of an output."""
        assert isinstance(found, DocumentSource)
        return [stripped(d.tree) or d.tree for d in found.outputs[0] if d.tree is not None]

    def source(self, names: tuple[str, ...], outputs: Sequence[list[Tree]]) -> DocumentSource:
        """Each output as documents."""
        gold = [replace(d, tree=tree) for d, tree in zip(self.documents, self.gold, strict=True)]
        made = tuple([replace(d, tree=t) for d, t in zip(gold, trees, strict=True)] for trees in outputs)
        return DocumentSource(TREES, names, gold, made)

    def readings(self, outputs: Sequence[Sequence[Tree]], rows: Sequence[int]) -> list[list[Reading]]:
        """Constituents, then parts of speech."""
        return [[_reading(trees[n]) for n in rows] for trees in outputs]

    def mistakes(self, row: int, right: Reading, given: Reading) -> Counter[Confusion]:
        """Constituents and parts of speech; two over the same words were taken for each other."""
        words = len(self.sentences[row])
        above = missed_and_invented(right[:-words], given[:-words])
        return above + missed_and_invented(right[-words:], given[-words:])

    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """The label and its words."""
        label, begin, end = piece
        words = [w if isinstance(w, str) else w[0] for w in self.sentences[row]]
        return f"({label} {' '.join(words[begin:end])})"

    def plain(self, answer: Tree) -> str:
        """Brackets."""
        return bracketed(answer)


def _reading(tree: Tree) -> Reading:
    leaves = [node for node in nodes(tree) if node.word is not None]
    tags = [(leaf.label, t, t + 1) for t, leaf in enumerate(leaves)]
    return [*sorted(brackets(tree, [False] * len(leaves))), *tags]


def _leaves(tree: Tree) -> list[str]:
    return [node.word for node in nodes(tree) if node.word is not None]
