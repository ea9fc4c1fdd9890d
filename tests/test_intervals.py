"""Intervals and paired tests: seeded, the same for any number of threads, and near what theory says."""

import itertools
import random

import numpy as np
import pytest

from chaffinch._core import resampled_sums
from chaffinch.errors import ConfigError
from chaffinch.evaluate import LabelPair, TagPair, TagScorer, Tally, compare, intervals


def coin_tally(right):
    """A tally of documents of which ``right`` says which are right."""
    return Tally.from_dense(np.stack([np.ones(len(right), int), right], axis=1), mean)


def mean(sums):
    return {"accuracy": sums[..., 1] / sums[..., 0]}


def test_every_resample_draws_as_many_sentences_as_there_are():
    tally = coin_tally(np.arange(500) % 3 == 0)
    sums = tally.bootstrap(200, seed=1)
    assert (sums[:, 0] == 500).all()
    assert sums[:, 1].std() > 0


def test_a_sample_depends_on_the_seed_alone():
    tally = coin_tally(np.arange(300) % 2)
    assert np.array_equal(tally.bootstrap(100, 5, threads=1), tally.bootstrap(100, 5, threads=3))
    assert np.array_equal(tally.half(100, 5, threads=1), tally.half(100, 5, threads=3))
    assert not np.array_equal(tally.bootstrap(100, 5), tally.bootstrap(100, 6))


def test_the_interval_of_a_share_is_that_of_the_binomial():
    right = np.arange(400) % 5 > 0
    found = intervals(coin_tally(right), seed=3, resamples=4000)["accuracy"]
    error = 1.96 * np.sqrt(0.8 * 0.2 / 400)
    assert found.low == pytest.approx(0.8 - error, abs=0.006)
    assert found.high == pytest.approx(0.8 + error, abs=0.006)


def test_a_coin_picks_half_of_the_sentences():
    sums = coin_tally(np.ones(1000, int)).half(500, 7)
    assert sums[:, 0].mean() == pytest.approx(500, abs=4)
    assert sums[:, 0].std() == pytest.approx(np.sqrt(250), rel=0.15)


def test_the_swap_test_is_near_its_exact_value():
    rng = random.Random(1)
    ours = np.array([rng.random() < 0.8 for _ in range(12)])
    other = np.array([rng.random() < 0.5 for _ in range(12)])
    observed = abs(ours.sum() - other.sum())
    gap = ours.astype(int) - other.astype(int)
    exact = np.mean([abs((gap * signs).sum()) >= observed for signs in itertools.product((1, -1), repeat=12)])
    found = compare(coin_tally(ours), coin_tally(other), seed=2, resamples=5000)["accuracy"]
    assert found.p_swap == pytest.approx(exact, abs=0.02)


def test_equal_outputs_do_not_differ():
    tally = coin_tally(np.arange(50) % 2)
    found = compare(tally, tally)["accuracy"]
    assert (found.difference, found.low, found.high, found.p_bootstrap, found.p_swap) == (0, 0, 0, 1, 1)


def test_a_clear_difference_is_seen_and_names_the_better_side():
    better, worse = coin_tally(np.arange(300) % 10 > 0), coin_tally(np.arange(300) % 2)
    found = compare(better, worse)["accuracy"]
    assert found.low > 0.25
    assert found.p_swap < 0.01
    assert found.p_bootstrap < 0.01
    assert compare(worse, better)["accuracy"].high < -0.25


def test_every_headline_score_has_an_interval_around_it():
    rng = random.Random(4)
    tags = ["O", "B-x", "I-x", "B-y", "I-y"]
    gold = [[rng.choice(tags) for _ in range(8)] for _ in range(200)]
    predicted = [[t if rng.random() < 0.8 else rng.choice(tags) for t in row] for row in gold]
    pair = TagPair.from_lists(gold, predicted)
    scorer = TagScorer(pair.labels)
    scores = scorer.score(pair.y, pair.y_hat, pair.ptr).as_dict()
    found = intervals(scorer.tally(pair.y, pair.y_hat, pair.ptr), seed=1)
    for key in ("token_accuracy", "sentence_accuracy", "span.micro.f1", "span.macro.f1", "untyped.f1"):
        assert found[key].low < scores[key] < found[key].high
    labels = [row[0] for row in gold]
    documents = LabelPair.from_lists(labels, [row[0] for row in predicted])
    known = documents.scores()
    found = intervals(documents.tally(), seed=1)
    assert found["macro_f1"].low < known.macro_f1 < found["macro_f1"].high


def test_settings_out_of_range_are_refused():
    tally = coin_tally(np.ones(3, int))
    with pytest.raises(ConfigError, match="between 0 and 100, got 100"):
        intervals(tally, confidence=100)
    with pytest.raises(ConfigError, match="at least one resample"):
        intervals(tally, resamples=0)
    with pytest.raises(ConfigError, match="cannot compare 3 x 2 counts with 4 x 2"):
        compare(tally, coin_tally(np.ones(4, int)))


def test_bad_rows_are_refused_by_the_core():
    ptr, column, value = np.array([0, 1]), np.array([2], np.int32), np.array([1], np.int32)
    with pytest.raises(ValueError, match="out of range"):
        resampled_sums(ptr, column, value, 2, 10, 0)
    with pytest.raises(ValueError, match="bounds"):
        resampled_sums(ptr + 1, column, value, 3, 10, 0)
