"""Kernels on TREC questions: words, strings, and trees of chunks, beside each other.

The trees are shallow: parts of speech and chunks as two taggers trained on CoNLL-2000 give them.
"""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus
from benchmarks.labelled import TREC, accuracy, texts

CHUNKS = "conll2000/train.tsv"
C = 10.0


def questions(_seed: int) -> Any:
    """Pairs of a question and its tree, and their labels, to learn from and to test on."""
    from chaffinch import Tagger
    from chaffinch.corpus import read_table

    table = read_table(corpus(CHUNKS))
    words = table.lists("w")
    taggers = [Tagger("perceptron").fit(words, table.lists(column)) for column in ("pos", "y")]
    parts = []
    for name in TREC[:2]:
        X, y = texts(name, "coarse")
        split = [text.split() for text in X]
        tags, chunks = (tagger.predict(split) for tagger in taggers)
        trees = [chunk_tree(*one) for one in zip(split, tags, chunks, strict=True)]
        parts.append(([(t.lower(), tree) for t, tree in zip(X, trees, strict=True)], y))
    return parts


def chunk_tree(words: list[str], tags: list[str], chunks: list[str]) -> Any:
    """(Q (NP (DT the) (NN cat)) (VP ...) ...): chunks under one root, words of no chunk by themselves."""
    from chaffinch.text.document import Tree

    found: list[tuple[str, list[Any]]] = []
    for word, tag, chunk in zip(words, tags, chunks, strict=True):
        leaf = Tree(tag, (), word.lower())
        kind = chunk[2:]
        if kind and not chunk.startswith("B-") and found and found[-1][0] == kind:
            found[-1][1].append(leaf)
        else:
            found.append((kind, [leaf]))
    return Tree("Q", tuple(Tree(kind, tuple(below)) if kind else below[0] for kind, below in found))


def machine(kind: str) -> Any:
    """A kernel SVM of one view of the questions, or of several together."""

    def prepare(given: Any) -> Any:
        from chaffinch import Classifier
        from chaffinch.kernels import (
            Part,
            PartialTreeKernel,
            Spectrum,
            Subsequence,
            SubsetTreeKernel,
            SubtreeKernel,
            WordSequence,
        )
        from chaffinch.learners.kernel_svm import KernelSvm

        views = {
            "words": Part(Spectrum(low=1, high=1, unit="words").normalised(), 0),
            "word pairs": Part(Spectrum(low=1, high=2, unit="words").normalised(), 0),
            "characters": Part(Spectrum(low=1, high=4).normalised(), 0),
            "longer characters": Part(Spectrum(low=2, high=5).normalised(), 0),
            "subsequences": Part(Subsequence(low=1, high=4).normalised(), 0),
            "word sequences": Part(WordSequence().normalised(), 0),
            "subtrees": Part(SubtreeKernel().normalised(), 1),
            "subset trees": Part(SubsetTreeKernel().normalised(), 1),
            "partial trees": Part(PartialTreeKernel().normalised(), 1),
        }
        first, *others = (views[name] for name in kind.split(" + "))
        for other in others:
            first = first + other
        return Classifier(KernelSvm(C=C, folds=0), kernel=first), given

    return prepare


def fit_and_label(prepared: Any) -> Any:
    classifier, (train, test) = prepared
    return classifier.fit(*train).predict(test[0])


BENCHMARK = Benchmark(
    name="kernels_trec",
    question="How well do kernels of words, strings and chunk trees tell what kind of answer a question wants?",
    input=questions,
    work=lambda given: (float(len(given[0][1])), "questions"),
    ours=Contender(
        name="word pairs + subset trees", prepare=machine("word pairs + subset trees"), run=fit_and_label
    ),
    rivals=tuple(
        Contender(name=kind, prepare=machine(kind), run=fit_and_label)
        for kind in (
            "words",
            "word pairs",
            "characters",
            "subsequences",
            "word sequences",
            "subtrees",
            "subset trees",
            "partial trees",
            "word pairs + subtrees",
            "longer characters + word pairs + subset trees",
        )
    ),
    scores=lambda given, predicted: {"accuracy": accuracy(predicted, given[1][1])},
    fresh=False,
    needs=(*TREC[:2], CHUNKS),
    repeats=1,
)
