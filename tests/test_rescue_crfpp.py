"""Models of CRF++: the same labels and scores as a plain decoder of the documented layout."""

import random
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chaffinch
from chaffinch.errors import DataWarning, ModelFileError
from foreign_models import CrfppModel, random_columns, random_crfpp


def loaded(path: Path, content: bytes) -> Any:
    path.write_bytes(content)
    with pytest.warns(DataWarning, match=r"read a CRF\+\+ model"):
        return chaffinch.load(path)


def sentences(columns: list[list[list[str]]], xsize: int) -> Any:
    return [[tuple(token) if xsize > 1 else token[0] for token in s] for s in columns]


@pytest.mark.parametrize("kind", ["text", "binary"])
@pytest.mark.parametrize("seed", range(8))
def test_labels_are_those_of_the_plain_decoder(kind: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    xsize = rng.choice((1, 2, 3))
    original = random_crfpp(rng, xsize=xsize, whole=seed % 2 == 0)
    tagger = loaded(tmp_path / "m", getattr(original, kind)())
    tests = [random_columns(rng, xsize) for _ in range(60)]
    assert tagger.predict(sentences(tests, xsize)) == [original.tag(columns) for columns in tests]


def test_scores_are_float32_sums_in_the_order_of_the_templates(tmp_path: Path) -> None:
    rng = random.Random(3)
    original = random_crfpp(rng, xsize=1, scale=1e4)
    tagger = loaded(tmp_path / "m", original.binary())
    columns = [random_columns(rng, 1) for _ in range(20)]
    table = tagger._table(sentences(columns, 1))
    for (_, parts), x in zip(tagger.model_.lattices(table, 1), columns, strict=True):
        unary, pair = original.scores(x)
        np.testing.assert_array_equal(parts["unary"], unary)
        shown = parts["pair"] if parts["pair"].ndim == 3 else np.repeat(parts["pair"][None], len(pair), 0)
        np.testing.assert_array_equal(shown, pair)


def test_a_saved_model_gives_the_same_labels_and_marginals(tmp_path: Path) -> None:
    rng = random.Random(5)
    original = random_crfpp(rng, xsize=2)
    tagger = loaded(tmp_path / "m", original.binary())
    tagger.save(tmp_path / "m.chaff")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = chaffinch.load(tmp_path / "m.chaff")
    X = sentences([random_columns(rng, 2) for _ in range(30)], 2)
    assert again.predict(X) == tagger.predict(X)
    for a, b in zip(again.predict_marginals(X), tagger.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_encoding_is_named_and_then_read(tmp_path: Path) -> None:
    model = CrfppModel(["A", "B"], ["U:%x[0,0]", "B"], 1, {"U:日本": np.array([0, 2], np.float32)})
    (tmp_path / "m").write_bytes(CrfppModel(["一", "B"], ["U"], 1).text("euc-jp"))
    with pytest.raises(ModelFileError, match=r"expected a label in utf-8.*--encoding"):
        chaffinch.load(tmp_path / "m")
    from chaffinch.estimators.loading import estimator_of
    from chaffinch.rescue import format_of, rescued

    (tmp_path / "m").write_bytes(model.binary("euc-jp"))
    tagger = estimator_of(rescued(tmp_path / "m", format_of(tmp_path / "m"), "euc-jp"))  # type: ignore[arg-type]
    assert tagger.predict([["日本", "語"]]) == [["B", "A"]]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda b: b[:-4], r"byte \d+: expected weights \(\d+ bytes\), found \d+ bytes to the end"),
        (lambda b: b + b"\0", "expected the end of the file, found 1 further bytes"),
        (
            lambda b: b[:16] + struct.pack("<I", 2**31) + b[20:],
            "expected the number of weights, at least 0 and at most",
        ),
        (lambda b: b[:-4] + struct.pack("<f", float("nan")), "expected weights, finite numbers, found nan"),
        (lambda b: b.replace(b"%x[0,0]", b"%y[0,0]", 1), "the template 'U00:%y.*has a % that does not begin"),
        (lambda b: b.replace(b"%x[8,0]", b"%x[9,0]", 1), "reads row 9; CRF.. allows -8 to 8"),
    ],
)
def test_a_damaged_file_is_refused_with_its_place(change: Any, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(change(random_crfpp(random.Random(1), xsize=1).binary()))
    with pytest.raises(ModelFileError, match=f"^{path}: .*{sentence}"):
        chaffinch.load(path)
