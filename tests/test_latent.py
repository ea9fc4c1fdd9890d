"""Hidden parts of the answer: the perceptron and the likelihood that sum or search over them."""

import itertools

import numpy as np
import pytest
from examples import hidden_kinds

import brute
from chaffinch.errors import ConfigError, DataError
from chaffinch.learners.latent import LatentLikelihood, Refined, observed_likelihood
from chaffinch.learners.problem import Problem
from chaffinch.scorers import Example, Layout, Linear
from chaffinch.structures import Chain, Choice, Parts


def test_hidden_kinds_of_a_label_remember_what_the_labels_cannot():
    found = hidden_kinds.main()
    assert found.pop("perceptron, nothing hidden") < 0.9
    assert len(found) == 2
    assert min(found.values()) > 0.97


@pytest.mark.parametrize("structure", [Chain(4), Choice(4)], ids=["chain", "choice"])
def test_the_likelihood_of_what_is_seen_sums_over_what_is_hidden(structure):
    chance = np.random.default_rng(0)
    refined = Refined(structure, np.array([0, 1, 1, 0]))
    shape = {"unary": (3, 4), "pair": (4, 4)} if isinstance(structure, Chain) else {"choice": (4,)}
    potentials = Parts(**{name: chance.normal(size=size) for name, size in shape.items()})
    y = np.array([1, 0, 1]) if isinstance(structure, Chain) else 1
    every = [(brute.score(structure, potentials, h), h) for h in brute.labelings(structure, potentials)]
    agreeing = [s for s, h in every if np.array_equal(refined.shown(h), y)]
    value, gradient = observed_likelihood(refined, potentials, y)
    expected = np.logaddexp.reduce(agreeing) - np.logaddexp.reduce([s for s, _ in every])
    assert value == pytest.approx(expected, abs=1e-5)
    for name, block in potentials.items():
        for at in itertools.islice(np.ndindex(block.shape), 6):
            step = np.zeros_like(block)
            step[at] = 1e-4
            up, _ = observed_likelihood(refined, potentials + Parts(**{name: step}), y)
            down, _ = observed_likelihood(refined, potentials - Parts(**{name: step}), y)
            assert gradient[name][at] == pytest.approx((up - down) / 2e-4, abs=1e-3)


def test_what_cannot_be_shown_or_summed_is_refused():
    refined = Refined(Chain(2), np.array([0, 0]))
    with pytest.raises(DataError, match="no hidden label shows 1"):
        refined.evidence({"unary": (1, 2)}, np.array([1]))

    class Matching:
        def parts(self, shape, y): ...
        def cost(self, shape, y): ...
        def argmax(self, potentials): ...

    x = Example(np.array([0, 1]), np.zeros(1, np.int32))
    problem = Problem(Refined(Matching(), np.array([0])), Linear(Layout.choice(1, 1)), [(x, 0)])
    with pytest.raises(ConfigError, match=r"needs marginals; Matching offers argmax\. Use LatentPerceptron"):
        LatentLikelihood().fit(problem)
