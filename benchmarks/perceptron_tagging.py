"""How fast does the structured perceptron tag? From the strings of the test file to labels, one thread."""

from typing import Any

from benchmarks import crf_tagging
from benchmarks import crfsuite_rival as rival
from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus
from benchmarks.crf_conll2000 import TEST, TRAIN


def tagger(threads: int) -> Any:
    from chaffinch.corpus import read_table
    from chaffinch.estimators import Tagger
    from chaffinch.recipes.perceptron import StructuredPerceptron

    config = StructuredPerceptron(epochs=10, margin=0.0, inside="as given", constraints=False)
    made = Tagger(config, features="chunking19", folds=0, threads=1).fit(read_table(corpus(TRAIN)))
    made.threads = threads
    return made


def lists(threads: int) -> Any:
    def prepared(given: list[rival.Sentence]) -> Any:
        return tagger(threads), *words_and_tags(given)

    return prepared


def words_and_tags(given: list[rival.Sentence]) -> tuple[list[list[str]], list[list[str]]]:
    return [[t[0] for t in s] for s in given], [[t[1] for t in s] for s in given]


def benchmark(name: str, question: str, threads: int, bar: float, clock: str) -> Benchmark:
    return Benchmark(
        name=name,
        question=question,
        input=crf_tagging.columns,
        work=lambda given: (float(sum(map(len, given))), "tokens"),
        ours=Contender(name="chaffinch", prepare=lists(threads), run=crf_tagging.ours),
        rivals=(crf_tagging.RIVAL,),
        scores=crf_tagging.scores,
        bar=bar,
        clock=clock,
        needs=(TRAIN, TEST),
        fresh=False,
        repeats=7,
    )


BENCHMARK = benchmark(
    "perceptron_tagging", "Lists of strings to a perceptron's labels, one thread: how fast?", 1, 12.0, "cpu"
)
