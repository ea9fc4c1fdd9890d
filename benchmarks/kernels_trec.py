"""Kernels on TREC questions: words, strings, and shallow trees of chunks, beside each other.

The trees are parts of speech and chunks as two taggers trained on CoNLL-2000 give them. ``kernels_trec_parses`` has the
trees of the parser.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus
from benchmarks.labelled import TREC, accuracy, texts
from chaffinch.kernels import (
    Kernel,
    PartialTreeKernel,
    Spectrum,
    Subsequence,
    SubsetTreeKernel,
    SubtreeKernel,
    WordSequence,
)
from chaffinch.text.document import Tree

CHUNKS = "conll2000/train.tsv"
C = 10.0

# Chosen with C by five-fold cross-validation on the training questions.
OF_TEXTS: dict[str, Kernel] = {
    "words": Spectrum(low=1, high=1, unit="words"),
    "word pairs": Spectrum(low=1, high=2, unit="words"),
    "characters": Spectrum(low=2, high=5),
    "subsequences": Subsequence(low=1, high=4),
    "word sequences": WordSequence(),
}
OF_TREES: dict[str, Kernel] = {
    "subtrees": SubtreeKernel(decay=0.8),
    "subset trees": SubsetTreeKernel(decay=0.1),
    "partial trees": PartialTreeKernel(),
}
WEIGHTS = dict.fromkeys(OF_TREES, 0.5)  # beside words; words and strings weigh 1


@dataclass(frozen=True, eq=False)
class Questions:
    """Texts in lower case, their trees and labels, the training questions first; Gram matrices once computed."""

    texts: list[str]
    trees: list[Tree]
    labels: list[str]
    trained: int
    _grams: dict[str, Any] = field(default_factory=dict)

    def gram(self, name: str) -> Any:
        """The normalised kernel of that name of all questions: float32 [n, n]."""
        if name not in self._grams:
            objects: Sequence[Any] = self.texts if name in OF_TEXTS else self.trees
            self._grams[name] = (OF_TEXTS | OF_TREES)[name].normalised().gram(objects).astype(np.float32)
        return self._grams[name]


@dataclass(frozen=True)
class Numbers:
    """The numbers of some questions."""

    which: Any

    def __len__(self) -> int:
        return len(self.which)

    def taken(self, which: Any) -> "Numbers":
        return Numbers(self.which[which])


@dataclass(frozen=True, eq=False)
class Known(Kernel):
    """A kernel with a known Gram matrix; its objects are row numbers."""

    K: Any

    def prepared(self, objects: Any) -> Numbers:
        return objects if isinstance(objects, Numbers) else Numbers(np.asarray(objects))

    def block(self, A: Numbers, B: Numbers, threads: int) -> Any:
        return self.K[np.ix_(A.which, B.which)]


def questions(trees: Callable[[list[list[str]]], list[Tree]]) -> Questions:
    """Training and test questions with trees of their words."""
    (X, y), (Z, z) = (texts(name, "coarse") for name in TREC[:2])
    asked = [*X, *Z]
    return Questions([t.lower() for t in asked], trees([t.split() for t in asked]), [*y, *z], len(X))


def chunk_trees(sentences: list[list[str]]) -> list[Tree]:
    """Chunks under one root."""
    from chaffinch import Tagger
    from chaffinch.corpus import read_table

    table = read_table(corpus(CHUNKS))
    tags, chunks = (
        Tagger("perceptron", folds=0).fit(table.lists("w"), table.lists(column)).predict(sentences)
        for column in ("pos", "y")
    )
    return [chunk_tree(*one) for one in zip(sentences, tags, chunks, strict=True)]


def chunk_tree(words: list[str], tags: list[str], chunks: list[str]) -> Tree:
    """(Q (NP (DT the) (NN cat)) (VP ...) ...): words outside chunks are leaves of the root."""
    found: list[tuple[str, list[Tree]]] = []
    for word, tag, chunk in zip(words, tags, chunks, strict=True):
        leaf = Tree(tag, (), word.lower())
        kind = chunk[2:]
        if kind and not chunk.startswith("B-") and found and found[-1][0] == kind:
            found[-1][1].append(leaf)
        else:
            found.append((kind, [leaf]))
    return Tree("Q", tuple(Tree(kind, tuple(below)) if kind else below[0] for kind, below in found))


def machine(views: str) -> Callable[[Questions], Any]:
    """A kernel SVM of one view of the questions, or of several together; Gram matrices are not timed."""

    def prepare(given: Questions) -> Any:
        from chaffinch import Classifier
        from chaffinch.learners.kernel_svm import KernelSvm

        names = views.split(" + ")
        K = sum(given.gram(name) * np.float32(WEIGHTS.get(name, 1.0)) for name in names)
        return Classifier(KernelSvm(C=C, folds=0), kernel=Known(K)), given

    return prepare


def fit_and_label(prepared: Any) -> Any:
    classifier, given = prepared
    numbers = list(range(len(given.labels)))
    n = given.trained
    return classifier.fit(numbers[:n], given.labels[:n]).predict(numbers[n:])


def benchmark(
    name: str, question: str, trees: Callable[[list[list[str]]], list[Tree]], needs: str, views: Sequence[str]
) -> Benchmark:
    """Every view on the same questions; all are ours, the first only takes that place."""
    first, *others = (Contender(name=view, prepare=machine(view), run=fit_and_label) for view in views)
    return Benchmark(
        name=name,
        question=question,
        input=lambda _seed: questions(trees),
        work=lambda given: (float(given.trained), "questions"),
        ours=first,
        rivals=tuple(others),
        scores=lambda given, predicted: {"accuracy": accuracy(predicted, given.labels[given.trained :])},
        fresh=False,
        needs=(*TREC[:2], needs),
        repeats=1,
    )


BENCHMARK = benchmark(
    "kernels_trec",
    "How well do kernels of words, strings and chunk trees classify questions by kind of answer?",
    chunk_trees,
    CHUNKS,
    (
        "word pairs + partial trees",
        "words",
        "word pairs",
        "characters",
        "subsequences",
        "word sequences",
        "subtrees",
        "subset trees",
        "partial trees",
        "word pairs + subtrees",
        "word pairs + subset trees",
        "characters + word pairs",
    ),
)
