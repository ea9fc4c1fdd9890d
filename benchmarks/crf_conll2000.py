"""How fast is a CRF trained to the F1 that CRFsuite's L-BFGS ends with? From the file, one thread each."""

from pathlib import Path
from typing import Any

from benchmarks import crfsuite_rival as rival
from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TRAIN, TEST = "conll2000/train.tsv", "conll2000/test.tsv"
TOKENS = 211_727.0


def files(_seed: int) -> tuple[Path, Path, int]:
    return corpus(TRAIN), corpus(TEST), _seed


def prepared(given: tuple[Path, Path, int]) -> Any:
    import chaffinch.corpus
    from chaffinch.estimators import Tagger
    from chaffinch.recipes.crf import Crf

    return given, chaffinch.corpus.read_table, Tagger, Crf


def fast(ready: Any) -> Any:
    (train, _, seed), read_table, Tagger, Crf = ready
    config = Crf(optimiser="fast", c2=1.0, inside="as given")
    return Tagger(config, features="chunking19", folds=0, seed=seed, threads=1).fit(read_table(train)).predict


def dual(ready: Any) -> Any:
    (train, _, seed), read_table, Tagger, Crf = ready
    return (
        Tagger(Crf(c2=1.0, inside="as given"), features="chunking19", folds=0, seed=seed, threads=1)
        .fit(read_table(train))
        .predict
    )


def crfsuite(given: tuple[Path, Path, int]) -> Any:
    tagger, _ = rival.trained(
        rival.read_columns(given[0]), rival.chunking_features, {"c1": 0.0, "c2": 1.0, "max_iterations": 1000}
    )
    return tagger


def scores(given: tuple[Path, Path, int], output: Any) -> dict[str, float]:
    from chaffinch.corpus import read_table
    from chaffinch.evaluate import score_tags

    test = read_table(given[1])
    if callable(output):
        predicted = output(test)
    else:
        predicted = rival.tagged(output, rival.read_columns(given[1]), rival.chunking_features)
    found = score_tags(test.lists("y"), predicted)
    assert found.span is not None
    return {"f1": found.span.micro.f1, "token_accuracy": found.token_accuracy}


BENCHMARK = Benchmark(
    name="crf_conll2000",
    question="CoNLL-2000, CRFsuite's 19 templates, c2 = 1: how long to F1 >= 93.6?",
    input=files,
    work=lambda _: (TOKENS, "tokens"),
    ours=Contender(name="chaffinch fast", prepare=prepared, run=fast),
    rivals=(Contender(name="python-crfsuite lbfgs", run=crfsuite, package="python-crfsuite"),),
    scores=scores,
    bar=50.0,
    needs=(TRAIN, TEST),
    repeats=1,
    timeout=1800.0,
)
