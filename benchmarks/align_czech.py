"""How well are English and Czech sentences aligned? Five folds; every fifth pair is held out in turn."""

from benchmarks.alignment import CZECH, Fold, Linked, ibm1, linked, matched, scores
from benchmarks.benchmark import Benchmark, Contender

FOLDS = 5


def folds(_seed: int) -> list[Fold]:
    every = linked(CZECH)

    def part(keep: list[bool]) -> Linked:
        sides = (
            [v for v, kept in zip(side, keep, strict=True) if kept]
            for side in (every.pairs, every.sure, every.possible)
        )
        return Linked(*sides)

    held = [[n % FOLDS == k for n in range(len(every.pairs))] for k in range(FOLDS)]
    return [(part([not h for h in fold]), part(fold)) for fold in held]


BENCHMARK = Benchmark(
    name="align_czech",
    question="English-Czech, five folds: what is the alignment error rate?",
    input=folds,
    work=lambda given: (float(sum(len(test.pairs) for _, test in given)), "pairs"),
    ours=Contender(name="matching", run=matched),
    rivals=(
        Contender(name="IBM-1, e to f", run=lambda given: ibm1(given, "there")),
        Contender(name="IBM-1, f to e", run=lambda given: ibm1(given, "back")),
        Contender(name="IBM-1, intersected", run=lambda given: ibm1(given, "both")),
    ),
    scores=scores,
    needs=(CZECH,),
    repeats=1,
    timeout=1800.0,
)
