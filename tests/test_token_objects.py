"""Sentences as JSON objects in the core: the columns, bytes and faults of Python's reader and writer, or nothing."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaffinch import Tagger, _core
from chaffinch.corpus import record_blocks as blocks_module
from chaffinch.corpus import token_lists
from chaffinch.corpus.json_records import Record, compact
from chaffinch.corpus.token_lists import tagged
from chaffinch.errors import DataError
from chaffinch.files import block_of, collecting
from chaffinch.kinds.tags import kind
from chaffinch.text.document import LABEL
from chaffinch.text.table import Column
from commandline import run  # noqa: F401

SIGN = st.sampled_from('ab "\\/\b\n\r\t\x01\x1f\x7fé\u2028\u3000𝄞{}[]:,')
STRING = st.text(SIGN, max_size=9)
CELL = st.one_of(
    st.text(SIGN, min_size=1, max_size=9), st.integers(-9, 9), st.booleans(), st.floats(-1e9, 1e9)
)
VALUE = st.one_of(
    st.none(),
    STRING,
    st.integers(),
    st.lists(STRING, max_size=2),
    st.dictionaries(STRING, st.integers(), max_size=2),
)
NAME = st.one_of(st.sampled_from(["n", "text", "spans", "é", 'a"b']), STRING)
KNOWN = ("id", "tokens", "words", "tags", "ner_tags", "pos_tags")
LABELS = ["O", 'B-"x"', "é"]


@st.composite
def sentences(draw):
    """Objects with the lists of the first, in any order, and fields of their own."""
    words = draw(st.sampled_from(["tokens", "words"]))
    lists = [words, *draw(st.sampled_from([(), ("tags",), ("ner_tags",), ("ner_tags", "pos_tags")]))]
    made = []
    for n in range(draw(st.integers(1, 3))):
        T = draw(st.integers(1 if n == 0 else 0, 4))
        cells = {key: draw(st.lists(CELL, min_size=T, max_size=T)) for key in lists[1:]}
        cells[words] = draw(st.lists(st.text(SIGN, min_size=1, max_size=9), min_size=T, max_size=T))
        if T == 0 and draw(st.booleans()):
            cells = {words: []} | dict.fromkeys(lists[2:])
        fields = draw(st.dictionaries(NAME.filter(lambda name: name not in KNOWN), VALUE, max_size=3))
        if n == 0:  # no list of it is one of tags, and a text does not hide the words
            fields = {k: v for k, v in fields.items() if not isinstance(v, list) and k != "text"}
        row = cells | fields
        row |= draw(st.fixed_dictionaries({}, optional={"id": st.one_of(STRING, st.integers(), st.none())}))
        made.append(dict(draw(st.permutations(list(row.items())))))
    return made


def spelt(value, escaped, spaces):
    """A value as another tool may write it."""
    line = json.dumps(value, ensure_ascii=escaped, separators=(f"{spaces},{spaces}", f"{spaces}:{spaces}"))
    return spaces + line + spaces


def read_by_core(content, path="in.jsonl", columns=None):
    with block_of(path, content, 2):
        return token_lists.read_objects(path, columns)


def read_by_python(content, path="in.jsonl"):
    with block_of(path, content, 2):
        return list(token_lists.read(path))


def labels_for(tokens):
    return Column(LABELS, np.arange(tokens, dtype=np.int32) % len(LABELS))


def check_equal(found, documents):
    """Columns and lines are those of the documents."""
    assert found.names == ("w", *documents[0].columns)
    assert np.diff(found.table.ptr).tolist() == [len(d.tokens) for d in documents]
    for name in found.names:
        assert found.table.lists(name) == [d.words() if name == "w" else d.columns[name] for d in documents]
    labels = labels_for(found.table.n_tokens)
    at = 0
    for d in documents:
        d.columns[LABEL] = labels.strings()[at : at + len(d.tokens)]
        at += len(d.tokens)
    with collecting("out.jsonl") as written:
        token_lists.write(documents, "out.jsonl")
    assert found.lines(labels) == written.getvalue()


@given(sentences(), st.booleans(), st.sampled_from(["", " ", "\t "]))
@example([{"tokens": ["a", "b"], "tags": ["X", "Y"]}], False, "")
def test_plain_sentences_are_read_and_written_as_python_does(rows, escaped, spaces):
    content = "".join(spelt(row, escaped, spaces) + "\n" for row in rows).encode()
    found = read_by_core(content)
    assert found is not None
    check_equal(found, read_by_python(content))


@given(sentences())
def test_lists_as_python_spells_them_are_taken_as_they_are(rows):
    content = "".join(compact(row) + "\n" for row in rows).encode()
    found = read_by_core(content, columns=["w"])
    assert found is not None
    assert list(found.table.columns) == ["w"]
    assert found.names == read_by_core(content).names


DAMAGE = st.sampled_from(
    [
        *'{}[]":,\\ \t\r\n0-.eE',
        "\\u",
        "\\ud83d",
        "\\u0000",
        "NaN",
        "null",
        '"tokens":',
        '"tags":[]',
        '"",',
        "é",
    ]
)


@given(
    sentences(),
    st.booleans(),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2), DAMAGE), max_size=3),
)
def test_damaged_lines_are_nothing_or_what_python_reads(rows, escaped, damage):
    text = "".join(json.dumps(row, ensure_ascii=escaped) + "\n" for row in rows)
    for where, dropped, put in damage:
        at = int(where * len(text))
        text = text[:at] + put + text[at + dropped :]
    found = read_by_core(text.encode())
    if found is not None:
        check_equal(found, read_by_python(text.encode()))


@pytest.mark.parametrize(
    "line",
    [
        '{"tokens": ["a", ""]}',
        '{"tokens": ["a", null]}',
        '{"tokens": ["a", ["b"]]}',
        '{"tokens": null}',
        '{"tokens": "a"}',
        '{"tokens": ["a",]}',
        '{"tokens": ["a" "b"]}',
        '{"tokens": ["a"',
        '{"n": 1}',
        '{"tokens": ["a"], "tags": []}',
        '{"tokens": ["a"], "tags": ["X", "Y"]}',
        '{"tokens": ["a"], "tags": [{}]}',
        '{"tokens": ["a"], "tokens": ["b"], "tags": ["X"]}',
        '{"tokens": ["a"], "tags": ["X"], "id": 1.5}',
        '{"tokens": ["a"], "tags": ["X"], "n": NaN}',
        '{"tokens": ["a"], "tags": ["X"]} x',
        '["a"]',
    ],
)
def test_what_is_not_plain_is_left_to_python(line):
    assert _core.token_objects(line.encode(), "tokens", [], "tags", [0]) is None
    above = b'{"tokens": ["a"], "tags": ["X"]}\n'
    assert _core.token_objects(above + line.encode(), "tokens", [], "tags", [0]) is None


def test_fields_that_would_hide_a_list_are_left_to_python():
    for line in ('{"words": ["a"], "tokens": 1}', '{"words": ["a"], "ner_tags": ["X"], "tags": 1}'):
        assert _core.token_objects(line.encode(), "words", [], "ner_tags", [0]) is None
    d = tagged("in.jsonl:1", {"words": ["a"], "tokens": 1}, ("words", None, []))
    with pytest.raises(DataError, match="the name of a list"), collecting("out.jsonl"):
        token_lists.write([d], "out.jsonl")


def test_wrong_arguments_are_refused():
    rows = _core.token_objects(b'{"tokens": ["a"]}', "tokens", [], "", [0])
    for wrong, what in (
        (lambda: _core.token_objects(b"", "tokens", [], "", [1]), "no such list"),
        (lambda: rows.lines(["O"], np.zeros(2, np.int32)), "a label per token"),
        (lambda: rows.lines([], np.zeros(1, np.int32)), "has no label"),
        (lambda: rows.lines(["O"], np.full(1, -1, np.int32)), "has no label"),
    ):
        with pytest.raises(ValueError, match=what):
            wrong()


def test_objects_outlive_the_bytes_that_they_come_from():
    rows = _core.token_objects(b'{"tokens": ["' + b"x" * 99 + b'"], "n": 1.50}', "tokens", [], "", [0])
    assert rows.lines(["1"], np.zeros(1, np.int32)) == (
        b'{"tokens": ["' + b"x" * 99 + b'"], "tags": [1], "n": 1.5}\n'
    )


WORDS = [["Ann", "went", "home"], ["Bob", "saw", "Ann", "."], ["home"], ["the", "dog", "barks"]]
TAGS = [["B-PER", "O", "O"], ["B-PER", "O", "B-PER", "O"], ["O"], ["O", "O", "O"]]
ROWS = [{"id": n, "tokens": w, "ner_tags": t} for n, (w, t) in enumerate(zip(WORDS, TAGS, strict=True))] * 4


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.chaff"
    Tagger("crf", folds=0, features=["w[0]", "w[-1]"]).fit(WORDS * 3, TAGS * 3).save(path)
    return path


@pytest.mark.parametrize("out", ["out.jsonl", "out.conll", "out.conllu", "out.json", "out.csv"])
@pytest.mark.parametrize("size", [1 << 20, 100, 1])
@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [{"words": w, "source": {"page": 1}} for w in WORDS],
        [
            {"tokens": w, "pos_tags": t, "ner_tags": list(range(len(w)))}
            for w, t in zip(WORDS, TAGS, strict=True)
        ],
        [*ROWS, {"tokens": []}, *ROWS],
        [*ROWS, {"tokens": ["a"]}, *ROWS],
        [*ROWS, {"tokens": ["a"], "ner_tags": [None]}],
        [*ROWS, {"words": ["a"]}, *ROWS],
        [*ROWS, {"tokens": ["a"], "ner_tags": ["O"], "tags": 3}],
    ],
    ids=["tags", "words", "further lists", "an empty one", "no tags", "a null", "other keys", "a field"],
)
def test_answers_and_errors_are_those_of_documents(rows, size, out, model, tmp_path, run, monkeypatch):  # noqa: F811
    source, target = tmp_path / "in.jsonl", tmp_path / out
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(blocks_module, "SIZE", size)
    made = []
    for put in (kind.label_rows, lambda *_: False):
        monkeypatch.setattr(kind, "label_rows", put)
        outcome = run("predict", model, source, "-o", target)
        made.append((outcome, target.read_bytes() if target.exists() else None))
        target.unlink(missing_ok=True)
    assert made[0] == made[1]


def test_the_path_without_documents_is_taken(model, tmp_path, run, monkeypatch):  # noqa: F811
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.setattr(kind, "input_table", None)
    for out in ("out.jsonl", "out.conll"):
        assert run("predict", model, source, "-o", tmp_path / out).code == 0
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert json.loads(lines[1]) == {"id": 1, "tokens": WORDS[1], "tags": TAGS[1]}
    assert (tmp_path / "out.conll").read_text().startswith("Ann\tB-PER\tB-PER\nwent\tO\tO\n")


def test_records_have_ids_that_are_strings_or_whole_numbers():
    for value in ("x", 7, None):
        line = json.dumps({"id": value, "tokens": ["a"]})
        found = _core.token_objects(line.encode(), "tokens", [], "", [0])
        known = {} if value is None else {"id": Record("", {"id": value}).identifier("id")}
        written = compact(known | {"tokens": ["a"], "tags": ["O"]}) + "\n"
        assert found.lines(['"O"'], np.zeros(1, np.int32)) == written.encode()
