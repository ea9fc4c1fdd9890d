"""How fast is text tagged? From the strings of the test file to labels, one thread, both with a CRF of c2 = 1."""

from typing import Any

from benchmarks import crfsuite_rival as rival
from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus
from benchmarks.crf_conll2000 import TEST, TRAIN

SENTENCES = 2000  # of the training file, to make the rival's model: its size hardly matters to its speed
ITERATIONS = 30


def columns(_seed: int) -> list[rival.Sentence]:
    return rival.read_columns(corpus(TEST))


def model(given: list[rival.Sentence]) -> Any:
    from chaffinch.corpus import read_table
    from chaffinch.estimators import Tagger
    from chaffinch.recipes.crf import Crf

    tagger = Tagger(
        Crf(optimiser="fast", c2=1.0, inside="as given"), features="chunking19", folds=0, seed=1, threads=1
    )
    tagger.fit(read_table(corpus(TRAIN)))
    return tagger, [[token[0] for token in s] for s in given], [[token[1] for token in s] for s in given]


def ours(ready: Any) -> list[list[str]]:
    tagger, words, tags = ready
    return tagger.predict({"w": words, "pos": tags})


def their_model(given: list[rival.Sentence]) -> Any:
    train = rival.read_columns(corpus(TRAIN))[:SENTENCES]
    parameters = {"c1": 0.0, "c2": 1.0, "max_iterations": ITERATIONS}
    return rival.trained(train, rival.chunking_features, parameters)[0], given


def theirs(ready: Any) -> list[list[str]]:
    tagger, sentences = ready
    return rival.tagged(tagger, sentences, rival.chunking_features)


def scores(given: list[rival.Sentence], labels: list[list[str]]) -> dict[str, float]:
    from chaffinch.evaluate import score_tags

    gold = [[token[-1] for token in sentence] for sentence in given]
    return {"token_accuracy": score_tags(gold, labels).token_accuracy}


RIVAL = Contender(name="python-crfsuite", prepare=their_model, run=theirs, package="python-crfsuite")

BENCHMARK = Benchmark(
    name="crf_tagging",
    question="CoNLL-2000 test, from lists of strings to labels: how fast?",
    input=columns,
    work=lambda given: (float(sum(map(len, given))), "tokens"),
    ours=Contender(name="chaffinch", prepare=model, run=ours),
    rivals=(RIVAL,),
    scores=scores,
    bar=12.0,
    needs=(TRAIN, TEST),
    fresh=False,
    repeats=7,
)
