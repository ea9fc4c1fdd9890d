"""Training a hidden Markov model on the sentences of a corpus, from lists of strings."""

from collections.abc import Callable
from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.hmm_tagging import NEEDS, Corpus, corpus, f1, nltk_trained


def ours(given: Corpus) -> Callable[[], Any]:
    from chaffinch import Tagger

    tagger = Tagger("hmm", folds=0, threads=1)
    return lambda: tagger.fit(given.words, given.tags)


def nltk(given: Corpus) -> Callable[[], Any]:
    pairs = [list(zip(w, t, strict=True)) for w, t in zip(given.words, given.tags, strict=True)]
    return lambda: nltk_trained(pairs)


def scores(given: Corpus, trained: Any) -> dict[str, float]:
    """Ours only: tagging by the rival is slow, and the benchmark of tagging reports its quality."""
    return {"type F1": f1(given, trained.predict(given.dev))} if hasattr(trained, "predict") else {}


BENCHMARK = Benchmark(
    name="hmm_training",
    question="How fast is an HMM trained on 180,000 tokens?",
    input=corpus,
    work=lambda given: (float(sum(map(len, given.words))), "tokens"),
    ours=Contender(name="chaffinch hmm", prepare=ours, run=lambda fit: fit()),
    rivals=(Contender(name="nltk hmm", prepare=nltk, run=lambda fit: fit(), package="nltk"),),
    scores=scores,
    bar=1.0,
    needs=NEEDS,
)
