"""From strings to rows of features with an index that is frozen: CoNLL-2000's test split, one thread."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.chunking_columns import NEEDS, Columns, columns, string_features


def ours(given: Columns) -> tuple[Any, Columns]:
    """Lists of strings; every word is new to the encoder at first, as it is to a tagger that was just loaded."""
    from chaffinch.features.encoder import FeatureEncoder
    from chaffinch.text.table import TokenTable

    train = columns("train")
    encoder = FeatureEncoder("chunking19", threads=1)
    encoder.fit(TokenTable.from_lists({name: train[name] for name in ("w", "pos")}))
    return encoder, {name: given[name] for name in ("w", "pos")}


def dictionary(given: Columns) -> tuple[dict[str, int], Columns]:
    """Feature strings looked up in a dict, the plain Python way."""
    train = columns("train")
    index: dict[str, int] = {}
    for words, tags in zip(train["w"], train["pos"], strict=True):
        for token in string_features(words, tags):
            for feature in token:
                index.setdefault(feature, len(index))
    return index, given


def look_up(prepared: tuple[dict[str, int], Columns]) -> int:
    index, given = prepared
    found = 0
    for words, tags in zip(given["w"], given["pos"], strict=True):
        for token in string_features(words, tags):
            found += len([index[f] for f in token if f in index])
    return found


BENCHMARK = Benchmark(
    name="feature_lookup",
    question="How fast do lists of strings become rows of a frozen index (CoNLL-2000 test, 19 templates)?",
    input=lambda _seed: columns("test"),
    work=lambda given: (float(sum(map(len, given["w"]))), "tokens"),
    ours=Contender(
        name="chaffinch", prepare=ours, run=lambda prepared: len(prepared[0].transform(prepared[1]).ids)
    ),
    rivals=(Contender(name="strings in a dict", prepare=dictionary, run=look_up),),
    scores=lambda _given, found: {"features found": float(found)},
    bar=20.0,
    needs=NEEDS,
    repeats=3,
)
