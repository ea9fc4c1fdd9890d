"""Kernels of strings against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_kernels
from chaffinch.errors import ConfigError, DataError
from chaffinch.kernels import Component, Mismatch, Spectrum, Subsequence, WordSequence

TEXTS = st.lists(st.text("abc", max_size=9), min_size=1, max_size=5)
SENTENCES = st.lists(
    st.lists(st.sampled_from("the cat sat on a mat".split()), max_size=8), min_size=1, max_size=5
)


def table(function, A, B):
    return np.array([[function(a, b) for b in B] for a in A], np.float64)


@settings(max_examples=40)
@given(TEXTS, TEXTS, st.integers(1, 3), st.integers(0, 2))
def test_the_spectrum_is_the_inner_product_of_n_gram_counts(A, B, low, more):
    kernel = Spectrum(low=low, high=low + more)
    want = table(lambda a, b: naive_kernels.spectrum(a, b, low, low + more), A, B)
    np.testing.assert_array_equal(kernel.gram(A, B), want)


@settings(max_examples=40)
@given(TEXTS, TEXTS, st.integers(1, 4), st.integers(0, 2))
def test_the_mismatch_kernel_is_that_of_its_explicit_features(A, B, n, m):
    kernel = Mismatch(n=n, m=min(n, m), alphabet=4)
    want = table(lambda a, b: naive_kernels.mismatch(a, b, n, min(n, m), "abcd"), A, B)
    np.testing.assert_allclose(kernel.gram(A, B), want)


@settings(max_examples=40)
@given(TEXTS, TEXTS, st.integers(1, 4), st.integers(0, 2), st.sampled_from([0.3, 0.8, 1.0]))
def test_subsequences_are_those_of_the_explicit_features(A, B, low, more, decay):
    kernel = Subsequence(low=low, high=low + more, decay=decay)
    want = table(lambda a, b: naive_kernels.subsequence(a, b, low, low + more, decay), A, B)
    np.testing.assert_allclose(kernel.gram(A, B), want, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(kernel.gram(A), kernel.gram(A, list(A)), rtol=1e-6)


@settings(max_examples=40)
@given(SENTENCES, SENTENCES)
def test_word_sequences_are_subsequences_of_words(A, B):
    want = table(lambda a, b: naive_kernels.subsequence(a, b, 1, 3, 0.5), A, B)
    np.testing.assert_allclose(WordSequence().gram(A, B), want, rtol=1e-5)
    words = [" ".join(a) for a in A]
    np.testing.assert_array_equal(WordSequence().gram(words, B), WordSequence().gram(A, B))


def test_more_strings_than_lanes_and_long_strings_agree_with_the_definition():
    rng = np.random.default_rng(0)
    A = ["".join(rng.choice(list("abcdefgh"), rng.integers(0, 14))) for _ in range(37)]
    want = table(lambda a, b: naive_kernels.subsequence(a, b, 3, 3, 0.7), A, A)
    kernel = Subsequence(low=3, high=3, decay=0.7)
    K = kernel.gram(A, threads=1)
    np.testing.assert_allclose(K, want, rtol=1e-5, atol=1e-7)
    assert K.tobytes() == kernel.gram(A, threads=3).tobytes()
    np.testing.assert_array_equal(K, K.T)
    prepared = kernel.prepared(A)
    part = kernel.gram(prepared.taken(np.array([5, 2])), prepared.taken(np.array([30, 1, 7])))
    np.testing.assert_allclose(part, want[np.ix_([5, 2], [30, 1, 7])], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("length", range(1, 9))
def test_every_length_of_subsequence_is_served(length):
    a, b = "abracadabra", "barbarians"
    want = naive_kernels.subsequence(a, b, length, length, 0.9)
    got = Subsequence(low=length, high=length, decay=0.9).gram([a], [b])[0, 0]
    assert got == pytest.approx(want, rel=1e-5, abs=1e-9)


@settings(max_examples=40)
@given(st.lists(st.text("abcde ", max_size=12), min_size=1, max_size=12))
def test_string_kernels_are_positive_semi_definite(A):
    for kernel in (
        Spectrum(low=2, high=3),
        Mismatch(n=3, m=1, alphabet=6),
        Subsequence(low=2, high=3),
        WordSequence(),
        Subsequence(low=2, high=2).normalised() + Spectrum(low=1, high=1).normalised(),
        Spectrum(low=1, high=2) * WordSequence(),
    ):
        K = kernel.gram(A).astype(np.float64)
        assert np.linalg.eigvalsh(K).min() >= -1e-5 * max(1.0, np.trace(K))
        np.testing.assert_allclose(kernel.diagonal(A), np.diag(K), rtol=1e-5)


def test_empty_texts_are_like_nothing():
    for kernel in (Spectrum(), Mismatch(alphabet=30), Subsequence(), WordSequence()):
        K = kernel.normalised().gram(["", "some text here", ""])
        assert K[1, 1] == pytest.approx(1.0)
        assert not K[0].any()
        assert not K[2].any()


def test_the_alphabet_of_mismatches_is_that_of_the_texts_compared_with():
    texts, known = ["abcabd", "abdaad"], Mismatch(alphabet=4)
    assert Mismatch().fitted(texts) == known
    np.testing.assert_array_equal(Mismatch().gram(texts), known.gram(texts))
    np.testing.assert_array_equal(Mismatch().gram(["abc xyz"], texts), known.gram(["abc xyz"], texts))
    np.testing.assert_array_equal(Mismatch().diagonal(texts), known.diagonal(texts))
    ours = Mismatch().normalised().gram(["abcab", "a"], texts)
    np.testing.assert_array_equal(ours, known.normalised().gram(["abcab", "a"], texts))
    pairs = [(text, n) for n, text in enumerate(texts)]
    np.testing.assert_array_equal(Component(Mismatch(), 0).gram(pairs), known.gram(texts))


def test_bad_settings_and_objects_are_refused():
    with pytest.raises(ConfigError, match=r"Subsequence\.low must be <= high = 2, got 3"):
        Subsequence(low=3, high=2).gram(["abc"])
    with pytest.raises(ConfigError, match=r"Mismatch\.m must be <= n = 2, got 3"):
        Mismatch(n=2, m=3, alphabet=2).gram(["abc"])
    with pytest.raises(ConfigError, match=r"Subsequence\.decay must be <= 1, got 2"):
        Subsequence(decay=2.0).gram(["abc"])
    with pytest.raises(DataError, match="object 2 is int, expected a text"):
        Spectrum().gram(["abc", 5])
    with pytest.raises(DataError, match="expected a list of texts, got one text"):
        Spectrum().gram("abc")
    with pytest.raises(DataError, match="object 1 is dict, expected a text or a list of words"):
        WordSequence().gram([{}])
