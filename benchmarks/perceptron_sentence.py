"""How long does tagging one sentence take? A call for each sentence of 20 to 25 tokens, from lists of strings.

Ours has tagged the rest of the file before, as a running tagger has, so it has cached the words. The timed sentences
are new to it.
"""

from typing import Any

from benchmarks import crf_tagging
from benchmarks import crfsuite_rival as rival
from benchmarks.benchmark import Benchmark, Contender
from benchmarks.crf_conll2000 import TEST, TRAIN
from benchmarks.perceptron_tagging import lists, words_and_tags

SHORTEST, LONGEST = 20, 25


def timed(sentence: rival.Sentence) -> bool:
    return SHORTEST <= len(sentence) <= LONGEST


def sentences(seed: int) -> list[rival.Sentence]:
    return [s for s in crf_tagging.columns(seed) if timed(s)]


def at_work(given: list[rival.Sentence]) -> Any:
    ready = lists(1)(given)
    crf_tagging.ours((ready[0], *words_and_tags([s for s in crf_tagging.columns(0) if not timed(s)])))
    return ready


def ours(ready: Any) -> list[list[str]]:
    tagger, words, tags = ready
    return [tagger.predict({"w": [w], "pos": [p]})[0] for w, p in zip(words, tags, strict=True)]


BENCHMARK = Benchmark(
    name="perceptron_sentence",
    question="How long does one sentence of 20 to 25 tokens take, tagged alone?",
    input=sentences,
    work=lambda given: (float(len(given)), "sentences"),
    ours=Contender(name="chaffinch", prepare=at_work, run=ours),
    rivals=(crf_tagging.RIVAL,),
    scores=crf_tagging.scores,
    bar=6.2,
    needs=(TRAIN, TEST),
    fresh=False,
    repeats=7,
)
