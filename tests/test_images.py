"""Tokens are images only if the letters format says so; hexadecimal digits alone are text."""

import hashlib
from pathlib import Path

from chaffinch import Tagger, corpus, samples
from chaffinch.recipes.hmm import Hmm
from chaffinch.text.table import TokenTable, concatenated


def _reads_pixels(tagger: Tagger) -> bool:
    return any(
        "bit" in template or "pixel" in template for template in tagger.model_.encoder.features.templates
    )


def test_a_corpus_of_hashes_gets_features_of_words() -> None:
    words = [[hashlib.md5(f"{n} {i}".encode()).hexdigest() for i in range(3)] for n in range(20)]
    tags = [["A", "B", "A"]] * 20
    tagger = Tagger("perceptron").fit(words, tags)
    assert not _reads_pixels(tagger)
    assert any(template.startswith("w[") for template in tagger.model_.encoder.features.templates)


def test_letters_of_a_sample_and_of_a_file_are_images_and_stay_so(tmp_path: Path) -> None:
    documents = samples.load("letters", n=20)
    table = TokenTable.from_documents(documents)
    assert table.images
    assert concatenated([table, table]).images
    assert table.of_sentences(table.ptr[1:] > 5).images
    assert _reads_pixels(Tagger("perceptron").fit(table))
    corpus.write(documents, tmp_path / "letters.npz")
    read = TokenTable.from_documents(corpus.read(tmp_path / "letters.npz"))
    assert read.images
    assert not TokenTable.from_lists({"w": read.lists("w")}).images
    assert Tagger(Hmm()).fit(read).score(read) > 0
