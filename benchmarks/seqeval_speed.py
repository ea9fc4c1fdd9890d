"""Span scores of a million tags: ours give everything, the rival one average or its whole report."""

import random
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.benchmark import Benchmark, Contender

SENTENCES, LENGTH = 40_000, 25
TYPES = ("PER", "LOC", "ORG", "MISC")

Tags = list[list[str]]


def tags(seed: int) -> tuple[Tags, Tags]:
    """Gold and predicted tags, valid and invalid, nine in ten predicted right."""
    rng = random.Random(seed)
    known = ["O"] * 6 + [f"{prefix}-{kind}" for prefix in "BI" for kind in TYPES]
    gold = [rng.choices(known, k=LENGTH) for _ in range(SENTENCES)]
    predicted = [[tag if rng.random() < 0.9 else rng.choice(known) for tag in row] for row in gold]
    return _unshared(gold), _unshared(predicted)


def ours(_given: Any) -> Callable[[], float]:
    from chaffinch.evaluate import score_tags

    return lambda: _micro_f1(score_tags(*_given, "seqeval"))


def seqeval_f1(given: Any) -> Callable[[], float]:
    from seqeval.metrics import f1_score

    return lambda: float(f1_score(*given, zero_division=0))


def seqeval_report(given: Any) -> Callable[[], float]:
    from seqeval.metrics import classification_report

    warnings.simplefilter("ignore")
    return lambda: float(
        classification_report(*given, output_dict=True, zero_division=0)["micro avg"]["f1-score"]
    )


def _unshared(rows: Tags) -> Tags:
    """Each tag a string object of its own, as a reader of files makes them: no cached hashes or addresses."""
    return [[(tag + " ")[:-1] for tag in row] for row in rows]


def _micro_f1(scores: Any) -> float:
    return float(scores.span.micro.f1)


BENCHMARK = Benchmark(
    name="seqeval_speed",
    question="How fast are a million tags scored by spans?",
    input=tags,
    work=lambda given: (float(sum(map(len, given[0]))), "tokens"),
    ours=Contender(name="chaffinch", prepare=ours, run=lambda score: score()),
    rivals=(
        Contender(name="seqeval f1", prepare=seqeval_f1, run=lambda score: score(), package="seqeval"),
        Contender(
            name="seqeval report", prepare=seqeval_report, run=lambda score: score(), package="seqeval"
        ),
    ),
    scores=lambda _given, f1: {"span F1": f1},
    bar=20.0,
)
