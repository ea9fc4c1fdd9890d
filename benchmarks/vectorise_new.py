"""New text over the features of a fitted vectoriser: most of the time that a prediction takes."""

from typing import Any

from benchmarks import vectorise
from benchmarks.benchmark import Benchmark, Contender

Prepared = tuple[Any, list[str]]


def ours_fitted(texts: list[str]) -> Prepared:
    return _fitted(vectorise.our_vectorizer(texts))


def sklearn_fitted(texts: list[str]) -> Prepared:
    return _fitted(vectorise.sklearn_vectorizer(texts))


def transform(prepared: Prepared) -> Any:
    vectorizer, texts = prepared
    return vectorizer.transform(texts)


def _fitted(prepared: Prepared) -> Prepared:
    vectorizer, texts = prepared
    vectorizer.fit(texts[::2])
    return vectorizer, texts[1::2]


BENCHMARK = Benchmark(
    name="vectorise_new",
    question="How fast do new posts become counts of the uni- and bigrams that are known?",
    input=vectorise.posts,
    work=lambda texts: (sum(map(len, texts[1::2])) / 1e6, "MB"),
    ours=Contender(name="chaffinch", prepare=ours_fitted, run=transform),
    rivals=(Contender(name="scikit-learn", prepare=sklearn_fitted, run=transform, package="scikit-learn"),),
    scores=vectorise.size,
    bar=15.0,
    clock="wall",
    needs=(vectorise.TRAIN,),
    repeats=3,
)
