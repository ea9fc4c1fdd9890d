"""What predict writes: types are kept, ids and texts come along, and a model's answers are not taken for people's."""

import copy
import json
import pickle
from pathlib import Path

import pytest

from chaffinch.corpus import read, write
from chaffinch.corpus.conversion import convert
from chaffinch.text.document import Document, Span, ValueLabel, typed_label
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


@pytest.mark.parametrize("labels", [(3, 4), (True, False), (0.5, 2.0), (3, "three")], ids=str)
def test_labels_that_are_numbers_come_back_as_numbers(
    labels: tuple[object, object],
    run: Runner,  # noqa: F811
    tmp_path: Path,
) -> None:
    rows = [{"text": "good tea", "label": labels[0]}, {"text": "bad tea", "label": labels[1]}] * 3
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model, out = tmp_path / "m.chaff", tmp_path / "out.jsonl"
    assert run("train", tmp_path / "rows.jsonl", "-o", model).code == 0
    assert run("predict", model, tmp_path / "rows.jsonl", "-o", out).code == 0
    found = lines_of(out)
    for key in ("label", "prediction"):
        assert [(one[key], type(one[key])) for one in found[:2]] == [(y, type(y)) for y in labels]
    assert run("evaluate", out, "--json").code == 0
    shown = run("predict", model, tmp_path / "rows.jsonl", "-o", "-", "--json").out.splitlines()
    assert [json.loads(line)["prediction"] for line in shown[:2]] == list(labels)
    assert run("convert", tmp_path / "rows.jsonl", tmp_path / "again.jsonl").code == 0
    assert lines_of(tmp_path / "again.jsonl") == rows
    if labels == (3, 4):
        pytest.importorskip("pyarrow")
        assert run("predict", model, tmp_path / "rows.jsonl", "-o", tmp_path / "out.parquet").code == 0
        assert next(iter(read(tmp_path / "out.parquet"))).fields["prediction"] == 3


def test_a_label_that_is_a_number_here_and_text_there_stays_text(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    rows = [
        {"text": "good tea", "label": 3},
        {"text": "bad tea", "label": 4},
        {"text": "good", "label": "3"},
    ] * 3
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model, out = tmp_path / "m.chaff", tmp_path / "out.jsonl"
    assert run("train", tmp_path / "rows.jsonl", "-o", model).code == 0
    assert run("predict", model, tmp_path / "rows.jsonl", "-o", out).code == 0
    assert [one["prediction"] for one in lines_of(out)[:2]] == ["3", 4]


def test_value_labels_survive_copies_and_pickles() -> None:
    for value in (3, 2.5, True):
        label = ValueLabel(value)
        for again in (copy.deepcopy(label), pickle.loads(pickle.dumps(label))):
            assert again == label == json.dumps(value)
            assert typed_label(again) is value or typed_label(again) == value


def test_unscored_predictions_in_json_lines_do_not_become_accepted_tasks(
    run: Runner,  # noqa: F811
    tagger: Path,
    classifier: Path,
    tmp_path: Path,
) -> None:
    spans = tmp_path / "spans.jsonl"
    assert run("predict", tagger, tmp_path / "two.txt", "-o", spans).code == 0
    (tmp_path / "bare.txt").write_text("good tea\nbad tea\n")
    labels = tmp_path / "labels.jsonl"
    assert run("predict", classifier, tmp_path / "bare.txt", "-o", labels).code == 0
    for given in (spans, labels):
        tasks = tmp_path / f"tasks-{given.name}"
        assert run("convert", given, tasks, "--to", "prodigy").code == 0
        assert all("answer" not in task for task in lines_of(tasks))
    assert run("convert", spans, tmp_path / "tasks.json", "--to", "label-studio").code == 0
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert all(task["predictions"] and not task.get("annotations") for task in tasks)
    assert run("convert", spans, tmp_path / "again.jsonl").code == 0
    assert lines_of(tmp_path / "again.jsonl") == lines_of(spans)
