"""Models of Wapiti: the same labels as a plain decoder of the documented layout, patterns included."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chaffinch
from chaffinch import _core
from chaffinch.errors import ConfigError, DataWarning, ModelFileError
from chaffinch.features.string_pieces import texts_of
from chaffinch.features.wapiti_patterns import parse
from foreign_models import WapitiModel, random_wapiti, random_words, wapiti_match


def loaded(path: Path, content: bytes) -> Any:
    path.write_bytes(content)
    with pytest.warns(DataWarning, match="read a Wapiti model"):
        return chaffinch.load(path)


@pytest.mark.parametrize("seed", range(12))
def test_labels_are_those_of_the_plain_decoder(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    original = random_wapiti(rng, whole=seed % 2 == 0)
    tagger = loaded(tmp_path / "m", original.text())
    tests = [random_words(rng) for _ in range(60)]
    wanted = [original.tag(columns) for columns in tests]
    words = [[w for (w,) in columns] for columns in tests]
    assert tagger.predict(words) == wanted
    tagger.save(tmp_path / "m.chaff")
    assert chaffinch.load(tmp_path / "m.chaff").predict(words) == wanted


def test_expressions_match_as_in_the_plain_definition() -> None:
    rng = random.Random(1)
    atoms = [b"a", b".", b"\\l", b"\\D", b"\\u", b"\\.", b"\\p", b"b"]
    texts = [b"", b"a", b"ab", b"aab.", b"Ba9b", b"..a", "é.b".encode()]
    for _ in range(400):
        made = b"".join(
            rng.choice(atoms) + rng.choice((b"", b"", b"*", b"?")) for _ in range(rng.randint(0, 4))
        )
        expression = rng.choice((b"", b"^")) + made + rng.choice((b"", b"$"))
        joined, bounds = _core.changed_by_wapiti("m", expression, False, *texts_of(texts))
        for text, a, b in zip(texts, bounds[:-1], bounds[1:], strict=True):
            found = wapiti_match(expression, text)
            expected = b"" if found is None else (text + b"\0")[found[0] : found[0] + found[1]]
            assert joined[a:b].tobytes() == expected, (expression, text)


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("x:%x[0,0]", "does not begin with u, b or"),
        ("u:%x[0]", "that can be reproduced"),
        ("u:%q[0,0]", "that can be reproduced"),
        ("u:%x[010,0]", "begins with 0, which Wapiti reads as octal"),
        ('u:%t[0,0,"*a"]', r"has a \* with nothing to repeat"),
        ('u:%t[0,0,"a**"]', r"has a \* with nothing to repeat"),
        ("u:%t[0,0]", "%t and %m have a regular expression"),
    ],
)
def test_a_pattern_that_cannot_be_reproduced_is_named(pattern: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse(pattern)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda b: b.replace(b"#mdl#2#", b"#mdl#1#"), "is a MEMM of Wapiti; only CRFs are read"),
        (lambda b: b.replace(b"/0/0\n", b"/0/1\n"), "autouni"),
        (lambda b: b[:-1] + b"\n9=0x1p+0\n", r"expected \d+ weights, found \d+ lines"),
        (lambda b: b.rpartition(b"=")[0] + b"=inf\n", "expected number=weight, found"),
        (lambda b: b.replace(b"#qrk#2", b"#qrk#999999999999", 1), r"expected 999999999999 strings, found"),
        (lambda b: b.replace(b"1:N,", b"9:N,", 1), r"byte \d+: expected a comma after one of the labels"),
    ],
)
def test_a_damaged_file_is_refused_with_its_place(change: Any, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    model = WapitiModel(["N", "A"], ["u:%x[0,0]"], 1, {"u:a": np.array([1.5, -2.0])})
    path.write_bytes(change(model.text()))
    with pytest.raises(ModelFileError, match=f"^{path}: .*{sentence}"):
        chaffinch.load(path)
