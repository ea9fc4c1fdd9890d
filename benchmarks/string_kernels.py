"""String kernels on questions of about 48 characters, beside the recursion of Lodhi et al. over NumPy arrays."""

from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.labelled import TREC, texts

COUNT, PLAIN = 800, 24
LENGTH, DECAY = 4, 0.5


def questions(_seed: int) -> list[str]:
    found = [text for text in texts(TREC[0], "coarse")[0] if 44 <= len(text) <= 52]
    return found[:COUNT]


def ours(given: list[str]) -> Any:
    from chaffinch.kernels import Subsequence

    kernel = Subsequence(low=LENGTH, high=LENGTH, decay=DECAY)
    once, again = kernel.prepared(given), kernel.prepared(given)
    return lambda: kernel.gram(once, again, threads=1)


def plain(given: list[str]) -> Any:
    """The dynamic programme of the paper, a row at a time, on the pairs of the first few texts."""

    def value(s: str, t: str) -> float:
        letters = np.array([ord(c) for c in t])
        before = [np.ones((len(s) + 1, len(t) + 1))]
        for _ in range(1, LENGTH):
            K = np.zeros((len(s) + 1, len(t) + 1))
            for i in range(1, len(s) + 1):
                match = np.where(letters == ord(s[i - 1]), DECAY**2 * before[-1][i - 1, :-1], 0.0)
                running = 0.0
                for j in range(1, len(t) + 1):
                    running = DECAY * running + match[j - 1]
                    K[i, j] = DECAY * K[i - 1, j] + running
            before.append(K)
        return sum(DECAY**2 * before[-1][i, :-1][letters == ord(s[i])].sum() for i in range(len(s)))

    first = given[:PLAIN]
    return lambda: np.array([[value(a, b) for b in first] for a in first])


def agreement(_given: list[str], K: Any) -> dict[str, float]:
    return {"sum of the first": float(K[:PLAIN, :PLAIN].sum()), "pairs": float(K.size)}


BENCHMARK = Benchmark(
    name="string_kernels",
    question="How many pairs of questions does the gap-weighted subsequence kernel compare in a second on one core?",
    input=questions,
    work=lambda given: (float(len(given) ** 2), "pairs"),
    ours=Contender(name="chaffinch subsequences", prepare=ours, run=lambda gram: gram()),
    rivals=(Contender(name=f"plain NumPy, {PLAIN * PLAIN} pairs", prepare=plain, run=lambda gram: gram()),),
    scores=agreement,
    needs=TREC[:1],
    repeats=3,
)
