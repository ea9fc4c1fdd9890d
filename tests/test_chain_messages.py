"""Questions about a few tokens of a chain, answered without reading all of it."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaffinch.errors import DataError
from chaffinch.model.chain_evidence import ChainMessages
from chaffinch.structures import Chain, Parts


@st.composite
def potentials(draw):
    """Of a chain of order 1, some pairs impossible; pairs are shared or have a place."""
    T, Y = draw(st.integers(1, 7)), draw(st.integers(2, 4))
    chance = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    pair = chance.normal(size=(T - 1, Y, Y) if draw(st.booleans()) else (Y, Y))
    pair[chance.random(pair.shape) < 0.1] = -np.inf
    blocks = {"unary": chance.normal(size=(T, Y)), "pair": pair}
    if draw(st.booleans()):
        blocks |= {"start": chance.normal(size=Y), "end": chance.normal(size=Y)}
    return Parts(**blocks), chance


def viterbi(chain, scores, allowed=None):
    """The best score and labelling; None where every labelling is impossible."""
    try:
        found = chain.kbest(scores, 1, allowed=allowed)
    except DataError:
        return None
    return found[0] if found and np.isfinite(found[0][0]) else None


def score(chain, scores, y):
    return scores.dot(chain.parts(scores.shape, y))


@given(potentials())
def test_the_best_labelling_with_a_certain_label_is_viterbis(drawn):
    scores, chance = drawn
    T, Y = scores["unary"].shape
    chain, messages = Chain(Y), ChainMessages(scores)
    of_all = viterbi(chain, scores)
    assume(of_all is not None)
    y = of_all[1]
    for t in range(T):
        here = chance.random(Y) < 0.6
        unary = scores["unary"][t : t + 1].copy()
        unary[0, ~here] = -np.inf
        try:
            found = messages.best(chain, Parts(unary=unary, pair=np.zeros((Y, Y))), t, y)
        except DataError:
            found = None
        allowed = np.ones((T, Y), bool)
        allowed[t] = here
        best = viterbi(chain, scores, allowed) if here.any() else None
        assert (found is None) == (best is None)
        if found is not None:
            assert here[found[t]]
            assert score(chain, scores, found) == pytest.approx(best[0])


@given(potentials())
def test_potentials_that_changed_on_a_stretch_are_labelled_as_a_whole(drawn):
    scores, chance = drawn
    T, Y = scores["unary"].shape
    chain, messages = Chain(Y), ChainMessages(scores)
    first, last = sorted(chance.integers(0, T, 2).tolist())
    blocks = {name: block.copy() for name, block in scores.items()}
    blocks["unary"][first : last + 1] += chance.normal(size=(last - first + 1, Y))
    changed = Parts(**blocks)
    whole = viterbi(chain, changed)
    assume(whole is not None)
    before = viterbi(chain, scores)
    assume(before is not None)
    pair = changed["pair"] if changed["pair"].ndim == 2 else changed["pair"][first:last]
    stretch = Parts(unary=changed["unary"][first : last + 1], pair=pair)
    found = messages.best(chain, stretch, first, before[1])
    assert found.tolist() == whole[1].tolist()
