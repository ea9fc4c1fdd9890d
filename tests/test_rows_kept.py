"""Row in, row out: every line of a plain text comes back, and what a doubtful file was taken for is said."""

import json
from pathlib import Path

import pytest

from chaffinch.corpus import detect, read
from chaffinch.corpus.columns import layout
from chaffinch.errors import DataWarning
from commandline import Runner, run  # noqa: F401

NAMES = "Ann B-PER\nleft O\nOslo B-LOC\n\nthe O\ntea O\n\n" * 4
EQUAL = "Ann left Oslo\nBob left Rome\n\nCat left Bonn\n\n\nDan met Ann\n"


@pytest.fixture
def tagger(run: Runner, tmp_path: Path) -> Path:  # noqa: F811
    (tmp_path / "names.conll").write_text(NAMES)
    assert run("train", tmp_path / "names.conll", "-o", tmp_path / "names.chaff").code == 0
    return tmp_path / "names.chaff"


@pytest.fixture
def classifier(run: Runner, tmp_path: Path) -> Path:  # noqa: F811
    (tmp_path / "rows.csv").write_text("label,text\n+,good tea\n-,bad tea\n" * 1 + "+,good\n-,bad\n")
    assert run("train", tmp_path / "rows.csv", "-o", tmp_path / "stars.chaff").code == 0
    return tmp_path / "stars.chaff"


def test_equally_long_lines_of_text_are_text_and_a_doubt_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(EQUAL)
    with pytest.warns(
        DataWarning, match="read as plain text, one sentence a line; --from columns to read it as"
    ):
        assert detect(tmp_path / "a.txt").name == "text"


@pytest.mark.parametrize(
    ("start", "columns", "sure"),
    [
        (b"Ann B-PER\nleft O\n\nshe O\n", True, True),
        (b"Ann NNP B-NP\nleft VBD B-VP\n\nshe PRP B-NP\n", True, True),
        (b"a\tb\nc\td\n\n", True, True),
        (b"2 qty\ncups unit\n\n" * 10, True, False),  # few kinds of the second word in many rows
        (b"one\nword\n\na\nline\n", True, False),
        (b"one\n\nword\n\na\n", False, False),
        (b"ANN LEFT\nBOB CAME\n\nCAT SAT\n", True, False),
        (b"Ann left\n\nBob came\n\nCat sat\n", False, False),
        (b"Ann B-PER\nleft O\n", False, False),  # no blank line
        (b"a text\nof lines\nthat differ in length\n\n", False, True),
        (b"", False, True),
    ],
)
def test_columns_and_text_are_told_apart(start: bytes, columns: bool, sure: bool) -> None:
    assert (layout(start).columns, layout(start).sure) == (columns, sure)


def test_no_word_is_lost_and_rows_do_not_shift(run: Runner, tagger: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "a.txt").write_text(EQUAL)
    outcome = run("predict", tagger, tmp_path / "a.txt", "-o", tmp_path / "out.jsonl")
    assert outcome.code == 0
    assert "read as plain text" in outcome.err
    found = [json.loads(line)["text"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == EQUAL.splitlines()


@pytest.mark.parametrize(
    "asked", [(), ("--json",), ("--marginals",), ("--kbest", "2"), ("--json", "--probabilities")]
)
def test_blank_lines_are_sentences_without_tokens(asked: tuple[str, ...], run: Runner, tagger: Path) -> None:  # noqa: F811
    outcome = run("predict", tagger, *asked, stdin=b"Ann left\n\n\nthe tea here\n")
    assert outcome.code == 0, outcome.err
    if "--json" in asked:
        assert [len(json.loads(line)["w"]) for line in outcome.out.splitlines()] == [2, 0, 0, 3]
    else:
        assert outcome.out.count("\n") == 2 + 1 + 1 + 1 + 3 + 1


def test_a_classifier_answers_every_line(run: Runner, classifier: Path) -> None:  # noqa: F811
    outcome = run("predict", classifier, stdin=b"good tea\n\nbad tea\n")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 4  # and the header
    assert outcome.err == ""  # texts are what a classifier reads


def test_a_named_format_is_taken(run: Runner, tagger: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "a.txt").write_text("Ann NNP\nleft VBD\n\nshe PRP\n")
    as_columns = run("predict", tagger, tmp_path / "a.txt", "--from", "columns").out
    as_text = run("predict", tagger, tmp_path / "a.txt", "--from", "text", "--to", "columns").out
    assert len(as_columns.split("\n\n")) == 3
    assert as_text.count("\n") == 6 + 4  # as many rows as words and one after each of the four lines
    assert run("predict", tagger, tmp_path / "a.txt", "--from", "word").code == 2


def test_train_reads_named_columns_of_a_named_format(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "odd.txt").write_text("1 Ann x B-PER\n2 left y O\n\n1 she z O\n")
    asked = ("--from", "columns", "--columns", "w=2,y=4")
    assert run("train", tmp_path / "odd.txt", "-o", tmp_path / "m.chaff", *asked).code == 0
    outcome = run(
        "predict", tmp_path / "m.chaff", tmp_path / "odd.txt", "--from", "columns", "--columns", "w=2"
    )
    assert outcome.out.splitlines()[0].split() == ["Ann", "B-PER"]


def test_nothing_in_gives_nothing_out(run: Runner, tagger: Path, classifier: Path, tmp_path: Path) -> None:  # noqa: F811
    for model in (tagger, classifier):
        outcome = run("predict", model, stdin=b"")
        assert (outcome.code, outcome.out) == (0, "")
        for name in ("a.conll", "a.txt", "a.jsonl", "a.csv", "a.json", "a.txt.gz"):
            (tmp_path / name).write_bytes(b"")
            assert run("predict", model, tmp_path / name).code == 0, name
        assert run("predict", model, "-o", tmp_path / "out.json", stdin=b"").code == 0
        assert json.loads((tmp_path / "out.json").read_text()) == []
        assert run("predict", model, "-o", tmp_path / "out.parquet", stdin=b"").code == 0
        assert list(read(tmp_path / "out.parquet")) == []
    (tmp_path / "head.csv").write_text("text\n")
    assert run("predict", classifier, tmp_path / "head.csv").out == "text,prediction,confidence\n"
    (tmp_path / "none.json").write_text("[]")
    for model in (tagger, classifier):
        assert run("predict", model, tmp_path / "none.json").code == 0
    (tmp_path / "blank.conll").write_text("\n\n")
    assert run("predict", tagger, tmp_path / "blank.conll").code == 0
