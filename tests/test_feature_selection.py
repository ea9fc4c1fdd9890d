"""Picking, dropping, weighting, joining and keeping features."""

import copy
import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import chi2, mutual_info_classif

import naive_ngrams as naive
from chaffinch.errors import DataError, ModelFileError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.rows import SparseRows, joined
from chaffinch.features.selection import (
    LabelRows,
    chi_squared,
    information_gain,
    label_frequency,
    picked,
    sums_by_label,
    undropped,
)
from chaffinch.features.union import FeatureUnion
from chaffinch.features.weighting import log_count_ratios, strongest_ratio
from chaffinch.modelfile import Packed

WORDS = ["tea", "cake", "cup", "rain", "sun", "not"]
documents = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), min_size=2, max_size=15
)
tables = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 3).map(float), min_size=4, max_size=4), min_size=n, max_size=n)
)


def labelled(table, seed=0):
    labels = [(i * 7 + seed) % 3 for i in range(len(table))]
    return SparseRows.of(table), np.array(table), labels


@given(tables, st.integers(0, 2))
def test_sums_by_label_equal_a_matrix_product(table, seed):
    rows, dense, labels = labelled(table, seed)
    encoded = LabelRows.of(labels)
    one_hot = np.array([[y == name for name in encoded.names] for y in labels], dtype=float)
    assert np.array_equal(sums_by_label(rows, encoded), dense.T @ one_hot)
    assert np.array_equal(sums_by_label(rows, encoded, presence=True), (dense > 0).T @ one_hot)


@given(tables)
def test_chi_squared_equals_scikit_learns(table):
    rows, dense, labels = labelled(table)
    encoded = LabelRows.of(labels)
    ours = chi_squared(sums_by_label(rows, encoded), encoded.documents(), len(labels))
    with np.errstate(all="ignore"):
        theirs = np.nan_to_num(chi2(dense, labels)[0])
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


@given(tables)
def test_information_gain_equals_scikit_learns_mutual_information(table):
    rows, dense, labels = labelled(table)
    encoded = LabelRows.of(labels)
    ours = information_gain(sums_by_label(rows, encoded, presence=True), encoded.documents())
    theirs = mutual_info_classif(dense > 0, labels, discrete_features=True)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_label_frequency_is_the_largest_share_of_a_labels_ngrams():
    sums = np.array([[3.0, 0.0], [1.0, 4.0], [0.0, 0.0]])
    assert label_frequency(sums).tolist() == [0.75, 1.0, 0.0]


def test_log_count_ratios_are_those_of_the_paper():
    sums = np.array([[3.0, 1.0], [0.0, 2.0]])
    ratios = log_count_ratios(sums, alpha=1.0)
    p, q = np.array([4.0, 1.0]), np.array([2.0, 3.0])
    expected = np.log((p / p.sum()) / (q / q.sum()))
    np.testing.assert_allclose(ratios[:, 0], expected)
    np.testing.assert_allclose(ratios[:, 1], -expected)
    np.testing.assert_allclose(strongest_ratio(ratios), np.abs(expected))


def test_a_vectoriser_scales_by_the_ratios_of_its_labels():
    vectorizer = TextVectorizer(ratios=True, ngram_high=1, binary=True)
    rows = vectorizer.fit_transform(["tea tea", "rain", "tea rain"], ["a", "b", "a"])
    (named, *_) = naive.named_rows(vectorizer, rows)
    # a: tea 2, rain 1; b: tea 0, rain 1
    expected = abs(math.log((3 / 5) / (1 / 3)))
    assert named["tea"] == pytest.approx(expected)


@given(documents, st.integers(1, 6))
def test_top_features_are_the_most_frequent_and_keep_their_order(texts, size):
    every = TextVectorizer()
    every.fit_transform(texts)
    few = TextVectorizer(feature_size=size)
    rows = few.fit_transform(texts)
    assert few.names() == every.names()[:size]
    assert naive.named_rows(few, rows) == naive.named_rows(few, few.transform(texts))


@given(documents, st.integers(1, 6), st.sampled_from(["label", "chi2", "gain", "sample"]), st.integers(0, 9))
def test_picked_features_keep_their_counts(texts, size, pick, seed):
    labels = [i % 2 for i in range(len(texts))]
    few = TextVectorizer(feature_size=size, feature_pick=pick, seed=seed, ngram_high=3)
    rows = few.fit_transform(texts, labels)
    kept = set(few.names())
    assert len(kept) == min(size, len({g for t in texts for g in naive.word_ngrams(t.split(), 1, 3)}))
    expected = [
        {g: n for g, n in row.items() if g in kept}
        for row in naive.rows([naive.word_ngrams(t.split(), 1, 3) for t in texts])
    ]
    assert naive.named_rows(few, rows) == expected
    assert naive.named_rows(few, few.transform(texts)) == expected


def test_a_sample_by_frequency_draws_in_proportion_and_repeats_for_its_seed():
    totals = np.array([6, 3, 1])
    rows = SparseRows.of([[1.0, 1.0, 1.0]])
    draws = np.array([picked("sample", 1, totals=totals, rows=rows, seed=seed) for seed in range(4000)])
    np.testing.assert_allclose(draws.mean(axis=0), [0.6, 0.3, 0.1], atol=0.03)
    again = picked("sample", 1, totals=totals, rows=rows, seed=7)
    assert np.array_equal(again, draws[7])


def test_a_share_of_each_labels_features_is_dropped():
    table = np.zeros((2, 200))
    table[0, :100] = table[1, 100:] = 1.0
    rows = SparseRows.of(table)
    keep = undropped(0.3, rows, LabelRows.of(["a", "b"]), seed=1)
    assert (keep[:100].sum(), keep[100:].sum()) == (70, 70)
    assert undropped(0.3, rows, None, seed=1).sum() == 140
    assert not np.array_equal(keep, undropped(0.3, rows, LabelRows.of(["a", "b"]), seed=2))


def test_a_feature_of_several_labels_survives_if_one_keeps_it():
    rows = SparseRows.of(np.ones((2, 1000)))
    kept = undropped(0.5, rows, LabelRows.of(["a", "b"])).sum()
    assert 680 < kept < 820  # 1 - 0.5^2 of them


def test_dropped_features_leave_rows_and_index_alike():
    texts = [" ".join(WORDS), "tea sun rain"]
    vectorizer = TextVectorizer(feature_drop=0.5, ngram_high=3)
    rows = vectorizer.fit_transform(texts, ["a", "b"])
    assert naive.named_rows(vectorizer, rows) == naive.named_rows(vectorizer, vectorizer.transform(texts))


def test_labels_may_be_several_per_document():
    encoded = LabelRows.of([["a", "b"], {"b"}, (), "c"])
    assert (encoded.names, encoded.ptr.tolist(), encoded.ids.tolist()) == (
        ["a", "b", "c"],
        [0, 2, 3, 3, 4],
        [0, 1, 1, 2],
    )
    with pytest.raises(DataError, match="labels for 2 documents, got 1"):
        TextVectorizer().fit_transform(["a", "b"], ["x"])


@given(tables, tables)
def test_blocks_stand_side_by_side(left, right):
    n = min(len(left), len(right))
    a, b = np.array(left[:n]), np.array(right[:n])
    rows = joined([SparseRows.of(a), SparseRows.of(scipy.sparse.csr_array(b)), SparseRows.of(a > 0)])
    assert np.array_equal(rows.dense(), np.hstack([a, b, a > 0]))
    for m in range(n):
        ids = rows.ids[rows.ptr[m] : rows.ptr[m + 1]].tolist()
        assert ids == sorted(set(ids))


def test_binary_text_stands_beside_numbers():
    rows = TextVectorizer(binary=True, ngram_high=1).fit_transform(["tea cake", "tea"])
    assert rows.values is None
    both = rows.beside(SparseRows.of([[0.5], [0.0]]))
    assert both.dense().tolist() == [[1.0, 1.0, 0.5], [1.0, 0.0, 0.0]]


def test_sparse_matrices_with_duplicates_and_any_order_become_rows():
    matrix = scipy.sparse.coo_matrix(([1.0, 2.0, 3.0], ([0, 0, 0], [2, 2, 0])), shape=(1, 3))
    rows = SparseRows.of(matrix)
    assert rows.dense().tolist() == [[3.0, 0.0, 3.0]]
    assert rows.ids.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[float("nan")]], "NaN, infinity"),
        (scipy.sparse.csr_matrix([[np.inf]]), "NaN, infinity"),
        ([[1e300]], "beyond float32"),
        ([1.0, 2.0], "1 dimensions"),
        ([["a"]], "table of numbers"),
        ([[1j]], "complex"),
        ([[1.0], [2.0, 3.0]], "table of numbers"),
    ],
)
def test_matrices_that_are_no_table_of_numbers_are_refused(matrix, message):
    with pytest.raises(DataError, match=message):
        SparseRows.of(matrix)


def test_blocks_of_different_length_are_refused():
    with pytest.raises(DataError, match="same number of rows, got 1 and 2"):
        SparseRows.of([[1.0]]).beside(SparseRows.of([[1.0], [2.0]]))


SETTINGS = [
    {"idf": True, "norm": "l2", "ngram_high": 3, "feature_size": 7, "stop_list": ("not",)},
    {"unit": "char_wb", "ngram_low": 2, "ngram_high": 4, "sublinear": True},
    {"hash_bits": 10, "idf": True},
]


@settings(max_examples=20)
@given(documents, st.sampled_from(SETTINGS))
def test_a_vectoriser_made_from_its_state_gives_the_same_rows(texts, chosen):
    vectorizer = TextVectorizer(**chosen)
    vectorizer.fit_transform(texts)
    again = TextVectorizer.loaded(vectorizer.packed().file())
    assert again == vectorizer
    a, b = vectorizer.transform(texts), again.transform(texts)
    assert a.ids.tobytes() == b.ids.tobytes()
    assert a.weights().tobytes() == b.weights().tobytes()


def spoil(change):
    vectorizer = TextVectorizer(idf=True)
    vectorizer.fit_transform(["tea cake tea", "cake sun"])
    packed = copy.deepcopy(vectorizer.packed())
    header, arrays, strings = packed.details, packed.arrays, packed.strings
    change(header, arrays, strings)
    return header, arrays, strings


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a, s: h.update(kind="templates"),
        lambda h, a, s: h.update(version=2),
        lambda h, a, s: h.update(columns=3),
        lambda h, a, s: h.update(columns="many"),
        lambda h, a, s: h["settings"].update(ngram_high="x"),
        lambda h, a, s: h["settings"].update(idf=False),
        lambda h, a, s: a["parents"].__setitem__(0, 99),
        lambda h, a, s: a["parents"].__setitem__(0, -1),
        lambda h, a, s: a["lasts"].__setitem__(0, 3),
        lambda h, a, s: a["features"].__setitem__(0, a["features"][1]),
        lambda h, a, s: a["features"].__setitem__(0, 77),
        lambda h, a, s: a["features"].__setitem__(0, -2),
        lambda h, a, s: a.update(lasts=a["lasts"][:-1]),
        lambda h, a, s: a.update(lasts=a["lasts"].astype(np.int64)),
        lambda h, a, s: (
            a["parents"].__setitem__(1, a["parents"][0]),
            a["lasts"].__setitem__(1, a["lasts"][0]),
        ),
        lambda h, a, s: a["scale"].__setitem__(0, np.nan),
        lambda h, a, s: a.update(scale=a["scale"][1:]),
        lambda h, a, s: a.pop("features"),
        lambda h, a, s: s["symbols"].append(s["symbols"][0]),
        lambda h, a, s: s["symbols"].pop(),
        lambda h, a, s: s["symbols"].__setitem__(0, "\ud800"),
        lambda h, a, s: s.pop("symbols"),
    ],
)
def test_a_damaged_state_is_refused(change):
    with pytest.raises(ModelFileError):
        TextVectorizer.loaded(Packed(*spoil(change)).file())


def test_a_union_made_from_its_state_gives_the_same_rows():
    union = FeatureUnion(
        (TextVectorizer(idf=True), TextVectorizer(unit="char_wb", ngram_low=3, ngram_high=5))
    )
    texts = ["tea and cake", "rain or sun", ""]
    beside = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    rows = union.fit_transform(texts, beside=beside)
    assert rows.columns == len(union.names()) == union.offsets()[-1]
    again = FeatureUnion.loaded(union.packed().file())
    assert np.array_equal(again.transform(texts, beside.toarray()).dense(), rows.dense())
    assert np.array_equal(rows.dense()[:, -2:], beside.toarray())


def test_a_union_refuses_other_columns_than_it_was_fitted_with():
    union = FeatureUnion((TextVectorizer(),))
    union.fit_transform(["tea"], beside=[[1.0]])
    with pytest.raises(DataError, match="expected 1 columns beside the text as when fitting, got 0"):
        union.transform(["tea"])


@pytest.mark.parametrize(
    "damage", [{"kind": "x"}, {"version": 9}, {"parts": {}}, {"parts": [1]}, {"beside": -1}]
)
def test_a_damaged_union_is_refused(damage):
    union = FeatureUnion((TextVectorizer(),))
    union.fit_transform(["tea"])
    packed = union.packed()
    header, arrays, strings = packed.details, packed.arrays, packed.strings
    with pytest.raises(ModelFileError):
        FeatureUnion.loaded(Packed(header | damage, arrays, strings).file())


@given(documents, st.sampled_from(["none", "l1", "l2"]), st.data())
def test_weights_of_presence_are_factors_of_features_and_rows(texts, norm, drawn):
    rows = TextVectorizer(binary=True, idf=True, norm=norm, ngram_high=1).fit_transform(texts)
    counts = TextVectorizer(ngram_high=1, idf=True, norm="none").fit_transform(texts).dense()
    presence = (counts > 0) * rows.factors[0]
    size = {"none": 1.0, "l1": presence.sum(1), "l2": np.sqrt((presence**2).sum(1))}[norm]
    expected = presence / np.broadcast_to(size, len(texts))[:, None]
    assert np.allclose(rows.dense(), expected, atol=1e-5)
    which = np.array(drawn.draw(st.lists(st.integers(0, len(texts) - 1), min_size=1)))
    assert np.allclose(rows.taken(which).dense(), expected[which], atol=1e-5)
    assert np.allclose(rows.times(3.0).dense(), 3 * expected, atol=1e-5)
    assert np.allclose(rows.beside(rows).dense(), np.hstack([expected, expected]), atol=1e-5)
    assert rows.spelt_out().factors is None
