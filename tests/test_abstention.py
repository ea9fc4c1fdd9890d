"""Abstention: the guarantee is checked by simulation, the tail against SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from chaffinch.errors import ConfigError
from chaffinch.trust.abstention import Certificate, binomial_tail


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
