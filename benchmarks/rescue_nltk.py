"""How fast does NLTK's perceptron tagger tag once it is rescued? The same weights, one thread."""

from functools import cache
from typing import Any

from benchmarks import crf_tagging
from benchmarks import crfsuite_rival as rival
from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus
from benchmarks.crf_conll2000 import TEST, TRAIN

SENTENCES = 1000


@cache
def original() -> Any:
    import random

    from nltk.tag.perceptron import PerceptronTagger

    random.seed(1)  # it shuffles
    tagger = PerceptronTagger(load=False)
    train = rival.read_columns(corpus(TRAIN))[:SENTENCES]
    tagger.train([[(token[0], token[1]) for token in s] for s in train], nr_iter=3)
    return tagger


def words(given: list[rival.Sentence]) -> list[list[str]]:
    return [[token[0] for token in s] for s in given]


def our_model(given: list[rival.Sentence]) -> tuple[Any, list[list[str]]]:
    import chaffinch

    tagger = chaffinch.load(original())
    tagger.threads = 1
    return tagger, words(given)


def ours(ready: tuple[Any, list[list[str]]]) -> list[list[str]]:
    tagger, rows = ready
    return [list(labels) for labels in tagger.predict(rows)]


def theirs(ready: tuple[Any, list[list[str]]]) -> list[list[str]]:
    tagger, rows = ready
    return [[tag for _, tag in tagger.tag(row)] for row in rows]


def scores(given: list[rival.Sentence], labels: list[list[str]]) -> dict[str, float]:
    """Accuracy, and the share of sentences that NLTK tags in the same way."""
    from chaffinch.evaluate import score_tags

    gold = [[token[1] for token in s] for s in given]
    same = theirs((original(), words(given)))
    agreed = sum(a == b for a, b in zip(labels, same, strict=True)) / len(given)
    return {"token_accuracy": score_tags(gold, labels).token_accuracy, "as_nltk": agreed}


BENCHMARK = Benchmark(
    name="rescue_nltk",
    question="CoNLL-2000 test, from words to the tags of one NLTK perceptron: how fast?",
    input=crf_tagging.columns,
    work=lambda given: (float(sum(map(len, given))), "tokens"),
    ours=Contender(name="chaffinch", prepare=our_model, run=ours),
    rivals=(
        Contender(name="nltk", prepare=lambda given: (original(), words(given)), run=theirs, package="nltk"),
    ),
    scores=scores,
    bar=20.0,
    needs=(TRAIN, TEST),
    fresh=False,
    repeats=5,
)
