"""Tables as others write them: CSV with semicolons, tables of Hugging Face's datasets with their names of classes."""

import json
from pathlib import Path
from typing import Any

import pytest

from chaffinch.corpus import detect, read, write
from chaffinch.errors import ConfigError, DataError, DataWarning
from chaffinch.text.document import Document
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


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_of_a_single_column_are_empty_cells(
    run: Runner,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    end: str,
) -> None:
    (tmp_path / "train.csv").write_text(written(","))
    assert run("train", tmp_path / "train.csv", "-o", tmp_path / "m.chaff").code == 0
    cells = ["", "good tea", "", "", "bad tea", ""]
    (tmp_path / name).write_bytes(end.join(["text", *cells, ""]).encode())
    found = list(read(tmp_path / name, name[2:]))
    assert [d.text for d in found] == cells
    assert [d.line for d in found] == [2, 3, 4, 5, 6, 7]
    asked = ["predict", tmp_path / "m.chaff", tmp_path / name, "--from", name[2:], "-o", tmp_path / "out.csv"]
    for size in (1 << 19, 12, 1):
        monkeypatch.setattr("chaffinch.corpus.record_blocks.SIZE", size)
        assert run(*asked).code == 0
        assert [d.text for d in read(tmp_path / "out.csv")] == cells
    (tmp_path / name).write_text("id,text\n1,a\n\n2,b\n\n".replace(",", "," if name == "a.csv" else "\t"))
    assert [d.text for d in read(tmp_path / name, name[2:])] == ["a", "b"]


def test_an_empty_text_alone_in_a_row_of_tsv_is_read_back(tmp_path: Path) -> None:
    texts = ["a", "", "b"]
    write((Document(text=text) for text in texts), tmp_path / "a.tsv", labelled=False)
    assert [d.text for d in read(tmp_path / "a.tsv", "tsv")] == texts


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            written(",").replace("\n", "\r").encode(),
            "a.csv:1: is not valid CSV: carriage return inside the row",
        ),
        (written(";").encode("utf-16"), "a.csv:1: NUL byte in UTF-16, expected UTF-8; convert the file"),
    ],
)
def test_files_of_other_systems_are_refused_with_advice(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=said):
        list(read(tmp_path / "a.csv"))


def test_semicolons_are_seen_through_a_pipe_too(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "a.csv").write_text(written(";"))
    assert run("train", tmp_path / "a.csv", "-o", tmp_path / "m.chaff").code == 0
    outcome = run("predict", tmp_path / "m.chaff", stdin=written(";").encode())
    assert [line.split(",")[0] for line in outcome.out.splitlines()] == ["label", "+", "-", "+"]
    (tmp_path / "unnamed").write_text(written("|"))
    assert detect(tmp_path / "unnamed").name == "csv"


LABELLED = [
    ("tea", "a cup of tea"),
    ("jam", "plum jam, two jars"),
    ("tea", "green tea"),
    ("jam", 'the "best" jam'),
]
OTHERS = [("tea", "black tea"), ("jam", "fig jam")]


def lines_of(rows: list[tuple[str, str]], sign: str = "\t") -> str:
    return "".join(f"{sign.join(row)}\n" for row in rows)


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "unnamed"])
@pytest.mark.parametrize("turned", [False, True])
def test_labels_and_texts_without_a_header_are_read_and_told(name: str, turned: bool, tmp_path: Path) -> None:
    rows = [(text, label) if turned else (label, text) for label, text in LABELLED]
    (tmp_path / name).write_text(lines_of(rows))
    assert detect(tmp_path / name).name == "tsv"
    with pytest.warns(
        DataWarning, match=r"has no header; it is read as if the first line were '(label|text)"
    ):
        found = list(read(tmp_path / name))
    assert [(d.labels[0], d.text) for d in found] == LABELLED
    assert [d.line for d in found] == [1, 2, 3, 4]


def test_a_csv_without_a_header_keeps_its_other_columns(tmp_path: Path) -> None:
    rows = [f'{n},{label},"{text}"' for n, (label, text) in enumerate(LABELLED[:3] + OTHERS)]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    with pytest.warns(DataWarning, match="column 1,label,text"):
        found = list(read(tmp_path / "a.csv"))
    assert [(d.labels, d.text, d.fields) for d in found][1] == (
        ["jam"],
        "plum jam, two jars",
        {"column 1": "1"},
    )


@pytest.mark.parametrize(
    "rows",
    [
        [("kind", "the words"), *LABELLED],  # a header with names of its own
        [("a", "x y"), ("b", "x z"), ("c", "y z"), ("d", "z z")],  # no label occurs twice
        [
            ("big tea", "a cup"),
            ("big jam", "two jars"),
            ("big tea", "a pot"),
            ("big jam", "a jar"),
        ],  # two texts
    ],
)
def test_in_doubt_a_header_is_asked_for(rows: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(lines_of(rows))
    with pytest.raises(DataError, match="add a line above it, such as label,text"):
        list(read(tmp_path / "a.tsv"))


def test_tokens_and_tags_are_not_taken_for_labelled_texts(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("the\tD\ntea\tN\n\nthe\tD\njam\tN\n\n")
    assert detect(tmp_path / "a.tsv").name == "columns"


def test_every_row_without_a_header_is_answered_once(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "a.tsv").write_text(lines_of(LABELLED * 5 + OTHERS * 5))
    assert run("train", tmp_path / "a.tsv", "-o", tmp_path / "m.chaff").code == 0
    many = LABELLED * 12_000  # several blocks
    (tmp_path / "b.txt").write_text(lines_of(many))
    outcome = run("predict", tmp_path / "m.chaff", tmp_path / "b.txt", "-o", tmp_path / "out.tsv")
    answers = (tmp_path / "out.tsv").read_text().splitlines()
    assert outcome.err.count("has no header") == 1
    assert [tuple(line.split("\t")[:2]) for line in answers] == [("label", "text"), *many]


def test_records_in_an_array_may_have_other_keys(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps([{"utterance": text, "kind": label} for label, text in LABELLED])
    )
    found = list(read(tmp_path / "a.json", label="kind"))
    assert [(d.labels[0], d.text) for d in found] == LABELLED


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
