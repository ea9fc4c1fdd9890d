"""What does reranking gain over the best CRF that we have for WNUT 2017?

The preset for names, word clusters, gazetteers; settings, including the reranker's, were chosen on dev.
"""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus
from benchmarks.rerank_tagging import TEST, TRAIN, made, reranked, scores

CLUSTERS = "brown_clusters/tweets_6m_paths.tsv.gz"
GAZETTEERS = tuple(
    f"gazetteers/{name}.txt"
    for name in ("countries", "names_female", "names_male", "nationalities", "uscities", "usstates")
)
WRONG = 0.25  # cost of a wrong span, chosen on dev


def tagger() -> Any:
    from chaffinch import Tagger
    from chaffinch.recipes.crf import Crf

    outside = {"clusters": str(corpus(CLUSTERS)), "gazetteers": ",".join(str(corpus(g)) for g in GAZETTEERS)}
    config = Crf(optimiser="fast", c2=0.1, margin=1.0, recall=4.0, passes=8, **outside)
    return Tagger(config, folds=0, seed=1, threads=1)


def lists(_seed: int) -> dict[str, Any]:
    return made(tagger, WRONG)


BENCHMARK = Benchmark(
    name="rerank_tagging_best",
    question="WNUT 2017: what does reranking the 20 best readings of our best CRF gain?",
    input=lists,
    work=lambda given: (float(len(given["train"])), "lists"),
    ours=Contender(name="risk", run=lambda given: reranked(given, "risk")),
    rivals=(
        Contender(name="likelihood", run=lambda given: reranked(given, "likelihood")),
        Contender(name="mira", run=lambda given: reranked(given, "mira")),
    ),
    scores=scores,
    needs=(TRAIN, TEST, CLUSTERS, *GAZETTEERS),
    repeats=1,
)
