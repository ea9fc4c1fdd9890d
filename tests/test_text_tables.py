"""Texts as columns of strings: the same rows, answers and faults as documents one by one."""

import csv
import io

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaffinch import Classifier, _core, load
from chaffinch.corpus import record_blocks as blocks_module
from chaffinch.corpus import registry
from chaffinch.corpus.splitter import RowRules, _column_text
from chaffinch.corpus.text_table import strings_of
from chaffinch.errors import DataError
from chaffinch.kinds import documents as documents_module
from chaffinch.kinds.document_answers import four_decimals
from commandline import run  # noqa: F401

CELL = st.text(alphabet=st.sampled_from('ab ,"\n\r\t;é\u3000\x1f\u200b'), max_size=5)


def quoted(cell: str) -> str:
    """The definition of a cell of CSV."""
    if not cell or cell != cell.strip() or any(c in cell for c in ',"\n\r'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), max_size=6)))
def test_lines_of_csv_are_quoted_cells_that_are_read_back(table):
    columns = [list(cells) for cells in zip(*table, strict=True)] or [[]]
    made = _core.delimited_lines(columns, ",", True).decode()
    assert made == "".join(",".join(map(quoted, row)) + "\n" for row in table)
    assert list(csv.reader(io.StringIO(made, newline=""))) == table


ROWS = st.text(alphabet=st.sampled_from('ab,"\n\ré\t'), max_size=14)


@given(ROWS, st.sampled_from([",", "\t"]), st.booleans())
def test_cells_are_those_of_the_reader_of_python_or_nothing(rows, sign, quoted_cells):
    cells = _core.delimited_cells(rows.encode(), sign, quoted_cells)
    found = None if cells is None else [cells.strings(c) for c in range(cells.width)]
    quoting = csv.QUOTE_MINIMAL if quoted_cells else csv.QUOTE_NONE
    lines = io.StringIO(rows, newline="\n")
    try:
        table = [row for row in csv.reader(lines, delimiter=sign, quoting=quoting, strict=True) if row]
    except csv.Error:
        assert found is None
        return
    if len({len(row) for row in table}) > 1:
        assert found is None
    elif found is None:  # an end of line that only Python takes
        assert "\r" in rows.replace("\r\n", "")
    else:
        assert found == [list(cells) for cells in zip(*table, strict=True)]


@given(st.text(alphabet=st.sampled_from('ab,"\n\r;\ufeff'), max_size=16), st.sampled_from([",", ";"]))
def test_the_last_row_ends_outside_quoted_cells(text, sign):
    rows = text.encode()
    outside = blocks_module._outside_quotes(rows, sign.encode())
    assert _core.last_row_end(rows, sign) == max(rows.rfind(b"\n", a, b) + 1 for a, b in outside)


@given(st.text(alphabet=st.sampled_from("ab\n\r\u2028é"), max_size=9))
def test_lines_end_at_line_feeds_alone(text):
    ended = text if text.endswith("\n") else text + "\n"
    wanted = [line.removesuffix("\r") for line in ended[:-1].split("\n")] if text else []
    cells = _core.text_lines(text.encode())
    if cells is None:  # a carriage return that ends no line, or the last line without a line feed
        assert any("\r" in line for line in wanted) or text.endswith("\r")
    else:
        assert cells.strings(0) == wanted


@given(
    st.lists(st.text(alphabet=st.sampled_from("ab é"), max_size=11), min_size=1, max_size=9),
    st.integers(1, 9),
    st.data(),
)
def test_columns_of_tokens_are_those_between_tabs(cells, columns, data):
    kept = data.draw(st.integers(0, columns - 1))
    word, line = min(kept, len(cells) - 1), "x" + "\t".join(cells)
    rules = RowRules(columns=columns, kept=(kept,), word=word, expected="as told")
    text = _column_text(rules, 1)
    wanted = line.split("\t")
    assert text.feed(line.encode() + b"\n") == (len(wanted) == columns and wanted[word] != "")
    if len(wanted) != columns:
        assert text.fault()[:3] == ("columns", 1, len(wanted))
    elif wanted[word]:
        assert text.finish()
        assert text.take()[0][0][0] == [wanted[kept]]


@given(st.binary(max_size=40), st.integers(1, 600))
@example(b"\n" * 32, 300)
def test_occurrences_are_counted(content, times):
    content *= times
    assert _core.occurrences(content, "\n") == content.count(b"\n")


def test_every_white_space_of_python_is_padding():
    points = [chr(c) for c in range(0x11000) if not 0xD800 <= c < 0xE000]
    before = _core.delimited_lines([[c + "x" for c in points if c not in ',"\n\r']], ",", True).decode()
    after = _core.delimited_lines([["x" + c for c in points if c not in ',"\n\r']], ",", True).decode()
    spaces = [c for c in points if c.isspace() and c not in "\n\r"]
    assert [line[1] for line in before.split("\n") if line.startswith('"')] == spaces
    assert [line[2] for line in after.split("\n") if line.startswith('"')] == spaces


def test_wrong_columns_are_refused():
    with pytest.raises(ValueError, match="equal length"):
        _core.delimited_lines([["a"], []], ",", True)
    with pytest.raises(ValueError, match="at least one column"):
        _core.delimited_lines([], ",", True)
    with pytest.raises(TypeError, match="expected strings"):
        _core.delimited_lines([["a", None]], ",", True)


@given(
    st.lists(
        st.one_of(
            st.floats(0, 1), st.integers(0, 20_000).map(lambda n: n / 20_000), st.sampled_from([0.0, 1.0])
        ),
        min_size=1,
    )
)
def test_decimals_are_those_of_formatting(values):
    assert strings_of(four_decimals(np.array(values))) == [f"{round(p, 4):.4f}" for p in values]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    texts = ["good food", "very good", "bad soup", "awful, bad"] * 4
    Classifier("ridge", choose=False).fit(texts, ["+", "+", "-", "-"] * 4).save(folder / "one.chaff")
    Classifier("svm").fit(texts, [["+"], ["+", "big"], [], ["-", "big"]] * 4).save(folder / "several.chaff")
    Classifier("svm").fit(texts, np.array([[1, 0], [1, 1], [0, 0], [0, 1]] * 4)).save(folder / "matrix.chaff")
    return folder


FILES = {
    "plain.txt": "good food\n\n very, bad\r\nlast",
    "bare.csv": 'text\n"good, ""food"""\n\n" padded "\n""\n',
    "columns.csv": "Label,note,text,id\n+,,good food,1\n,x,bad soup,\n-,y,very,3\n",
    "late id.csv": "text,id\ngood,\nbad,\nfood,7\n",
    "no labels.csv": "label,text\n,good\n,bad\n",
    "again.csv": "prediction,text,confidence\nold,good,1\nolder,bad,0\n",
    "semicolons.csv": "\ufefftext;n\ngood;1\nbad, awful;2\n",
    "excel.csv": "sep=|\ntext|n\ngood|1\nbad|2\n",
    "no header.tsv": "spam\tgood food now\nham\tbad soup\nspam\tvery good\nham\tawful bad\n",
    "cells.tsv": 'id\ttext\n1\tgood "food"\n2\t\n',
    "short row.csv": "text,n\ngood,1\nbad\nfood,3\n",
    "open quote.csv": 'text,n\ngood,1\n"bad,2\n',
    "twice.csv": "text,n,n\ngood,1,2\n",
    "taken.csv": "Label,label,text\n+,x,good\n",
    "no text.csv": "words\ngood\n",
    "reserved.csv": "body,text,labels\nx,good,1\n",
    "plain.jsonl": (
        '{"id": 7, "text": "good\\tfood", "n": 1.50}\r\n\n{"text":"bad \\u00e9","id":"x","n":[1,{"a":null}]}\n'
    ),
    "labels.jsonl": '{"text": "good", "label": 1}\n{"text": "bad", "label": "-"}\n{"text": "food", "label": null}\n',
    "lists.jsonl": (
        '{"text": "good", "labels": ["+"]}\n{"labels": ["-", "big"], "text": "bad"}\n{"text": "x", "labels": []}\n'
    ),
    "late label.jsonl": '{"text": "good"}\n{"text": "bad"}\n{"text": "food", "label": "+", "id": 3}\n',
    "other keys.jsonl": '{"text": "good", "n": 1}\n{"text": "bad", "m": 2}\n',
    "answered.jsonl": '\ufeff{"text": "good", "prediction": "old", "n": 1}\n{"confidence": 2, "text": "bad"}\n',
    "usual key.jsonl": '{"body": "good", "post": "bad"}\n{"text": null, "review": "food"}\n',
    "spans.jsonl": '{"text": "good", "m": 1}\n{"text": "bad", "spans": [{"start": 0, "end": 3, "label": "X"}]}\n',
    "broken.jsonl": '{"text": "good"}\n{"text": "bad",}\n',
    "no text.jsonl": '{"text": "good"}\n{"words": "bad"}\n',
    "number.jsonl": '{"text": "good"}\n{"text": 3}\n',
    "half a pair.jsonl": '{"text": "good"}\n{"text": "\\ud800"}\n',
    "twice.jsonl": '{"text": "good", "n": 1, "n": 2}\n{"text": "bad", "n": NaN}\n',
    "return.jsonl": '{"text": "good"}\n{"text":\r"bad"}\n',
}


CELLS = [name for name in FILES if not name.endswith(".jsonl")]
OBJECTS = [name for name in FILES if name.endswith(".jsonl")]
WHOLE, SMALL = 1 << 20, 9  # bytes of a block


@pytest.mark.parametrize(
    ("name", "model"),
    [(name, model) for name in CELLS for model in ("one", "several")]
    + [(name, "one") for name in OBJECTS]
    + [("plain.jsonl", "several")],
)
def test_tables_give_the_answers_and_faults_of_documents(models, tmp_path, run, monkeypatch, name, model):  # noqa: F811
    source = tmp_path / name
    source.write_text(FILES[name], newline="")
    made = []
    wanted = [(WHOLE, "csv"), (WHOLE, "tsv"), (SMALL, "csv"), (SMALL, "tsv"), (WHOLE, "jsonl")]
    if name in OBJECTS:
        wanted = [(WHOLE, "csv"), (SMALL, "jsonl")]
    for tables in (registry.TEXT_TABLES, {}):
        monkeypatch.setattr(documents_module, "TEXT_TABLES", tables)
        for size, to in wanted:
            monkeypatch.setattr(blocks_module, "SIZE", size)
            out = tmp_path / f"out.{to}"
            out.unlink(missing_ok=True)
            outcome = run("predict", str(models / f"{model}.chaff"), str(source), "-o", str(out))
            made.append((outcome.code, outcome.err, out.read_bytes() if out.exists() else None))
    assert made[: len(wanted)] == made[len(wanted) :]
    if name in CELLS:
        assert made[0] == made[2]


@pytest.mark.parametrize("on_error", ["skip", "mark"])
@pytest.mark.parametrize("to", ["csv", "jsonl"])
def test_objects_that_cannot_be_read_are_left_out_or_marked(models, tmp_path, run, monkeypatch, on_error, to):  # noqa: F811
    lines = ['{"text": "good", "n": 1}', "{", '{"text": "bad", "n": 2}', '{"text": "bad", "n": NaN}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    made = []
    for tables in (registry.TEXT_TABLES, {}):
        monkeypatch.setattr(documents_module, "TEXT_TABLES", tables)
        out = tmp_path / f"out.{to}"
        told = ["--on-error", on_error, "-o", str(out)]
        outcome = run("predict", str(models / "one.chaff"), str(tmp_path / "in.jsonl"), *told)
        made.append((outcome.code, outcome.err, out.read_bytes()))
    assert made[0] == made[1]
    assert made[0][2].count(b"\n") == (to == "csv") + (2 if on_error == "skip" else 4)
    assert ":2: is not valid JSON" in made[0][1]


def test_an_id_that_the_first_row_lacks_is_kept(models, tmp_path, run):  # noqa: F811
    (tmp_path / "in.csv").write_text("text,id\ngood,\nbad,7\n")
    run("predict", str(models / "one.chaff"), str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"))
    found = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert [row["id"] for row in found] == ["", "7"]


def test_a_model_of_a_matrix_of_labels_names_its_labels(models, tmp_path, run):  # noqa: F811
    (tmp_path / "in.txt").write_text("very good\nbad soup\n")
    run("predict", str(models / "matrix.chaff"), str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.csv"))
    found = [row["prediction"] for row in csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text()))]
    given = load(models / "matrix.chaff").predict(["very good", "bad soup"])
    assert found == ["|".join(str(y) for y in np.flatnonzero(row)) for row in given]
    assert found != ["", ""]


def test_a_tab_within_a_cell_is_refused_with_its_document(models, tmp_path, run):  # noqa: F811
    (tmp_path / "in.csv").write_text("text\ngood\nbad\tfood\n")
    outcome = run(
        "predict", str(models / "one.chaff"), str(tmp_path / "in.csv"), "-o", str(tmp_path / "o.tsv")
    )
    assert outcome.code == 2
    assert "document 2: a tab or line break does not fit in TSV" in outcome.err
    assert not (tmp_path / "o.tsv").exists()


@pytest.mark.parametrize("to", ["csv", "jsonl"])
@pytest.mark.parametrize("name", ["plain.txt", "columns.csv", "cells.tsv", "labels.jsonl", "plain.jsonl"])
def test_no_document_is_made_for_a_row(models, tmp_path, run, monkeypatch, name, to):  # noqa: F811
    (tmp_path / name).write_text(FILES[name], newline="")

    def refuse(*_: object, **__: object) -> None:
        raise DataError("a document was made")

    monkeypatch.setattr(documents_module, "every_document", refuse)
    outcome = run("predict", str(models / "one.chaff"), str(tmp_path / name), "-o", str(tmp_path / f"o.{to}"))
    assert outcome.code == 0, outcome.err
