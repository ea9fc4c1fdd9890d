"""Easiest-first against greedy: one epoch each on the ingredient sentences, after the first epochs."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.ingredient_columns import NEEDS, table

SETTLED, TIMED = 2, 4


def train_part(_seed: int) -> Any:
    return table("train")


def trainer(search: str) -> Any:
    def prepared(part: Any) -> Any:
        from chaffinch import _core
        from chaffinch.model.label_observations import native_templates, observations
        from chaffinch.recipes.encoding import TemplateFeatures, encoded, inner_labels
        from chaffinch.recipes.incremental_search import label_templates
        from chaffinch.recipes.recipe import TaggingTask

        both = search == "easiest-first"
        names = tuple(name for name in part.columns if name != "y")
        task = TaggingTask(part, names, features="ingredients", threads=1)
        encoder, rows = encoded(
            task, TemplateFeatures(), preset="default", labels=lambda _: label_templates(3, both, ["stem[0]"])
        )
        inner = inner_labels(task, "auto")
        made = _core.IncrementalTrainer(
            rows.sentences, rows.ptr, rows.ids, observations(encoder, rows), inner.y, F=encoder.n_features,
            Y=len(inner.labels.inner), templates=native_templates(encoder), search=search, ease="margin",
            rule="mira", amount=0.1,
        )  # fmt: skip
        orders = [_core.permutation(part.n_sentences, epoch) for epoch in range(SETTLED + TIMED)]
        for order in orders[:SETTLED]:
            made.epoch(order, 0.5)
        return made, orders[SETTLED:], 0.5

    return prepared


def epochs(prepared: Any) -> Any:
    made, orders, own = prepared
    return [made.epoch(order, own) for order in orders][-1]


def scores(_given: Any, output: Any) -> dict[str, float]:
    decided, mistakes, _ = output
    return {"mistakes, last epoch": mistakes / decided}


BENCHMARK = Benchmark(
    name="easiest_first",
    question="How much more does an epoch of easiest-first cost than one of greedy (published: 9.5 times)?",
    input=train_part,
    work=lambda part: (float(TIMED * part.n_tokens), "tokens"),
    ours=Contender(name="easiest-first", prepare=trainer("easiest-first"), run=epochs),
    rivals=(Contender(name="greedy", prepare=trainer("left-to-right"), run=epochs),),
    scores=scores,
    bar=1 / 1.5,
    needs=NEEDS,
    repeats=5,
)
