"""spaCy's DocBin without spaCy: documents are written and read back, and damaged files are refused."""

import random
import zlib
from pathlib import Path

import pytest

from chaffinch import corpus
from chaffinch.corpus import docbin
from chaffinch.corpus.msgpack import packed, unpacked
from chaffinch.errors import ConfigError, DataError
from chaffinch.kinds import kind_of_file
from chaffinch.text.document import Document, Span
from commandline import Runner, run  # noqa: F401


def again(documents: list[Document], folder: Path, **options: str) -> list[Document]:
    docbin.write(documents, folder / "f.spacy")
    return list(docbin.read(folder / "f.spacy", **options))


def test_spans_text_and_tokens_survive(tmp_path: Path) -> None:
    texts = ["Ann  left\n Rome.", " Ann left Rome ", "", "  \n", "no names"]
    given = []
    for text in texts:
        found = [(label, text.find(word), len(word)) for label, word in (("PER", "Ann"), ("LOC", "Rome"))]
        given.append(Document(text=text, spans=[Span(k, a, a + n) for k, a, n in found if a >= 0]))
    for made, d in zip(again(given, tmp_path), given, strict=True):
        assert (made.text, made.spans, made.words()) == (d.text, d.spans, d.words())


def test_tags_columns_labels_and_shares_survive(tmp_path: Path) -> None:
    d = Document.from_words(["ORTH", "é", "_"], xpos=["NNP", "NOUN", "."], lemma=["x", "_", "_"])
    (made,) = again([d], tmp_path, label="")
    assert made.columns == d.columns
    (made,) = again([d], tmp_path)
    assert made.columns == {"y": ["NNP", "NOUN", "."], "lemma": ["x", "_", "_"]}
    labelled = [Document(text="a b", labels=["x"]), Document(text="c", labels=["x", "y"])]
    assert [m.labels for m in again(labelled, tmp_path)] == [["x"], ["x", "y"]]
    shared = Document(text="a b", labels=["x"], shares={"x": 0.75, "y": 0.25})
    assert again([shared], tmp_path)[0].shares == shared.shares


def test_the_label_goes_to_the_attribute_that_it_is(tmp_path: Path) -> None:
    docbin.write([Document.from_words(["dogs", "bark"], y=["NOUN", "VERB"])], tmp_path / "f.spacy")
    (made,) = docbin.read(tmp_path / "f.spacy", label="upos")
    assert made.columns == {"y": ["NOUN", "VERB"]}
    docbin.write([Document.from_words(["Ann", "left"], y=["B-PER", "O"])], tmp_path / "f.spacy")
    (made,) = docbin.read(tmp_path / "f.spacy")
    assert made.spans == [Span("PER", 0, 3)]
    with pytest.raises(
        ConfigError, match=r"f.spacy: there is no annotation 'xpos' to learn; the file has 'ents'"
    ):
        list(docbin.read(tmp_path / "f.spacy", label="xpos"))


def test_overlapping_spans_and_scores_go_to_a_span_group(tmp_path: Path) -> None:
    d = Document(text="New York Times", spans=[Span("ORG", 0, 14, 0.5), Span("LOC", 0, 8, 0.25)])
    assert again([d], tmp_path)[0].spans == d.spans
    d = Document(text="in New York", spans=[Span("LOC", 3, 11, 0.125)])
    (made,) = again([d, Document(text="none")], tmp_path)[:1]
    assert made.spans == d.spans


def test_spans_that_do_not_fit_the_tokens_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ends within 'Smith'"):
        docbin.write([Document(text="John Smith", spans=[Span("PER", 0, 7)])], tmp_path / "f.spacy")
    bare = Document.from_words(["a", "b"])
    bare.text = "a x b"
    bare.tokens[1] = type(bare.tokens[1])("b", 4, 5)
    with pytest.raises(DataError, match="' x ' is in none of the tokens"):
        docbin.write([bare], tmp_path / "f.spacy")


def test_sentences_of_a_group_are_one_doc(tmp_path: Path) -> None:
    given = [
        Document.from_words(["Ann", "left", "."], y=["B-PER", "O", "O"]),
        Document.from_words(["Rome", "fell"], y=["B-LOC", "O"]),
        Document.from_words(["It", "did"], y=["O", "O"]),
    ]
    given[0].group = given[1].group = "a"
    made = again(given, tmp_path)
    assert [d.text for d in made] == [d.text for d in given]
    assert [d.group for d in made] == ["1", "1", None]
    assert [d.spans for d in made] == [[Span("PER", 0, 3)], [Span("LOC", 0, 4)], []]


def test_the_commands_read_and_write_it(tmp_path: Path, run: Runner) -> None:  # noqa: F811
    rows = [(f"{n} left Rome", n) for n in ("Ann", "Bob", "Eve") * 4]
    spans = [Document(text=t, spans=[Span("PER", 0, 3), Span("LOC", 9, 13)]) for t, _ in rows]
    docbin.write(spans, tmp_path / "ner.spacy")
    docbin.write([Document(text=t, labels=[n]) for t, n in rows], tmp_path / "cats.spacy")
    assert kind_of_file(tmp_path / "ner.spacy").plural == "sentences"
    assert kind_of_file(tmp_path / "cats.spacy").plural == "documents"
    assert corpus.read_table(tmp_path / "ner.spacy").lists("y")[0] == ["B-PER", "O", "B-LOC"]
    for data, recipe, out in (("ner", "hmm", "found.spacy"), ("cats", "nb", "found.jsonl")):
        model = tmp_path / f"{data}.chaff"
        done = run("train", tmp_path / f"{data}.spacy", "-o", model, "--recipe", recipe)
        assert done.code == 0, done.err
        done = run("predict", model, tmp_path / f"{data}.spacy", "-o", tmp_path / out)
        assert done.code == 0, done.err
    assert [d.spans for d in docbin.read(tmp_path / "found.spacy")] == [d.spans for d in spans]
    tagged = [Document.from_words(["dogs", "bark"], y=["NNS", "VBP"])] * 5
    docbin.write(tagged, tmp_path / "pos.spacy")
    assert run("train", tmp_path / "pos.spacy", "-o", tmp_path / "pos.chaff", "--recipe", "hmm").code == 0
    done = run("predict", tmp_path / "pos.chaff", tmp_path / "pos.spacy", "-o", tmp_path / "found.spacy")
    assert done.code == 0, done.err
    assert [d.columns for d in docbin.read(tmp_path / "found.spacy")] == [d.columns for d in tagged]
    assert run("convert", tmp_path / "ner.spacy", tmp_path / "ner.conll").code == 0
    assert (tmp_path / "ner.conll").read_text().startswith("Ann\tB-PER\nleft\tO\nRome\tB-LOC\n\n")
    assert run("convert", tmp_path / "ner.conll", tmp_path / "back.spacy").code == 0
    assert [d.spans for d in docbin.read(tmp_path / "back.spacy")] == [d.spans for d in spans]


def test_damage_beneath_the_compression_is_refused_in_one_line(tmp_path: Path) -> None:
    documents = [Document(text="Ann left Rome", spans=[Span("PER", 0, 3, 0.5)], labels=["x"])] * 3
    docbin.write(documents, tmp_path / "f.spacy")
    sound = zlib.decompress((tmp_path / "f.spacy").read_bytes())
    refused = []
    for seed in range(600):
        rng = random.Random(seed)
        changed = bytearray(sound)
        for _ in range(rng.choice((1, 1, 3))):
            changed[rng.randrange(len(changed))] = rng.choice(
                (0, 1, 0x7F, 0x80, 0x90, 0xC4, 0xDD, 0xFF, 0xDF)
            )
        path = tmp_path / "g.spacy"
        path.write_bytes(zlib.compress(bytes(changed)))
        try:
            list(docbin.read(path))
        except DataError as e:
            refused.append(str(e))
    assert len(refused) > 200
    for said in refused:
        assert said.startswith(f"{path}: is not a valid DocBin"), said
        assert "\n" not in said, said


def test_messagepack_refuses_what_is_no_whole_value() -> None:
    for content in (
        b"",
        b"\xc1",
        b"\x01\x02",
        b"\xdd\xff\xff\xff\xff",
        b"\xa2a",
        b"\x81\xc0\x01",
        b"\x91" * 100 + b"\x01",
    ):
        with pytest.raises(ValueError, match=r"value|bytes|kind|key|nested"):
            unpacked(content)
    for value in (
        0,
        127,
        128,
        -32,
        -33,
        2**64 - 1,
        -(2**63),
        0.5,
        "é" * 40,
        "x" * 70000,
        b"",
        b"y" * 300,
        [0] * 70000,
        {},
    ):
        assert unpacked(packed(value)) == value
    with pytest.raises(ValueError, match="64 bits"):
        packed(2**64)
