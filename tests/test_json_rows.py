"""JSON objects in the core: the same values and the same bytes as Python's json module, or nothing."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaffinch import _core
from chaffinch.corpus import jsonl
from chaffinch.corpus.annotations import LABEL_KEYS, TEXT_KEYS, document, with_fields
from chaffinch.corpus.delimited import write_csv
from chaffinch.corpus.json_records import Record, _parsed, compact
from chaffinch.errors import DataError

KEYS = (list(TEXT_KEYS), list(LABEL_KEYS), list(jsonl._NOT_PLAIN))
SIGN = st.sampled_from('ab "\\/\b\f\n\r\t\x01\x1f\x7fé\u2028\u3000𝄞{}[]:,')
STRING = st.text(SIGN, max_size=9)
NUMBER = st.one_of(
    st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False), st.just(-0.0)
)
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBER, STRING),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(st.just("a"), STRING), inner, max_size=3)
    ),
    max_leaves=6,
)
NAME = st.one_of(st.sampled_from(["n", "source", "body", "data", "é", 'a"b', "\\"]), STRING)
LABEL = st.one_of(st.none(), STRING, NUMBER, st.booleans(), st.lists(st.one_of(STRING, NUMBER), max_size=3))


@st.composite
def plain_objects(draw):
    """The fields of a document in any order."""
    fields = draw(st.dictionaries(NAME, VALUE, max_size=4))
    fields |= {"text": draw(STRING)}
    fields |= draw(st.fixed_dictionaries({}, optional={"id": st.one_of(STRING, st.integers(), st.none())}))
    fields |= {draw(st.sampled_from(LABEL_KEYS)): draw(LABEL)} if draw(st.booleans()) else {}
    return dict(draw(st.permutations(list(fields.items()))))


def spelt(value, escaped, spaces):
    """A value as another tool may write it."""
    line = json.dumps(value, ensure_ascii=escaped, separators=(f"{spaces},{spaces}", f"{spaces}:{spaces}"))
    return spaces + line.replace("/", "\\/" if escaped else "/") + spaces


def read_by_python(line):
    """The document of a line; DataError if it has none."""
    value = _parsed("in.jsonl:1", line)
    if not isinstance(value, dict):
        raise DataError("no object")
    return document(Record("in.jsonl:1", value))


def written_by_python(d):
    d.fields |= {"prediction": "+", "confidence": 0.25}
    return (compact(with_fields(jsonl._head(d), d)) + "\n").encode()


def written_by_core(rows):
    return rows.lines(["prediction", "confidence"], [['"+"'] * len(rows), ["0.25"] * len(rows)])


@given(plain_objects(), st.booleans(), st.sampled_from(["", " ", "\t "]))
def test_a_plain_object_is_written_as_python_writes_it(value, escaped, spaces):
    line = spelt(value, escaped, spaces)
    rows = _core.json_rows(line.encode(), *KEYS)
    assert rows is not None
    assert len(rows) == 1
    d = read_by_python(line)
    assert rows.texts().strings() == [d.text]
    assert written_by_core(rows) == written_by_python(d)


DAMAGE = st.sampled_from(
    [*'{}[]":,\\ \t\r\n0-.eE', "\\u", "\\ud83d", "\\u0000", "NaN", "null", '"text":', '"a":1,']
)


@given(
    plain_objects(),
    st.booleans(),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2), DAMAGE), max_size=3),
)
@example({"text": ""}, False, [])
def test_a_damaged_line_is_nothing_or_what_python_reads(value, escaped, damage):
    line = json.dumps(value, ensure_ascii=escaped)
    for where, dropped, put in damage:
        at = int(where * len(line))
        line = line[:at] + put + line[at + dropped :]
    rows = _core.json_rows(line.encode(), *KEYS)
    if rows is None or "\n" in line:
        return
    if not len(rows):
        assert not line.strip()
        return
    d = read_by_python(line)
    assert rows.texts().strings() == [d.text]
    assert written_by_core(rows) == written_by_python(d)


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False), st.floats(1e-6, 1e18), st.integers().map(float)
    )
)
def test_numbers_are_spelt_as_python_spells_them(x):
    for form in (repr(x), f"{x:.17e}", f"{x:.3E}", f"{x:.1f}" if abs(x) < 1e300 else repr(x)):
        rows = _core.json_rows(f'{{"text": "", "x": {form}}}'.encode(), *KEYS)
        if rows is None:
            assert float(form) in (0.0, float("inf"), float("-inf"))  # out of range
        else:
            assert rows.lines(["n"], [["1"]]) == f'{{"text": "", "x": {float(form)!r}, "n": 1}}\n'.encode()


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "a", "text": "b"}',
        '{"text": "a", "n": {"x": 1, "\\u0078": 2}}',
        '{"text": "a", "n": "\\ud800"}',
        '{"text": "a", "n": "\\ud800\\u0041"}',
        '{"text": "a", "n": "\\udc00"}',
        '{"text": "a", "n": "\\u0000"}',
        '{"text": "a", "n": "\\u00 1"}',
        '{"text": "a", "n": "\\x41"}',
        '{"text": "a", "n": "\t"}',
        '{"text": "a", "n": NaN}',
        '{"text": "a", "n": -Infinity}',
        '{"text": "a", "n": 1e999}',
        '{"text": "a", "n": 01}',
        '{"text": "a", "n": 1.}',
        '{"text": "a", "n": .5}',
        '{"text": "a", "n": +1}',
        '{"text": "a", "n": 1e}',
        '{"text": "a", "n": [1,]}',
        '{"text": "a",}',
        '{"text": "a"} x',
        '{"text": "a"',
        '{"text": "a\\',
        '{"text": "a", "n": nul}',
        '{"text": "a", "n": ' + "[" * 99 + "]" * 99 + "}",
        '{"text": "a", "n": ' + "1" * 700 + "}",
        '{"text": 3}',
        '{"text": null}',
        '{"words": "a"}',
        '{"text": null, "body": "a"}',
        '{"text": "a", "id": 1.5}',
        '{"text": "a", "label": {"+": 1.0}}',
        '{"text": "a", "label": [[0, 1, "X"]]}',
        '{"text": "a", "labels": [null]}',
        '{"text": "a", "label": "+", "labels": ["+"]}',
        '{"text": "a", "spans": []}',
        '{"text": "a", "predicted": true}',
        '{"text": "a", "comments": []}',
        '{"text": "a", "prediction": "+"}',
        '["text"]',
        '{"text": "a"\r}',
    ],
)
def test_what_is_not_plain_is_left_to_python(line):
    assert _core.json_rows(line.encode(), *KEYS) is None
    assert _core.json_rows(b'{"text": "a"}\n' + line.encode(), *KEYS) is None


@given(st.lists(plain_objects(), min_size=1, max_size=3))
def test_cells_of_objects_are_those_of_documents_or_nothing(tmp_path_factory, values):
    lines = "".join(json.dumps(value) + "\n" for value in values)
    rows = _core.json_rows(lines.encode(), *KEYS)
    found = rows.cells()
    documents = [document(Record("x", value)) for value in values]
    same = all(list(d.fields) == list(documents[0].fields) for d in documents)
    fit = all(d.id != "" and "" not in d.labels for d in documents)
    listed = any(isinstance(value.get(key), list) and value[key] for value in values for key in LABEL_KEYS)
    if found is None:
        assert not (same and fit) or listed
        return
    names, cells = found
    out = tmp_path_factory.getbasetemp() / "cells.csv"
    fields = ["id", *documents[0].fields]
    write_csv(documents, out, fields=fields)
    assert names == ["text", "label", *fields]
    order = [1, 0, *range(2, len(names))]
    made = _core.delimited_lines([[names[c]] for c in order], ",", True) + cells.lines(order, ",", True)
    assert made == out.read_bytes()


@given(st.lists(st.tuples(STRING, STRING, STRING), max_size=4))
def test_cells_become_the_strings_of_objects(table):
    cells = _core.CellTable([[row[c] for row in table] for c in range(3)])
    names, forms = ["id", 'a"', "n"], ["optional", "string", "spelt"]
    made = cells.json_lines(names, forms, [0, 1, ["[1]"] * len(table)])
    wanted = [({"id": a} if a else {}) | {'a"': b, "n": [1]} for a, b, _ in table]
    assert made == "".join(compact(row) + "\n" for row in wanted).encode()


def test_wrong_columns_are_refused():
    cells = _core.CellTable([["a"], ["b"]])
    rows = _core.json_rows(b'{"text": "a"}', *KEYS)
    for wrong, what in (
        (lambda: cells.strings(2), "no such column"),
        (lambda: cells.filled(2), "no such column"),
        (lambda: cells.lines([2], ",", True), "no such column"),
        (lambda: cells.lines([0, ["x", "y"]], ",", True), "equal length"),
        (lambda: cells.lines([], ",", True), "at least one"),
        (lambda: cells.json_lines(["a"], ["string"], [0, 1]), "a name and a form"),
        (lambda: cells.json_lines(["a"], ["number"], [0]), "form must be"),
        (lambda: rows.lines(["a"], [["1", "2"]]), "a cell per row"),
        (lambda: _core.CellTable([["a"], []]), "equal length"),
        (lambda: _core.CellTable([]).pop_row(), "no row"),
    ):
        with pytest.raises(ValueError, match=what):
            wrong()
    with pytest.raises(TypeError, match="expected strings"):
        _core.CellTable([[1]])


def test_cells_outlive_the_objects_and_bytes_that_they_come_from():
    rows = _core.json_rows(b'{"text": "a\\u00e9", "n": 1.50}', *KEYS)
    _, cells = rows.cells()
    del rows
    strings = ["x" * 40]
    listed = _core.CellTable([strings])
    strings[0] = "other"
    assert (cells.strings(0), cells.strings(3), listed.strings(0)) == (["aé"], ["1.5"], ["x" * 40])
