"""Texts that stay in the core between reading and encoding, and cells chosen by number: the same as strings."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import Classifier, _core
from chaffinch.corpus import jsonl
from chaffinch.corpus.annotations import LABEL_KEYS, TEXT_KEYS
from chaffinch.corpus.text_table import strings_of
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.kinds.document_answers import shortest_decimals

TEXT = st.text(st.sampled_from("aB c.É߀İ\u3000'1𝄞\t"), max_size=12)
TEXTS = st.lists(TEXT, min_size=1, max_size=5)
TRAINED = ["a B c", "Éa ß. İ1", "a'B €", "𝄞 c c"]


def held_cells(texts):
    return _core.CellTable([["x"] * len(texts), texts]).texts(1)


def held_objects(texts):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    return _core.json_rows(lines.encode(), list(TEXT_KEYS), list(LABEL_KEYS), list(jsonl._NOT_PLAIN)).texts()


@given(TEXTS)
def test_texts_are_the_strings_they_come_from(texts):
    for held in (held_cells(texts), held_objects(texts)):
        assert held.strings() == texts
        assert len(held) == len(texts)
        assert held.ascii == all(map(str.isascii, texts))
        assert held.lowered().strings() == [text if text.isascii() else text.lower() for text in texts]


SETTINGS = [
    {},
    {"lower": False},
    {"unit": "char", "ngram_high": 2},
    {"unit": "char_wb", "lower": False},
    {"tokens": "marks", "binary": True, "idf": True},
    {"tokens": "spaces", "ngram_high": 2},
    {"tokens": "kim"},
    {"hash_bits": 5},
    {"stemming": "stem"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@given(TEXTS)
def test_features_of_held_texts_are_those_of_strings(settings, texts):
    vectorizer = TextVectorizer(**settings)
    vectorizer.fit(TRAINED)
    plain, held = vectorizer.transform(texts), vectorizer.transform(held_cells(texts))
    for name in ("ptr", "ids"):
        assert getattr(plain, name).tolist() == getattr(held, name).tolist()
    assert plain.weights().tolist() == held.weights().tolist()


def test_the_core_reads_texts_if_nothing_is_prepared_in_python():
    for settings, read in (
        ({}, True),
        ({"lower": False, "unit": "char"}, True),
        ({"stemming": "stem"}, False),
        ({"tokens": "kim"}, False),
        ({"hash_bits": 5}, False),
    ):
        vectorizer = TextVectorizer(**settings)
        vectorizer.fit(TRAINED)
        assert vectorizer.reads_bytes == read


@pytest.fixture(scope="module")
def classifiers():
    texts, labels = ["good food", "very good", "bad soup", "awful, bad"] * 4, [1, 1, 0, 0] * 4
    kinds = {"words": "words", "preset": None}
    made = {
        name: Classifier("ridge", choose=False, features=kind).fit(texts, labels)
        for name, kind in kinds.items()
    }
    made["questions"] = Classifier("nb", features="questions").fit(texts, labels)  # reads parts of texts
    return made


@given(st.lists(st.text(st.sampled_from("god bad É,"), max_size=20), min_size=1, max_size=4))
def test_answers_for_held_texts_are_those_for_strings(classifiers, texts):
    for model in classifiers.values():
        p, labels = model.answers(texts)
        found = model.places_of_answers(held_cells(texts))
        assert found is not None
        assert (found[0] == p).all()
        assert model.classes_[found[1]].tolist() == labels


def test_several_labels_are_not_told_by_a_place():
    model = Classifier("ridge", choose=False).fit(["a", "b", "a b"] * 4, [["A"], ["B"], ["A", "B"]] * 4)
    assert model.places_of_answers(held_cells(["a"])) is None


def test_texts_outlive_the_rows_that_they_come_from():
    texts = ["É" + "x" * 50, "y" * 50]
    held = held_objects(texts).lowered()
    assert held.strings() == ["é" + "x" * 50, "y" * 50]


def test_kinds_of_ascii_do_not_do_for_other_texts():
    vectorizer = TextVectorizer()
    vectorizer.fit(TRAINED)
    index = vectorizer._ready().index
    with pytest.raises(ValueError, match="beyond ASCII"):
        index.rows_of_held_texts(
            held_cells(["é"]), _core.Cut.words, np.zeros(128, np.uint8), 1, False, True, 1, presence=False
        )


@given(st.lists(st.text(st.sampled_from('ab,"\n'), max_size=4), min_size=1, max_size=4), st.data())
def test_cells_by_number_are_those_of_a_list(types, data):
    ids = data.draw(st.lists(st.integers(0, len(types) - 1), min_size=1, max_size=5))
    column = (_core.CellTypes(types), np.array(ids, np.int32))
    listed = [types[i] for i in ids]
    assert strings_of(column) == listed
    cells = _core.CellTable([["x"] * len(ids)])
    for quoted in (True, False):
        assert cells.lines([0, column], ",", quoted) == cells.lines([0, listed], ",", quoted)
    names, forms = ["a", "b"], ["string", "string"]
    assert cells.json_lines(names, forms, [0, column]) == cells.json_lines(names, forms, [0, listed])


@pytest.mark.parametrize("ids", [[1], [-1]])
def test_a_number_without_a_cell_is_refused(ids):
    cells = _core.CellTable([["x"]])
    with pytest.raises(ValueError, match="has no cell"):
        cells.lines([0, (_core.CellTypes(["a"]), np.array(ids, np.int32))], ",", True)


@given(st.lists(st.integers(0, 20_000).map(lambda n: n / 20_000), min_size=1))
def test_decimals_of_json_are_those_of_rounding(values):
    assert strings_of(shortest_decimals(np.array(values))) == [repr(round(p, 4)) for p in values]
