"""Abstention: the guarantee is checked by simulation, the tail against SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from chaffinch.errors import ConfigError
from chaffinch.recipes.calibration import calibrated
from chaffinch.trust.confidence import Certificate, Confidence, binomial_tail


@given(n=st.integers(1, 400), share=st.floats(0, 1), p=st.floats(0.01, 0.99))
def test_the_binomial_tail_is_that_of_scipy(n, share, p):
    r = round(share * n)
    assert binomial_tail(r, n, p) == pytest.approx(binom.sf(r - 1, n, p), rel=1e-9, abs=1e-12)


def simulated(rng, n):
    """Overconfident answers: p is drawn, and the answer is right with probability p^1.5."""
    p = 1 / (1 + np.exp(-rng.normal(2.5, 2.0, n)))
    return p, rng.random(n) < p**1.5


_P, _RIGHT = simulated(np.random.default_rng(99), 400_000)
_ORDER = np.argsort(-_P)
_SORTED, _MEAN = -_P[_ORDER], np.cumsum(_RIGHT[_ORDER]) / np.arange(1, len(_P) + 1)


def true_precision_at(threshold):
    return _MEAN[np.searchsorted(_SORTED, -threshold, side="right") - 1]


@pytest.mark.parametrize(("precision", "n"), [(0.9, 600), (0.95, 2000)])
def test_the_precision_asked_for_is_missed_in_no_more_than_the_stated_share_of_draws(precision, n):
    rng, missed, draws = np.random.default_rng(0), 0, 300
    for _ in range(draws):
        try:
            threshold = Certificate.of(*simulated(rng, n)).threshold(precision, risk=0.1)
        except ConfigError:
            continue  # nothing is promised
        missed += true_precision_at(threshold) < precision
    # 0.1 of the draws may miss; three standard errors above that would be a broken promise.
    assert missed <= draws * 0.1 + 3 * np.sqrt(draws * 0.1 * 0.9)


def test_a_threshold_is_not_much_stricter_than_it_has_to_be():
    threshold = Certificate.of(*simulated(np.random.default_rng(1), 20_000)).threshold(0.95)
    assert 0.95 <= true_precision_at(threshold) < 0.965


def test_too_few_answers_certify_nothing_and_the_error_says_how_many_are_needed():
    certificate = Certificate.of(np.full(100, 0.999), np.ones(100, bool))
    with pytest.raises(ConfigError, match="at least 460 answers"):
        certificate.threshold(0.99)


def test_answers_that_are_always_right_need_no_threshold():
    p = np.linspace(0.1, 0.99, 1000)
    assert Certificate.of(p, np.ones(1000, bool)).threshold(0.9) <= 0.1


# -- classifiers ----------------------------------------------------------------------------------------------------


def scored_documents(rng, n):
    """Overconfident scores of four labels and the right ones."""
    y = rng.integers(0, 4, n)
    signal = rng.uniform(0, 5, n)
    s = rng.normal(0, 1, (n, 4)) + signal[:, None] * np.eye(4)[y]
    return 3 * s, np.eye(4, dtype=bool)[y]


@pytest.mark.long
@pytest.mark.parametrize(("precision", "n"), [(0.9, 600), (0.97, 2000)])
def test_the_precision_of_a_classifier_is_missed_in_no_more_than_the_stated_share_of_draws(precision, n):
    fresh, gold = scored_documents(np.random.default_rng(99), 40_000)
    right = gold[np.arange(len(fresh)), fresh.argmax(axis=1)]
    rng, missed, certified, draws = np.random.default_rng(0), 0, 0, 40
    for _ in range(draws):
        # Calibration and threshold come from the same documents, as in training.
        fitted, confidence = calibrated(
            *scored_documents(rng, n), sigmoids=False, several=False, threshold=0.5, folds=5
        )
        try:
            threshold = confidence.threshold(precision, 0.1)
        except ConfigError:
            continue
        certified += 1
        missed += right[fitted.softmax(fresh).max(axis=1) >= threshold].mean() < precision
    assert certified > draws / 2
    assert missed <= draws * 0.1 + 3 * np.sqrt(draws * 0.1 * 0.9)


def test_a_threshold_in_calibrated_terms_gives_the_answers_that_were_certified():
    # The threshold lies below the first knot of the map, which must not be flat there.
    p = 1 / (1 + np.exp(-np.linspace(-6, 6, 2000)))
    right = np.arange(2000) >= 60
    confidence = Confidence.fitted("spans", 5, p, right, p)
    for precision in (0.975, 0.98, 0.985):
        given = confidence.to_honest(p) >= confidence.threshold(precision, 0.1)
        assert not given.all()
        assert np.array_equal(given, p >= confidence.certificate.threshold(precision))
