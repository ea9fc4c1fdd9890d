"""What the samples promise: the same for a seed, well formed, new words in dev and test, and never easy."""

import hashlib
from dataclasses import fields
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from chaffinch import samples
from chaffinch.errors import ConfigError
from chaffinch.samples.chance import Chance, misspelt, vocabulary
from chaffinch.samples.ingredients import LABELS
from chaffinch.samples.letters import VOCABULARY, image
from chaffinch.samples.pairs import translation
from chaffinch.samples.posts import PRAISE

NAMES = list(samples.SAMPLES)

# Twelve documents of each: what a seed means may not change from one version to the next by accident.
FINGERPRINTS = {
    "ingredients": "8269e6697868cb1c",
    "posts": "ba538ef6d32950a5",
    "reviews": "5dc0ae8e43b4982d",
    "topics": "9f61bfa140f7e832",
    "questions": "cb950ec2b8729f5b",
    "trees": "6dfa4033e84b44f6",
    "pairs": "879a1f24974f53ad",
    "letters": "b360dad72aaf260e",
    "quotations": "101a72d636607df3",
}


@cache
def loaded(name: str, split: str) -> list:
    return samples.load(name, split)


def fingerprint(name: str) -> str:
    """Of what the documents hold; a field that they leave empty does not count, nor how tokens are spelt."""
    held = [
        [(f.name, getattr(d, f.name)) for f in fields(d) if getattr(d, f.name) and f.name != "images"]
        for d in samples.load(name, "test", n=12)
    ]
    return hashlib.sha256(repr(held).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_means_the_same_documents_in_every_version(name):
    assert fingerprint(name) == FINGERPRINTS[name]


def test_the_generator_is_splitmix64():
    # The first outputs for seed 1234567, as published with the reference implementation.
    chance = Chance(1234567)
    assert [chance.next() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_larger_sample_only_adds_to_a_smaller_one(name):
    assert samples.load(name, "dev", n=20)[:7] == samples.load(name, "dev", n=7)


@pytest.mark.parametrize("name", NAMES)
def test_seeds_and_splits_give_different_documents(name):
    first = samples.load(name, "train", n=20)
    assert first != samples.load(name, "train", n=20, seed=1)
    assert first != samples.load(name, "dev", n=20)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_every_document_is_well_formed(name, split):
    documents = samples.load(name, split, n=300)
    assert len(documents) == 300
    for d in documents:
        assert all(d.text[t.start : t.end] == t.text for t in d.tokens)
        assert all(len(column) == len(d.tokens) for column in d.columns.values())
        assert d.text.strip()
        assert d.text.isprintable() or name == "topics"


@pytest.mark.parametrize("name", NAMES)
def test_the_usual_sizes_are_what_load_gives(name):
    sample = samples.SAMPLES[name]
    assert sample.splits == ("train", "dev", "test")
    assert len(loaded(name, "dev")) == sample.sizes["dev"]
    assert len(samples.preview(name)) == 3


@pytest.mark.parametrize("name", [n for n in NAMES if n != "letters"])
def test_the_test_part_has_words_that_training_never_showed(name):
    seen = {w for d in loaded(name, "train") for w in d.text.split()}
    test = [w for d in loaded(name, "test") for w in d.text.split()]
    unseen = sum(w not in seen for w in test) / len(test)
    assert 0.01 < unseen < 0.2, unseen


@pytest.mark.parametrize("name", NAMES)
def test_few_test_documents_repeat_one_of_training(name):
    seen = {d.text for d in loaded(name, "train")}
    repeated = sum(d.text in seen for d in loaded(name, "test")) / len(loaded(name, "test"))
    assert repeated < 0.25, repeated


def test_the_test_part_of_letters_has_words_that_training_never_showed():
    def words(split):
        return {"".join(d.columns["y"]) for d in loaded("letters", split)}

    assert len(words("train")) > 100
    assert len(words("test") - words("train")) > 10


def test_dev_and_test_keep_back_different_words():
    entries = list(range(70))
    train, dev, test = (set(vocabulary(entries, split)) for split in ("train", "dev", "test"))
    assert train == dev & test
    assert dev | test == set(entries)


@pytest.mark.parametrize(
    ("name", "split", "n", "message"),
    [
        ("haiku", "train", None, "there is no sample 'haiku'; there are ingredients, posts, "),
        ("posts", "tail", None, "sample 'posts' has no split 'tail'; it has train, dev, test"),
        ("posts", "train", -1, "the number of documents must be >= 0, got -1"),
    ],
)
def test_a_wrong_request_is_one_sentence(name, split, n, message):
    with pytest.raises(ConfigError) as caught:
        samples.load(name, split, n=n)
    assert str(caught.value).startswith(message)


def test_a_misspelt_word_is_another_word_of_nearly_the_same_letters():
    chance = Chance(3)
    for word in ("tomatoes", "flour", "chopped"):
        for _ in range(50):
            wrong = misspelt(word, chance)
            assert abs(len(wrong) - len(word)) <= 1
            assert wrong[0] == word[0]
    assert misspelt("egg", chance) == "egg"


def test_ingredient_labels_are_the_eight_and_each_occurs():
    labels = {y for d in samples.ingredients(500) for y in d.columns["y"]}
    assert labels == set(LABELS)


@pytest.mark.parametrize("word", ["clove", "can", "ground", "large", "or", "chopped", "cloves", "2"])
def test_an_ambiguous_kitchen_word_takes_several_labels(word):
    labels = [
        y
        for d in loaded("ingredients", "train")
        for w, y in zip(d.words(), d.columns["y"], strict=True)
        if w.lower() == word
    ]
    common = {y for y in labels if labels.count(y) > 3}
    assert len(common) > 1, (word, labels)


def test_post_tags_are_valid_bio():
    for d in samples.posts(1000):
        for before, tag in pairwise(["O", *d.columns["y"]]):
            if tag.startswith("I-"):
                assert before[2:] == tag[2:]


def test_the_sentiment_word_is_often_far_from_the_entity():
    praise = set(PRAISE) | {
        "love",
        "stars",
        "treat",
        "happier",
        "penny",
        "magic",
        "joy",
    }
    distances = []
    for d in samples.posts(2000):
        tags, words = d.columns["y"], d.words()
        entities = [t for t, tag in enumerate(tags) if tag.endswith("-positive")]
        clues = [t for t, word in enumerate(words) if word in praise]
        if entities and clues:
            distances.append(min(abs(e - c) for e in entities for c in clues))
    assert sum(distance > 4 for distance in distances) > 0.25 * len(distances)


def test_the_same_words_occur_under_two_trees():
    trees_of: dict[str, set] = {}
    for d in samples.trees(3000):
        trees_of.setdefault(d.text, set()).add(d.tree)
    assert sum(len(trees) > 1 for trees in trees_of.values()) >= 3


def test_the_words_of_a_tree_are_the_tokens_and_its_tags_the_column():
    def leaves(tree):
        return [(tree.label, tree.word)] if tree.word else [leaf for c in tree.children for leaf in leaves(c)]

    for d in samples.trees(300):
        assert leaves(d.tree) == list(zip(d.columns["pos"], d.words(), strict=True))


def test_phrases_attach_to_verb_and_noun_about_equally_often():
    def places(tree, above):
        if tree.label == "PP" and tree.children[0].word == "with":
            yield above
        for child in tree.children:
            yield from places(child, tree.label)

    above = [label for d in samples.trees(1500) for label in places(d.tree, "")]
    assert 0.35 < above.count("VP") / len(above) < 0.65


def test_links_stay_inside_their_sentences_and_sure_ones_are_not_also_possible():
    for d in samples.pairs(1000):
        assert not d.links.sure & d.links.possible
        for i, j in d.links.sure | d.links.possible:
            assert 0 <= i < len(d.tokens)
            assert 0 <= j < len(d.links.target)


def test_pairs_have_words_with_no_link_words_with_two_and_crossing_links():
    unlinked = doubled = crossed = 0
    for d in samples.pairs(500):
        sources = [i for i, _ in d.links.sure]
        linked = {i for i, _ in d.links.sure | d.links.possible}
        unlinked += any(i not in linked for i in range(len(d.tokens)))
        doubled += any(sources.count(i) > 1 for i in sources)
        crossed += any((a - c) * (b - e) < 0 for a, b in d.links.sure for c, e in d.links.sure)
    assert unlinked > 100
    assert doubled > 50
    assert crossed > 300


def test_a_word_of_pipit_depends_on_the_english_word_alone():
    assert translation("cat") == translation("cat") != translation("dog")


def test_letter_images_are_what_the_tokens_say():
    documents, pixels, bounds = samples.letters(50)
    assert pixels.shape == (bounds[-1], 128)
    assert pixels.max() == 1
    for d, (a, b) in zip(documents, pairwise(bounds.tolist()), strict=True):
        assert np.array_equal(np.stack([image(t.text) for t in d.tokens]).reshape(-1, 128), pixels[a:b])
        assert len(d.columns["y"]) == b - a


def test_the_words_written_as_images_are_many_and_different():
    assert len(set(VOCABULARY)) == len(VOCABULARY) >= 150
    assert {c for word in VOCABULARY for c in word} == set("abcdefghijklmnopqrstuvwxyz")
