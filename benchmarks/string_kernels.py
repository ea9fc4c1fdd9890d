"""String kernels on questions of about 48 characters: subsequences with gaps, n-grams, n-grams with changes."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.labelled import TREC, texts

COUNT = 800


def questions(_seed: int) -> list[str]:
    found = [text for text in texts(TREC[0], "coarse")[0] if 44 <= len(text) <= 52]
    return found[:COUNT]


def gram(name: str, **settings: Any) -> Any:
    """A block of all questions with all questions, one side prepared as new ones would be."""

    def prepare(given: list[str]) -> Any:
        from chaffinch import kernels

        kernel = getattr(kernels, name)(**settings).settled(given)
        once, again = kernel.prepared(given), kernel.prepared(given)
        return lambda: kernel.gram(once, again, threads=1)

    return prepare


def sizes(_given: list[str], K: Any) -> dict[str, float]:
    """What was compared; that the values are right is for the tests, which spell the features out."""
    return {"pairs": float(K.size), "mean": float(K.mean())}


BENCHMARK = Benchmark(
    name="string_kernels",
    question="How many pairs of questions does the gap-weighted subsequence kernel compare in a second on one core?",
    input=questions,
    work=lambda given: (float(len(given) ** 2), "pairs"),
    ours=Contender(
        name="subsequences of 4", prepare=gram("Subsequence", low=4, high=4), run=lambda block: block()
    ),
    rivals=(
        Contender(name="4-grams with a change", prepare=gram("Mismatch"), run=lambda block: block()),
        Contender(name="3-grams", prepare=gram("Spectrum"), run=lambda block: block()),
        Contender(name="sequences of words", prepare=gram("WordSequence"), run=lambda block: block()),
    ),
    scores=sizes,
    needs=TREC[:1],
    repeats=3,
)
