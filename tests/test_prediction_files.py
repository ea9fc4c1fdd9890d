"""What predict writes: types are kept, ids and texts come along, and a model's answers are not taken for people's."""

import json
from pathlib import Path

import pytest

from chaffinch.corpus import read, write
from chaffinch.corpus.conversion import convert
from chaffinch.text.document import Document, Span
from commandline import Runner, run  # noqa: F401

ROWS = [
    {
        "id": 7,
        "text": "good tea",
        "label": "+",
        "stars": 4.5,
        "meta": {"a": [1, None]},
        "seen": True,
        "by": None,
    },
    {"id": "x8", "text": "bad tea", "label": "-", "stars": 1, "meta": {}, "seen": False, "by": "Ann"},
] * 3
NAMES = "Ann B-PER\nleft O\nOslo B-LOC\n\nthe O\ntea O\n\n" * 4


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def classifier(run: Runner, tmp_path: Path) -> Path:  # noqa: F811
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert run("train", tmp_path / "rows.jsonl", "-o", tmp_path / "stars.chaff").code == 0
    return tmp_path / "stars.chaff"


@pytest.fixture
def tagger(run: Runner, tmp_path: Path) -> Path:  # noqa: F811
    (tmp_path / "names.conll").write_text(NAMES)
    assert run("train", tmp_path / "names.conll", "-o", tmp_path / "names.chaff").code == 0
    (tmp_path / "two.txt").write_text("Ann left Oslo\nthe tea\n")
    return tmp_path / "names.chaff"


def test_json_lines_keep_ids_numbers_objects_and_nulls(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    write(read(path), tmp_path / "b.jsonl", "jsonl")
    assert lines_of(tmp_path / "b.jsonl") == ROWS


def test_predictions_keep_types_and_the_confidence_is_a_number(
    run: Runner,  # noqa: F811
    classifier: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out.jsonl"
    assert run("predict", classifier, tmp_path / "rows.jsonl", "-o", out).code == 0
    for given, found in zip(ROWS, lines_of(out), strict=True):
        assert {name: found[name] for name in given} == given
        assert isinstance(found["confidence"], float)


def test_parquet_has_columns_of_numbers(run: Runner, classifier: Path, tmp_path: Path) -> None:  # noqa: F811
    arrow = pytest.importorskip("pyarrow.parquet")
    assert run("predict", classifier, tmp_path / "rows.jsonl", "-o", tmp_path / "out.parquet").code == 0
    table = arrow.read_table(tmp_path / "out.parquet")
    types = {name: str(table.schema.field(name).type) for name in ("confidence", "stars", "seen", "by", "id")}
    assert types == {
        "confidence": "double",
        "stars": "double",
        "seen": "bool",
        "by": "string",
        "id": "string",
    }
    again = list(read(tmp_path / "out.parquet"))
    assert isinstance(again[0].fields["confidence"], float)
    assert [d.fields["stars"] for d in again[:2]] == [4.5, 1.0]


def test_json_of_documents_keeps_the_id_and_the_text(run: Runner, classifier: Path, tmp_path: Path) -> None:  # noqa: F811
    outcome = run("predict", classifier, tmp_path / "rows.jsonl", "--json")
    found = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(row["id"], row["text"]) for row in found] == [(row["id"], row["text"]) for row in ROWS]


def test_json_of_sentences_keeps_the_id_and_the_text(run: Runner, tagger: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "new.jsonl").write_text('{"id": 7, "text": "Ann left  Oslo"}\n')
    [line] = run("predict", tagger, tmp_path / "new.jsonl", "--json").out.splitlines()
    assert json.loads(line)["id"] == 7
    assert json.loads(line)["text"] == "Ann left  Oslo"


def test_a_file_called_json_is_one_json_value(
    run: Runner,  # noqa: F811
    tagger: Path,
    classifier: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out.json"
    for asked in (
        (tagger, tmp_path / "two.txt"),
        (tagger, tmp_path / "two.txt", "--to", "doccano"),
        (tagger, tmp_path / "two.txt", "--json"),
    ):
        assert run("predict", *asked, "-o", out).code == 0
        assert len(json.loads(out.read_text())) == 2
    for asked in ((), ("--to", "doccano"), ("--json",)):
        assert run("predict", classifier, tmp_path / "rows.jsonl", *asked, "-o", out).code == 0
        assert len(json.loads(out.read_text())) == len(ROWS)


def test_labels_of_documents_go_to_the_tools_as_predictions(
    run: Runner,  # noqa: F811
    classifier: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out.json"
    assert run("predict", classifier, tmp_path / "rows.jsonl", "-o", out).code == 0
    task = json.loads(out.read_text())[0]
    assert task["id"] == 7
    assert "annotations" not in task
    assert 0 < task["predictions"][0]["score"] <= 1
    assert task["predictions"][0]["result"][0]["value"] == {"choices": ["+"]}
    assert run("predict", classifier, tmp_path / "rows.jsonl", "-o", out, "--to", "doccano").code == 0
    assert json.loads(out.read_text())[1]["label"] == ["-"]
    assert run("predict", classifier, tmp_path / "rows.jsonl", "-o", out, "--to", "prodigy").code == 0
    task = lines_of(out)[0]
    assert task["accept"] == ["+"]
    assert "answer" not in task


def test_predictions_converted_to_prodigy_wait_for_their_answer(
    run: Runner,  # noqa: F811
    tagger: Path,
    tmp_path: Path,
) -> None:
    assert (
        run("predict", tagger, tmp_path / "two.txt", "-o", tmp_path / "found.jsonl", "--marginals").code == 0
    )
    convert(tmp_path / "found.jsonl", tmp_path / "tasks.jsonl", to_format="prodigy")
    assert ["answer" in task for task in lines_of(tmp_path / "tasks.jsonl")] == [False, False]
    assert (
        run("predict", tagger, tmp_path / "two.txt", "-o", tmp_path / "t.jsonl", "--to", "prodigy").code == 0
    )
    assert ["answer" in task for task in lines_of(tmp_path / "t.jsonl")] == [False, False]


def test_what_people_annotated_is_accepted(tmp_path: Path) -> None:
    write(
        [Document("Ann left", spans=[Span("PER", 0, 3)]), Document("tea")],
        tmp_path / "a.jsonl",
        "jsonl-spans",
    )
    convert(tmp_path / "a.jsonl", tmp_path / "b.jsonl", to_format="prodigy")
    assert [task["answer"] for task in lines_of(tmp_path / "b.jsonl")] == ["accept", "accept"]


def test_a_task_where_nothing_was_found_has_a_score_too(run: Runner, tagger: Path, tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / "out.json"
    assert run("predict", tagger, tmp_path / "two.txt", "-o", out, "--marginals").code == 0
    found, nothing = (task["predictions"][0] for task in json.loads(out.read_text()))
    assert len(found["result"]) == 2
    assert nothing["result"] == []
    assert 0.5 < nothing["score"] <= 1
    assert list(read(out))[1].score == nothing["score"]


def test_unscored_predictions_are_predictions_all_the_same(run: Runner, tagger: Path, tmp_path: Path) -> None:  # noqa: F811
    assert run("predict", tagger, tmp_path / "two.txt", "-o", tmp_path / "out.json").code == 0
    assert all("annotations" not in task for task in json.loads((tmp_path / "out.json").read_text()))
