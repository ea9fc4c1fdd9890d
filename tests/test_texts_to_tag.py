"""Texts and taggers: annotated exports are trained on as they are, texts are tagged and come back with spans."""

import json
from pathlib import Path

import pytest

from chaffinch import corpus
from chaffinch.errors import DataError
from chaffinch.text.document import Document, Span
from commandline import Runner, run

__all__ = ["run"]

FORMATS_OF_SPANS = {
    "jsonl-spans": "a.jsonl",
    "doccano": "a.json",
    "label-studio": "a.json",
    "prodigy": "a.jsonl",
}


def annotated() -> list[Document]:
    """Thirty of each: Ann and Bob are people, what follows "in" is a place."""
    made = []
    for name in ("Ann", "Bob"):
        for place in ("Rome", "Paris"):
            text = f"{name} lives in {place}, they say."
            at = text.index(place)
            spans = [Span("PER", 0, 3), Span("LOC", at, at + len(place))]
            made += [Document(text=text, spans=spans)] * 15
    return made


@pytest.fixture
def model(tmp_path: Path, run: Runner) -> Path:
    corpus.write(annotated(), tmp_path / "train.jsonl", format="jsonl-spans")
    assert run("train", tmp_path / "train.jsonl", "-o", tmp_path / "m.chaff").code == 0
    return tmp_path / "m.chaff"


@pytest.mark.parametrize("format", FORMATS_OF_SPANS)
def test_a_tagger_is_trained_on_what_an_annotation_tool_exports(
    format: str, tmp_path: Path, run: Runner
) -> None:
    file = tmp_path / FORMATS_OF_SPANS[format]
    corpus.write(annotated(), file, format=format)
    outcome = run("train", file, "-o", tmp_path / "m.chaff", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["recipe"] == "crf"
    held = json.loads(run("inspect", tmp_path / "m.chaff", "--json").out)
    assert {"LOC", "PER"} <= {label[2:] for label in held["labels"]}


def test_a_table_of_texts_has_words_and_tags(tmp_path: Path) -> None:
    corpus.write(annotated()[:1], tmp_path / "a.jsonl", format="jsonl-spans")
    table = corpus.read_table(tmp_path / "a.jsonl")
    assert table.lists("w") == [["Ann", "lives", "in", "Rome", ",", "they", "say", "."]]
    assert table.lists("y") == [["B-PER", "O", "O", "B-LOC", "O", "O", "O", "O"]]


def test_a_span_that_ends_within_a_word_is_refused_and_the_way_out_named(tmp_path: Path) -> None:
    corpus.write([Document("Annie left", spans=[Span("PER", 0, 3)])], tmp_path / "a.jsonl")
    with pytest.raises(DataError, match=r"a\.jsonl: 1 of 1 spans .* ends within 'Annie'.*--misaligned widen"):
        corpus.read_table(tmp_path / "a.jsonl")


def test_plain_text_through_a_pipe_is_tagged_word_by_word(model: Path, run: Runner) -> None:
    outcome = run("predict", model, stdin=b"Bob lives in Rome.\n\nAnn\n")
    assert outcome.code == 0, outcome.err
    assert outcome.out == "Bob B-PER\nlives O\nin O\nRome B-LOC\n. O\n\n\nAnn B-PER\n\n"


def test_texts_come_back_with_the_spans_that_were_found(model: Path, tmp_path: Path, run: Runner) -> None:
    (tmp_path / "new.txt").write_text("  Bob lives in Paris, I hear.\nNobody.\n")
    for name in ("found.jsonl", "found.json"):
        outcome = run("predict", model, tmp_path / "new.txt", "-o", tmp_path / name)
        assert outcome.code == 0, outcome.err
        first, second = corpus.read(tmp_path / name)
        assert [(s.label, first.text[s.start : s.end]) for s in first.spans] == [
            ("PER", "Bob"),
            ("LOC", "Paris"),
        ]
        assert second.text == "Nobody."


def test_the_spans_carry_their_probability_when_asked(model: Path, tmp_path: Path, run: Runner) -> None:
    (tmp_path / "new.txt").write_text("Bob lives in Paris.\n")
    assert run("predict", model, tmp_path / "new.txt", "-o", tmp_path / "f.jsonl", "--marginals").code == 0
    [found] = corpus.read(tmp_path / "f.jsonl")
    thought = json.loads(run("predict", model, tmp_path / "new.txt", "--json", "--probabilities").out)
    assert [s.score for s in found.spans] == [s["probability"] for s in thought["spans"]]


def test_labels_that_spell_no_spans_are_no_spans(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "pos.conll").write_text("the DT\ndog NN\n\n" * 5)
    run("train", tmp_path / "pos.conll", "-o", tmp_path / "m.chaff", "--recipe", "hmm")
    outcome = run("predict", tmp_path / "m.chaff", tmp_path / "pos.conll", "-o", tmp_path / "x.jsonl")
    assert outcome.code == 2
    assert "the labels of this model mark no spans" in outcome.err
    assert not (tmp_path / "x.jsonl").exists()


def test_documents_through_a_pipe_are_classified(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.csv").write_text("label,text\n" + "good,crisp and sweet\nbad,limp and sour\n" * 10)
    run("train", tmp_path / "a.csv", "-o", tmp_path / "m.chaff")
    for given in (b"so crisp\n", b'{"text": "so crisp"}\n', b"label,text\n,so crisp\n"):
        outcome = run("predict", tmp_path / "m.chaff", stdin=given)
        assert outcome.code == 0, outcome.err
        assert "good" in outcome.out


def test_lines_of_text_come_back(tmp_path: Path) -> None:
    corpus.write([Document("one day"), Document("two")], tmp_path / "a.text")
    assert (tmp_path / "a.text").read_text() == "one day\ntwo\n"
    assert [d.text for d in corpus.read(tmp_path / "a.text")] == ["one day", "two"]
    with pytest.raises(DataError, match="line break"):
        corpus.write([Document("one\nday")], tmp_path / "b.text")


@pytest.mark.parametrize(
    "command", ["train MODEL -o OUT", "evaluate MODEL TEXT", "convert MODEL OUT --to jsonl"]
)
def test_a_model_in_place_of_a_corpus_is_called_a_model(
    command: str, model: Path, tmp_path: Path, run: Runner
) -> None:
    places = {"MODEL": model, "OUT": tmp_path / "out", "TEXT": tmp_path / "train.jsonl"}
    outcome = run(*(places.get(word, word) for word in command.split()))
    assert outcome.code == 2
    assert outcome.err.startswith(f"chaffinch: {model}: expected a corpus, found a model")
