"""Greedy training, one epoch, beside the algorithm written plainly in Python: same features, same updates.

The reference keeps weights in dictionaries of dictionaries by feature string, scores label by label, and averages by
totals and time stamps, as tutorials on the averaged perceptron do.
"""

from collections import defaultdict
from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.ingredient_columns import NEEDS, table

SENTENCES = 4000
START = "<s>"


def sentences(_seed: int) -> Any:
    """Feature strings, observations of the label templates, and labels of the first training sentences."""
    import numpy as np

    from chaffinch.recipes.encoding import TemplateFeatures, encoded, inner_labels
    from chaffinch.recipes.incremental_search import label_templates
    from chaffinch.recipes.recipe import TaggingTask
    from chaffinch.text.table import Column, TokenTable

    whole = table("train")
    tokens = int(whole.ptr[SENTENCES])
    cut = {name: Column(c.types, c.ids[:tokens]) for name, c in whole.columns.items()}
    part = TokenTable(whole.ptr[: SENTENCES + 1].copy(), cut)
    names = tuple(name for name in part.columns if name != "y")
    task = TaggingTask(part, names, features="ingredients", threads=1)
    encoder, rows = encoded(
        task, TemplateFeatures(), preset="default", labels=lambda _: label_templates(3, False, ["stem[0]"])
    )
    inner = inner_labels(task, "auto")
    return encoder, rows, inner.labels.inner, np.ascontiguousarray(inner.y)


def native(given: Any) -> Any:
    import numpy as np

    from chaffinch import _core
    from chaffinch.model.label_observations import native_templates, observations

    encoder, rows, labels, y = given
    trainer = _core.IncrementalTrainer(
        rows.sentences, rows.ptr, rows.ids, observations(encoder, rows), y,
        F=encoder.n_features, Y=len(labels), templates=native_templates(encoder), search="left-to-right",
    )  # fmt: skip
    return trainer, np.arange(SENTENCES)


def ours(prepared: Any) -> Any:
    trainer, order = prepared
    decided, mistakes, _ = trainer.epoch(order)
    return decided, mistakes


def strings(given: Any) -> Any:
    """Each token's features as strings, and for each label template its name, offsets and observation."""
    encoder, rows, labels, y = given
    names = encoder.features.names(list(range(encoder.n_features)))
    templates = encoder.features.label_templates
    bounds, ids, seen = rows.ptr.tolist(), rows.ids.tolist(), rows.observations.tolist()
    data = []
    for a, b in zip(rows.sentences[:-1].tolist(), rows.sentences[1:].tolist(), strict=True):
        features = [[names[f] for f in ids[bounds[t] : bounds[t + 1]]] for t in range(a, b)]
        observed = [
            [(f"{t.text}/{o}", t.offsets) for t, o in zip(templates, row, strict=True) if o >= 0]
            for row in seen[a:b]
        ]
        data.append((features, observed, [labels[i] for i in y[a:b].tolist()]))
    return data, sorted(labels)


class AveragedPerceptron:
    """Weights by feature string and label, averaged over token steps by totals and time stamps."""

    def __init__(self, labels: list[str]) -> None:
        self.labels = labels
        self.weights: dict[str, dict[str, float]] = {}
        self.totals: dict[tuple[str, str], float] = defaultdict(float)
        self.stamps: dict[tuple[str, str], int] = defaultdict(int)
        self.steps = 0

    def predict(self, features: list[str]) -> str:
        scores = dict.fromkeys(self.labels, 0.0)
        for feature in features:
            for label, weight in self.weights.get(feature, {}).items():
                scores[label] += weight
        return min(self.labels, key=lambda label: (-scores[label], label))

    def update(self, truth: str, guess: str, features: list[str]) -> None:
        self.steps += 1
        if truth == guess:
            return
        for feature in features:
            weights = self.weights.setdefault(feature, {})
            for label, change in ((truth, 1.0), (guess, -1.0)):
                key, old = (feature, label), weights.get(label, 0.0)
                self.totals[key] += (self.steps - self.stamps[key]) * old
                self.stamps[key] = self.steps
                weights[label] = old + change


def reference(prepared: Any) -> Any:
    data, labels = prepared
    model = AveragedPerceptron(labels)
    mistakes = 0
    for features, observed, gold in data:
        decided: list[str] = []
        for t, truth in enumerate(gold):
            around = [
                name + "|" + "|".join(decided[t + o] if t + o >= 0 else START for o in offsets)
                for name, offsets in observed[t]
            ]
            active = features[t] + around
            guess = model.predict(active)
            model.update(truth, guess, active)
            mistakes += guess != truth
            decided.append(guess)
    return model.steps, mistakes


def scores(_given: Any, output: Any) -> dict[str, float]:
    """Both make the same mistakes if they run the same algorithm."""
    decided, mistakes = output
    return {"decided": float(decided), "mistakes": float(mistakes)}


BENCHMARK = Benchmark(
    name="greedy_reference",
    question="How fast is one epoch of greedy training beside the same algorithm in plain Python?",
    input=sentences,
    work=lambda given: (float(len(given[3])), "tokens"),
    ours=Contender(name="chaffinch", prepare=native, run=ours),
    rivals=(Contender(name="plain Python", prepare=strings, run=reference),),
    scores=scores,
    bar=100.0,
    needs=NEEDS,
    repeats=3,
)
