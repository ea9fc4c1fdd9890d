"""Raw posts to labels: posts per second of a trained classifier."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.classify_20news import fit, ours, posts, sklearn_sgd
from benchmarks.labelled import NEWS, Split, accuracy


def trained(prepare: Any) -> Any:
    def prepared(given: tuple[Split, Split, int]) -> tuple[Any, list[str]]:
        return fit(prepare(given)), given[1][0]

    return prepared


def predict(prepared: tuple[Any, list[str]]) -> Any:
    model, documents = prepared
    return model.predict(documents)


BENCHMARK = Benchmark(
    name="classify_20news_predict",
    question="How fast do 7,532 raw posts get their labels?",
    input=posts,
    work=lambda given: (float(len(given[1][0])), "posts"),
    ours=Contender(name="chaffinch", prepare=trained(ours("words")), run=predict),
    rivals=(
        Contender(name="scikit-learn SGD", prepare=trained(sklearn_sgd), run=predict, package="scikit-learn"),
    ),
    scores=lambda given, labels: {"accuracy": accuracy(labels, given[1][1])},
    bar=12.0,
    clock="wall",
    needs=NEWS,
    repeats=3,
)
