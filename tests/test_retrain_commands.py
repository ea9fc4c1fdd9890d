"""chaffinch compare and chaffinch doctor: exit codes, what is printed, what is written."""

import csv
import json
from pathlib import Path

import pytest

from chaffinch import Tagger, samples
from chaffinch.corpus import write
from commandline import Runner, run

__all__ = ["run"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("retrain")
    lines = samples.load("ingredients", n=400)
    X, y = [d.words() for d in lines], [d.columns["y"] for d in lines]
    Tagger("hmm").fit(X[:15], y[:15]).save(made / "worse.chaff")
    Tagger("hmm").fit(X, y).save(made / "better.chaff")
    write(samples.load("ingredients", "test", n=150), made / "test.conll")
    return made


def test_a_better_model_may_ship(run: Runner, folder: Path) -> None:
    outcome = run("compare", folder / "worse.chaff", folder / "better.chaff", folder / "test.conll")
    assert outcome.code == 0
    assert "the new model is better" in outcome.out
    assert "Fixed: wrong before, right now" in outcome.out
    assert "taken for" in outcome.out


def test_a_worse_model_may_not(run: Runner, folder: Path) -> None:
    outcome = run("compare", folder / "better.chaff", folder / "worse.chaff", folder / "test.conll")
    assert outcome.code == 1
    assert "Regression: by token accuracy the new model is worse" in outcome.out


def test_the_same_model_may_ship_even_if_any_loss_is_refused(run: Runner, folder: Path) -> None:
    outcome = run("compare", folder / "better.chaff", folder / "better.chaff", folder / "test.conll", "--any")
    assert outcome.code == 0
    assert "no answer changed" in outcome.out


def test_a_model_below_the_limit_may_not_ship(run: Runner, folder: Path) -> None:
    models = folder / "worse.chaff", folder / "better.chaff"
    assert run("compare", *models, folder / "test.conll", "--fail-below", "0.999").code == 1
    assert run("compare", *models, folder / "test.conll", "--fail-below", "0.5").code == 0


def test_compare_prints_json_with_scores_rows_and_verdict(run: Runner, folder: Path) -> None:
    outcome = run(
        "compare",
        folder / "better.chaff",
        folder / "worse.chaff",
        folder / "test.conll",
        "--json",
        "--top",
        2,
    )
    found = json.loads(outcome.out)
    assert outcome.code == 1
    assert found["verdict"]["regression"] is True
    assert found["scores"]["token_accuracy"]["new"] < found["scores"]["token_accuracy"]["old"]
    assert found["changes"].keys() == {"fixed", "broken", "both wrong"}
    broken = [row for row in found["listed"] if row["kind"] == "broken"]
    assert len(broken) == 2
    assert broken[0].keys() >= {"where", "text", "gold", "old", "new", "come"}
    assert broken[0]["old"] == broken[0]["gold"] != broken[0]["new"]


def test_compare_writes_a_page_of_its_own(run: Runner, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "changes.html"
    run("compare", folder / "worse.chaff", folder / "better.chaff", folder / "test.conll", "--html", page)
    text = page.read_text()
    assert "Fixed: wrong before, right now" in text
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("better.chaff", "worse.chaff", "none.conll"), "no such file"),
        (("none.chaff", "worse.chaff", "test.conll"), "no such file"),
        (("better.chaff", "worse.chaff", "test.conll", "--score", "beauty"), "there is no score 'beauty'"),
        (("better.chaff", "worse.chaff", "test.conll", "--text", "x"), "--text does not apply to a tagger"),
        (("better.chaff", "worse.chaff", "better.chaff"), "found a model"),
    ],
)
def test_compare_says_what_is_wrong_in_one_sentence(
    run: Runner, folder: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    paths = [folder / a if a.endswith((".chaff", ".conll")) else a for a in arguments]
    outcome = run("compare", *paths)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_history_has_a_row_for_every_comparison(run: Runner, folder: Path, tmp_path: Path) -> None:
    history = tmp_path / "scores.csv"
    better, worse, data = folder / "better.chaff", folder / "worse.chaff", folder / "test.conll"
    run("compare", worse, better, data, "--history", history)
    run("compare", better, worse, data, "--history", history)
    rows = list(csv.DictReader(history.read_text().splitlines()))
    assert [row["regression"] for row in rows] == ["no", "yes"]
    assert rows[0]["fixed"] == rows[1]["broken"]
    assert float(rows[0]["new_value"]) == float(rows[1]["old_value"]) > float(rows[0]["old_value"])
    assert int(rows[0]["bytes"]) == better.stat().st_size


def test_a_history_that_is_none_is_left_alone(run: Runner, folder: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.csv"
    notes.write_text("my,notes\n")
    model = folder / "better.chaff"
    outcome = run("compare", model, model, folder / "test.conll", "--history", notes)
    assert outcome.code == 2
    assert "notes.csv:1: is not a history of comparisons" in outcome.err
    assert notes.read_text() == "my,notes\n"


def test_the_doctor_says_no_to_faults_and_yes_to_hints(run: Runner, tmp_path: Path) -> None:
    faulty, fine = tmp_path / "faulty.conll", tmp_path / "fine.conll"
    fine.write_text(
        "Ann B-PER\nleft O\n\nBo B-PER\nleft O\n\nthen O\nAnn B-PER\nleft O\n\nAnn B-PER\nleft O\n\n"
    )
    faulty.write_text(fine.read_text() + "Cy I-PER\n\n")
    assert run("doctor", fine, "--quick").code == 0
    outcome = run("doctor", faulty, "--quick")
    assert outcome.code == 1
    assert f"{faulty}:14" in outcome.out
    assert "must continue a span of its type" in outcome.out


def test_warnings_are_faults_for_a_strict_doctor(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("label,text\na,one\u200b\na,two\na,three\n")
    assert run("doctor", path, "--quick").code == 0
    assert run("doctor", path, "--quick", "--strict").code == 1


def test_the_doctor_writes_every_finding_as_a_line_of_json(run: Runner, tmp_path: Path) -> None:
    path, out, page = tmp_path / "x.csv", tmp_path / "found.jsonl", tmp_path / "found.html"
    path.write_text("label,text\n" + "a,the same text\n" * 9)
    outcome = run("doctor", path, "--quick", "--top", 2, "-o", out, "--html", page)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert outcome.code == 0
    assert "and 6 more (--findings FILE writes them all)" in outcome.out
    assert [row["line"] for row in rows] == list(range(3, 11))
    assert rows[0].keys() == {"file", "line", "row", "check", "severity", "what", "suggestion"}
    assert "the same text as" in page.read_text()


def test_the_doctor_prints_json_with_counts_by_check(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("label,text\na,one thing\nb,one thing\na,other\nb,another\na,x\nb,y\n")
    outcome = run("doctor", path, "--json", "--quick")
    found = json.loads(outcome.out)
    assert outcome.code == 1
    assert found["faulty"] is True
    assert found["checks"]["conflicts"] == {"error": 1, "warning": 0, "hint": 0}


def test_the_doctor_reads_a_corpus_through_a_pipe(run: Runner) -> None:
    outcome = run("doctor", "-", "--quick", stdin=b"Ann B-PER\nleft O\n\nBo I-PER\n\n")
    assert outcome.code == 1
    assert "<stdin>:4" in outcome.out


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        ("label,text\na,b\n", ("--check", "spelling"), "there is no check 'spelling'"),
        ("label,text\na,b\n", ("--label", "topic"), "there is no column 'topic'"),
        ("label,label\na,b\n", (), "x.csv:1: the header has the column 'label' twice"),
        ("", (), "is empty"),
    ],
)
def test_the_doctor_says_what_is_wrong_with_a_file_that_it_cannot_read(
    run: Runner, tmp_path: Path, content: str, arguments: tuple[str, ...], sentence: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    outcome = run("doctor", path, *arguments)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.data
def test_known_faults_of_real_corpora_are_found(run: Runner, data: Path) -> None:
    links = run("doctor", data / "word_alignment" / "czenali_en_cs.tsv.gz", "--quick", "--json")
    assert json.loads(links.out)["checks"]["reading"]["error"] == 1
    tweets = run(
        "doctor", *(data / "wnut17" / f"{part}.tsv" for part in ("train", "dev")), "--quick", "--json"
    )
    assert json.loads(tweets.out)["checks"]["text"]["warning"] == 2
    assert json.loads(tweets.out)["checks"]["conflicts"]["error"] > 5
