"""How fast is text tagged by two threads? The wall clock, python-crfsuite beside it, which has one thread only."""

from dataclasses import replace
from typing import Any

from benchmarks import crf_tagging
from benchmarks.benchmark import Contender


def two_threads(given: Any) -> Any:
    tagger, words, tags = crf_tagging.model(given)
    tagger.threads = 2
    return tagger, words, tags


BENCHMARK = replace(
    crf_tagging.BENCHMARK,
    name="crf_tagging_threads",
    question="CoNLL-2000 test, from lists of strings to labels, two threads: how fast by the wall clock?",
    ours=Contender(name="chaffinch, two threads", prepare=two_threads, run=crf_tagging.ours),
    bar=20.0,
    clock="wall",
)
