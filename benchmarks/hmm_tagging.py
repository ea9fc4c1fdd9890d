"""Tagging with a hidden Markov model, from lists of strings to lists of labels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus as corpus_path

NEEDS = ("sutd_hmm_2020/SG/train", "sutd_hmm_2020/SG/dev.out")


@dataclass(frozen=True)
class Corpus:
    """Training sentences with their tags, and held-out ones."""

    words: list[list[str]]
    tags: list[list[str]]
    dev: list[list[str]]
    gold: list[list[str]]


def corpus(_seed: int) -> Corpus:
    from chaffinch.corpus import read_table

    train, dev = (read_table(corpus_path(name)) for name in NEEDS)
    return Corpus(train.lists("w"), train.lists("y"), dev.lists("w"), dev.lists("y"))


def f1(given: Corpus, predicted: list[list[str]]) -> float:
    from chaffinch.evaluate import score_tags

    return score_tags(given.gold, predicted, "hmm-project").as_dict()["span.micro.f1"]


def nltk_trained(pairs: list[list[tuple[str, str]]]) -> Any:
    from nltk.probability import LidstoneProbDist
    from nltk.tag.hmm import HiddenMarkovModelTrainer

    return HiddenMarkovModelTrainer().train_supervised(
        pairs, estimator=lambda counts, bins: LidstoneProbDist(counts, 0.1, bins)
    )


def ours(given: Corpus) -> Callable[[], list[list[str]]]:
    from chaffinch import Tagger

    tagger = Tagger("hmm", folds=0, threads=1).fit(given.words, given.tags)
    return lambda: tagger.predict(given.dev)


def nltk(given: Corpus) -> Callable[[], list[list[str]]]:
    pairs = [list(zip(w, t, strict=True)) for w, t in zip(given.words, given.tags, strict=True)]
    tagger = nltk_trained(pairs)
    return lambda: [[tag for _, tag in tagger.tag(words)] for words in given.dev]


BENCHMARK = Benchmark(
    name="hmm_tagging",
    question="How fast does an HMM tag, from lists of strings to lists of labels, on one thread?",
    input=corpus,
    work=lambda given: (float(sum(map(len, given.dev))), "tokens"),
    ours=Contender(name="chaffinch hmm", prepare=ours, run=lambda tag: tag()),
    rivals=(Contender(name="nltk hmm", prepare=nltk, run=lambda tag: tag(), package="nltk"),),
    scores=lambda given, predicted: {"type F1": f1(given, predicted)},
    bar=50.0,
    needs=NEEDS,
)
