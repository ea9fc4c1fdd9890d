"""Tables of Hugging Face's datasets: class numbers with names in the metadata, Parquet and Arrow."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from chaffinch import corpus
from chaffinch.errors import DataError
from chaffinch.kinds import kind_of_file
from chaffinch.text.document import Document
from commandline import Runner, run  # noqa: F401

SENTENCES = [
    Document.from_words(["Ann", "left", "Rome"], y=["B-PER", "O", "B-LOC"], pos=["N", "V", "N"]),
    Document.from_words(["it", "rains"], y=["O", "O"], pos=["P", "V"]),
]


def schema_of(path: Path) -> Any:
    if path.suffix == ".arrow":
        with path.open("rb") as stream:
            return pyarrow.ipc.open_stream(stream).schema
    return parquet.read_schema(path)


@pytest.mark.parametrize("name", ["f.arrow", "f.parquet"])
def test_sentences_are_written_with_the_names_of_their_classes(name: str, tmp_path: Path) -> None:
    corpus.write(SENTENCES, tmp_path / name, "datasets")
    schema = schema_of(tmp_path / name)
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert features["tokens"] == {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"}
    assert features["ner_tags"] == {
        "feature": {"names": ["B-LOC", "B-PER", "O"], "_type": "ClassLabel"},
        "_type": "Sequence",
    }
    assert schema.field("ner_tags").type == pyarrow.list_(pyarrow.int64())
    made = list(corpus.read(tmp_path / name))
    assert [(d.words(), d.columns) for d in made] == [(d.words(), d.columns) for d in SENTENCES]


@pytest.mark.parametrize("kind", ["List", "Sequence", "list"])
def test_arrow_files_and_streams_of_all_ages_are_read(kind: str, tmp_path: Path) -> None:
    inner = {"names": ["O", "B-PER"], "_type": "ClassLabel"}
    feature = [inner] if kind == "list" else {"feature": inner, "_type": kind}
    metadata = {b"huggingface": json.dumps({"info": {"features": {"ner_tags": feature}}}).encode()}
    table = pyarrow.table({"tokens": [["Ann", "left"]], "ner_tags": [[1, 0]]}).replace_schema_metadata(
        metadata
    )
    for name, writer in (("s.arrow", pyarrow.ipc.new_stream), ("f.arrow", pyarrow.ipc.new_file)):
        with writer(str(tmp_path / name), table.schema) as out:
            out.write_table(table)
        (d,) = corpus.read(tmp_path / name)
        assert (d.words(), d.columns["y"]) == (["Ann", "left"], ["B-PER", "O"])
        assert kind_of_file(tmp_path / name).plural == "sentences"


def test_texts_have_one_label_or_several(tmp_path: Path) -> None:
    one = [
        Document(text="a", labels=["x"], id=7, fields={"n": 3}),
        Document(text="b"),
        Document(text="c", labels=["y"]),
    ]
    corpus.write(one, tmp_path / "f.arrow")
    features = json.loads(schema_of(tmp_path / "f.arrow").metadata[b"huggingface"])["info"]["features"]
    assert features["label"] == {"names": ["x", "y"], "_type": "ClassLabel"}
    made = list(corpus.read(tmp_path / "f.arrow"))
    assert [(d.text, d.labels, d.fields.get("n")) for d in made] == [
        ("a", ["x"], 3),
        ("b", [], None),
        ("c", ["y"], None),
    ]
    assert [str(d.id) for d in made[:1]] == ["7"]
    assert kind_of_file(tmp_path / "f.arrow").plural == "documents"
    many = [Document(text="a", labels=["x", "y"]), Document(text="b", labels=["y"])]
    corpus.write(many, tmp_path / "g.arrow")
    assert [d.labels for d in corpus.read(tmp_path / "g.arrow")] == [["x", "y"], ["y"]]


def test_commands_train_on_class_numbers_and_convert_back(tmp_path: Path, run: Runner) -> None:  # noqa: F811
    corpus.write(SENTENCES * 5, tmp_path / "ner.parquet", "datasets")
    corpus.write(
        [Document(text="good", labels=["+"]), Document(text="bad", labels=["-"])] * 5, tmp_path / "c.arrow"
    )
    for data, recipe in (("ner.parquet", "hmm"), ("c.arrow", "nb")):
        done = run("train", tmp_path / data, "-o", tmp_path / "m.chaff", "--recipe", recipe)
        assert done.code == 0, done.err
    done = run("train", tmp_path / "ner.parquet", "-o", tmp_path / "m.chaff", "--recipe", "hmm")
    assert done.code == 0, done.err
    done = run(
        "predict",
        tmp_path / "m.chaff",
        tmp_path / "ner.parquet",
        "-o",
        tmp_path / "o.parquet",
        "--to",
        "datasets",
    )
    assert done.code == 0, done.err
    assert [d.columns["y"] for d in corpus.read(tmp_path / "o.parquet")] == [
        d.columns["y"] for d in SENTENCES
    ] * 5
    done = run("convert", tmp_path / "ner.parquet", tmp_path / "again.parquet", "--to", "datasets")
    assert done.code == 0, done.err
    assert [d.columns for d in corpus.read(tmp_path / "again.parquet")] == [d.columns for d in SENTENCES] * 5
    done = run("convert", tmp_path / "c.arrow", tmp_path / "again.arrow")
    assert done.code == 0, done.err
    assert [(d.text, d.labels, d.tokens) for d in corpus.read(tmp_path / "again.arrow")][:1] == [
        ("good", ["+"], [])
    ]


def test_columns_that_some_sentences_lack_or_share_a_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="document 2 has no column 'pos'"):
        corpus.write([SENTENCES[0], Document.from_words(["a"], y=["O"])], tmp_path / "f.arrow")
    clash = Document.from_words(["a"], y=["O"])
    clash.fields = {"tokens": 1}
    with pytest.raises(DataError, match="two columns would be called 'tokens'"):
        corpus.write([clash], tmp_path / "f.arrow")
