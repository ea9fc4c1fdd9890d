"""From the strings of CoNLL-2000's training split to an index of features, with the 19 chunking templates."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.chunking_columns import NEEDS, Columns, columns, string_features


def ours(given: Columns) -> tuple[Any, Columns]:
    from chaffinch.features.encoder import FeatureEncoder
    from chaffinch.text.table import TokenTable

    return lambda c: _fitted(FeatureEncoder("chunking19", threads=1), TokenTable.from_lists(c)), {
        name: given[name] for name in ("w", "pos")
    }


def _fitted(encoder: Any, table: Any) -> int:
    encoder.fit(table)
    return int(encoder.n_features)


def crfsuite(given: Columns) -> tuple[Any, Columns]:
    import pycrfsuite

    return pycrfsuite.Trainer(verbose=False), given


def crfsuite_route(prepared: tuple[Any, Columns]) -> None:
    """Strings appended to its trainer, which numbers them; it reports their number only while training."""
    trainer, given = prepared
    for words, tags, labels in zip(given["w"], given["pos"], given["y"], strict=True):
        trainer.append(string_features(words, tags), labels)


BENCHMARK = Benchmark(
    name="feature_index",
    question="How fast do lists of strings become an index of features (CoNLL-2000 train, 19 templates)?",
    input=lambda _seed: columns("train"),
    work=lambda given: (float(sum(map(len, given["w"]))), "tokens"),
    ours=Contender(name="chaffinch", prepare=ours, run=lambda prepared: prepared[0](prepared[1])),
    rivals=(
        Contender(name="python-crfsuite", prepare=crfsuite, run=crfsuite_route, package="python-crfsuite"),
    ),
    scores=lambda _given, features: {"features": float(features)} if features else {},
    bar=30.0,
    needs=NEEDS,
    repeats=3,
)
