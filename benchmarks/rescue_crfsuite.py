"""How fast does a model of CRFsuite tag once it is rescued? The same file, the same features, one thread."""

from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import crf_tagging
from benchmarks import crfsuite_rival as rival
from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus
from benchmarks.crf_conll2000 import TEST, TRAIN

Rows = list[list[list[str]]]  # the features of each token


@cache
def model_file() -> Path:
    """A model of python-crfsuite, trained once for both."""
    import tempfile

    import pycrfsuite

    trainer = pycrfsuite.Trainer("lbfgs", {"c2": 1.0, "max_iterations": 30}, verbose=False)
    for sentence in rival.read_columns(corpus(TRAIN))[: crf_tagging.SENTENCES]:
        trainer.append(rival.chunking_features(sentence), [token[-1] for token in sentence])
    path = Path(tempfile.mkdtemp()) / "model.crfsuite"
    trainer.train(str(path))
    return path


def their_model(given: list[rival.Sentence]) -> tuple[Any, Rows]:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(model_file()))
    return tagger, [rival.chunking_features(s) for s in given]


def theirs(ready: tuple[Any, Rows]) -> list[list[str]]:
    tagger, rows = ready
    return [tagger.tag(x) for x in rows]


def our_model(given: list[rival.Sentence]) -> tuple[Any, Rows]:
    import warnings

    import chaffinch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says what it read
        tagger = chaffinch.load(model_file())
    tagger.threads = 1
    return tagger, [rival.chunking_features(s) for s in given]


def ours(ready: tuple[Any, Rows]) -> list[list[str]]:
    tagger, rows = ready
    return [list(labels) for labels in tagger.predict(rows)]


def scores(given: list[rival.Sentence], labels: list[list[str]]) -> dict[str, float]:
    """Accuracy, and the share of sentences that CRFsuite labels in the same way."""
    same = theirs(their_model(given))
    agreed = sum(a == b for a, b in zip(labels, same, strict=True)) / len(given)
    return crf_tagging.scores(given, labels) | {"as_crfsuite": agreed}


BENCHMARK = Benchmark(
    name="rescue_crfsuite",
    question="CoNLL-2000 test, from lists of attributes to the labels of one .crfsuite file: how fast?",
    input=crf_tagging.columns,
    work=lambda given: (float(sum(map(len, given))), "tokens"),
    ours=Contender(name="chaffinch", prepare=our_model, run=ours),
    rivals=(Contender(name="python-crfsuite", prepare=their_model, run=theirs, package="python-crfsuite"),),
    scores=scores,
    bar=2.0,
    needs=(TRAIN, TEST),
    fresh=False,
    repeats=7,
)
