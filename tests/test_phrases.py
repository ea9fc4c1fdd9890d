"""Phrases with labels of their own: read, placed, learnt from without looking at oneself, kept in the file."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import Classifier, load
from chaffinch.corpus.phrases import LabelledPhrases
from chaffinch.errors import DataError, ModelFileError
from chaffinch.model.valences import Valences
from chaffinch.modelfile import Packed
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.recipes.valences import PhraseValences
from commandline import Runner, run  # noqa: F401

TREES = r"""
(3 (2 The) (3 (4 best) (2 tea)))
(1 (2 -LRB-) (1 (1 stale) (2 cakes\/buns)))
"""
LABELS = ["-", "+"]
words = st.lists(st.sampled_from("abc"), max_size=5).map(" ".join)


def reviews():
    """Texts whose opinion is in one word, and phrases that give it away."""
    good, bad = ["fine", "lovely", "great", "warm"], ["stale", "awful", "poor", "cold"]
    things = ["tea", "cake", "bun", "soup", "bread"]
    texts = [f"{'not ' * (n % 7 == 0)}{w} {t}" for n, w in enumerate(good + bad) for t in things]
    labels = [LABELS[(t.split()[-2] in good) != t.startswith("not")] for t in texts]
    phrases = LabelledPhrases([*texts, *good, *bad], [*labels, *"++++----"])
    return texts, labels, phrases


def test_every_node_of_a_tree_is_a_phrase_of_its_sentence(tmp_path):
    (tmp_path / "trees.txt").write_text(TREES)
    found = LabelledPhrases.read(tmp_path / "trees.txt")
    assert list(zip(found.texts, found.labels, strict=True)) == [
        ("The best tea", "3"),
        ("The", "2"),
        ("best tea", "3"),
        ("best", "4"),
        ("tea", "2"),
        ("( stale cakes/buns", "1"),
        ("(", "2"),
        ("stale cakes/buns", "1"),
        ("stale", "1"),
        ("cakes/buns", "2"),
    ]
    assert found.sentences == ["The best tea"] * 5 + ["( stale cakes/buns"] * 5


def test_phrases_of_sentences_that_are_not_there_are_left_out(tmp_path):
    (tmp_path / "trees.txt").write_text(TREES)
    which, owner = LabelledPhrases.read(tmp_path / "trees.txt").places(["tea", "(stale cakes/buns"])
    assert which.tolist() == [5, 6, 7, 8, 9]
    assert owner.tolist() == [1] * 5


@given(st.lists(words, unique=True, max_size=6), st.lists(words, max_size=6))
def test_phrases_without_sentences_are_where_their_words_are(phrases, documents):
    which, owner = LabelledPhrases(phrases, ["x"] * len(phrases)).places(documents)
    expected = {
        (p, n)
        for p, phrase in enumerate(phrases)
        for n, document in enumerate(documents)
        if phrase and f" {phrase} " in f" {document} "
    }
    assert sorted(zip(which.tolist(), owner.tolist(), strict=True)) == sorted(expected)


def test_a_text_never_meets_what_its_own_phrases_taught():
    texts, labels, _ = reviews()
    own = LabelledPhrases(texts, labels, texts)
    turned = replace(own, labels=[LABELS[labels[0] == "-"], *labels[1:]])
    learner = PhraseValences(folds=len(texts), passes=3)
    valences, features = learner.learnt(texts, own, LABELS)
    others, again = learner.learnt(texts, turned, LABELS)
    assert np.array_equal(features[0], again[0])
    assert not np.array_equal(features[1:], again[1:])
    assert not np.array_equal(valences.features(texts[:1], 1), others.features(texts[:1], 1))


def test_a_model_with_phrases_is_the_same_after_save_and_load(tmp_path):
    texts, labels, phrases = reviews()
    features = TextFeatures.named("sentences").with_phrases(phrases)
    classifier = Classifier("logistic", features=features).fit(texts, labels)
    classifier.save(tmp_path / "m.chaff")
    new = ["lovely pie", "not lovely", "poor", ""]
    assert np.array_equal(load(tmp_path / "m.chaff").predict_proba(new), classifier.predict_proba(new))
    assert classifier.predict(["lovely pie", "poor pie"]).tolist() == ["+", "-"]


def test_the_number_of_threads_changes_nothing():
    texts, _, phrases = reviews()
    one, two = (PhraseValences(threads=n).learnt(texts, phrases, LABELS)[1] for n in (1, 2))
    assert np.array_equal(one, two)


def test_the_command_line_takes_a_file_of_phrases(run: Runner, tmp_path):  # noqa: F811
    texts, labels, phrases = reviews()
    for name, rows in (
        ("train", zip(texts, labels, strict=True)),
        ("phrases", zip(phrases.texts, phrases.labels, strict=True)),
    ):
        lines = "".join(f"{label},{text}\n" for text, label in rows)
        (tmp_path / f"{name}.csv").write_text("label,text\n" + lines)
    train, model = tmp_path / "train.csv", tmp_path / "m.chaff"
    asked = ("train", train, "-o", model, "--features", "sentences", "--recipe", "logistic", "--json")
    done = run(*asked, "--phrases", tmp_path / "phrases.csv")
    assert done.code == 0, done.err
    assert json.loads(done.out)["train"]["accuracy"] == 1.0
    assert load(model).model_.encoder.valences is not None


def test_labels_that_no_text_has_and_phrases_of_no_text_are_refused():
    texts, _, _ = reviews()
    with pytest.raises(DataError, match=r"labels of the texts \(-, \+\), found '\?'"):
        PhraseValences().learnt(texts, LabelledPhrases(["fine"], ["?"]), LABELS)
    with pytest.raises(DataError, match="phrases that occur in the texts"):
        PhraseValences().learnt(texts, LabelledPhrases(["xyzzy"], ["+"]), LABELS)


def test_damaged_valences_are_refused():
    texts, _, phrases = reviews()
    packed = PhraseValences().learnt(texts, phrases, LABELS)[0].packed()
    w = packed.arrays["w"]
    for wrong in (w[1:], w[:, 1:], np.full_like(w, np.nan)):
        arrays = {**packed.arrays, "w": wrong}
        with pytest.raises(ModelFileError, match=r"phrases do not fit|holds nan"):
            Valences.loaded(Packed(packed.details, arrays, packed.strings).file())
