"""Datasets by name, folder and files, and their splits."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import samples
from chaffinch.errors import ConfigError, DataError
from chaffinch.kinds import corpus_of
from chaffinch.kinds.corpora import fingerprint, held_out, joined, shuffled, size, taken
from chaffinch.kinds.texts import Texts
from chaffinch.lab.datasets import KNOWN, Source, dataset
from chaffinch.text.document import Document
from chaffinch.text.table import TokenTable

words = st.text("abc", min_size=1, max_size=2)
sentences = st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=6)

# The second of three columns is read as parts of speech, which a warning says.
pytestmark = pytest.mark.filterwarnings("ignore::chaffinch.errors.DataWarning")


@given(sentences, st.data())
def test_taken_sentences_are_as_if_they_alone_had_been_read(rows, draw):
    chosen = draw.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    found = taken(TokenTable.from_lists({"w": rows, "y": rows}), chosen)
    alone = TokenTable.from_lists({"w": [rows[n] for n in chosen], "y": [rows[n] for n in chosen]})
    assert found.lists("w") == alone.lists("w")
    assert fingerprint(found) == fingerprint(alone)


@given(st.integers(2, 60), st.integers(0, 5))
def test_what_is_held_out_and_what_is_left_are_the_whole(n, seed):
    whole = Texts([f"text {i}" for i in range(n)], [str(i % 3) for i in range(n)])
    left, away = held_out(whole, 0.2, seed)
    assert size(away) == max(1, round(0.2 * n))
    assert sorted([*left.texts, *away.texts]) == sorted(whole.texts)
    assert left.texts == sorted(left.texts, key=whole.texts.index)


def test_an_order_is_a_permutation_that_the_seed_decides():
    whole = Texts(["a"] * 50, ["y"] * 50)
    assert sorted(shuffled(whole, 3)) == list(range(50))
    assert shuffled(whole, 3) == shuffled(whole, 3) != shuffled(whole, 4)
    assert shuffled(Texts(["a"] * 6, ["y"] * 6), 0) == [2, 4, 0, 1, 3, 5]  # on every machine


def test_holding_out_everything_is_refused():
    with pytest.raises(DataError, match="leaves none"):
        held_out(Texts(["a"], ["y"]), 0.9, 0)


def test_texts_and_sentences_do_not_mix():
    with pytest.raises(DataError, match="cannot be joined"):
        joined([Texts(["a"], ["y"]), TokenTable.from_lists({"w": [["a"]], "y": [["X"]]})])


def test_documents_without_anything_to_learn_are_refused():
    with pytest.raises(DataError, match="nothing to learn"):
        corpus_of([Document(text="a"), Document(text="b")], "texts")


@pytest.mark.parametrize("name", ["ingredients", "posts", "reviews", "topics", "questions"])
def test_a_sample_is_a_dataset_with_three_parts(name):
    found = dataset(Source(name=name))
    assert set(found.readers) == {"train", "dev", "test"}
    assert size(found.split("dev")) == samples.SAMPLES[name].sizes["dev"]


def test_a_folder_has_the_parts_that_its_files_are_named_after(tmp_path):
    samples.export("reviews", tmp_path)
    found = dataset(Source(name=str(tmp_path)))
    assert fingerprint(found.split("test")) == fingerprint(dataset(Source(name="reviews")).split("test"))


def test_files_are_train_and_test_or_train_dev_and_test(tmp_path):
    samples.export("ingredients", tmp_path)
    a, b, c = (str(tmp_path / f"{split}.conll") for split in ("train", "dev", "test"))
    assert Source.parsed(f"{a},{c}").test == (c,)
    assert Source.parsed(f"{a},{b},{c}").dev == (b,)
    assert Source.parsed(a) == Source(train=(a,))
    assert set(dataset(Source.parsed(f"{a},{c}")).readers) == {"train", "test"}
    with pytest.raises(ConfigError, match="up to three files"):
        Source.parsed("a,b,c,d")


def test_a_part_is_not_read_before_it_is_asked_for(tmp_path):
    samples.export("ingredients", tmp_path)
    (tmp_path / "test.conll").write_bytes(b"\xff\xfe poison")
    found = dataset(Source(name=str(tmp_path)))
    assert size(found.split("train")) > 0
    with pytest.raises(DataError):
        found.split("test")


def test_two_files_for_one_part_are_not_chosen_between(tmp_path):
    (tmp_path / "train.csv").write_text("label,text\na,b\n")
    (tmp_path / "train.tsv").write_text("label\ttext\na\tb\n")
    with pytest.raises(DataError, match=r"train\.csv, train\.tsv could all be the train split"):
        dataset(Source(name=str(tmp_path)))


def test_a_name_that_means_nothing_is_told_what_would():
    with pytest.raises(DataError, match="there is no dataset 'haiku': expected sst5"):
        dataset(Source(name="haiku"))
    with pytest.raises(DataError, match=r"nothing\.csv: no such file"):
        dataset(Source(name="nothing.csv"))


def test_a_corpus_that_is_not_ours_is_asked_for_politely(tmp_path):
    with pytest.raises(DataError, match="CHAFFINCH_DATA"):
        dataset(Source(name="sst5"))
    with pytest.raises(DataError, match="has no folder sst5 or SST5"):
        dataset(Source(name="sst5"), tmp_path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "train", "test", "labels"),
    [("sst5", 8544, 2210, 5), ("SST5", 8544, 2210, 5), ("20news", 11314, 7532, 20), ("trec", 5452, 500, 6)],
)
def test_corpora_by_name_have_the_sizes_they_are_known_for(data: Path, name, train, test, labels):
    found = dataset(Source(name=name), data)
    assert name.lower() in KNOWN
    assert (size(found.split("train")), size(found.split("test"))) == (train, test)
    assert len(set(found.split("train").labels)) == labels
