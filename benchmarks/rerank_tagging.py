"""What does reranking the 20 best readings of a CRF gain? WNUT 2017, both with default settings."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TRAIN, TEST = "wnut17/train.tsv", "wnut17/test.tsv"
K, FOLDS = 20, 5


def lists(_seed: int) -> dict[str, Any]:
    from chaffinch import Tagger

    return made(lambda: Tagger("crf", folds=0, threads=1), None)


def made(tagger: Any, wrong: float | None) -> dict[str, Any]:
    """Lists for training by cross-validation, and those of the test split."""
    from chaffinch.corpus import read_table
    from chaffinch.estimators.candidate_lists import cross_validated_tag_lists, tag_lists

    train, test = read_table(corpus(TRAIN)), read_table(corpus(TEST))
    gold = test.lists("y")
    return {
        "train": cross_validated_tag_lists(tagger, train, K, FOLDS, wrong=wrong),
        "test": tag_lists(tagger().fit(train), test, K, gold=gold),
        "gold": gold,
    }


def reranked(given: dict[str, Any], recipe: str) -> Any:
    from chaffinch import Reranker

    return Reranker(recipe, threads=1).fit(given["train"]).predict(given["test"])


def scores(given: dict[str, Any], output: Any) -> dict[str, float]:
    from chaffinch.estimators.reranker import oracle
    from chaffinch.evaluate.tag_outputs import tag_gain

    base = [one.candidates[0] for one in given["test"]]
    outputs = {"this": output, "base": base, "oracle": oracle(given["test"])}
    found = tag_gain(given["gold"], outputs, "this", "base")
    gain = {"gain": found.gain.difference, "low": found.gain.low, "high": found.gain.high}
    return {
        "F1": found.scores["this"],
        "base F1": found.scores["base"],
        "oracle F1": found.scores["oracle"],
        **gain,
    }


BENCHMARK = Benchmark(
    name="rerank_tagging",
    question="WNUT 2017: what does reranking the 20 best readings of a CRF gain, with no setting at all?",
    input=lists,
    work=lambda given: (float(len(given["train"])), "lists"),
    ours=Contender(name="risk", run=lambda given: reranked(given, "risk")),
    rivals=(Contender(name="likelihood", run=lambda given: reranked(given, "likelihood")),),
    scores=scores,
    needs=(TRAIN, TEST),
    repeats=1,
)
