"""From dicts of features, as the tutorial of sklearn-crfsuite makes them, to an index of features."""

from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.chunking_columns import NEEDS, Columns, columns

Dicts = tuple[list[list[dict[str, Any]]], list[list[str]]]


def tutorial_features(words: list[str], tags: list[str]) -> list[dict[str, Any]]:
    """The features of sklearn-crfsuite's tutorial: the word, its form and its tag, and those of its neighbours."""
    made = []
    for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
        features: dict[str, Any] = {
            "bias": 1.0,
            "word.lower()": word.lower(),
            "word[-3:]": word[-3:],
            "word[-2:]": word[-2:],
            "word.isupper()": word.isupper(),
            "word.istitle()": word.istitle(),
            "word.isdigit()": word.isdigit(),
            "postag": tag,
            "postag[:2]": tag[:2],
        }
        for name, at in (("-1", i - 1), ("+1", i + 1)):
            if not 0 <= at < len(words):
                features["BOS" if name == "-1" else "EOS"] = True
                continue
            features |= {
                f"{name}:word.lower()": words[at].lower(),
                f"{name}:word.istitle()": words[at].istitle(),
                f"{name}:word.isupper()": words[at].isupper(),
                f"{name}:postag": tags[at],
                f"{name}:postag[:2]": tags[at][:2],
            }
        made.append(features)
    return made


def dicts(_seed: int) -> Dicts:
    """The training split of CoNLL-2000."""
    given: Columns = columns("train")
    pairs = zip(given["w"], given["pos"], strict=True)
    return [tutorial_features(words, tags) for words, tags in pairs], given["y"]


def ours(given: Dicts) -> tuple[Any, Any]:
    from chaffinch.features.encoder import FeatureEncoder
    from chaffinch.text.table import TokenTable

    def index(X: Any) -> int:
        encoder = FeatureEncoder([], threads=1)
        encoder.fit(TokenTable.over_lists({"attributes": X}))
        return int(encoder.n_features)

    return index, given[0]


def crfsuite(given: Dicts) -> tuple[Any, Dicts]:
    import pycrfsuite

    return pycrfsuite.Trainer(verbose=False), given


def crfsuite_route(prepared: tuple[Any, Dicts]) -> None:
    """Dicts appended to its trainer, which flattens and numbers them."""
    trainer, (X, y) = prepared
    for x, labels in zip(X, y, strict=True):
        trainer.append(x, labels)


BENCHMARK = Benchmark(
    name="own_features",
    question="How fast do dicts of features become an index (CoNLL-2000 train, the tutorial of sklearn-crfsuite)?",
    input=dicts,
    work=lambda given: (float(sum(map(len, given[0]))), "tokens"),
    ours=Contender(name="chaffinch", prepare=ours, run=lambda prepared: prepared[0](prepared[1])),
    rivals=(
        Contender(name="python-crfsuite", prepare=crfsuite, run=crfsuite_route, package="python-crfsuite"),
    ),
    scores=lambda _given, features: {"features": float(features)} if features else {},
    bar=3.0,
    needs=NEEDS,
    repeats=3,
)
