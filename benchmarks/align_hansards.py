"""How well are Hansards pairs aligned? Trained on the trial pairs and 100 test pairs, tested on the other 347."""

from benchmarks.alignment import DEV, TEST, Fold, ibm1, linked, matched, scores
from benchmarks.benchmark import Benchmark, Contender


def folds(_seed: int) -> list[Fold]:
    trial, test = linked(DEV), linked(TEST)
    return [(trial + test[:100], test[100:])]


BENCHMARK = Benchmark(
    name="align_hansards",
    question="Hansards, 37 + 100 pairs to learn from: what is the alignment error rate on the other 347?",
    input=folds,
    work=lambda given: (float(len(given[0][1].pairs)), "pairs"),
    ours=Contender(name="matching", run=matched),
    rivals=(
        Contender(name="IBM-1, e to f", run=lambda given: ibm1(given, "there")),
        Contender(name="IBM-1, f to e", run=lambda given: ibm1(given, "back")),
        Contender(name="IBM-1, intersected", run=lambda given: ibm1(given, "both")),
    ),
    scores=scores,
    needs=(DEV, TEST),
    repeats=1,
)
