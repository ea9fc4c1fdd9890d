"""One epoch of the structured perceptron on CoNLL-2000: the features are ready, only learning is timed."""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.chunking_columns import NEEDS, Columns, columns, string_features

EPOCHS = 10


def train_part(_seed: int) -> Columns:
    return columns("train")


def learner(train: Columns) -> Any:
    from chaffinch.features.encoder import FeatureEncoder
    from chaffinch.learners.examples import SentenceExamples
    from chaffinch.learners.online import Perceptron
    from chaffinch.learners.problem import Problem
    from chaffinch.model import LabelSet
    from chaffinch.scorers import Layout, Linear
    from chaffinch.structures import Chain
    from chaffinch.text.table import TokenTable

    table = TokenTable.from_lists(train)
    encoder = FeatureEncoder("chunking19", threads=1)
    rows = encoder.fit(TokenTable(table.ptr, {name: table.columns[name] for name in ("w", "pos")}))
    labels = LabelSet.plain(table.columns["y"].types)
    problem = Problem(
        Chain(len(labels.inner)),
        Linear(Layout.chain(encoder.n_features, len(labels.inner))),
        SentenceExamples(rows.sentences, rows.ptr, rows.ids, labels.column_ids(table.columns["y"])),
    )
    return Perceptron(epochs=EPOCHS).passes(problem)


def ours(passes: Any) -> float:
    return [epoch.scores["wrong"] for epoch in passes][-1]


def crfsuite(train: Columns) -> Any:
    import pycrfsuite

    trainer = pycrfsuite.Trainer("ap", {"max_iterations": EPOCHS}, verbose=False)
    for words, tags, labels in zip(train["w"], train["pos"], train["y"], strict=True):
        trainer.append(string_features(words, tags), labels)
    return trainer, Path(tempfile.mkdtemp()) / "model.crfsuite"


def theirs(prepared: Any) -> int:
    trainer, path = prepared
    trainer.train(str(path))
    return int(trainer.logparser.iterations[-1].get("loss", -1)) if trainer.logparser.iterations else -1


BENCHMARK = Benchmark(
    name="perceptron_epoch",
    question="How fast are ten epochs of the structured perceptron on CoNLL-2000 once features are ready, one thread?",
    input=train_part,
    work=lambda train: (float(EPOCHS * sum(map(len, train["w"]))), "tokens"),
    ours=Contender(name="chaffinch", prepare=learner, run=ours),
    rivals=(Contender(name="crfsuite ap", prepare=crfsuite, run=theirs, package="python-crfsuite"),),
    bar=5.0,
    needs=NEEDS,
    repeats=3,
)
