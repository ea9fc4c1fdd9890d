"""The chain beyond what every structure promises: masks, constraints, ranges, lengths, batches."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import brute
from chaffinch import _core
from chaffinch._core import exp_rows
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures import Chain, Parts

LOWEST = float(np.float32(-87.3))
BIO = np.array([[1, 1, 0], [1, 1, 1], [1, 1, 1]], np.bool_)  # O, B, I: I may not follow O

# Anything a model might say: far beyond what exp can hold in float, and in double.
wild = st.sampled_from([-1e4, -750.0, -120.0, -60.0, -1.0, 0.0, 0.5, 40.0, 100.0, 800.0, 1e4])
either_order = pytest.mark.parametrize("order", [1, 2])


def random_parts(rng, T, Y, order=1, scale=2.0, dtype=np.float32):
    sizes = Chain(Y, order=order).shape(T)
    return Parts(**{name: rng.normal(0, scale, size).astype(dtype) for name, size in sizes.items()})


def allowed_by(chain, potentials, allowed):
    return Parts(**(dict(potentials.items()) | {"unary": np.where(allowed, potentials["unary"], -np.inf)}))


@either_order
@brute.quick
@given(data=st.data())
def test_constrained_decoding_is_decoding_among_what_is_allowed(order, data):
    chain, potentials = data.draw(brute.chains(order=order))
    T, Y = potentials["unary"].shape
    allowed = data.draw(brute.arrays((T, Y), brute.mostly, np.bool_))
    fixed = data.draw(st.dictionaries(st.integers(0, T - 1), st.integers(0, Y - 1), max_size=2))
    narrowed = allowed_by(chain, potentials, allowed & chain.constraint(T, fixed))
    every = brute.ranked(chain, narrowed)
    assume(every)
    how = {"allowed": allowed, "fixed": fixed}
    assert np.array_equal(chain.argmax(potentials, **how), every[0][1])
    found = chain.kbest(potentials, 5, **how)
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(found, every[:5], strict=True))
    log_z, marginals = chain.logsum(potentials, **how)
    expected_log_z, expected = brute.logsum(chain, narrowed)
    assert log_z == pytest.approx(expected_log_z, abs=1e-12)
    np.testing.assert_allclose(marginals["unary"], expected["unary"], atol=1e-12)
    drawn = chain.sample(potentials, n=5, seed=1, **how)
    possible = [y.tolist() for _, y in every]
    assert all(y in possible for y in drawn.tolist())


@either_order
@brute.quick
@given(data=st.data())
def test_max_marginals_are_the_best_score_through_each_label(order, data):
    chain, potentials = data.draw(brute.chains(order=order))
    every = brute.ranked(chain, potentials)
    assume(every)
    best = np.full(potentials["unary"].shape, -np.inf)
    for score, y in every:
        for t, label in enumerate(y):
            best[t, label] = max(best[t, label], score)
    assert np.array_equal(chain.max_marginals(potentials), best)


@either_order
@brute.quick
@given(data=st.data())
def test_posterior_decoding_expects_the_most_labels_to_be_right(order, data):
    chain, potentials = data.draw(brute.chains(order=order))
    every = brute.ranked(chain, potentials)
    assume(every)
    _, marginals = brute.logsum(chain, potentials)

    def right(y):
        return marginals["unary"][np.arange(len(y)), y].sum()

    # whatever the masks allow competes: a labelling forbidden by a potential alone would be of no weight anyway
    assert right(chain.posterior(potentials)) >= max(right(y) for _, y in every) - 1e-9


@either_order
def test_samples_come_as_often_as_they_are_likely(order):
    rng = np.random.default_rng(3)
    chain = Chain(3, transitions=BIO, order=order)
    potentials = random_parts(rng, 4, 3, order, scale=1.0)
    n = 20_000
    drawn = chain.sample(potentials, n=n, seed=5)
    counts = {tuple(y): c for y, c in zip(*np.unique(drawn, axis=0, return_counts=True), strict=True)}
    log_z, _ = chain.logsum(potentials)
    for score, y in brute.ranked(chain, potentials):
        p = math.exp(score - log_z)
        assert abs(counts.get(tuple(y), 0) / n - p) < 5 * math.sqrt(p * (1 - p) / n) + 1e-4
    assert np.array_equal(drawn, chain.sample(potentials, n=n, seed=5))
    assert not np.array_equal(drawn, chain.sample(potentials, n=n, seed=6))


@either_order
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@brute.quick
@given(data=st.data())
def test_any_range_of_potentials_gives_exact_marginals(order, dtype, data):
    chain, potentials = data.draw(brute.chains(order=order, values=wild, dtype=dtype))
    assume(brute.ranked(chain, potentials))
    log_z, marginals = chain.logsum(potentials)
    expected_log_z, expected = brute.logsum(chain, potentials)
    assert log_z == pytest.approx(expected_log_z, rel=1e-6, abs=1e-4)
    for name, block in expected.items():
        np.testing.assert_allclose(marginals[name], block, atol=1e-5)
        assert np.isfinite(marginals[name]).all()
    drawn = chain.sample(potentials, n=3, seed=0)
    assert all(brute.score(chain, potentials, y) > expected_log_z - 60 for y in drawn)


def log_z_by_hand(unary, transitions):
    """The textbook recursion: logarithms in double, cell by cell."""
    with np.errstate(divide="ignore"):
        pair = np.log(transitions.astype(np.float64))
    alpha = unary[0].astype(np.float64)
    for row in unary[1:]:
        alpha = np.logaddexp.reduce(alpha[:, None] + pair, axis=0) + row
    return np.logaddexp.reduce(alpha)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("toll", [1.0, 10.0, 20.0, 24.0, 30.0, 60.0, 100.0, 200.0, 1000.0])
def test_a_path_whose_reward_comes_late_is_not_forgotten(dtype, toll):
    """Float rows, double rows and logarithms answer in turn as the range grows, and agree.

    The second label costs its toll four times before the third, which only it leads to, brings it back: its
    weight, relative to the first label's, sinks to exp(-4 toll) on the way while no row as a whole vanishes.
    """
    transitions = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]], np.bool_)
    unary = np.zeros((8, 3), dtype)
    unary[:4, 1] = -toll
    unary[4:, 2] = toll
    unary[:, 2][:4] = -toll
    chain = Chain(3, transitions=transitions)
    log_z, marginals = chain.logsum(Parts(unary=unary))
    exact = log_z_by_hand(unary, transitions)
    assert log_z == pytest.approx(exact, rel=1e-5, abs=1e-5)
    third = np.where(np.arange(3) == 2, unary[-1:], -np.inf)
    expected = math.exp(log_z_by_hand(np.concatenate([unary[:-1], third]), transitions) - exact)
    assert marginals["unary"][-1, 2] == pytest.approx(expected, abs=1e-5)
    assert expected > 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 50.0, 1e4])
def test_ten_thousand_tokens_neither_underflow_nor_lose_precision(dtype, scale):
    rng = np.random.default_rng(7)
    T, Y = 10_000, 4
    potentials = Parts(
        unary=rng.uniform(-scale, scale, (T, Y)).astype(dtype), pair=rng.uniform(-1, 1, (Y, Y)).astype(dtype)
    )
    chain = Chain(Y)
    log_z, marginals = chain.logsum(potentials)
    np.testing.assert_allclose(marginals["unary"].sum(1), 1, atol=1e-5)
    assert marginals["pair"].sum() == pytest.approx(T - 1, rel=1e-4)
    alpha = potentials["unary"][0].astype(np.float64)
    for t in range(1, T):
        alpha = np.logaddexp.reduce(alpha[:, None] + potentials["pair"], axis=0) + potentials["unary"][t]
    assert log_z == pytest.approx(np.logaddexp.reduce(alpha), rel=1e-6)
    (best, y), *_ = chain.kbest(potentials, 3)
    assert np.array_equal(y, chain.argmax(potentials))
    exact = chain.argmax(Parts(**{n: b.astype(np.float64) for n, b in potentials.items()}))
    assert best == pytest.approx(
        brute.score(chain, Parts(**{n: b.astype(np.float64) for n, b in potentials.items()}), exact), rel=1e-7
    )


def test_equal_scores_are_listed_by_their_labels_read_from_the_end():
    chain = Chain(2)
    found = [tuple(y.tolist()) for _, y in chain.kbest(Parts(unary=np.zeros((3, 2))), 8)]
    assert found == sorted(itertools.product([0, 1], repeat=3), key=lambda y: y[::-1])
    assert chain.argmax(Parts(unary=np.zeros((3, 2)))).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("Y", [1, 5, 8, 9, 16, 22, 33, 70])
def test_of_equal_paths_of_a_long_sentence_viterbi_takes_the_smaller_labels_from_the_end(Y, dtype):
    rng = np.random.default_rng(Y)
    for T in (7, 8, 9, 40):
        unary, pair = rng.integers(-1, 2, (T, Y)), rng.integers(-1, 2, (Y, Y))  # whole numbers: many ties
        best, before = unary[0], []
        for t in range(1, T):
            scores = best[:, None] + pair
            before.append(scores.argmax(axis=0))
            best = scores.max(axis=0) + unary[t]
        y = [int(best.argmax())]
        for pointers in reversed(before):
            y.append(int(pointers[y[-1]]))
        assert Chain(Y).argmax(Parts(unary=unary.astype(dtype), pair=pair.astype(dtype))).tolist() == y[::-1]


def test_a_long_list_of_a_long_sentence_is_sorted_and_has_no_double():
    rng = np.random.default_rng(11)
    chain = Chain(5)
    potentials = random_parts(rng, 300, 5, dtype=np.float64)
    found = chain.kbest(potentials, 2000)
    scores = [s for s, _ in found]
    assert scores == sorted(scores, reverse=True)
    assert len({y.tobytes() for _, y in found}) == 2000
    for score, y in found[::100]:
        assert score == pytest.approx(brute.score(chain, potentials, y))


@pytest.mark.parametrize(
    ("chain", "allowed", "where"),
    [
        (Chain(2, start=np.array([False, False])), None, "position 0: no label may start"),
        (Chain(2, end=np.array([False, False])), None, "position 3: none of the labels that can be reached may end"),
        (Chain(2, transitions=np.zeros((2, 2), np.bool_)), None, "position 1: no allowed label can be reached"),
        (Chain(2), [[1, 1], [1, 1], [0, 0], [1, 1]], "position 2: no allowed label can be reached"),
        (Chain(3, transitions=BIO), [[1, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]], "position 1: "),
        (Chain(2, np.eye(2) > 0, None, np.array([True, False])), [[0, 1]] + [[1, 1]] * 3, "position 3: none"),
    ],
)  # fmt: skip
@either_order
def test_where_no_labelling_is_allowed_the_error_names_the_position(chain, allowed, where, order):
    chain = Chain(chain.Y, chain.transitions, chain.start, chain.end, order)
    mask = None if allowed is None else np.array(allowed, np.bool_)
    potentials = Parts(unary=np.zeros((4, chain.Y), np.float32))
    asks = (
        chain.argmax,
        chain.logsum,
        chain.max_marginals,
        chain.posterior,
        lambda p, allowed: chain.kbest(p, 3, allowed=allowed),
        lambda p, allowed: chain.sample(p, n=1, seed=0, allowed=allowed),
    )
    for ask in asks:
        with pytest.raises(DataError, match=where):
            ask(potentials, allowed=mask)


def test_a_batch_names_the_sentence_too():
    chain = Chain(2)
    allowed = np.ones((5, 2), np.bool_)
    allowed[3] = False
    batch = Parts(unary=np.zeros((5, 2), np.float32))
    with pytest.raises(DataError, match="sentence 1, position 1: no allowed label"):
        chain.viterbi_batch(batch, np.array([0, 2, 5]), allowed=allowed)


def test_of_several_sentences_without_a_labelling_a_batch_names_the_first():
    chain = Chain(2)
    lengths = [3, 2, 5, 9, 4]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    allowed = np.ones((bounds[-1], 2), np.bool_)
    allowed[[bounds[3], bounds[1] + 1, bounds[2] + 4]] = False
    batch = Parts(unary=np.zeros((bounds[-1], 2), np.float32))
    with pytest.raises(DataError, match="sentence 1, position 1: no allowed label"):
        chain.viterbi_batch(batch, bounds, allowed=allowed)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("Y", [1, 2, 7, 8, 9, 16, 17, 22, 24, 25, 32, 33])
@pytest.mark.parametrize("grid", [None, 1.0])  # on a grid many paths are equal
def test_sentences_decoded_two_at_a_time_get_the_first_of_their_k_best(Y, dtype, grid):
    rng = np.random.default_rng(Y)
    lengths = rng.permutation([0, 1, 1, 2, 3, 7, 8, 8, 9, 20, 70, 131])
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    batch = random_parts(rng, int(bounds[-1]), Y, dtype=dtype)
    if grid:
        batch = Parts(**{name: np.round(block / grid) * grid for name, block in batch.items()})
    chain = Chain(Y, transitions=rng.random((Y, Y)) < 0.9 if Y > 2 else None)
    allowed = rng.random((bounds[-1], Y)) < 0.9
    allowed[:, :3] = True
    labels, scores = chain.viterbi_batch(batch, bounds, allowed=allowed)
    lists = chain.kbest_batch(batch, bounds, 1, allowed=allowed)
    assert np.array_equal(labels, np.concatenate([best[0][1] for best in lists]))
    assert scores.tolist() == [best[0][0] for best in lists]


@either_order
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_batch_answers_as_its_sentences_do_for_any_number_of_threads(order, dtype):
    rng = np.random.default_rng(2)
    lengths = rng.integers(0, 9, 150)
    lengths[3] = 0
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    chain = Chain(3, transitions=BIO, order=order)
    batch = random_parts(rng, int(bounds[-1]), 3, order, dtype=dtype)
    labels, scores = chain.viterbi_batch(batch, bounds)
    log_z, expected = chain.marginals_batch(batch, bounds)
    lists = chain.kbest_batch(batch, bounds, 4)
    total = Parts.zeros(batch.shape)
    for n, (a, b) in enumerate(itertools.pairwise(bounds)):
        sentence = Parts(**(dict(batch.items()) | {"unary": batch["unary"][a:b]}))
        assert np.array_equal(labels[a:b], chain.argmax(sentence))
        assert log_z[n] == chain.logsum(sentence)[0]
        found = chain.kbest(sentence, 4)
        assert [s for s, _ in lists[n]] == [s for s, _ in found]
        assert scores[n] == found[0][0]
        assert all(np.array_equal(x, y) for (_, x), (_, y) in zip(lists[n], found, strict=True))
        if a == b:
            continue
        marginals = chain.logsum(sentence)[1]
        assert np.array_equal(expected["unary"][a:b], marginals["unary"])
        total = total + Parts(**{name: block for name, block in marginals.items() if name != "unary"})
    for name in set(batch) - {"unary"}:
        np.testing.assert_allclose(expected[name], total[name], rtol=1e-4, atol=1e-4)
    again_z, again = chain.marginals_batch(batch, bounds, threads=3)
    assert np.array_equal(log_z, again_z)
    assert all(np.array_equal(again[name], block) for name, block in expected.items())
    assert np.array_equal(chain.viterbi_batch(batch, bounds, threads=3)[0], labels)


def test_pairs_by_position_in_a_batch_belong_to_their_sentence():
    rng = np.random.default_rng(4)
    bounds = np.array([0, 3, 3, 4, 8], np.int64)
    pairs = rng.normal(size=(2 + 0 + 0 + 3, 2, 2))
    batch = Parts(unary=rng.normal(size=(8, 2)), pair=pairs)
    chain = Chain(2)
    labels, _ = chain.viterbi_batch(batch, bounds)
    log_z, expected = chain.marginals_batch(batch, bounds)
    for n, (a, b, c, d) in enumerate([(0, 3, 0, 2), (3, 3, 2, 2), (3, 4, 2, 2), (4, 8, 2, 5)]):
        sentence = Parts(unary=batch["unary"][a:b], pair=pairs[c:d])
        assert np.array_equal(labels[a:b], chain.argmax(sentence))
        z, marginals = chain.logsum(sentence)
        assert log_z[n] == z
        assert np.array_equal(expected["pair"][c:d], marginals["pair"])


def test_a_second_order_chain_without_triples_is_a_first_order_chain():
    rng = np.random.default_rng(9)
    potentials = random_parts(rng, 20, 6, dtype=np.float64)
    first, second = Chain(6), Chain(6, order=2)
    assert np.array_equal(first.argmax(potentials), second.argmax(potentials))
    (z1, m1), (z2, m2) = first.logsum(potentials), second.logsum(potentials)
    assert z1 == pytest.approx(z2)
    for name, block in m1.items():
        np.testing.assert_allclose(block, m2[name], atol=1e-12)


def test_an_empty_sentence_has_one_labelling():
    chain = Chain(2)
    potentials = Parts(unary=np.zeros((0, 2)), pair=np.zeros((2, 2)))
    assert chain.argmax(potentials).tolist() == []
    assert chain.logsum(potentials)[0] == 0
    assert [(s, y.tolist()) for s, y in chain.kbest(potentials, 3)] == [(0.0, [])]
    assert chain.sample(potentials, n=2, seed=0).shape == (2, 0)


def test_what_does_not_fit_is_refused_in_words():
    with pytest.raises(ConfigError, match=r"Chain.transitions must be a bool array of shape \(2, 2\)"):
        Chain(2, transitions=np.ones((3, 3), np.bool_))
    with pytest.raises(ConfigError, match=r"Chain\.order must be 1 or 2, got 3"):
        Chain(2, order=3)
    with pytest.raises(DataError, match=r"unary: expected shape \[T, 2\], found \[3, 4\]"):
        Chain(2).argmax(Parts(unary=np.zeros((3, 4))))
    with pytest.raises(DataError, match="pair has the wrong shape"):
        Chain(2).argmax(Parts(unary=np.zeros((3, 2)), pair=np.zeros((3, 3))))
    with pytest.raises(DataError, match="a chain of order 1 has no parts named triple"):
        Chain(2).argmax(Parts(unary=np.zeros((3, 2)), triple=np.zeros((2, 2, 2))))
    with pytest.raises(DataError, match=r"unary\[1, 0\]: expected a finite potential"):
        Chain(2).argmax(Parts(unary=np.array([[0, 0], [np.nan, 0]])))
    with pytest.raises(DataError, match="position 1: expected a label from 0 to 1, found 2"):
        Chain(2).parts(Chain(2).shape(2), np.array([0, 2]))
    with pytest.raises(DataError, match="fixed position 5: expected a position from 0 to 2"):
        Chain(2).argmax(Parts(unary=np.zeros((3, 2))), fixed={5: 0})


def test_our_exp_is_exact_to_two_parts_in_ten_million():
    x = np.concatenate([np.linspace(LOWEST, 88, 400_001), np.linspace(-1, 1, 100_001)]).astype(np.float32)
    out = np.empty_like(x)
    exp_rows(x, out)
    exact = np.exp(x.astype(np.float64))
    assert np.max(np.abs(out - exact) / exact) < 2e-7
    below = np.array([-np.inf, -1e30, -1000, -88], np.float32)
    exp_rows(below, out := np.ones_like(below))
    assert np.array_equal(out, np.zeros(4, np.float32))
    zero = np.zeros(3, np.float32)
    exp_rows(zero, out := np.empty_like(zero))
    assert out.tolist() == [1, 1, 1]


@pytest.mark.parametrize("labels", [1, 3, 8, 17])
def test_scores_beyond_the_largest_float_give_labels_that_exist(labels):
    rng = np.random.default_rng(labels)
    sentences, T = np.array([0, 12]), 12
    ptr, ids = np.arange(T + 1) * 3, np.tile(np.array([0, 1, 2], np.int32), T)
    ends = np.zeros(labels, np.float32)
    for _ in range(300):
        unary = rng.choice(np.array([3e38, -3e38, 0, 1], np.float32), (3, labels))
        pair = rng.choice(np.array([3e38, -3e38, 0, -np.inf], np.float32), (labels, labels))
        chain = _core.LinearChain(unary, ends, ends, pair, None, None, None)
        for found in (chain.tag(sentences, ptr, ids, 1), chain.decide(sentences, ptr, ids, 1.0, 1)[0]):
            assert 0 <= found.min() <= found.max() < labels
