"""How fast is a part-of-speech CRF of 49 labels trained? From sentences of words, one thread each."""

from pathlib import Path
from typing import Any

from benchmarks import crfsuite_rival as rival
from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TRAIN, TEST = "ud_english_ewt/en_ewt-ud-train.conllu.gz", "ud_english_ewt/en_ewt-ud-test.conllu.gz"
TOKENS = 204_577.0
# Chosen on the dev split; c2 and passes of the rival are its own.
CHOSEN = {"optimiser": "fast", "c2": 0.3, "margin": 3.0, "passes": 8}
ITERATIONS = 100  # CRFsuite is stopped after these; it would run much longer


def files(_seed: int) -> tuple[Path, Path, int]:
    return corpus(TRAIN), corpus(TEST), _seed


def prepared(given: tuple[Path, Path, int]) -> Any:
    import chaffinch.corpus
    from chaffinch.estimators import Tagger
    from chaffinch.recipes.crf import Crf

    return given, chaffinch.corpus.read_table, Tagger, Crf


def ours(ready: Any) -> Any:
    (train, _, seed), read_table, Tagger, Crf = ready
    tagger = Tagger(Crf(**CHOSEN), features="ewt19", folds=0, seed=seed, threads=1)
    return tagger.fit(read_table(train, label="xpos")).predict


def sentences(path: Path) -> list[rival.Sentence]:
    from chaffinch.corpus import read_table

    table = read_table(path, label="xpos")
    pairs = zip(table.lists("w"), table.lists("y"), strict=True)
    return [[[w, y] for w, y in zip(words, labels, strict=True)] for words, labels in pairs]


def crfsuite(given: tuple[list[rival.Sentence], Any]) -> Any:
    parameters = {"c1": 0.0, "c2": 1.0, "max_iterations": ITERATIONS}
    return rival.trained(given[0], rival.tagging_features, parameters)[0]


def scores(given: tuple[Path, Path, int], output: Any) -> dict[str, float]:
    from chaffinch.corpus import read_table
    from chaffinch.evaluate import score_tags

    test = read_table(given[1], label="xpos")
    theirs = None if callable(output) else rival.tagged(output, sentences(given[1]), rival.tagging_features)
    predicted = output(test) if theirs is None else theirs
    return {"token_accuracy": score_tags(test.lists("y"), predicted).token_accuracy}


BENCHMARK = Benchmark(
    name="crf_ewt",
    question="EWT part of speech, 49 labels, 19 templates: how long to an accuracy >= 94.3?",
    input=files,
    work=lambda _: (TOKENS, "tokens"),
    ours=Contender(name="chaffinch fast", prepare=prepared, run=ours),
    rivals=(
        Contender(
            name="python-crfsuite lbfgs",
            prepare=lambda given: (sentences(given[0]), given),
            run=crfsuite,
            package="python-crfsuite",
        ),
    ),
    scores=scores,
    bar=25.0,
    needs=(TRAIN, TEST),
    repeats=1,
    timeout=1800.0,
)
