"""Elastic-net CRFs (c1 0.1, c2 0.01) beside CRFsuite's OWL-QN on the same features, and beside the L2 penalty.

    python -m benchmarks.crf_elastic [CORPUS ...]

On the same features and (feature, label) pairs as CRFsuite: CPU seconds until each is within 1 % and 0.1 % of the best
objective that any of them reached, without the time of making features and indexes. With all pairs, as trained by
default: CPU seconds of the elastic net, by dual ascent and by OWL-QN, and of the default L2 penalty, and the scores of
all on held-out sentences.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import crfsuite_rival as rival
from benchmarks.defaults_tags import Scorer
from benchmarks.tag_corpora import Part, columns, first, ingredients, of_tokens, treebank

C1, C2 = 0.1, 0.01
Curve = list[tuple[float, float]]


def corpora() -> dict[str, tuple[Part, Part]]:
    """Training and held-out sentences, none of a test part."""
    chunks, names = columns("conll2000/train.tsv", read=(0, 1)), columns("conll2002_es/train.tsv")
    lines = ingredients(500)
    return {
        "treebank, 14,000 tokens": (
            of_tokens(treebank("train", 3), 14_000),
            of_tokens(treebank("dev", 3), 12_000),
        ),
        "chunks, 1000": (first(chunks, 1000), first(chunks, 1000, 1000)),
        "Spanish names, 500": (first(names, 500), first(columns("conll2002_es/dev.tsv"), 800)),
        "ingredients, 500": (lines.train, lines.dev),
    }


def crfsuite(sentences: list[list[list[str]]], labels: list[list[str]]) -> Curve:
    """CPU seconds and objective after each iteration."""
    import pycrfsuite

    met: Curve = []
    start = 0.0

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        def message(self, message: str) -> None:
            if message.startswith("Loss:"):
                met.append((time.process_time() - start, float(message.split()[1])))

    trainer = Trainer("lbfgs", {"c1": C1, "c2": C2}, verbose=True)
    for rows, y in zip(sentences, labels, strict=True):
        trainer.append(rows, y)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        trainer.train(str(Path(folder) / "model"))
    return met


def ours(sentences: list[list[list[str]]], labels: list[list[str]]) -> Curve:
    """The same of dual ascent over CRFsuite's (feature, label) pairs; the objective is evaluated outside the clock."""
    from chaffinch._core import CrfObjective
    from chaffinch.learners.likelihood import Sdca
    from chaffinch.learners.native_likelihood import crf_problem

    problem = same_problem(sentences, labels)
    native = crf_problem(problem)
    f, gradient = CrfObjective(native, C2, 1), np.empty(native.size, np.float32)
    met: Curve = []
    spent, start = 0.0, time.process_time()
    for one in Sdca(c1=C1, c2=C2, tolerance=2e-4, still=1e-4, epochs=80).passes(problem, 1):
        spent += time.process_time() - start
        assert one.model is not None
        w = one.model().w
        met.append((spent, f(w, gradient) + C1 * float(np.abs(w).sum(dtype=np.float64))))
        start = time.process_time()
    return met


def same_problem(sentences: list[list[list[str]]], labels: list[list[str]]) -> Any:
    """The problem of CRFsuite: its attributes, and weights for the observed pairs and transitions alone."""
    from chaffinch.features.rows import FeatureRows
    from chaffinch.learners.examples import CrfExamples
    from chaffinch.learners.problem import Problem
    from chaffinch.recipes.crf_problem import CrfLayout
    from chaffinch.scorers import Linear
    from chaffinch.structures import Chain

    names: dict[str, int] = {}
    tags: dict[str, int] = {}
    ids = [[names.setdefault(a, len(names)) for a in row] for rows in sentences for row in rows]
    y = np.array([tags.setdefault(tag, len(tags)) for row in labels for tag in row], np.int32)
    bounds = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    ptr = np.cumsum([0, *map(len, ids)]).astype(np.int64)
    flat = np.array([f for row in ids for f in row], np.int32)
    shape = CrfLayout(len(names), len(tags))
    rows = FeatureRows(ptr, flat, np.zeros((len(y), 0), np.int32), bounds)
    trainable = shape.observed(rows, y)
    trainable[(shape.F + shape.Y) * shape.S :] = 0  # CRFsuite has no weights of first and last labels
    examples = CrfExamples(bounds, ptr, flat, y, trainable=trainable)
    return Problem(Chain(shape.Y), Linear(shape.layout), examples, seed=1)


def features(sentence: list[Any]) -> list[list[str]]:
    """CRFsuite's chunking templates if tokens have two columns, else those of its tagging example."""
    if isinstance(sentence[0], str):
        return rival.tagging_features([[word] for word in sentence])
    return rival.chunking_features([list(token) for token in sentence])


@contextmanager
def measured(spent: list[float]) -> Iterator[None]:
    start = time.process_time()
    yield
    spent.append(time.process_time() - start)


def reached(met: Curve, value: float) -> float:
    return next((at for at, objective in met if objective <= value), float("nan"))


def main(names: list[str]) -> None:
    from chaffinch import Tagger
    from chaffinch.recipes.crf import Crf

    print("| | CRFsuite to 1 % | ours | times | to 0.1 % | ours | times |", end="")
    print(" elastic net | OWL-QN | L2 | elastic net score | OWL-QN | L2 |")
    print("|---" * 13 + "|")
    for name, (train, dev) in corpora().items():
        if names and name not in names:
            continue
        made = [features(sentence) for sentence in train[0]]
        theirs, own = crfsuite(made, train[1]), ours(made, train[1])
        best = min(value for _, value in theirs + own)
        cells = []
        for share in (0.01, 0.001):
            a, b = reached(theirs, best * (1 + share)), reached(own, best * (1 + share))
            cells += [f"{a:.2f}", f"{b:.2f}", f"{a / b:.1f}"]
        scorer, seconds, scores = Scorer(dev[1]), [], []
        elastic = Crf(c1=C1, c2=C2)
        for config in (elastic, replace(elastic, optimiser="lbfgs", tolerance=3e-3), Crf()):
            spent: list[float] = []
            with measured(spent):
                tagger = Tagger(config, folds=0, threads=1).fit(*train)
            seconds.append(f"{spent[0]:.2f}")
            scores.append(f"{scorer.score(tagger.predict(dev[0])):.2f}")
        print(f"| {name} | {' | '.join([*cells, *seconds, *scores])} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
