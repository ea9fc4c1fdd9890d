"""Every column file of the real corpora, counted and compared with the tables in their READMEs."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from chaffinch import corpus
from chaffinch.text import schemes
from chaffinch.text.table import TokenTable

# file: sentences, tokens, distinct labels (None: the README does not say), format that is detected
COUNTS = {
    "conll2000/train.tsv": (8_936, 211_727, 22, "columns"),
    "conll2000/test.tsv": (2_012, 47_377, 19, "columns"),
    "conll2002_es/train.tsv": (8_323, 264_715, None, "columns"),
    "conll2002_es/dev.tsv": (1_915, 52_923, None, "columns"),
    "conll2002_es/test.tsv": (1_517, 51_533, None, "columns"),
    "ingredients/train.tsv.gz": (40_922, 323_357, 8, "columns"),
    "ingredients/test.tsv.gz": (10_229, 81_339, None, "columns"),
    "wnut17/train.tsv": (3_394, 62_730, 13, "columns"),
    "wnut17/dev.tsv": (1_009, 15_733, None, "columns"),
    "wnut17/test.tsv": (1_287, 23_394, None, "columns"),
    "sutd_hmm_2020/EN/train": (7_663, 181_628, 21, "hmm"),
    "sutd_hmm_2020/EN/dev.in": (1_094, 26_131, 0, "hmm"),
    "sutd_hmm_2020/EN/dev.out": (1_094, 26_131, 18, "hmm"),
    "sutd_hmm_2020/EN/test.in": (1_094, 25_713, 0, "hmm"),
    "sutd_hmm_2020/SG/train": (18_559, 239_667, 7, "hmm"),
    "sutd_hmm_2020/SG/dev.in": (2_650, 34_191, 0, "hmm"),
    "sutd_hmm_2020/SG/dev.out": (2_650, 34_191, 7, "hmm"),
    "ud_english_ewt/en_ewt-ud-train.conllu.gz": (12_544, 204_577, 17, "conllu"),
    "ud_english_ewt/en_ewt-ud-dev.conllu.gz": (2_001, 25_147, 17, "conllu"),
    "ud_english_ewt/en_ewt-ud-test.conllu.gz": (2_077, 25_094, 17, "conllu"),
}

# Entities: PER, ORG, LOC, MISC
SPANISH = {
    "train": (4_321, 7_390, 4_913, 2_173),
    "dev": (1_222, 1_700, 984, 445),
    "test": (735, 1_400, 1_084, 339),
}
EMERGING = {"train": 1_975, "dev": 836, "test": 1_079}
INGREDIENTS = {
    "NAME": 98_179,
    "PREP": 52_180,
    "QTY": 49_734,
    "PUNC": 45_579,
    "UNIT": 44_523,
    "COMMENT": 28_105,
    "SIZE": 2_548,
    "PURPOSE": 2_509,
}
CHUNKS = {"I-NP": 63_307, "B-NP": 55_081, "O": 27_902, "B-VP": 21_467, "B-PP": 21_281, "I-VP": 12_003}
# XPOS, UPOS+FEATS, relations
TREEBANK = {"train": (49, 321, 51), "dev": (49, 217, 49), "test": (48, 201, 49)}


def test_every_column_file_is_listed(data: Path) -> None:
    folders = {name.split("/")[0] for name in COUNTS}
    found = {
        str(path.relative_to(data))
        for folder in folders
        for path in (data / folder).rglob("*")
        if path.is_file() and path.suffix != ".md" and path.name != "meta.tsv.gz"
    }
    assert found == set(COUNTS)


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_those_of_the_readme(data: Path, name: str) -> None:
    sentences, tokens, labels, detected = COUNTS[name]
    assert corpus.detect(data / name).name == detected
    table = corpus.read_table(data / name)
    assert (table.n_sentences, table.n_tokens) == (sentences, tokens)
    if labels == 0:
        assert "y" not in table.columns
    elif labels is not None:
        assert len(table.columns["y"].types) == labels


@pytest.mark.parametrize("name", ["conll2000/test.tsv", "wnut17/dev.tsv", "sutd_hmm_2020/SG/dev.out"])
def test_documents_and_tables_agree_and_are_written_back_as_they_were(
    data: Path, tmp_path: Path, name: str
) -> None:
    table = corpus.read_table(data / name)
    again = TokenTable.from_documents(corpus.read(data / name))
    assert {n: table.lists(n) for n in table.columns} == {n: again.lists(n) for n in again.columns}
    corpus.write(corpus.read(data / name), tmp_path / "out", corpus.detect(data / name).name)
    assert (tmp_path / "out").read_bytes() == (data / name).read_bytes()


def test_the_treebank_is_written_back_as_it_was(data: Path, tmp_path: Path) -> None:
    path = data / "ud_english_ewt/en_ewt-ud-test.conllu.gz"
    for label in ("upos", "upos|feats"):
        corpus.write(corpus.read(path, label=label), tmp_path / "out.conllu")
        assert (tmp_path / "out.conllu").read_bytes() == gzip.decompress(path.read_bytes())


@pytest.mark.parametrize("split", TREEBANK)
def test_the_treebank_has_the_labels_of_its_readme(data: Path, split: str) -> None:
    path = data / f"ud_english_ewt/en_ewt-ud-{split}.conllu.gz"
    found = tuple(
        len(corpus.read_table(path, label=label, columns="lemma").columns["y"].types)
        for label in ("xpos", "upos|feats", "deprel")
    )
    assert found == TREEBANK[split]


@pytest.mark.parametrize("split", SPANISH)
def test_spanish_entities_are_those_of_the_readme(data: Path, split: str) -> None:
    tags = corpus.read_table(data / f"conll2002_es/{split}.tsv").lists("y")
    assert schemes.detect(tags) is schemes.BIO
    begun = Counter(tag[2:] for sentence in tags for tag in sentence if tag.startswith("B-"))
    assert tuple(begun[kind] for kind in ("PER", "ORG", "LOC", "MISC")) == SPANISH[split]


@pytest.mark.parametrize("split", SPANISH)
def test_entities_that_begin_with_an_inside_tag_are_found_and_repaired(data: Path, split: str) -> None:
    tags = corpus.read_table(data / f"conll2002_es/{split}.tsv").lists("y")
    faults = schemes.validate(tags, "BIO")
    assert faults
    repaired, changes = schemes.repair(tags, "BIO")
    assert [(c.sentence, c.token) for c in changes] == [(f.sentence, f.token) for f in faults]
    assert schemes.convert(schemes.convert(repaired, "BIO", "BIOES"), "BIOES", "BIO") == repaired


@pytest.mark.parametrize("split", EMERGING)
def test_emerging_entities_are_those_of_the_readme(data: Path, split: str) -> None:
    tags = corpus.read_table(data / f"wnut17/{split}.tsv").lists("y")
    assert sum(tag.startswith("B-") for sentence in tags for tag in sentence) == EMERGING[split]


def test_label_counts_are_those_of_the_readmes(data: Path) -> None:
    labels = Counter(corpus.read_table(data / "ingredients/train.tsv.gz").columns["y"].strings())
    assert labels == INGREDIENTS
    chunks = Counter(corpus.read_table(data / "conll2000/train.tsv").columns["y"].strings())
    assert chunks.most_common(6) == list(CHUNKS.items())
    assert len(corpus.read_table(data / "conll2000/train.tsv").columns["pos"].types) == 44
