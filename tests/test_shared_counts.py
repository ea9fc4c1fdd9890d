"""Kinds of features that count the same n-grams count them once, with the same rows as alone."""

import numpy as np
import pytest

from chaffinch import samples
from chaffinch.features import ngrams
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.shared_counts import SharedCounts
from chaffinch.recipes.text_features import PRESETS

UNLABELLED = [name for name, features in PRESETS.items() if not features.reads_labels]


@pytest.fixture(scope="module")
def texts():
    return [document.text for document in samples.load("questions", "train", n=150)]


@pytest.fixture
def counted(monkeypatch):
    """The ranges of n-grams that were counted."""
    calls, count = [], ngrams.count_ngrams

    def spy(symbols, low, high, *others):
        calls.append((low, high))
        return count(symbols, low, high, *others)

    monkeypatch.setattr(ngrams, "count_ngrams", spy)
    return calls


def shared_by(encoders):
    return SharedCounts(wanted for encoder in encoders for wanted in encoder.counts_wanted())


def content(encoder, rows):
    """Everything that a model file and a learner read."""
    sections = [vectorizer.packed() for vectorizer in encoder.union.vectorizers]
    return [
        rows.ptr.tolist(),
        rows.ids.tolist(),
        rows.weights().tobytes(),
        rows.columns,
        [vectorizer.names() for vectorizer in encoder.union.vectorizers],
        repr(sections),
    ]


@pytest.mark.parametrize("order", [UNLABELLED, UNLABELLED[::-1]])
def test_features_of_shared_counts_are_those_of_counts_of_their_own(texts, order):
    together = [PRESETS[name].encoder(len(texts), 0, 1) for name in order]
    shared = shared_by(together)
    rows = [encoder.fitted_rows(texts, None, None, shared) for encoder in together]
    for name, encoder, found in zip(order, together, rows, strict=True):
        alone = PRESETS[name].encoder(len(texts), 0, 1)
        assert content(encoder, found) == content(alone, alone.fitted_rows(texts, None, None)), name


def test_n_grams_that_two_kinds_of_features_have_are_counted_once(texts, counted):
    encoders = [PRESETS[name].encoder(len(texts), 0, 1) for name in ("sentences", "questions")]
    shared = shared_by(encoders)
    for encoder in encoders:
        encoder.fitted_rows(texts, None, None, shared)
    assert counted.count((2, 6)) == 1
    counted.clear()
    for encoder in encoders:
        encoder.fitted_rows(texts, None, None)
    assert counted.count((2, 6)) == 2


def test_counts_are_kept_until_the_last_vectoriser_has_them(texts):
    pair = [TextVectorizer(sublinear=True), TextVectorizer(binary=True, norm="l2")]
    shared = SharedCounts((one.counting, one.binary) for one in pair)
    pair[0].fit_transform(texts, shared=shared)
    assert len(shared._found) == 1
    pair[1].fit_transform(texts, shared=shared)
    assert not shared._found


def test_a_vectoriser_that_counts_alone_leaves_nothing_behind(texts):
    one = TextVectorizer(ngram_high=1)
    shared = SharedCounts([(one.counting, one.binary)])
    one.fit_transform(texts, shared=shared)
    assert not shared._found


@pytest.mark.parametrize(
    "other",
    [{"ngram_high": 3}, {"min_df": 2}, {"tokens": "spaces"}, {"lower": False}, {"stop_list": ("tea",)}],
)
def test_other_counts_are_not_mistaken_for_these(texts, other):
    pair = [TextVectorizer(), TextVectorizer(**other)]
    assert pair[0].counting != pair[1].counting
    shared = SharedCounts((one.counting, one.binary) for one in pair)
    for one in pair:
        one.fit_transform(texts, shared=shared)
    assert pair[1].names() == TextVectorizer(**other).fit(texts).names()


@pytest.mark.parametrize("own", [{"hash_bits": 8}, {"feature_size": 50}, {"feature_drop": 0.5}])
def test_hashed_and_picked_n_grams_are_counted_apart(texts, own):
    assert TextVectorizer(**own).counting is None
    labels = ["a", "b"] * (len(texts) // 2)
    plain, picked = TextVectorizer(), TextVectorizer(**own)
    shared = SharedCounts([(plain.counting, False)] * 2)
    found = picked.fit_transform(texts, labels, shared=shared)
    alone = TextVectorizer(**own).fit_transform(texts, labels)
    assert np.array_equal(found.ids, alone.ids)
    assert not shared._found


def test_every_setting_either_changes_the_counts_or_only_their_weighting(texts):
    """A new setting must be sorted into one of the two: otherwise counts of other settings would be shared."""
    weighting = {"binary", "sublinear", "idf", "idf_power", "ratios", "ratio_alpha", "norm"}
    apart = {"feature_size", "feature_pick", "feature_drop", "hash_bits", "signed_hash", "seed", "threads"}
    others = {
        "unit": "char",
        "tokens": "spaces",
        "cleaning": "mail",
        "lower": False,
        "stemming": "stem",
        "language": "german",
        "ngram_low": 2,
        "ngram_high": 3,
        "stopwords": "english",
        "min_df": 2,
        "max_df": 0.5,
        "stop_list": ("tea",),
        "removed": ("tea",),
    }
    names = {name for name in TextVectorizer.__dataclass_fields__ if not name.startswith("_")}
    assert names == weighting | apart | others.keys()
    plain = TextVectorizer().counting
    for name, value in others.items():
        assert TextVectorizer(**{name: value}).counting != plain, name
