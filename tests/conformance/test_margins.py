"""Every structure with a search trains under every learner of margins that needs no more."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import brute
from chaffinch.learners.cutting_plane import NSlack, OneSlack
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.problem import Problem
from chaffinch.learners.subgradient import Subgradient
from chaffinch.structures import Matching, MaxOracle, Parts
from chaffinch.structures.fertile import FertileMatching
from chaffinch.structures.segments import Segments
from conformance.test_structures import STRUCTURES
from test_matching import fertile, matchings
from test_segments import every as segmentations

LEARNERS = (
    FrankWolfe(C=10.0, epochs=60, tolerance=0.02),
    Subgradient(C=10.0, epochs=150, tolerance=0.02),
    NSlack(C=10.0, epochs=40, tolerance=0.02),
    OneSlack(C=10.0, epochs=60, tolerance=0.02),
)


@st.composite
def enumerated(draw, drawn):
    """A structure, the shape of an example, and up to fifty of its answers, best first by some potentials."""
    structure, potentials = draw(drawn(values=brute.eighths))
    return structure, potentials.shape, [y for _, y in brute.ranked(structure, potentials)][:50]


@st.composite
def linked(draw, structure, answers, longest):
    """Two sentences to be matched."""
    shape = structure.shape(draw(st.integers(1, longest)), draw(st.integers(1, longest)))
    return structure, shape, draw(st.permutations(answers(shape)))[:50]


@st.composite
def segmented(draw):
    """A sentence to be cut into labelled segments, those of a label perhaps short."""
    Y, L, T = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    structure = Segments(Y, L, draw(st.none() | st.tuples(*[st.integers(1, L)] * Y)))
    return structure, structure.shape(T), draw(st.permutations(segmentations(structure, T)))[:50]


CASES = {name: enumerated(drawn) for name, drawn in STRUCTURES.items()} | {
    "matching": linked(Matching(), matchings, 3),
    "fertile matching": linked(FertileMatching(), fertile, 2),
    "segments": segmented(),
}


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
@pytest.mark.parametrize("cases", CASES.values(), ids=CASES)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_the_answer_that_was_asked_for_is_the_best_one_afterwards(cases, learner, data):
    structure, shape, every = data.draw(cases)
    assert isinstance(structure, MaxOracle)
    assume(len(every) > 1)
    y = data.draw(st.sampled_from(every))
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
