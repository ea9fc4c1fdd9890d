"""Segmentations against every segmentation there is, ties included, in each semiring."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures import Parts
from chaffinch.structures.segments import Segment, Segments
from chaffinch.testing import check_structure


def every(structure, T):
    """Every segmentation of T positions."""
    if T == 0:
        return [()]
    found = []
    for length, label in itertools.product(range(1, min(structure.L, T) + 1), range(structure.Y)):
        if structure.longest is None or length <= structure.longest[label]:
            last = Segment(T - length, T, label)
            found += [(*front, last) for front in every(structure, T - length)]
    return found


@pytest.mark.parametrize("structure", [Segments(2, 2), Segments(1, 3), Segments(3, 2, longest=(1, 2, 2))])
def test_segmentations_are_those_of_the_enumeration(structure):
    shapes = [structure.shape(T) for T in (1, 2, 3)]
    assert (
        check_structure(structure, lambda shape: every(structure, shape["segment"][0] // structure.L), shapes)
        == []
    )


@st.composite
def drawn(draw, values):
    Y, L, T = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    longest = draw(st.none() | st.tuples(*[st.integers(1, L)] * Y))
    structure = Segments(Y, L, longest)
    names = ["segment", *draw(st.sets(st.sampled_from(["pair", "start", "end"])))]
    shape = structure.shape(T)
    return (
        structure,
        T,
        Parts(**{name: draw(brute.arrays(shape[name], values, np.float64)) for name in names}),
    )


@settings(max_examples=120, deadline=None)
@given(case=drawn(brute.eighths) | drawn(brute.few) | drawn((0.0, 1.0, -np.inf)))
def test_best_sum_and_k_best_are_those_of_all_segmentations(case):
    structure, T, potentials = case
    scores = {y: brute.score(structure, potentials, y) for y in every(structure, T)}
    allowed = {y: s for y, s in scores.items() if s > -np.inf}
    if not allowed:
        for ask in (structure.argmax, structure.logsum, lambda p: structure.kbest(p, 2)):
            with pytest.raises(DataError, match="every segmentation is forbidden"):
                ask(potentials)
        return
    ranked = sorted(allowed.values(), reverse=True)
    for k in (1, 3, 10**4):
        found = structure.kbest(potentials, k)
        assert [s for s, _ in found] == pytest.approx(ranked[:k])
        assert [allowed[y] for _, y in found] == pytest.approx(ranked[:k])
        assert len({y for _, y in found}) == len(found)
        assert found[0][1] == structure.argmax(potentials)
    log_z, marginals = structure.logsum(potentials)
    total = math.fsum(math.exp(s) for s in allowed.values())
    assert log_z == pytest.approx(math.log(total))
    expected = Parts.zeros(potentials.shape)
    for y, s in allowed.items():
        expected = expected + structure.parts(potentials.shape, y) * (math.exp(s) / total)
    for name in potentials:
        np.testing.assert_allclose(marginals[name], expected[name], atol=1e-9)


def test_of_equals_the_last_segment_is_the_shortest_and_its_label_the_smallest():
    structure = Segments(2, 2)
    flat = Parts(segment=np.zeros((6, 2)))
    assert structure.argmax(flat) == tuple(Segment(t, t + 1, 0) for t in range(3))


def test_cost_counts_positions_and_is_zero_on_gold_alone():
    structure = Segments(2, 3)
    gold = (Segment(0, 1, 0), Segment(1, 3, 1))
    shape = structure.shape(3)
    cost = structure.cost(shape, gold)

    def loss(y):
        return cost.dot(structure.parts(shape, y))

    assert loss(gold) == 0
    assert loss((Segment(0, 3, 0),)) == 2
    assert loss((Segment(0, 1, 0), Segment(1, 2, 1), Segment(2, 3, 1))) == 1  # right labels, wrong bounds


def test_what_is_no_segmentation_is_refused():
    structure = Segments(2, 2, longest=(1, 2))
    shape = structure.shape(3)
    for y, said in (
        ((Segment(0, 2, 0), Segment(2, 3, 0)), "does not fit"),
        ((Segment(0, 1, 0),), "segments end at 1"),
        ((Segment(1, 2, 0),), "does not fit"),
        ((Segment(0, 1, 5),), "expected a label from 0 to 1"),
    ):
        with pytest.raises(DataError, match=said):
            structure.parts(shape, y)
    with pytest.raises(ConfigError, match="longest"):
        Segments(2, 2, longest=(1, 3))
    with pytest.raises(ConfigError, match="k must be >= 1"):
        structure.kbest(Parts(segment=np.zeros((2, 2))), 0)
    with pytest.raises(DataError, match="expected a finite potential"):
        structure.argmax(Parts(segment=np.full((2, 2), np.nan)))
