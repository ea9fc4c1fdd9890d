"""N-gram features against the naive ones and against scikit-learn's."""

import csv
import gzip
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import naive_ngrams as naive
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.ngrams import TextVectorizer

# Few letters, so that n-grams repeat; capitals that change length, a final sigma, marks, spaces of all kinds.
LETTERS = "aAbB zZéÉß İΣσ\t\n\x00\x1c\u00a0\u2003_1!?'中\U0001d7d8"
texts = st.text(st.sampled_from(LETTERS), max_size=40) | st.text(max_size=30)
corpora = st.lists(texts, min_size=1, max_size=12)
# ASCII alone is scanned 64 characters at a time, and words are compared eight at a time.
words = (
    st.text(st.sampled_from("aB_1"), max_size=10)
    | st.sampled_from("ab").map(lambda c: c * 15)
    | st.just("b" * 16)
)
plain = st.lists(words | st.sampled_from(["a" * 33, "!", "a b", "?!", "\n"]), max_size=40).map(" ".join)


@pytest.fixture(scope="session")
def newsgroups(data):
    """The training posts of 20 newsgroups."""
    csv.field_size_limit(10**9)
    with gzip.open(data / "newsgroups20" / "train.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        return [row["text"] for row in csv.DictReader(lines)]


def fitted(documents, **settings):
    """A vectoriser and its rows; None where no n-gram is left."""
    vectorizer = TextVectorizer(**settings)
    try:
        return vectorizer, vectorizer.fit_transform(documents)
    except DataError:
        return vectorizer, None


def check_equal(expected, documents, **settings):
    """Fitting, and transforming with what was fitted, give the expected counts."""
    vectorizer, rows = fitted(documents, **settings)
    if rows is None:
        assert not any(expected)
        return
    assert naive.named_rows(vectorizer, rows) == expected
    assert naive.named_rows(vectorizer, vectorizer.transform(documents)) == expected


@given(corpora, st.sampled_from(sorted(naive.RULES)), st.booleans(), st.integers(1, 3), st.integers(0, 2))
def test_word_ngrams_equal_the_naive_ones(documents, rule, lower, low, more):
    expected = naive.rows(
        [naive.word_ngrams(naive.words(d, rule, lower), low, low + more) for d in documents]
    )
    check_equal(expected, documents, tokens=rule, lower=lower, ngram_low=low, ngram_high=low + more)


@given(st.lists(plain, min_size=1, max_size=6), st.sampled_from(sorted(naive.RULES)), st.booleans())
def test_words_of_any_length_anywhere_in_long_plain_texts_equal_the_naive_ones(documents, rule, lower):
    expected = naive.rows([naive.word_ngrams(naive.words(d, rule, lower), 1, 3) for d in documents])
    check_equal(expected, documents, tokens=rule, lower=lower, ngram_high=3)


@given(corpora, st.integers(1, 4), st.integers(0, 2), st.booleans())
def test_character_ngrams_equal_the_naive_ones(documents, low, more, within):
    cut = naive.char_wb_ngrams if within else naive.char_ngrams
    expected = naive.rows([cut(d.lower(), low, low + more) for d in documents])
    check_equal(
        expected, documents, unit="char_wb" if within else "char", ngram_low=low, ngram_high=low + more
    )


@given(corpora, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
def test_document_frequency_bounds_keep_what_they_should(documents, high, least, most):
    grams = [naive.word_ngrams(naive.words(d), 1, high) for d in documents]
    assume(most > 1)
    check_equal(naive.rows(grams, least, most), documents, ngram_high=high, min_df=least, max_df=most)


@given(st.lists(st.lists(st.sampled_from(["i", "am", "not", "happy", "tea"])), min_size=1), st.integers(1, 3))
def test_only_ngrams_of_nothing_but_stop_words_are_dropped(sentences, high):
    stops = frozenset({"i", "am", "not"})
    expected = naive.rows([naive.word_ngrams(words, 1, high, stops) for words in sentences])
    check_equal(expected, [" ".join(words) for words in sentences], ngram_high=high, stop_list=tuple(stops))


def test_not_happy_stays_i_am_goes_and_words_apart_do_not_meet():
    vectorizer, _ = fitted(["He is unhappy I am not happy"], stopwords="english")
    assert set(vectorizer.names()) == {"unhappy", "happy", "is unhappy", "unhappy i", "not happy"}


@given(corpora, st.sampled_from([(1, 1), (1, 2), (2, 3)]), st.sampled_from([1, 2, 0.3]), st.booleans())
def test_counts_equal_scikit_learns(documents, ngram_range, min_df, binary):
    theirs = CountVectorizer(ngram_range=ngram_range, min_df=min_df, max_df=0.9, binary=binary)
    ours = TextVectorizer(
        tokens="long-words", ngram_low=ngram_range[0], ngram_high=ngram_range[1], min_df=min_df, max_df=0.9,
        binary=binary,
    )  # fmt: skip
    check_against_scikit_learn(ours, theirs, documents)


@given(corpora, st.sampled_from(["char", "char_wb"]), st.integers(1, 5), st.integers(0, 2))
def test_character_counts_equal_scikit_learns(documents, unit, low, more):
    ours = TextVectorizer(unit=unit, ngram_low=low, ngram_high=low + more)
    check_against_scikit_learn(ours, CountVectorizer(analyzer=unit, ngram_range=(low, low + more)), documents)


@given(corpora, st.booleans(), st.booleans(), st.sampled_from(["l1", "l2", None]))
def test_weights_equal_scikit_learns(documents, binary, sublinear, norm):
    ours = TextVectorizer(
        tokens="long-words", idf=True, binary=binary, sublinear=sublinear, norm=norm or "none"
    )
    theirs = TfidfVectorizer(ngram_range=(1, 2), binary=binary, sublinear_tf=sublinear, norm=norm)
    check_against_scikit_learn(ours, theirs, documents)


def test_weights_equal_scikit_learns_on_20_newsgroups(newsgroups):
    documents = newsgroups[::20]
    ours = TextVectorizer(tokens="long-words", min_df=2, max_df=0.5, idf=True, sublinear=True, norm="l2")
    theirs = TfidfVectorizer(ngram_range=(1, 2), min_df=2, max_df=0.5, sublinear_tf=True)
    check_against_scikit_learn(ours, theirs, documents)


def test_counts_equal_scikit_learns_on_20_newsgroups(newsgroups):
    ours = TextVectorizer(tokens="long-words", min_df=2)
    check_against_scikit_learn(ours, CountVectorizer(ngram_range=(1, 2), min_df=2), newsgroups[::9])


def check_against_scikit_learn(ours, theirs, documents):
    try:
        expected = theirs.fit_transform(documents)
    except ValueError:
        with pytest.raises(DataError, match="no n-gram is left"):
            ours.fit_transform(documents)
        return
    for rows, matrix in (
        (ours.fit_transform(documents), expected),
        (ours.transform(documents), theirs.transform(documents)),
    ):
        their_names = theirs.get_feature_names_out().tolist()
        column = {name: i for i, name in enumerate(ours.names())}
        assert column.keys() == set(their_names)
        same = matrix.tocsr()[:, np.argsort([column[name] for name in their_names])]
        same.sort_indices()
        assert np.array_equal(rows.ptr, same.indptr)
        assert np.array_equal(rows.ids, same.indices)
        np.testing.assert_allclose(rows.weights(), same.data, rtol=1e-6)


@given(corpora, st.integers(2, 8))
def test_features_are_numbered_by_falling_frequency(documents, threads):
    vectorizer, rows = fitted(documents, threads=threads)
    assume(rows is not None)
    totals = np.bincount(rows.ids, weights=rows.weights())
    assert (np.diff(totals) <= 0).all()
    grams = [naive.word_ngrams(naive.words(d), 1, 2) for d in documents]
    seen = sorted(Counter(g for d in grams for g in d).items(), key=lambda item: (-item[1], " " in item[0]))
    assert [n for _, n in seen] == totals.astype(int).tolist()
    assert [" " in name for name in vectorizer.names()] == [" " in name for name, _ in seen]


def test_any_number_of_threads_gives_the_same_bytes(newsgroups):
    documents = newsgroups[::6]  # several blocks
    one = TextVectorizer(threads=1, min_df=2, idf=True, norm="l2", ngram_high=3)
    four = TextVectorizer(threads=4, min_df=2, idf=True, norm="l2", ngram_high=3)
    for a, b in (
        (one.fit_transform(documents), four.fit_transform(documents)),
        (one.transform(documents), four.transform(documents)),
    ):
        for x, y in ((a.ptr, b.ptr), (a.ids, b.ids), (a.weights(), b.weights())):
            assert x.tobytes() == y.tobytes()
    assert one.names() == four.names()


@settings(max_examples=30)
@given(corpora, st.sampled_from(["word", "char", "char_wb"]), st.integers(1, 3))
def test_hashed_features_are_found_again_by_scanning(documents, unit, low):
    shape = {"unit": unit, "ngram_low": low, "ngram_high": low + 1}
    hashed = TextVectorizer(hash_bits=30, **shape)
    rows = hashed.fit_transform(documents)
    assert rows.columns == hashed.feature_count == 2**30
    found = hashed.hashed_names(documents)
    assert found.keys() == set(rows.ids.tolist())
    exact, exact_rows = fitted(documents, **shape)
    if exact_rows is None:
        assert not found
        return
    named = naive.named_rows(exact, exact_rows)
    for n, expected in enumerate(named):
        a, b = rows.ptr[n], rows.ptr[n + 1]
        ours = dict(zip(rows.ids[a:b].tolist(), rows.weights()[a:b].tolist(), strict=True))
        assert ours == {
            bucket: sum(expected.get(name, 0) for name in names)
            for bucket, names in found.items()
            if any(name in expected for name in names)
        }


def test_few_buckets_add_up_what_falls_together():
    documents = ["a b c d e f g h", "a a"]
    rows = TextVectorizer(hash_bits=2, ngram_high=1).fit_transform(documents)
    assert rows.columns == 4
    assert rows.dense().sum(axis=1).tolist() == [8.0, 2.0]


def test_stop_words_hold_when_hashing():
    hashed = TextVectorizer(hash_bits=20, stopwords="english")
    rows = hashed.fit_transform(["I am not happy"])
    assert {n for names in hashed.hashed_names(["I am not happy"]).values() for n in names} == {
        "happy",
        "not happy",
    }
    assert rows.dense().sum() == 2


@pytest.mark.parametrize(("how", "stem"), [("stem", "run"), ("lemma", "run")])
def test_stems_are_taken_once_per_type_and_met_again_in_words_never_seen(how, stem):
    vectorizer = TextVectorizer(stemming=how, ngram_high=1)
    vectorizer.fit_transform(["he runs"])
    assert stem in vectorizer.names()
    assert vectorizer.transform(["running"]).dense()[0, vectorizer.names().index(stem)] == 1.0


def test_stop_words_go_through_the_stemmer_too():
    vectorizer, _ = fitted(["having tea"], stemming="stem", stopwords="english", ngram_high=1)
    assert vectorizer.names() == ["tea"]


def test_a_long_document_of_ten_megabytes():
    words = ["the" * 30, "cat" * 40, "İs", "not" * 20, "a" * 50, "dog!", "x"]
    document = " ".join(words[i * i % 7] for i in range(160_000))
    assert len(document) > 10_000_000
    vectorizer, rows = fitted([document, "", "cat dog"], ngram_high=2)
    expected = naive.rows([naive.word_ngrams(naive.words(d), 1, 2) for d in (document, "", "cat dog")])
    assert naive.named_rows(vectorizer, rows) == expected


def test_lone_surrogates_are_refused_in_one_sentence():
    with pytest.raises(DataError) as caught:
        TextVectorizer().fit_transform(["fine", "bro\udc80ken"])
    assert str(caught.value) == (
        "document 2, character 4: a lone surrogate (U+DC80) is not text; decode its source with errors='replace'"
    )


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("one text", "expected a list of texts, got a single text; put it in a list"),
        (["a", None], "document 2 is NoneType, expected str"),
        (["", "!"], "no n-gram is left of 2 documents"),
        ([], "no n-gram is left of 0 documents"),
    ],
)
def test_what_is_not_a_list_of_texts_is_refused(documents, message):
    with pytest.raises(DataError, match=message):
        TextVectorizer().fit_transform(documents)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ngram_low": 3}, "ngram_high must be >= ngram_low, got 3 to 2"),
        ({"unit": "char", "stopwords": "english"}, "stop words and stems need unit='word'"),
        ({"ratios": True}, "ratios need labels"),
        ({"feature_size": 3, "feature_pick": "chi2"}, "feature_pick='chi2' needs labels"),
        ({"hash_bits": 8, "min_df": 2}, "hashing cannot leave out rare or common n-grams"),
        ({"hash_bits": 8, "feature_size": 2}, "hashing cannot pick or drop features"),
        ({"tokens": "wrods"}, "TextVectorizer.tokens must be one of words"),
        ({"stemming": "stem", "language": "klingon"}, "no stem for 'klingon'; there are danish"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        TextVectorizer(**settings).fit_transform(["some text"])


def test_an_unfitted_vectoriser_says_so():
    with pytest.raises(ConfigError, match="call fit or fit_transform first"):
        TextVectorizer().transform(["text"])


def test_unknown_words_and_documents_without_features_give_empty_rows():
    vectorizer, _ = fitted(["a b a"])
    rows = vectorizer.transform(["", "c", "b c a b"])
    assert rows.ptr.tolist() == [0, 0, 0, 3]
    assert naive.named_rows(vectorizer, rows)[2] == {"a": 1, "b": 2, "a b": 1}
    assert len(vectorizer.transform([])) == 0


def test_an_unknown_word_with_the_tag_and_the_slot_of_a_known_one_stays_unknown():
    known, unknown = "qgtzaa", "qhovty"  # their hashes agree in the upper 32 bits and in the lowest six
    vectorizer, _ = fitted([known], ngram_high=1)
    rows = vectorizer.transform([unknown, known, f"{unknown} {known}"])
    assert naive.named_rows(vectorizer, rows) == [{}, {known: 1}, {known: 1}]


def test_shares_of_documents_round_as_scikit_learns_do():
    documents = ["a b", "a c", "a b c", "d"]
    vectorizer, _ = fitted(documents, min_df=0.5, max_df=0.74, ngram_high=1)
    assert set(vectorizer.names()) == {"b", "c"}
