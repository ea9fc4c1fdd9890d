"""DocBin files are what spaCy writes and reads."""

import random
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly
from spacy.strings import StringStore
from spacy.symbols import IDS
from spacy.tokens import Doc, DocBin

from chaffinch import corpus, samples
from chaffinch.corpus import docbin
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.msgpack import packed, unpacked
from chaffinch.corpus.spacy_strings import string_number, symbols
from chaffinch.text.document import Document, Span


def loaded(path: Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))


def test_strings_have_spacys_numbers() -> None:
    assert symbols() == IDS
    rng = random.Random(1)
    for length in [*range(1, 40)] * 5:
        string = "".join(
            chr(rng.choice((rng.randrange(33, 127), rng.randrange(160, 12000)))) for _ in range(length)
        )
        assert string_number(string) == StringStore().add(string)


def test_values_are_packed_as_spacy_packs_them() -> None:
    for value in (
        0,
        127,
        128,
        -1,
        -33,
        2**63,
        0.5,
        "é" * 20,
        "x" * 300,
        b"y" * 70000,
        [1] * 20,
        {"a": [None, True]},
    ):
        assert srsly.msgpack_loads(packed(value)) == value
        assert unpacked(srsly.msgpack_dumps(value)) == value


def test_docs_that_spacy_wrote_are_read(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    doc = nlp("Ann Lee  left\nNew York.\n")
    words = [token.text for token in doc]
    doc.set_ents([doc.char_span(0, 7, "PERSON"), doc.char_span(14, 22, "GPE")], default="outside")
    for token in doc:
        token.tag_, token.pos_, token.lemma_ = "NN", "NOUN", token.text.lower()
    doc.spans["sc"] = [doc.char_span(0, 3, "FIRST")]
    doc.spans["sc"].attrs["scores"] = np.array([0.25])
    DocBin(docs=[doc, nlp("none")]).to_disk(tmp_path / "f.spacy")
    losses = Losses()
    first, second = docbin.read(tmp_path / "f.spacy", losses=losses)
    assert (first.text, first.words()) == (doc.text, [word for word in words if not word.isspace()])
    assert first.spans == [Span("PERSON", 0, 7), Span("GPE", 14, 22)]
    assert first.columns["upos"] == ["NOUN"] * len(first.tokens)
    assert first.columns["lemma"][0] == "ann"
    assert [str(loss).split(" (")[0] for loss in losses] == [
        "spans of other span groups are not carried: 1",
        "tokens with unknown entities are read as outside: 1",
    ]
    assert (second.text, second.spans) == ("none", [])
    grouped = next(docbin.read(tmp_path / "f.spacy", label="sc"))
    assert grouped.spans == [Span("FIRST", 0, 3, 0.25)]
    tagged = next(docbin.read(tmp_path / "f.spacy", label="xpos"))
    assert tagged.columns["y"] == ["NN"] * len(first.tokens)


def test_unknown_spaces_and_sentences_are_read(tmp_path: Path) -> None:
    vocab = spacy.blank("en").vocab
    doc = Doc(
        vocab, words=["Ann", "left", ".", "Bob", "stayed"], tags=list("ABCDE"), sent_starts=[1, 0, 0, 1, 0]
    )
    DocBin(docs=[doc]).to_disk(tmp_path / "f.spacy")
    made = list(docbin.read(tmp_path / "f.spacy"))
    assert [(d.text, d.columns["y"], d.group) for d in made] == [
        ("Ann left .", ["A", "B", "C"], "1"),
        ("Bob stayed", ["D", "E"], "1"),
    ]


def test_spacy_reads_what_is_written(tmp_path: Path) -> None:
    given = [
        Document(
            text=" Ann  left\nRome. ", spans=[Span("PER", 1, 4, 0.5), Span("LOC", 11, 15, 0.75)], labels=["x"]
        ),
        Document(text="", spans=[]),
        Document(text="no names", labels=["x", "y"]),
    ]
    docbin.write(given, tmp_path / "f.spacy")
    docs = loaded(tmp_path / "f.spacy")
    assert [doc.text for doc in docs] == [d.text for d in given]
    assert [(s.text, s.label_) for s in docs[0].ents] == [("Ann", "PER"), ("Rome", "LOC")]
    assert [(s.text, s.label_) for s in docs[0].spans["sc"]] == [("Ann", "PER"), ("Rome", "LOC")]
    assert docs[0].spans["sc"].attrs["scores"].tolist() == [0.5, 0.75]
    assert [t.ent_iob_ for t in docs[2]] == ["O", "O"]
    assert [doc.cats for doc in docs] == [{"x": 1.0}, {}, {"x": 1.0, "y": 1.0}]


def test_spacy_reads_tags_and_sentences(tmp_path: Path) -> None:
    columns = {
        "upos": ["NOUN", "VERB"],
        "xpos": ["NNS", "VBP"],
        "lemma": ["dog", "_"],
        "feats": ["Number=Plur", "_"],
    }
    given = [
        Document.from_words(["dogs", "bark"], **columns),
        Document.from_words(["dogs", "bark"], **columns),
    ]
    given[0].group = given[1].group = "story"
    docbin.write(given, tmp_path / "f.spacy")
    (doc,) = loaded(tmp_path / "f.spacy")
    assert doc.text == "dogs bark dogs bark"
    assert [s.text for s in doc.sents] == ["dogs bark", "dogs bark"]
    assert [(t.pos_, t.tag_, t.lemma_, str(t.morph)) for t in doc[:2]] == [
        ("NOUN", "NNS", "dog", "Number=Plur"),
        ("VERB", "VBP", "", ""),
    ]


@pytest.mark.parametrize("name", ["ingredients", "posts", "reviews"])
def test_samples_survive_spacy(name: str, tmp_path: Path) -> None:
    given = samples.load(name, "train", n=50)
    corpus.write(given, tmp_path / "a.spacy")
    docs = loaded(tmp_path / "a.spacy")
    DocBin(docs=docs).to_disk(tmp_path / "b.spacy")
    first, second = (list(docbin.read(tmp_path / file)) for file in ("a.spacy", "b.spacy"))
    assert [d.text for d in first] == [d.text for d in given]
    assert [(d.text, d.spans, d.labels, d.columns.get("y")) for d in second] == [
        (d.text, d.spans, d.labels, d.columns.get("y")) for d in first
    ]
