"""What trees promise beyond what every structure does."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import brute
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures import Derivation, Parts, SpanTree
from chaffinch.structures.tree import span_row


@pytest.mark.parametrize("drawn", [brute.trees, brute.derivations], ids=["tree", "derivation"])
@brute.quick
@given(data=st.data())
def test_sums_hold_for_potentials_of_any_range(drawn, data):
    """Far beyond what a double's exponent has room for: the sums are then taken in logarithms."""
    far = st.sampled_from([-3000.0, -1.0, 0.0, 2.0, 2500.0])
    tree, potentials = data.draw(drawn(values=far))
    assume(brute.ranked(tree, potentials))
    log_z, marginals = tree.logsum(potentials)
    expected_log_z, expected = brute.logsum(tree, potentials)
    assert log_z == pytest.approx(expected_log_z, rel=1e-12)
    for name, block in expected.items():
        np.testing.assert_allclose(marginals[name], block, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1000.0], ids=["real space", "logarithms"])
@brute.quick
@given(data=st.data())
def test_closed_spans_are_no_nodes(scale, data):
    tree, potentials = data.draw(brute.trees())
    potentials = potentials * scale
    S = len(potentials["span"])
    open_ = data.draw(brute.arrays((S,), (True, True, False), np.bool_))
    T = brute.words(S)
    every = [
        (s, y)
        for s, y in brute.ranked(tree, potentials)
        if all(open_[span_row(T, i, j)] or j - i == 1 for i, j, _ in y.tolist())
    ]
    assume(every)
    assert np.array_equal(tree.argmax(potentials, open=open_), every[0][1])
    assert [s for s, _ in tree.kbest(potentials, 5, open=open_)] == [s for s, _ in every[:5]]
    log_z, marginals = tree.logsum(potentials, open=open_)
    assert log_z == pytest.approx(np.logaddexp.reduce([s for s, _ in every]))
    top = np.zeros(S)
    for s, y in every:
        for i, j, _ in y.tolist():
            top[span_row(T, i, j)] += np.exp(s - log_z)
    np.testing.assert_allclose(marginals["span"][:, : tree.Y].sum(axis=1), top, atol=1e-9)


def test_a_long_derivation_has_consistent_marginals():
    rng = np.random.default_rng(1)
    T, Y = 60, 5
    rules = np.array([[a, b, c] for a in range(Y) for b in range(Y) for c in range(Y)], np.int32)
    grammar = Derivation(Y, rules)
    sizes = {"leaf": (T, Y), "rule": (len(rules),), "span": (T * (T + 1) // 2, Y), "top": (Y,)}
    potentials = Parts(**{n: rng.normal(size=s) * 5 for n, s in sizes.items()})
    log_z, marginals = grammar.logsum(potentials)
    np.testing.assert_allclose(marginals["leaf"].sum(axis=1), 1)
    assert marginals["rule"].sum() == pytest.approx(T - 1)
    assert marginals["span"].sum() == pytest.approx(T - 1)
    assert marginals["top"].sum() == pytest.approx(1)
    best = grammar.argmax(potentials)
    score = potentials.dot(grammar.parts(potentials.shape, best))
    assert score < log_z
    found = grammar.kbest(potentials, 50)
    assert found[0][0] == pytest.approx(score)
    assert len({y.tobytes() for _, y in found}) == 50


def test_a_grammar_with_faults_is_refused():
    with pytest.raises(ConfigError, match="holds a rule twice"):
        Derivation(2, np.array([[0, 1, 1], [0, 1, 1]]))
    with pytest.raises(ConfigError, match="labels from 0 to 1"):
        Derivation(2, np.array([[0, 1, 2]]))
    grammar = Derivation(2, np.array([[0, 1, 1]]))
    with pytest.raises(DataError, match="the grammar has no rule 1 -> 1 1"):
        grammar.parts(grammar.shape(2), np.array([[0, 2, 1], [0, 1, 1], [1, 2, 1]]))


def test_a_long_sentence_has_consistent_marginals():
    rng = np.random.default_rng(0)
    T, Y = 40, 11
    tree = SpanTree(Y)
    potentials = Parts(**{n: rng.normal(size=s) * 3 for n, s in tree.shape(T).items()})
    log_z, marginals = tree.logsum(potentials)
    assert marginals["span"][:, :Y].sum() == pytest.approx(2 * T - 1)
    assert marginals["left"].sum() == pytest.approx(T - 1)
    assert marginals["span"][:, Y : 2 * Y].sum() == pytest.approx(T - 1)
    best = tree.argmax(potentials)
    assert potentials.dot(tree.parts(potentials.shape, best)) < log_z
    found = tree.kbest(potentials, 200)
    scores = [s for s, _ in found]
    assert scores == sorted(scores, reverse=True)
    assert len({y.tobytes() for _, y in found}) == 200
    for s, y in found:
        assert potentials.dot(tree.parts(potentials.shape, y)) == pytest.approx(s)


@pytest.mark.parametrize(
    "nodes",
    [
        [[0, 2, 0], [0, 1, 0]],
        [[0, 2, 0], [0, 2, 0], [1, 2, 0]],
        [[0, 2, 0], [0, 1, 0], [0, 1, 0]],
        [[0, 2, 0], [0, 1, 0], [1, 2, 7]],
    ],
)
def test_what_is_no_tree_is_refused(nodes):
    tree = SpanTree(2)
    with pytest.raises(DataError, match="node"):
        tree.parts(tree.shape(2), np.array(nodes))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r"expected T\(T\+1\)/2 rows"):
        SpanTree(2).argmax(Parts(span=np.zeros((4, 2))))
    with pytest.raises(DataError, match="expected shape"):
        SpanTree(2).argmax(Parts(span=np.zeros((3, 5))))
    with pytest.raises(ConfigError, match=r"SpanTree\.root must be"):
        SpanTree(2, root=np.ones(3, np.bool_))
