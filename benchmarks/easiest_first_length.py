"""Easiest-first by length: the same number of tokens in sentences of 5,000, 500, 50 and 10.

The cost is linear if ratios are near 1. Long sentences are short ones end to end; features are ready, only the search
is timed.
"""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.ingredient_columns import NEEDS, table

TOKENS = 80_000


def parts(_seed: int) -> Any:
    return table("train"), table("test")


def sentences(length: int) -> Any:
    def prepared(given: Any) -> Any:
        import numpy as np

        from chaffinch.estimators import Tagger
        from chaffinch.model.label_observations import observations
        from chaffinch.recipes.incremental_search import EasiestFirstTagger

        train, test = given
        model = (
            Tagger(EasiestFirstTagger(epochs=2), features="ingredients", folds=0, threads=1).fit(train).model_
        )
        rows = model.encoder.rows(test, 1)
        ptr = rows.ptr[: TOKENS + 1].copy()
        ids, seen = rows.ids[: ptr[-1]].copy(), observations(model.encoder, rows)[:TOKENS].copy()
        return model._native(), np.arange(0, TOKENS + 1, length), ptr, ids, seen

    return prepared


def searched(ready: Any) -> int:
    kernel, bounds, ptr, ids, seen = ready
    labels = kernel.tag(
        bounds, ptr, ids, seen, direction="easiest-first", ease="margin", temperature=1.0, details=False,
        threads=1, known=None,
    )[0]  # fmt: skip
    return len(labels)


def contender(length: int) -> Contender:
    return Contender(name=f"{length:,} tokens each", prepare=sentences(length), run=searched)


BENCHMARK = Benchmark(
    name="easiest_first_length",
    question="Does easiest-first cost more per token in long sentences?",
    input=parts,
    work=lambda _: (float(TOKENS), "tokens"),
    ours=contender(5000),
    rivals=(contender(500), contender(50), contender(10)),
    bar=0.6,
    needs=NEEDS,
    fresh=False,
    repeats=9,
)
