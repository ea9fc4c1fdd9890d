"""The linear scorer against sums written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
from chaffinch import _core
from chaffinch.errors import DataError
from chaffinch.scorers import Example, Layout, Linear
from chaffinch.structures import Chain, Parts


@st.composite
def problems(draw):
    """A scorer with drawn weights, an example (features may repeat), and parts to move it by."""
    F, Y, T = draw(st.integers(1, 5)), draw(st.integers(1, 9)), draw(st.integers(0, 4))
    rows = [draw(st.lists(st.integers(0, F - 1), max_size=4)) for _ in range(T)]
    x = Example(
        np.cumsum([0, *map(len, rows)], dtype=np.int64), np.array([f for row in rows for f in row], np.int32)
    )
    scorer = Linear(Layout.chain(F, Y))
    for block in scorer.layout:
        scorer.block(block.name)[...] = draw(
            brute.arrays((block.rows, block.columns), brute.eighths, np.float32)
        )
    sizes = scorer.shape(x)
    delta = Parts(
        **{name: draw(brute.arrays(size, brute.eighths, np.float32)) for name, size in sizes.items()}
    )
    return scorer, x, rows, delta


@brute.quick
@given(problems())
def test_potentials_are_sums_of_the_weights_of_the_features(problem):
    scorer, x, rows, _ = problem
    potentials = scorer.potentials(x)
    assert potentials.shape == scorer.shape(x) == Chain(scorer.layout["pair"].columns).shape(x.T)
    for t, row in enumerate(rows):
        np.testing.assert_array_equal(potentials["unary"][t], scorer.block("unary")[row].sum(0))
    np.testing.assert_array_equal(potentials["start"], scorer.block("start")[0])


@brute.quick
@given(problems(), st.sampled_from([1.0, -0.5, 0.25]))
def test_an_update_moves_w_along_the_features_by_what_sq_norm_says(problem, step):
    scorer, x, rows, delta = problem
    before = scorer.w.copy()
    expected = {b.name: scorer.block(b.name).copy() for b in scorer.layout}
    for t, row in enumerate(rows):
        for f in row:
            expected["unary"][f] += np.float32(step) * delta["unary"][t]
    for name in ("pair", "start", "end"):
        expected[name] += np.float32(step) * delta[name].reshape(expected[name].shape)
    scorer.update(x, delta, step)
    for name, block in expected.items():
        np.testing.assert_array_equal(scorer.block(name), block)
    moved = float(np.sum((scorer.w.astype(np.float64) - before) ** 2))
    assert moved == pytest.approx(step**2 * scorer.sq_norm(x, delta), rel=1e-9)


def test_blocks_start_on_a_cache_line_and_padding_stays_zero():
    scorer = Linear(Layout.chain(F=7, Y=3))
    assert scorer.w.ctypes.data % 64 == 0
    assert all(b.offset % 16 == 0 and b.stride % 8 == 0 for b in scorer.layout)
    x = Example(np.array([0, 2]), np.array([1, 6], np.int32))
    scorer.update(x, Parts(unary=np.ones((1, 3), np.float32), pair=np.ones((3, 3), np.float32)))
    assert scorer.w.sum() == 6 + 9


def test_a_choice_has_one_row_of_features():
    scorer = Linear(Layout.choice(F=4, Y=3))
    x = Example(np.array([0, 2]), np.array([1, 3], np.int32))
    scorer.update(x, Parts(choice=np.array([1, 0, -1], np.float32)), 0.5)
    assert scorer.potentials(x)["choice"].tolist() == [1.0, 0.0, -1.0]
    assert scorer.shape(x) == {"choice": (3,)}


def test_ids_and_bounds_are_checked_before_memory_is_touched():
    w = np.zeros((4, 8), np.float32)
    out = np.zeros((1, 8), np.float32)
    with pytest.raises(IndexError, match="feature id out of range"):
        _core.score_rows(np.array([0, 1]), np.array([4], np.int32), w, out)
    with pytest.raises(IndexError, match="feature id out of range"):
        _core.add_rows(np.array([0, 1]), np.array([-1], np.int32), out, 1.0, w)
    with pytest.raises(ValueError, match="ptr runs past ids"):
        _core.score_rows(np.array([0, 2]), np.array([1], np.int32), w, out)
    with pytest.raises(ValueError, match="ptr must not decrease"):
        _core.score_rows(np.array([1, 0]), np.array([1], np.int32), w, out)
    with pytest.raises(ValueError, match="same stride"):
        _core.score_rows(np.array([0, 1]), np.array([1], np.int32), w, np.zeros((1, 16), np.float32))
    with pytest.raises(DataError, match="expected a float32 w of length"):
        Linear(Layout.choice(2, 2), np.zeros(3, np.float32))
