"""Choice and the arithmetic of parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures import Choice, Parts, SumOracle, require


def test_a_candidate_that_is_forbidden_has_no_weight_and_is_not_listed():
    potentials = Parts(choice=np.array([0.0, -np.inf, 1.0]))
    choice = Choice(3)
    assert choice.logsum(potentials)[1]["choice"][1] == 0
    assert [y for _, y in choice.kbest(potentials, 5)] == [2, 0]
    assert set(choice.sample(potentials, n=50, seed=0)) == {0, 2}


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e30])
def test_large_potentials_neither_overflow_nor_vanish(scale):
    log_z, marginals = Choice().logsum(Parts(choice=np.array([-scale, 0, scale], np.float32)))
    assert np.isfinite(log_z)
    assert marginals["choice"].sum() == pytest.approx(1)


def test_a_choice_of_n_refuses_another_number_of_candidates():
    with pytest.raises(DataError, match="expected 3 candidates, found 2"):
        Choice(3).argmax(Parts(choice=np.zeros(2)))
    with pytest.raises(DataError, match="needs at least one candidate"):
        Choice().argmax(Parts(choice=np.zeros(0)))
    with pytest.raises(ConfigError, match=r"Choice.n must be >= 1, got 0"):
        Choice(0)
    with pytest.raises(DataError, match="expected a candidate from 0 to 2, found 3"):
        Choice(3).parts({"choice": (3,)}, 3)


def test_samples_come_as_often_as_they_are_likely():
    drawn = Choice(3).sample(Parts(choice=np.log([1.0, 2.0, 5.0])), n=20_000, seed=1)
    np.testing.assert_allclose(np.bincount(drawn) / 20_000, [0.125, 0.25, 0.625], atol=0.02)


@given(st.data(), st.floats(-5, 5))
def test_parts_are_a_vector_space(data, a):
    x, y, z = (Parts(choice=data.draw(brute.arrays((3,), brute.eighths, np.float64))) for _ in range(3))

    def flat(p):
        return p["choice"]

    np.testing.assert_allclose(flat(x + y - z), flat(x) + flat(y) - flat(z))
    np.testing.assert_allclose(flat(a * x), a * flat(x))
    assert (x + y).dot(z) == pytest.approx(x.dot(z) + y.dot(z))
    assert (-x).dot(x) == -x.sq_norm()


def test_a_block_that_one_side_lacks_counts_as_zero_there():
    x = Parts(unary=np.ones((2, 2)), pair=np.ones((2, 2)))
    y = Parts(unary=np.ones((2, 2)), end=np.ones(2))
    assert (x - y).shape == {"unary": (2, 2), "pair": (2, 2), "end": (2,)}
    assert (x - y)["end"].tolist() == [-1, -1]
    assert x.dot(y) == 4


def test_parts_of_different_shape_are_refused():
    with pytest.raises(DataError, match=r"unary is \(2, 2\) on the left and \(3, 2\) on the right"):
        Parts(unary=np.ones((2, 2))) + Parts(unary=np.ones((3, 2)))
    with pytest.raises(DataError, match="no block 'pair'; they have unary"):
        Parts(unary=np.ones(2))["pair"]


def test_a_structure_without_the_oracle_a_learner_needs_is_refused_with_the_alternatives():
    class Mine:
        def parts(self, shape, y): ...
        def cost(self, shape, y): ...

    assert not isinstance(Mine(), SumOracle)
    with pytest.raises(
        ConfigError, match=r"^Count needs a best answer; Mine offers no oracle\. Use Other\.$"
    ):
        require("Count", "argmax", Mine(), ("Other",))
    require("Perceptron", "argmax", Choice(2))
