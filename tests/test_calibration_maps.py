"""Maps of probabilities: monotone, and calibrated on data that they were not fitted to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.evaluate.reliability import brier_score, reliability
from chaffinch.trust.calibration import LogitMap, fitted_map, logits


def overconfident(rng, n):
    """True rates, and probabilities that a model far too sure of itself tells for them."""
    rate = rng.uniform(0.2, 0.98, n)
    told = 1 / (1 + np.exp(-3 * logits(rate) - 0.5))
    return told, rng.random(n) < rate


@pytest.mark.parametrize("n", [200, 5000])
def test_a_fitted_map_is_calibrated_on_new_data(n):
    told, right = overconfident(np.random.default_rng(0), n)
    fitted = fitted_map(told, right)
    new, new_right = overconfident(np.random.default_rng(1), 50_000)
    before, after = reliability(new, new_right).error, reliability(fitted(new), new_right).error
    assert before > 0.1
    assert after < (0.05 if n == 200 else 0.02)
    assert brier_score(fitted(new), new_right) < brier_score(new, new_right)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 3, 50, 1500]))
def test_maps_are_monotone_and_give_probabilities(seed, n):
    rng = np.random.default_rng(seed)
    fitted = fitted_map(rng.random(n), rng.random(n) < 0.5)
    q = fitted(np.linspace(0, 1, 101))
    assert ((q >= 0) & (q <= 1)).all()
    assert (np.diff(q) >= -1e-12).all()


def test_without_a_decision_nothing_is_changed():
    assert fitted_map(np.zeros(0), np.zeros(0, bool))(np.array([0.3])) == pytest.approx(0.3)


def test_beyond_the_knots_nothing_is_promised_that_was_not_seen():
    fitted = LogitMap(np.array([-1.0, 1.0]), np.array([-2.0, 2.0]))
    assert fitted(np.array([1.0])) == pytest.approx(fitted(np.array([0.8])))
    line = LogitMap.line(2.0, 0.0)
    assert logits(line(np.array([0.9])))[0] == pytest.approx(2 * logits(np.array([0.9]))[0])
