import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from chaffinch.learners.smoothing import (
    SMOOTHINGS,
    backed_off,
    deleted_interpolation,
    kneser_ney,
    maximum_likelihood,
    smoothed,
)

shapes = st.tuples(st.integers(1, 5), st.integers(1, 6))
counts = shapes.flatmap(lambda s: arrays(np.float64, s, elements=st.integers(0, 6).map(float)))


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@given(counts=counts, amount=st.floats(0.01, 1.0))
def test_probabilities_of_every_context_sum_to_one(smoothing, counts, amount):
    p = smoothed(counts, smoothing, amount)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)


@given(counts=counts, d=st.floats(0.01, 0.99))
def test_absolute_discounting_takes_the_same_from_every_seen_outcome_and_shares_it_equally(counts, d):
    p = smoothed(counts, "absolute", d)
    for row, q in zip(counts, p, strict=True):
        unseen = row == 0
        if unseen.any() and not unseen.all():
            taken = row[~unseen] / row.sum() - q[~unseen]
            np.testing.assert_allclose(taken, d / row.sum(), atol=1e-12)
            np.testing.assert_allclose(q[unseen], d * (~unseen).sum() / row.sum() / unseen.sum(), atol=1e-12)


@given(counts=counts)
def test_no_smoothing_is_relative_frequency(counts):
    p = maximum_likelihood(counts)
    for row, q in zip(counts, p, strict=True):
        expected = row / row.sum() if row.sum() else np.full(len(row), 1 / len(row))
        np.testing.assert_allclose(q, expected)


def test_kneser_ney_prefers_outcomes_that_follow_many_contexts():
    # "Francisco" is frequent but follows one context; "the" is rarer but follows three.
    c = np.array([[9.0, 0, 1], [0, 1, 1], [0, 1, 1], [0, 1, 1]])
    p = kneser_ney(np.vstack([c, np.zeros((1, 3))]), 0.75)
    assert p[-1].argmax() == 2
    assert p[-1][1] > p[-1][0]


@given(counts=counts, strength=st.floats(0.1, 10.0))
def test_backing_off_moves_from_the_lower_distribution_to_the_counts_as_they_grow(counts, strength):
    lower = np.full_like(counts, 1 / counts.shape[1])
    p = backed_off(counts, lower, strength)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    many = backed_off(counts * 1e9, lower, strength)
    seen = counts.sum(axis=1) > 0
    np.testing.assert_allclose(many[seen], maximum_likelihood(counts)[seen], atol=1e-6)


cubes = st.integers(1, 4).flatmap(
    lambda n: arrays(np.float64, (n, n, n), elements=st.integers(0, 4).map(float))
)


@given(cubes)
def test_deleted_interpolation_weighs_orders_as_the_plain_algorithm_does(trigrams):
    p, weights = deleted_interpolation(trigrams)
    np.testing.assert_allclose(p.sum(axis=2), 1.0)
    np.testing.assert_allclose(weights, naive_weights(trigrams))


def naive_weights(c):
    """Brants' figure 1, cell by cell."""
    n = c.shape[0]
    won = [0.0, 0.0, 0.0]
    total = c.sum()
    for x in range(n):
        for y in range(n):
            for z in range(n):
                ratios = [
                    (c[:, :, z].sum() - 1) / (total - 1) if total > 1 else 0,
                    (c[:, y, z].sum() - 1) / (c[:, y].sum() - 1) if c[:, y].sum() > 1 else 0,
                    (c[x, y, z] - 1) / (c[x, y].sum() - 1) if c[x, y].sum() > 1 else 0,
                ]
                won[ratios.index(max(ratios))] += c[x, y, z]
    return [w / sum(won) for w in won] if sum(won) else [1.0, 0.0, 0.0]
