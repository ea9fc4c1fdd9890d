"""Raw posts to a trained classifier, beside the two fast learners of hashed words."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.classify_20news import THREADS, fit, ours, posts
from benchmarks.hashing_rivals import FastText, VowpalWabbit
from benchmarks.labelled import NEWS, Split, accuracy


def vowpal_wabbit(given: tuple[Split, Split, int]) -> tuple[Any, Split]:
    import vowpalwabbit  # noqa: F401, so that importing it is not timed

    return VowpalWabbit(given[2]), given[0]


def fasttext(given: tuple[Split, Split, int]) -> tuple[Any, Split]:
    import fasttext  # noqa: F401

    return FastText(given[2], THREADS), given[0]


def scores(given: tuple[Split, Split, int], model: Any) -> dict[str, float]:
    documents, labels = given[1]
    return {"accuracy": accuracy(model.predict(documents), labels)}


BENCHMARK = Benchmark(
    name="classify_20news_hashing",
    question="How fast do 11,314 posts become a classifier, beside Vowpal Wabbit's single pass and fastText?",
    input=posts,
    work=lambda given: (float(len(given[0][0])), "posts"),
    ours=Contender(name="chaffinch", prepare=ours("words"), run=fit),
    rivals=(
        Contender(name="Vowpal Wabbit, one pass", prepare=vowpal_wabbit, run=fit, package="vowpalwabbit"),
        Contender(name="fastText", prepare=fasttext, run=fit, package="fasttext-wheel"),
    ),
    scores=scores,
    bar=5.0,
    clock="wall",
    needs=NEWS,
    repeats=3,
)
