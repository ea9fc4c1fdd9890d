"""What does reranking the 20 best readings of a CRF gain? WNUT 2017, lists by five-fold cross-validation.

The CRF is the best that we have for this text: the preset for names, word clusters, gazetteers, settings chosen on dev.
"""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TRAIN, TEST = "wnut17/train.tsv", "wnut17/test.tsv"
CLUSTERS = "brown_clusters/tweets_6m_paths.tsv.gz"
GAZETTEERS = tuple(
    f"gazetteers/{name}.txt"
    for name in ("countries", "names_female", "names_male", "nationalities", "uscities", "usstates")
)
K, FOLDS = 20, 5
WRONG = 0.25  # what a wrong span costs, chosen on dev


def tagger() -> Any:
    from chaffinch import Tagger
    from chaffinch.recipes.crf import Crf

    outside = {"clusters": str(corpus(CLUSTERS)), "gazetteers": ",".join(str(corpus(g)) for g in GAZETTEERS)}
    config = Crf(optimiser="fast", c2=0.1, margin=1.0, recall=4.0, passes=8, **outside)
    return Tagger(config, seed=1, threads=1)


def lists(_seed: int) -> dict[str, Any]:
    from chaffinch.corpus import read_table
    from chaffinch.estimators.tag_lists import cross_validated_tag_lists, tag_lists

    train, test = read_table(corpus(TRAIN)), read_table(corpus(TEST))
    gold = test.lists("y")
    return {
        "train": cross_validated_tag_lists(tagger, train, K, FOLDS, wrong=WRONG),
        "test": tag_lists(tagger().fit(train), test, K, gold=gold),
        "gold": gold,
    }


def reranked(given: dict[str, Any], recipe: str) -> Any:
    from chaffinch import Reranker

    return Reranker(recipe, threads=1).fit(given["train"]).predict(given["test"])


def scores(given: dict[str, Any], output: Any) -> dict[str, float]:
    from chaffinch.estimators.reranker import oracle
    from chaffinch.evaluate.tag_gains import tag_gain

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
    question="WNUT 2017: what does reranking the 20 best readings of a CRF gain?",
    input=lists,
    work=lambda given: (float(len(given["train"])), "lists"),
    ours=Contender(name="risk", run=lambda given: reranked(given, "risk")),
    rivals=(
        Contender(name="likelihood", run=lambda given: reranked(given, "likelihood")),
        Contender(name="perceptron", run=lambda given: reranked(given, "perceptron")),
        Contender(name="mira", run=lambda given: reranked(given, "mira")),
    ),
    scores=scores,
    needs=(TRAIN, TEST, CLUSTERS, *GAZETTEERS),
    repeats=1,
)
