"""String kernels on questions of about 48 characters: subsequences with gaps, n-grams, n-grams with changes."""

from benchmarks.benchmark import Benchmark
from benchmarks.gram_block import gram_block, sizes
from benchmarks.labelled import TREC, texts

COUNT = 800


def questions(_seed: int) -> list[str]:
    found = [text for text in texts(TREC[0], "coarse")[0] if 44 <= len(text) <= 52]
    return found[:COUNT]


BENCHMARK = Benchmark(
    name="string_kernels",
    question="How many pairs of questions does the gap-weighted subsequence kernel compare in a second on one core?",
    input=questions,
    work=lambda given: (float(len(given) ** 2), "pairs"),
    ours=gram_block("subsequences of 4", "Subsequence", low=4, high=4),
    rivals=(
        gram_block("4-grams with a change", "Mismatch"),
        gram_block("3-grams", "Spectrum"),
        gram_block("sequences of words", "WordSequence"),
    ),
    scores=sizes,
    needs=TREC[:1],
    repeats=3,
)
