"""Sentences as lists of tokens in JSON, and as rows of tokens in a table."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import corpus
from chaffinch.errors import DataError
from chaffinch.text.document import Document
from commandline import Runner, run  # noqa: F401

WORDS = [["Ann", "left"], ["Bob", "saw", "Ann"]]
TAGS = [["PER", "O"], ["PER", "O", "PER"]]
CELL = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=5)


def lists(path, **more):
    rows = [{"tokens": x, "tags": y} | more for x, y in zip(WORDS, TAGS, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def table(path, sign=",", every=True):
    rows = [
        f"{n if every or not t else ''}{sign}{w}{sign}{y}\n"
        for n, (x, tags) in enumerate(zip(WORDS, TAGS, strict=True), 1)
        for t, (w, y) in enumerate(zip(x, tags, strict=True))
    ]
    path.write_text(f"Sentence #{sign}Word{sign}Tag\n" + "".join(rows))
    return path


def test_lists_of_tokens_are_read_line_by_line_or_as_an_array(tmp_path):
    path = lists(tmp_path / "a.jsonl", source="me")
    found = list(corpus.read(path))
    assert [d.words() for d in found] == WORDS
    assert [d.columns["y"] for d in found] == TAGS
    assert (found[1].line, found[0].fields) == (2, {"source": "me"})
    (tmp_path / "a.json").write_text(
        json.dumps([{"words": x, "ner_tags": y} for x, y in zip(WORDS, TAGS, strict=True)])
    )
    assert [d.columns["y"] for d in corpus.read(tmp_path / "a.json")] == TAGS


def test_another_list_is_learnt_if_named(tmp_path):
    path = lists(tmp_path / "a.jsonl")
    path.write_text('{"tokens": ["a"], "ner_tags": ["X"], "pos_tags": ["N"]}\n')
    assert next(corpus.read(path)).columns == {"pos_tags": ["N"], "y": ["X"]}
    assert next(corpus.read(path, label="pos_tags")).columns == {"ner_tags": ["X"], "y": ["N"]}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"tokens": ["a", "b"], "tags": ["X"]}', ":2: 2 tokens, but 'tags' has 1"),
        ('{"tokens": ["a", 3], "tags": ["X", "Y"]}', ":2: expected 'tokens' to be a list of words"),
        ('{"tokens": ["a"], "tags": [null]}', ":2: token 1 has no value in 'tags'"),
        ('{"tokens": "a", "tags": ["X"]}', ":2: expected 'tokens' to be a list of words"),
        ('{"tokens": ["a"], "tags": "X"}', ":2: expected 'tags' to be a list of tags"),
    ],
)
def test_lists_that_do_not_fit_are_refused_with_their_line(row, message, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"], "tags": ["X"]}\n' + row + "\n")
    with pytest.raises(DataError) as caught:
        list(corpus.read(tmp_path / "a.jsonl"))
    assert message in str(caught.value)


@pytest.mark.parametrize(("sign", "every"), [(",", True), (";", False), ("\t", False), ("|", True)])
def test_rows_of_tokens_are_sentences_by_their_number(sign, every, tmp_path):
    path = table(tmp_path / ("a.tsv" if sign == "\t" else "a.csv"), sign, every)
    found = list(corpus.read(path))
    assert [d.words() for d in found] == WORDS
    assert [d.columns for d in found] == [{"y": tags} for tags in TAGS]
    assert [(d.id, d.line) for d in found] == [("1", 2), ("2", 4)]


def test_rows_without_a_word_a_tag_or_a_sentence_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    for row, message in (
        (",a,X", "the first token has no 'sentence'"),
        ("1,,X", "has no 'word'"),
        ("1,a,", "has no 'tag'"),
    ):
        path.write_text(f"sentence,word,tag\n{row}\n")
        with pytest.raises(DataError, match=f"a.csv:2: the .*{message.split('has')[1]}"):
            list(corpus.read(path))


def test_a_table_of_texts_stays_one(tmp_path):
    (tmp_path / "a.csv").write_text("sentence,label\nowls sing,good\n")
    assert corpus.detect(tmp_path / "a.csv").name == "csv"
    (tmp_path / "a.jsonl").write_text('{"text": "a b", "tokens": ["a", "b"], "label": "X"}\n')
    assert corpus.detect(tmp_path / "a.jsonl").name == "jsonl"


@pytest.mark.parametrize(
    ("format", "name"), [("jsonl-tokens", "a.jsonl"), ("token-rows", "a.csv"), ("token-rows", "a.tsv")]
)
@given(st.lists(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=4), min_size=1, max_size=4))
def test_what_is_written_is_read_again(tmp_path_factory, format, name, sentences):
    path = tmp_path_factory.mktemp("again") / name
    given_ones = [
        Document.from_words([w for w, _, _ in s], pos_tags=[p for _, p, _ in s], y=[y for _, _, y in s])
        for s in sentences
    ]
    corpus.write(given_ones, path, format=format)
    again = list(corpus.read(path, format))
    assert [(d.words(), d.columns) for d in again] == [(d.words(), d.columns) for d in given_ones]


@pytest.mark.parametrize(
    "made", [lambda folder: lists(folder / "a.jsonl"), lambda folder: table(folder / "a.csv")]
)
def test_a_tagger_is_trained_and_answers_in_the_same_form(run: Runner, made, tmp_path):  # noqa: F811
    path = made(tmp_path)
    assert run("train", path, "-o", tmp_path / "m.chaff", "--folds", "0").code == 0
    out = tmp_path / f"out{path.suffix}"
    assert run("predict", tmp_path / "m.chaff", path, "-o", out).code == 0
    assert [d.columns["y"] for d in corpus.read(out)] == TAGS
    assert run("evaluate", path, out).code == 0
    refused = run("predict", tmp_path / "m.chaff", path, "-o", out, "--marginals")
    assert (refused.code, "cannot hold probabilities" in refused.err) == (2, True)


@pytest.mark.parametrize("sign", ["\t", " "])
def test_a_header_above_columns_is_no_token(run: Runner, sign, tmp_path):  # noqa: F811
    rows = "".join(f"{w}{sign}{y}\n" for w, y in zip(WORDS[1], TAGS[1], strict=True)) + "\n"
    (tmp_path / "a.conll").write_text(f"Token{sign}Label\n{rows}{rows}")
    told = run("train", tmp_path / "a.conll", "-o", tmp_path / "m.chaff", "--folds", "0")
    assert "a.conll:1: is read as a header: token, label" in told.err
    assert "6 tokens, 2 labels" in told.out
    assert run("predict", tmp_path / "m.chaff", tmp_path / "a.conll", "-o", tmp_path / "o.conll").code == 0
    assert len(list(corpus.read(tmp_path / "o.conll"))) == 2
    assert "6 tokens" in run("evaluate", tmp_path / "a.conll", tmp_path / "o.conll").out


def test_a_first_token_that_is_called_word_stays_a_token(tmp_path):
    (tmp_path / "a.conll").write_text("word label\nowl label\n\nword label\n")
    assert [d.words() for d in corpus.read(tmp_path / "a.conll")] == [["word", "owl"], ["word"]]


def test_columns_that_seem_swapped_are_said(run: Runner, tmp_path):  # noqa: F811
    rows = "".join(f"{'AB'[n % 2]} word{n}\n" + "\n" * (n % 3 == 0) for n in range(40))
    (tmp_path / "a.conll").write_text(rows)
    told = run("train", tmp_path / "a.conll", "-o", tmp_path / "m.chaff", "--folds", "0")
    assert "40 labels for 2 words; if the labels are in the first column" in told.err
    told = run("train", tmp_path / "a.conll", "-o", tmp_path / "m.chaff", "--folds", "0", "--columns", "y,w")
    assert "labels for" not in told.err
