"""Models of CRFsuite: the same labels and marginals as python-crfsuite, for every algorithm and kind of feature."""

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

import chaffinch
from chaffinch import samples
from chaffinch.errors import ConfigError, DataError, DataWarning, ModelFileError
from chaffinch.rescue import verify

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")


def features(words: list[str], t: int) -> dict[str, Any]:
    """Features of every kind that python-crfsuite takes."""
    word = words[t]
    return {
        "bias": 1.0,
        "word": word.lower(),
        "digit": any(c.isdigit() for c in word),
        "length": len(word) / 7,
        "around": {"before": words[t - 1] if t else "", "after": words[t + 1] if t + 1 < len(words) else ""},
        "ends": [word[-2:], word[-3:]],
        "colon:name": "x:y",
    }


def sentences(split: str, n: int) -> tuple[list[Any], list[list[str]]]:
    read = samples.load("ingredients", split, n=n)
    return [[features(d.words(), t) for t in range(len(d.words()))] for d in read], [
        d.columns["y"] for d in read
    ]


def trained(path: Path, algorithm: str = "lbfgs", n: int = 150, **params: Any) -> Any:
    trainer = pycrfsuite.Trainer(algorithm, verbose=False)
    for x, y in zip(*sentences("train", n), strict=True):
        trainer.append(x, y)
    trainer.set_params({"max_iterations": 8, **params})
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def loaded(path: Path) -> Any:
    with pytest.warns(DataWarning, match="read a CRFsuite model"):
        return chaffinch.load(path)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_labels_and_marginals_are_those_of_crfsuite(algorithm: str, tmp_path: Path) -> None:
    original = trained(tmp_path / "m", algorithm)
    tagger = loaded(tmp_path / "m")
    X, _ = sentences("test", 200)
    found = verify(tagger, original, X)
    assert found.texts == 200
    assert found.identical, str(found)
    assert found.largest is not None
    assert found.largest < 1e-5
    assert tagger.predict(X) == [original.tag(x) for x in X]


@pytest.mark.parametrize(
    "params", [{"feature.possible_states": True, "feature.possible_transitions": True}, {"c1": 1.0}]
)
def test_dense_and_sparse_models_are_read(params: dict[str, Any], tmp_path: Path) -> None:
    original = trained(tmp_path / "m", **params)
    X, _ = sentences("test", 100)
    assert verify(loaded(tmp_path / "m"), original, X).identical


def test_a_saved_model_gives_the_same_answers(tmp_path: Path) -> None:
    trained(tmp_path / "m")
    tagger = loaded(tmp_path / "m")
    tagger.save(tmp_path / "m.chaff")
    again = chaffinch.load(tmp_path / "m.chaff")
    X, _ = sentences("test", 50)
    assert again.predict(X) == tagger.predict(X)
    for a, b in zip(again.predict_marginals(X), tagger.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_ties_go_to_the_label_that_training_saw_first(tmp_path: Path) -> None:
    trainer = pycrfsuite.Trainer("ap", verbose=False)
    for y in (["Z", "A"], ["A", "Z"], ["M", "M"]):
        trainer.append([["w"], ["w"]], y)
    trainer.train(str(tmp_path / "m"))
    original = pycrfsuite.Tagger()
    original.open(str(tmp_path / "m"))
    tagger = loaded(tmp_path / "m")
    X = [[["unseen"]] * n for n in range(1, 6)] + [[["w"]] * n for n in range(1, 6)]
    assert tagger.predict(X) == [original.tag(x) for x in X]


def test_values_and_repeated_attributes_add_up(tmp_path: Path) -> None:
    original = trained(tmp_path / "m")
    tagger = loaded(tmp_path / "m")
    rng = random.Random(2)
    names = [name for name, _ in original.info().state_features][:60]
    X = [
        [{name: rng.choice((0.5, 2.0, -1.5, 1)) for name in rng.sample(names, 5)} for _ in range(4)]
        for _ in range(60)
    ]
    X += [[[rng.choice(names) for _ in range(5)] for _ in range(4)] for _ in range(60)]
    found = verify(tagger, original, X)
    assert found.identical, str(found)
    assert (found.largest or 0) < 1e-5


def test_explanations_add_up_and_name_attributes(tmp_path: Path) -> None:
    trained(tmp_path / "m")
    tagger = loaded(tmp_path / "m")
    X, _ = sentences("test", 5)
    seen = set()
    for x in X:
        for decision in tagger.explain(x).decisions:
            assert sum(c.difference for c in decision.contributions) == pytest.approx(
                decision.margin, abs=1e-9
            )
            seen |= {c.name.partition(":")[0] for c in decision.contributions}
    assert {"word", "length", "around"} <= seen


def test_words_are_refused_by_a_model_of_attributes(tmp_path: Path) -> None:
    trained(tmp_path / "m")
    with pytest.raises(DataError, match="dicts or lists"):
        loaded(tmp_path / "m").predict([["a", "word"]])


def test_an_open_tagger_does_not_tell_its_weights(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"give the path of the \.crfsuite file"):
        chaffinch.load(trained(tmp_path / "m", n=20))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda b: b[:-1], "byte 4: expected the size of the file"),
        (lambda b: b[:12] + struct.pack("<I", 7) + b[16:], "byte 12: expected version 100, found 7"),
        (
            lambda b: b[:20] + struct.pack("<I", 2**31) + b[24:],
            "the number of labels, at least 0 and at most 4096",
        ),
        (lambda b: b[:28] + struct.pack("<I", len(b) - 2) + b[32:], "byte .*expected b'FEAT'"),
        (lambda b: b[:60] + struct.pack("<I", 9) + b[64:], "byte 60: expected a feature of type 0 or 1"),
        (lambda b: b[:64] + struct.pack("<I", 2**30) + b[68:], "the source of a feature"),
        (lambda b: b[:72] + struct.pack("<d", float("nan")) + b[80:], "expected a finite weight"),
    ],
)
def test_a_damaged_file_is_refused_with_its_place(change: Any, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    trained(path, n=20)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ModelFileError, match=f"^{path}: .*{sentence}"):
        chaffinch.load(path)
