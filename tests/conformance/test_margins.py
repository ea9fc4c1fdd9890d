"""Every structure with a search trains under every learner of margins that needs no more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from chaffinch.learners.cutting_plane import NSlack, OneSlack
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.problem import Problem
from chaffinch.learners.subgradient import Subgradient
from chaffinch.structures import MaxOracle, Parts
from conformance.test_structures import STRUCTURES

LEARNERS = (
    FrankWolfe(C=10.0, epochs=60, tolerance=0.02),
    Subgradient(C=10.0, epochs=150, tolerance=0.02),
    NSlack(C=10.0, epochs=40, tolerance=0.02),
    OneSlack(C=10.0, epochs=60, tolerance=0.02),
)


class PartScorer:
    """A weight for each part: the smallest scorer there is."""

    def __init__(self, shape):
        self.parts = Parts.zeros(shape)

    def shape(self, _):
        return self.parts.shape

    def potentials(self, _):
        return self.parts

    def update(self, _, delta, step=1.0):
        self.parts = self.parts + delta * step

    def sq_norm(self, _, delta):
        return delta.sq_norm()


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("drawn", STRUCTURES.values(), ids=STRUCTURES)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_the_answer_that_was_asked_for_is_the_best_one_afterwards(drawn, learner, data):
    structure, potentials = data.draw(drawn(values=brute.eighths))
    if not isinstance(structure, MaxOracle):
        pytest.skip("no search")
    every = [y for _, y in brute.ranked(structure, potentials)][:50]
    if len(every) < 2:
        return
    y = every[data.draw(st.integers(0, len(every) - 1))]
    shape = potentials.shape
    problem = Problem(structure, PartScorer(shape), [(None, y)])
    scorer = learner.fit(problem)
    found = structure.argmax(scorer.potentials(None))
    gold, cost = structure.parts(shape, y), structure.cost(shape, y)
    margins = []
    for z in every:
        parts = structure.parts(shape, z)
        margins.append(scorer.parts.dot(gold - parts) - cost.dot(parts))
    assert min(margins) > -0.3
    assert cost.dot(structure.parts(shape, found)) == 0 or np.array_equal(found, y)
