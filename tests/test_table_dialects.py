"""Tables as others write them: CSV with semicolons, tables of Hugging Face's datasets with their names of classes."""

import json
from pathlib import Path
from typing import Any

import pytest

from chaffinch.corpus import detect, read
from chaffinch.errors import ConfigError, DataError
from commandline import Runner, run  # noqa: F401

ROWS = [("+", "good, fine tea"), ("-", 'a "bad" tea'), ("+", "one; two | three")]


def written(sign: str, *, before: str = "") -> str:
    quoted = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row] for row in ROWS]
    return before + "\n".join(sign.join(row) for row in [["label", "text"], *quoted]) + "\n"


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("named", [True, False])
def test_the_delimiter_of_csv_is_seen_from_the_header(sign: str, named: bool, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(written(sign))
    found = list(read(tmp_path / "a.csv", text="text" if named else None))
    assert [(d.labels[0], d.text) for d in found] == ROWS
    assert [d.line for d in found] == [2, 3, 4]


def test_the_line_of_excel_names_the_delimiter(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(written("#", before="sep=#\n"))
    found = list(read(tmp_path / "a.csv"))
    assert [(d.labels[0], d.text) for d in found] == ROWS
    assert found[0].line == 3


def test_a_delimiter_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(written("#"))
    assert [d.text for d in read(tmp_path / "a.csv", delimiter="#")] == [text for _, text in ROWS]
    with pytest.raises(ConfigError, match="one character"):
        list(read(tmp_path / "a.csv", delimiter="::"))


def test_one_column_needs_no_delimiter(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text\n"a, b; c"\nd\n')
    assert [d.text for d in read(tmp_path / "a.csv")] == ["a, b; c", "d"]


def test_semicolons_are_seen_through_a_pipe_too(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "a.csv").write_text(written(";"))
    assert run("train", tmp_path / "a.csv", "-o", tmp_path / "m.chaff").code == 0
    outcome = run("predict", tmp_path / "m.chaff", stdin=written(";").encode())
    assert [line.split(",")[0] for line in outcome.out.splitlines()] == ["label", "+", "-", "+"]
    (tmp_path / "unnamed").write_text(written("|"))
    assert detect(tmp_path / "unnamed").name == "csv"


NAMES = ["O", "B-PER", "I-PER"]


def table(path: Path, columns: dict[str, Any], features: dict[str, Any] | None = None) -> Path:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    made = arrow.table(columns)
    if features is not None:
        made = made.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    parquet.write_table(made, path)
    return path


def classes(kind: str = "List", names: list[str] = NAMES) -> dict[str, Any]:
    return {"feature": {"names": names, "_type": "ClassLabel"}, "_type": kind}


SENTENCES = {"id": ["0", "1"], "tokens": [["Ann", "Lee", "left"], ["tea"]], "ner_tags": [[1, 2, 0], [0]]}


@pytest.mark.parametrize("kind", ["List", "Sequence"])
def test_tokens_and_numbered_tags_are_sentences_with_the_names_of_their_classes(
    kind: str, tmp_path: Path
) -> None:
    path = table(tmp_path / "a.parquet", SENTENCES, {"ner_tags": classes(kind)})
    found = list(read(path))
    assert [d.words() for d in found] == SENTENCES["tokens"]
    assert [d.columns["y"] for d in found] == [["B-PER", "I-PER", "O"], ["O"]]
    assert [d.id for d in found] == ["0", "1"]


def test_without_names_the_numbers_are_the_tags(tmp_path: Path) -> None:
    assert next(read(table(tmp_path / "a.parquet", SENTENCES))).columns["y"] == ["1", "2", "0"]


def test_another_column_of_tags_can_be_learned(tmp_path: Path) -> None:
    more = SENTENCES | {"pos_tags": [[0, 0, 1], [0]]}
    path = table(tmp_path / "a.parquet", more, {"ner_tags": classes(), "pos_tags": classes(names=["N", "V"])})
    assert next(read(path)).columns == {"pos_tags": ["N", "N", "V"], "y": ["B-PER", "I-PER", "O"]}
    assert next(read(path, label="pos_tags")).columns["y"] == ["N", "N", "V"]
    with pytest.raises(DataError, match="no column 'dep' of tags; there is 'ner_tags', 'pos_tags'"):
        next(read(path, label="dep"))


def test_classes_of_whole_texts_have_their_names(tmp_path: Path) -> None:
    columns = {"text": ["good", "bad", "new"], "label": [1, 0, -1]}
    path = table(tmp_path / "a.parquet", columns, {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}})
    assert [d.labels for d in read(path)] == [["pos"], ["neg"], []]


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([[1, 2], [0]], "row 1: 3 tokens, but 'ner_tags' has 2"),
        ([[9, 2, 0], [0]], "row 1: class 9 in column 'ner_tags'"),
    ],
)
def test_tags_that_do_not_fit_are_refused_with_their_row(tags: list, message: str, tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", SENTENCES | {"ner_tags": tags}, {"ner_tags": classes()})
    with pytest.raises(DataError, match=message):
        list(read(path))


def test_taggers_learn_from_and_label_such_tables(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    columns = {name: rows * 4 for name, rows in SENTENCES.items()}
    path = table(tmp_path / "a.parquet", columns, {"ner_tags": classes()})
    assert run("train", path, "-o", tmp_path / "m.chaff").code == 0
    outcome = run("predict", tmp_path / "m.chaff", path, "--json")
    assert json.loads(outcome.out.splitlines()[0])["predictions"] == [["B-PER", "I-PER", "O"]]


def test_damaged_metadata_name_nothing(tmp_path: Path) -> None:
    for features in ({"ner_tags": 7}, {"ner_tags": {"feature": None}}, {"ner_tags": {"names": [1]}}):
        assert next(read(table(tmp_path / "a.parquet", SENTENCES, features))).columns["y"] == ["1", "2", "0"]
