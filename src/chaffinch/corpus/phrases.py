"""Labelled phrases: every node of labelled trees, or a file of short texts."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus.registry import detect, read
from chaffinch.errors import DataError
from chaffinch.files import display_name
from chaffinch.text.binary_trees import nodes
from chaffinch.text.document import Tree

ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


@dataclass(frozen=True)
class LabelledPhrases:
    """Phrases (words separated by spaces), each with its label.

    sentences: the text that each phrase comes from; None: every text that contains its words

    >>> phrases = LabelledPhrases(["good", "tea"], ["+", "0"])
    >>> [list(map(int, found)) for found in phrases.places(["good tea", "bad tea"])]
    [[0, 1, 1], [0, 0, 1]]
    """

    texts: list[str]
    labels: list[str]
    sentences: list[str] | None = None

    @classmethod
    def read(cls, path: str | Path) -> "LabelledPhrases":
        """Bracketed trees with a label at every node, ``(3 (2 The) (4 best))``, or documents with one label each."""
        if "tree" in detect(path).carries:
            found = [phrase for d in read(path) if d.tree is not None for phrase in _of_tree(d.tree)]
            texts, labels, sentences = (
                (list(column) for column in zip(*found, strict=True)) if found else ([],) * 3
            )
        else:
            documents = list(read(path))
            for n, d in enumerate(documents):
                if len(d.labels) != 1:
                    raise DataError(
                        f"{display_name(path)}: phrase {n + 1} has {len(d.labels)} labels, expected one each"
                    )
            texts, labels = [" ".join(d.text.split()) for d in documents], [d.labels[0] for d in documents]
            sentences = None
        if not texts:
            raise DataError(f"{display_name(path)}: has no phrases")
        return cls(texts, labels, sentences)

    def places(self, documents: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which phrases are in which documents: the indices of phrases, and the index of the document of each.

        Phrases of other documents are left out: held-out documents must not leak through their phrases.
        """
        found: list[tuple[int, int]] = []
        if self.sentences is None:
            found = self._inside(documents)
        else:
            number = {_squeezed(text): n for n, text in enumerate(documents)}
            for p, sentence in enumerate(self.sentences):
                n = number.get(_squeezed(sentence))
                if n is not None:
                    found.append((p, n))
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _inside(self, documents: list[str]) -> list[tuple[int, int]]:
        number: dict[str, int] = {}
        lengths: dict[str, set[int]] = defaultdict(set)
        for p, text in enumerate(self.texts):
            words = text.split()
            if words:
                number.setdefault(text, p)
                lengths[words[0]].add(len(words))
        found: dict[tuple[int, int], None] = {}
        for n, document in enumerate(documents):
            words = document.split()
            for i, word in enumerate(words):
                for length in sorted(lengths.get(word, ())):
                    p = number.get(" ".join(words[i : i + length]), -1) if i + length <= len(words) else -1
                    if p >= 0:
                        found[p, n] = None
        return list(found)


def _of_tree(tree: Tree) -> list[tuple[str, str, str]]:
    """The words and the label of every node, and the words of the whole tree."""
    order = list(nodes(tree))
    size: dict[int, int] = {}  # words below each node
    for node in reversed(order):
        size[id(node)] = 1 if node.word is not None else sum(size[id(child)] for child in node.children)
    words = [_unescaped(node.word) for node in order if node.word is not None]
    whole = " ".join(words)
    # Parents come before children, so a node's words begin after those of the leaves so far.
    found, before = [], 0
    for node in order:
        found.append((" ".join(words[before : before + size[id(node)]]), node.label, whole))
        before += node.word is not None
    return found


def _unescaped(word: str) -> str:
    return ESCAPES.get(word, word).replace("\\/", "/").replace("\\*", "*")


def _squeezed(text: str) -> str:
    return "".join(text.split())
