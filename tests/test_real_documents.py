"""Every document-level file of the real corpora, read by its reader: the counts are those of its README."""

from collections import Counter
from pathlib import Path

import pytest

from chaffinch.corpus import alignment_tsv, brackets, delimited, letters
from chaffinch.corpus.losses import Losses
from chaffinch.errors import DataError
from chaffinch.text.clusters import Clusters
from chaffinch.text.gazetteers import Gazetteers

NEWSGROUPS = {"train": (11314, 22.1), "test": (7532, 13.8)}
SST5 = {
    "train": (8544, 163560, (1092, 2218, 1624, 2322, 1288), 318582),
    "dev": (1101, 21274, (139, 289, 229, 279, 165), 41447),
    "test": (2210, 42405, (279, 633, 389, 510, 399), 82600),
}
TREC = {
    "train": {"ENTY": 1250, "HUM": 1223, "DESC": 1162, "NUM": 896, "LOC": 835, "ABBR": 86},
    "test": {"ENTY": 94, "HUM": 65, "DESC": 138, "NUM": 113, "LOC": 81, "ABBR": 9},
}
GAZETTEERS = {
    "countries": 289,
    "isocountries": 235,
    "nationalities": 201,
    "usstates": 51,
    "usstateabbrev": 137,
    "uscities": 255,
    "caprovinces": 13,
    "mexstates": 32,
    "names_female": 5001,
    "names_male": 2943,
}
ALIGNMENTS = {
    "czenali_en_cs.tsv.gz": (2501, 44292, 23132),
    "hansards_dev_en_fr.tsv": (37, 338, 1446),
    "hansards_test_en_fr.tsv": (447, 4038, 13400),
}
FOLDS = (626, 704, 684, 698, 693, 651, 739, 717, 690, 675)


@pytest.mark.parametrize("split", NEWSGROUPS)
def test_newsgroups_have_the_documents_and_characters_of_their_readme(data: Path, split: str) -> None:
    documents, characters = 0, 0
    groups: dict[str, set[str]] = {}
    for d in delimited.read_csv(data / "newsgroups20" / f"{split}.csv.gz"):
        documents += 1
        characters += len(d.text)
        groups.setdefault(d.labels[0], set()).add(d.fields["group"])
    assert documents == NEWSGROUPS[split][0]
    assert round(characters / 1e6, 1) == NEWSGROUPS[split][1]
    assert len(groups) == 20
    assert all(len(names) == 1 for names in groups.values())


@pytest.mark.long
@pytest.mark.parametrize("split", SST5)
def test_sst5_rows_and_trees_have_the_counts_of_their_readme(data: Path, split: str) -> None:
    sentences, tokens, labels, n_nodes = SST5[split]
    rows = list(delimited.read_csv(data / "sst5" / f"{split}.csv"))
    trees = list(brackets.read(data / "sst5" / f"trees_{split}.txt.gz"))
    assert len(rows) == len(trees) == sentences
    assert sum(len(d.text.split(" ")) for d in rows) == tokens
    # The rows lack three words of the training trees: those with a no-break space ("8\xa01\\/2").
    lacking = sum("\xa0" in word for d in trees for word in d.words())
    assert sum(len(d.tokens) for d in trees) == tokens + lacking
    assert lacking == (3 if split == "train" else 0)
    assert tuple(Counter(d.labels[0] for d in rows)[str(y)] for y in range(5)) == labels
    assert [d.labels[0] for d in rows] == [d.tree.label for d in trees]
    assert sum(1 for d in trees for _ in brackets.nodes(d.tree)) == n_nodes


@pytest.mark.parametrize("split", TREC)
def test_trec_questions_have_the_classes_of_their_readme(data: Path, split: str) -> None:
    questions = list(delimited.read_csv(data / "trec_qc" / f"{split}.csv", label="coarse"))
    assert Counter(d.labels[0] for d in questions) == TREC[split]
    assert len({d.fields["fine"] for d in questions}) == {"train": 50, "test": 42}[split]


@pytest.mark.long
def test_ptb_sample_has_the_trees_leaves_and_labels_of_its_readme(data: Path) -> None:
    path = data / "ptb_sample" / "trees.tsv.gz"
    whole = list(brackets.read(path))
    assert len(whole) == 3914
    assert len({d.group for d in whole}) == 199
    tags = Counter(tag for d in whole for tag in d.columns["pos"])
    assert (sum(tags.values()), tags[brackets.EMPTY], len(tags)) == (100676, 6592, 46)
    plain = list(brackets.read(path, strip=True))
    assert len(plain) == 3914
    assert sum(len(d.tokens) for d in plain) == 100676 - 6592
    phrases = {n.label for d in plain for n in brackets.nodes(d.tree) if n.word is None}
    assert len(phrases) == 26
    by_file = Counter(int(d.group[4:]) for d in whole)
    cuts = [
        sum(n for f, n in by_file.items() if low <= f <= high)
        for low, high in ((1, 159), (160, 179), (180, 199))
    ]
    assert cuts == [3396, 273, 245]


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_alignments_have_the_pairs_and_links_of_their_readme(data: Path, name: str) -> None:
    losses = Losses()
    pairs = list(alignment_tsv.read(data / "word_alignment" / name, out_of_range="drop", losses=losses))
    sure = sum(len(d.links.sure) for d in pairs)
    possible = sum(len(d.links.possible) for d in pairs)
    dropped = sum(loss.count for loss in losses)
    assert len(pairs) == ALIGNMENTS[name][0]
    assert sure + possible + dropped == sum(ALIGNMENTS[name][1:])
    assert dropped == (1 if name.startswith("czenali") else 0)
    if name.startswith("czenali"):
        assert sum(len(d.tokens) for d in pairs) == 59724
        assert sum(len(d.links.target) for d in pairs) == 52881


def test_the_link_outside_its_sentence_is_an_error_unless_dropped_by_choice(data: Path) -> None:
    with pytest.raises(DataError, match=r"czenali_en_cs.tsv.gz:\d+: the link .* points outside"):
        list(alignment_tsv.read(data / "word_alignment" / "czenali_en_cs.tsv.gz"))


def test_letter_images_have_the_words_and_folds_of_their_readme(data: Path) -> None:
    found = letters.read(data / "ocr_letters" / "letters.npz")
    words = [found.word(w) for w in range(len(found))]
    assert (len(words), len(found.labels), len(set(words))) == (6877, 52152, 55)
    assert {min(map(len, words)), max(map(len, words))} == {3, 14}
    assert tuple(Counter(found.fold.tolist())[f] for f in range(10)) == FOLDS
    assert found.images(0).shape == (len(words[0]), 16, 8)


@pytest.mark.parametrize("name", GAZETTEERS)
def test_gazetteers_have_the_entries_of_their_readme(data: Path, name: str) -> None:
    path = data / "gazetteers" / f"{name}.txt"
    entries = [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]
    assert len(entries) == GAZETTEERS[name]
    found = Gazetteers.read({name: path}, fold=False).lists[name]
    assert sorted(map(" ".join, found)) == sorted({" ".join(entry.split()) for entry in entries})


def test_brown_clusters_have_the_words_of_their_readme(data: Path) -> None:
    clusters = Clusters.read(data / "brown_clusters" / "tweets_6m_paths.tsv.gz")
    assert (len(clusters.words), len(clusters.paths)) == (111844, 800)


def test_ingredient_sentences_have_the_sources_of_their_readme(data: Path) -> None:
    rows = Counter(
        (d.fields["split"], d.fields["source"])
        for d in delimited.read_tsv(data / "ingredients" / "meta.tsv.gz")
    )
    expected = {
        "bbc": (12002, 3000),
        "cookstr": (11942, 2985),
        "allrecipes": (11929, 2982),
        "tc": (5049, 1262),
    }
    assert rows == {
        (split, s): n[i] for s, n in expected.items() for i, split in enumerate(("train", "test"))
    }


def test_every_file_of_the_document_corpora_is_read_by_one_of_these_tests(data: Path) -> None:
    listed = {f"newsgroups20/{s}.csv.gz" for s in NEWSGROUPS} | {f"trec_qc/{s}.csv" for s in TREC}
    listed |= {f"sst5/{s}.csv" for s in SST5} | {f"sst5/trees_{s}.txt.gz" for s in SST5}
    listed |= {f"word_alignment/{n}" for n in ALIGNMENTS} | {f"gazetteers/{n}.txt" for n in GAZETTEERS}
    listed |= {"ptb_sample/trees.tsv.gz", "ocr_letters/letters.npz", "brown_clusters/tweets_6m_paths.tsv.gz"}
    prose = {"README.md", "NAMES_README.txt", "SOURCE_LICENSE.txt"}
    folders = {name.split("/")[0] for name in listed}
    there = {f"{d}/{p.name}" for d in folders for p in (data / d).iterdir() if p.name not in prose}
    assert there == listed
