"""Matchings against every matching there is, ties included; and IBM model 1 against its formulas."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures import GoldLinks, Matching, Parts
from chaffinch.structures.fertile import FertileMatching
from chaffinch.testing import check_structure

SHAPES = [(0, 0), (1, 0), (0, 2), (1, 1), (2, 2), (2, 3), (3, 2), (3, 3)]


def matchings(shape):
    """Every matching."""
    n, m = shape["edge"]
    found = []
    for size in range(min(n, m) + 1):
        for sources in itertools.combinations(range(n), size):
            for targets in itertools.permutations(range(m), size):
                found.append(frozenset(zip(sources, targets, strict=True)))
    return found


def test_matchings_are_those_of_the_enumeration():
    faults = check_structure(
        Matching(),
        matchings,
        [Matching().shape(n, m) for n, m in SHAPES],
        loss=lambda gold, y: (
            len(y - gold) + sum(0.5 for l in gold for side in (0, 1) if l[side] not in {k[side] for k in y})
        ),
        trials=12,
    )
    assert faults == []


@st.composite
def scores(draw, values):
    n, m = draw(st.sampled_from(SHAPES))
    edge = draw(brute.arrays((n, m), values, np.float64))
    return Parts(
        edge=edge,
        source=draw(brute.arrays((n,), values, np.float64)),
        target=draw(brute.arrays((m,), values, np.float64)),
    )


forbidding = (*brute.few, -np.inf)


@settings(max_examples=150, deadline=None)
@given(potentials=scores(forbidding) | scores(brute.few) | scores(brute.eighths))
def test_the_k_best_are_the_best_of_all_with_ties_and_forbidden_parts(potentials):
    matching = Matching()
    every = {}
    for y in matchings(potentials.shape):
        total = brute.score(matching, potentials, y)
        if total > -np.inf:
            every[y] = total
    if not every:
        for ask in (matching.argmax, lambda p: matching.kbest(p, 3)):
            with pytest.raises(DataError, match="every matching is forbidden"):
                ask(potentials)
        return
    ranked = sorted(every.values(), reverse=True)
    assert every[matching.argmax(potentials)] == ranked[0]
    for k in (1, 2, 5, 1000):
        found = matching.kbest(potentials, k)
        assert [score for score, _ in found] == ranked[:k]
        assert [every[y] for _, y in found] == ranked[:k]
        assert len({y for _, y in found}) == len(found)
        assert found[0][1] == matching.argmax(potentials)


def test_large_matchings_agree_with_another_solver():
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(0)
    for n, m in ((30, 40), (50, 20)):
        edge, source, target = rng.normal(size=(n, m)), rng.normal(size=n), rng.normal(size=m)
        square = np.full((n + m, n + m), -1e9)
        square[:n, :m], square[n:, m:] = edge, 0
        square[np.arange(n), m + np.arange(n)] = source
        square[n + np.arange(m), np.arange(m)] = target
        rows, columns = linear_sum_assignment(square, maximize=True)
        score, _ = Matching().kbest(Parts(edge=edge, source=source, target=target), 1)[0]
        assert score == pytest.approx(square[rows, columns].sum())


def test_possible_links_cost_nothing():
    gold = GoldLinks(frozenset({(0, 0)}), frozenset({(1, 1)}))
    matching = Matching()
    shape = matching.shape(2, 2)
    cost = matching.cost(shape, gold)

    def loss(y):
        return cost.dot(matching.parts(shape, y))

    assert loss({(0, 0)}) == loss({(0, 0), (1, 1)}) == 0
    assert loss({(1, 0)}) == 1.5  # wrong, and source 0 is left alone
    assert loss(()) == 1


def test_bad_links_and_bad_scores_are_refused():
    shape = Matching().shape(2, 2)
    with pytest.raises(DataError, match="the link 0-1 shares a word with another link"):
        Matching().parts(shape, [(0, 0), (0, 1)])
    with pytest.raises(DataError, match="the link 2-0 points outside sentences of 2 and 2 words"):
        Matching().parts(shape, [(2, 0)])
    with pytest.raises(DataError, match="expected a finite potential"):
        Matching().argmax(Parts(edge=np.full((1, 1), np.nan)))
    with pytest.raises(ConfigError, match="k must be >= 1, got 0"):
        Matching().kbest(Parts(edge=np.zeros((1, 1))), 0)


# -- IBM model 1 ----------------------------------------------------------------------------------------------------


def table(pairs, E, F, threads=1):
    e, f = ([side[k] for side in pairs] for k in (0, 1))
    ptr = [np.cumsum([0, *map(len, side)]).astype(np.int64) for side in (e, f)]
    ids = [np.array([w for s in side for w in s], np.int32) for side in (e, f)]
    return _core.TranslationTable(ptr[0], ids[0], E, ptr[1], ids[1], F, threads)


def em(pairs, E, F, rounds):
    """IBM model 1, written out; word E is the null."""
    t = np.zeros((E + 1, F))
    for e, f in pairs:
        for i in [*e, E]:
            t[i, list(f)] = 1
    t /= np.maximum(t.sum(axis=1, keepdims=True), 1e-300)
    log = 0.0
    for _ in range(rounds):
        counts, log = np.zeros_like(t), 0.0
        for e, f in pairs:
            for j in f:
                total = sum(t[i, j] for i in [*e, E])
                log += math.log(total / (len(e) + 1))
                for i in [*e, E]:
                    counts[i, j] += t[i, j] / total
        t = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return t, log


sentence = st.lists(st.integers(0, 3), min_size=0, max_size=4)


@brute.quick
@given(pairs=st.lists(st.tuples(sentence, sentence), min_size=1, max_size=5), rounds=st.integers(0, 4))
def test_ibm_model_1_follows_its_formulas(pairs, rounds):
    made = table(pairs, 4, 4)
    log = made.train(rounds)
    wanted, wanted_log = em(pairs, 4, 4, rounds)
    rows, columns, t = made.rows(), made.columns(), made.t()
    dense = np.zeros((5, 4))
    for e in range(5):
        dense[e, columns[rows[e] : rows[e + 1]]] = t[rows[e] : rows[e + 1]]
    np.testing.assert_allclose(dense, wanted, atol=1e-9)
    assert log == pytest.approx(wanted_log)
    together = np.zeros((5, 4), int)
    for e in range(5):
        together[e, columns[rows[e] : rows[e + 1]]] = made.together()[rows[e] : rows[e + 1]]
    for e, f in itertools.product(range(4), range(4)):
        assert together[e, f] == sum(e in a and f in b for a, b in pairs)


def test_any_number_of_threads_gives_the_same_table():
    rng = np.random.default_rng(0)
    pairs = [(rng.integers(0, 300, 12).tolist(), rng.integers(0, 300, 15).tolist()) for _ in range(400)]
    one, two = table(pairs, 300, 300, 1), table(pairs, 300, 300, 2)
    assert one.train(5, 1) == two.train(5, 2)
    assert one.t().tobytes() == two.t().tobytes()


# -- a second link --------------------------------------------------------------------------------------------------


def fertile(shape):
    """Every set of links that places allow."""
    n, m = shape["edge"]
    every = list(itertools.product(range(n), range(m), range(3)))
    found = []
    for size in range(n + m + 1):
        for links in itertools.combinations(every, size):
            places = [{(int(k == 1), i) for i, j, k in links}, {(int(k == 2), j) for i, j, k in links}]
            if all(len(side) == size for side in places):
                found.append(frozenset(links))
    return found


def test_matchings_with_second_links_are_those_of_the_enumeration():
    structure = FertileMatching()
    assert (
        check_structure(
            structure, fertile, [structure.shape(n, m) for n, m in ((1, 1), (1, 2), (2, 1), (2, 2))]
        )
        == []
    )
    with pytest.raises(DataError, match="shares a place with another link"):
        structure.parts(structure.shape(2, 2), [(0, 0, 0), (0, 1, 0)])
    with pytest.raises(DataError, match="there is no link 0-5 of kind 0"):
        structure.parts(structure.shape(2, 2), [(0, 5, 0)])
