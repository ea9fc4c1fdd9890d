"""What every structure promises, checked against enumeration. A new structure joins by a line in STRUCTURES."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import brute
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures import KBestOracle, MaxOracle, Parts, Structure, SumOracle, oracles

STRUCTURES = {
    "choice": brute.choices,
    "chain": brute.chains,
    "second-order chain": lambda **how: brute.chains(order=2, **how),
    "tree": brute.trees,
    "derivation": brute.derivations,
    "segments": brute.segments,
    "matching": brute.matchings,
    "fertile matching": lambda **how: brute.matchings(fertile=True, **how),
}
WITH_SUMS = {name: drawn for name, drawn in STRUCTURES.items() if "matching" not in name}

every_structure = pytest.mark.parametrize("drawn", STRUCTURES.values(), ids=STRUCTURES)
every_sum = pytest.mark.parametrize("drawn", WITH_SUMS.values(), ids=WITH_SUMS)
every_precision = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


def example(data, drawn, **how):
    """A structure and potentials that allow some y, with every y ranked."""
    structure, potentials = data.draw(drawn(**how))
    every = brute.ranked(structure, potentials)
    assume(every)
    return structure, potentials, every


def is_first(structure, y, every):
    """Whether y is the best of those ranked; of equals the first, or any where the structure does not say which."""
    if brute.ordered(structure):
        return np.array_equal(y, every[0][1])
    return any(y == other for s, other in every if s == every[0][0])


@every_structure
@brute.refusal
@given(data=st.data())
def test_every_structure_says_which_oracles_it_offers(drawn, data):
    structure, _ = data.draw(drawn())
    assert isinstance(structure, Structure)
    offered = {MaxOracle: "argmax", SumOracle: "logsum", KBestOracle: "kbest"}
    assert oracles(structure) == [n for p, n in offered.items() if isinstance(structure, p)]


@every_structure
@every_precision
@brute.quick
@given(data=st.data(), tied=st.booleans())
def test_argmax_is_the_first_of_the_best(drawn, dtype, data, tied):
    structure, potentials, every = example(
        data, drawn, dtype=dtype, values=brute.few if tied else brute.eighths
    )
    assert is_first(structure, structure.argmax(potentials), every)


@every_structure
@every_precision
@brute.quick
@given(data=st.data(), k=st.integers(1, 400), tied=st.booleans())
def test_kbest_lists_the_best_in_order_ties_included(drawn, dtype, data, k, tied):
    structure, potentials, every = example(
        data, drawn, dtype=dtype, values=brute.few if tied else brute.eighths
    )
    found = structure.kbest(potentials, k)
    assert [s for s, _ in found] == [s for s, _ in every[:k]]
    if brute.ordered(structure):
        assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(found, every[:k], strict=True))
    else:
        score = {y: s for s, y in every}
        assert [score[y] for _, y in found] == [s for s, _ in found]
        assert len({y for _, y in found}) == len(found)
    assert np.array_equal(found[0][1], structure.argmax(potentials))


@every_sum
@every_precision
@brute.quick
@given(data=st.data())
def test_logsum_is_the_sum_over_every_y_and_its_gradient_the_expected_parts(drawn, dtype, data):
    structure, potentials, every = example(data, drawn, dtype=dtype)
    log_z, marginals = structure.logsum(potentials)
    expected_log_z, expected = brute.logsum(structure, potentials, every)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert log_z == pytest.approx(expected_log_z, abs=tolerance, rel=tolerance)
    assert marginals.shape == potentials.shape
    for name, block in expected.items():
        np.testing.assert_allclose(marginals[name], block, atol=tolerance)
        assert np.all(marginals[name][block == 0] == 0), "what cannot be used has exactly no weight"


@every_sum
@brute.quick
@given(data=st.data())
def test_marginals_are_the_gradient_of_log_z(drawn, data):
    structure, potentials, _ = example(data, drawn)
    _, marginals = structure.logsum(potentials)
    name = data.draw(st.sampled_from([n for n, block in potentials.items() if block.size]))
    at = tuple(data.draw(st.integers(0, n - 1)) for n in potentials[name].shape)
    step = np.zeros_like(potentials[name])
    step[at] = 1e-5
    above, _ = structure.logsum(potentials + Parts(**{name: step}))
    below, _ = structure.logsum(potentials - Parts(**{name: step}))
    assert (above - below) / 2e-5 == pytest.approx(marginals[name][at], abs=1e-7)


@every_structure
@brute.quick
@given(data=st.data())
def test_score_is_the_dot_product_of_potentials_and_parts(drawn, data):
    structure, potentials, every = example(data, drawn)
    s, y = data.draw(st.sampled_from(every))
    assert potentials.dot(structure.parts(potentials.shape, y)) == pytest.approx(s, abs=1e-12)


@every_structure
@brute.quick
@given(data=st.data())
def test_cost_is_zero_on_gold_and_positive_elsewhere(drawn, data):
    structure, potentials, every = example(data, drawn)
    _, gold = data.draw(st.sampled_from(every))
    cost = structure.cost(potentials.shape, gold)
    for _, y in every:
        assert cost.dot(structure.parts(potentials.shape, y)) == brute.loss(structure, potentials, y, gold)


@every_structure
@brute.quick
@given(data=st.data())
def test_cost_is_potentials_so_loss_augmented_search_is_argmax(drawn, data):
    structure, potentials, every = example(data, drawn)
    _, gold = data.draw(st.sampled_from(every))
    augmented = potentials + structure.cost(potentials.shape, gold)
    assert is_first(structure, structure.argmax(augmented), brute.ranked(structure, augmented))


@every_structure
@brute.quick
@given(data=st.data())
def test_where_nothing_is_allowed_every_oracle_says_so(drawn, data):
    structure, potentials = data.draw(drawn())
    if brute.ranked(structure, potentials):
        potentials = Parts(**{name: np.full_like(block, -np.inf) for name, block in potentials.items()})
    asked = {"argmax": (), "logsum": (), "kbest": (2,)}
    for oracle in oracles(structure):
        with pytest.raises(DataError):
            getattr(structure, oracle)(potentials, *asked[oracle])


@every_structure
@brute.refusal
@given(data=st.data(), bad=st.sampled_from([np.nan, np.inf]))
def test_potentials_that_are_no_numbers_are_refused(drawn, data, bad):
    structure, potentials, _ = example(data, drawn)
    name = next(iter(potentials))
    spoilt = potentials[name].copy()
    spoilt.flat[data.draw(st.integers(0, spoilt.size - 1))] = bad
    with pytest.raises(DataError, match="expected a finite potential"):
        structure.argmax(Parts(**(dict(potentials.items()) | {name: spoilt})))


@every_structure
@brute.refusal
@given(data=st.data())
def test_a_list_of_no_length_is_refused(drawn, data):
    structure, potentials, _ = example(data, drawn)
    with pytest.raises(ConfigError, match="k must be >= 1, got 0"):
        structure.kbest(potentials, 0)
