"""Easiest-first beside greedy: decoding the ingredient sentences, from lists of strings."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.ingredient_columns import NEEDS, table

EPOCHS = 3


def held_out(_seed: int) -> Any:
    return table("test")


def tagger(recipe: str) -> Any:
    def prepared(part: Any) -> Any:
        from chaffinch.estimators import Tagger
        from chaffinch.recipes.incremental_search import EasiestFirstTagger, Greedy

        config = (Greedy if recipe == "greedy" else EasiestFirstTagger)(epochs=EPOCHS)
        made = Tagger(config, features="ingredients", folds=0, threads=1).fit(table("train"))
        return made, {name: part.lists(name) for name in ("w", "pos")}

    return prepared


def tagged(ready: Any) -> Any:
    made, lists = ready
    return made.predict(lists)


def scores(part: Any, found: Any) -> dict[str, float]:
    from chaffinch.evaluate import score_tags

    return {"sentence_accuracy": score_tags(part.lists("y"), found).sentence_accuracy}


BENCHMARK = Benchmark(
    name="easiest_first_decoding",
    question="How much more than greedy search does easiest-first cost in decoding?",
    input=held_out,
    work=lambda part: (float(part.n_tokens), "tokens"),
    ours=Contender(name="easiest-first", prepare=tagger("easiest-first"), run=tagged),
    rivals=(Contender(name="greedy", prepare=tagger("greedy"), run=tagged),),
    scores=scores,
    bar=1 / 1.5,
    needs=NEEDS,
    fresh=False,
    repeats=7,
)
