"""Structures that users bring: what the checker says of faulty ones, and that sound ones train."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
from chaffinch.errors import ConfigError, DataError
from chaffinch.learners.cutting_plane import NSlack, OneSlack
from chaffinch.learners.exponentiated import ExponentiatedGradient
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.maximum_likelihood import MaximumLikelihood
from chaffinch.learners.online import Mira, PassiveAggressive, Perceptron
from chaffinch.learners.problem import Problem
from chaffinch.learners.subgradient import Subgradient
from chaffinch.scorers import FeatureMap, FeatureScorer, NamedFeatures, PartFeatures, Rows
from chaffinch.structures import Chain, Choice, Parts
from chaffinch.testing import check_structure

SHAPES = [{"item": (3,), "count": (4,)}]


class Some:
    """Any subset of n items, scored by its items and by how many there are: parts item [n], count [n + 1]."""

    def parts(self, shape, y):
        item, count = (np.zeros(shape[name]) for name in ("item", "count"))
        item[list(y)] = 1
        count[len(y)] = 1
        return Parts(item=item, count=count)

    def cost(self, shape, y):
        item, count = np.ones(shape["item"]), np.zeros(shape["count"])
        item[list(y)] = -1
        count[:] = len(y)
        return Parts(item=item, count=count)

    def _every(self, potentials):
        shape = {name: block.shape for name, block in potentials.items()}
        return sorted(
            ((potentials.dot(self.parts(shape, y)), y) for y in subsets(shape)), key=lambda f: (-f[0], f[1])
        )

    def argmax(self, potentials):
        return self._every(potentials)[0][1]

    def kbest(self, potentials, k):
        return self._every(potentials)[:k]

    def logsum(self, potentials):
        return brute_sum(self, potentials)


def brute_sum(structure, potentials):
    every = structure._every(potentials)
    log_z = np.logaddexp.reduce([s for s, _ in every])
    expected = Parts.zeros(potentials.shape)
    for s, y in every:
        expected = expected + structure.parts(potentials.shape, y) * float(np.exp(s - log_z))
    return float(log_z), expected


def subsets(shape):
    (n,) = shape["item"]
    return [y for size in range(n + 1) for y in itertools.combinations(range(n), size)]


def symmetric_difference(gold, y):
    return len(set(gold) ^ set(y))


def faults(structure):
    return check_structure(structure, subsets, SHAPES, loss=symmetric_difference)


def test_a_sound_structure_has_no_faults():
    assert faults(Some()) == []


def test_our_own_structures_have_no_faults():
    labels = list(itertools.product(range(2), repeat=3))
    shape = {"unary": (3, 2), "pair": (2, 2), "start": (2,), "end": (2,)}
    assert check_structure(Chain(2), lambda _: [np.array(y, np.int32) for y in labels], [shape]) == []
    assert (
        check_structure(Choice(), lambda shape: range(shape["choice"][0]), [{"choice": (n,)} for n in (1, 4)])
        == []
    )


def broken(**methods):
    return type("Broken", (Some,), methods)()


def changing(self, potentials):
    potentials["item"][0] += 1
    return Some().argmax(potentials)


BROKEN = {
    "argmax: found () with the score": broken(argmax=lambda self, p: ()),
    "argmax: found (5,), which is not among the answers": broken(argmax=lambda self, p: (5,)),
    "argmax: changed the potentials that it was given": broken(argmax=changing),
    "argmax: raised ZeroDivisionError": broken(argmax=lambda self, p: 1 // 0),
    "parts: of () are a int, expected Parts": broken(parts=lambda self, shape, y: 3),
    "have the block 'item' of shape (1,), expected (3,)": broken(
        parts=lambda self, shape, y: Parts(item=np.zeros(1))
    ),
    "have a block 'pair', which the shape does not have": broken(
        parts=lambda self, shape, y: Parts(pair=np.zeros(3))
    ),
    "have the same, so no score can separate them": broken(
        parts=lambda self, shape, y: Parts(count=Some().parts(shape, y)["count"])
    ),
    "the loss is": broken(cost=lambda self, shape, y: Parts(item=Some().cost(shape, y)["item"] * 0.5)),
    "cost: of gold (0,) itself is": broken(cost=lambda self, shape, y: Parts(item=np.ones(3))),
    "kbest: an answer came twice": broken(kbest=lambda self, p, k: (Some().kbest(p, 1) * k)[: min(k, 8)]),
    "kbest: expected 2 answers for k = 2, found 1": broken(kbest=lambda self, p, k: Some().kbest(p, 1)),
    "kbest: gives": broken(kbest=lambda self, p, k: [(s + 1, y) for s, y in Some().kbest(p, k)]),
    "kbest: place": broken(kbest=lambda self, p, k: (Some().kbest(p, k + 1)[1:] + Some().kbest(p, 1))[:k]),
    "logsum: log Z is": broken(logsum=lambda self, p: (0.0, Some().logsum(p)[1])),
    "logsum: the marginal of part item[0] is": broken(
        logsum=lambda self, p: (Some().logsum(p)[0], Some().logsum(p)[1] * 0.5)
    ),
}


@pytest.mark.parametrize("sentence", BROKEN)
def test_the_checker_says_what_is_wrong(sentence):
    found = faults(BROKEN[sentence])
    assert any(sentence in fault for fault in found), found


def test_a_structure_without_methods_is_told_which_it_needs():
    assert check_structure(object(), subsets, SHAPES) == [
        "object lacks parts, cost, argmax: a structure needs parts, cost and argmax"
    ]


def test_a_shape_without_answers_is_refused():
    with pytest.raises(ConfigError, match="there is no answer of the shape"):
        check_structure(Some(), lambda _: [], SHAPES)


def named(numbers):
    """Large numbers belong to the answer; sizes are free."""
    found = NamedFeatures({"item": (len(numbers),), "count": (len(numbers) + 1,)})
    for i, number in enumerate(numbers):
        found.add("item", i, "number", number)
        found.add("item", i, "one")
    return found


LEARNERS = [
    Perceptron(epochs=30),
    PassiveAggressive(epochs=30),
    Mira(epochs=30, C=1.0),
    Mira(epochs=30, C=1.0, k=3),
    MaximumLikelihood(l2=0.01),
    FrankWolfe(C=10.0, epochs=30),
    Subgradient(C=10.0, epochs=60),
    NSlack(C=10.0, epochs=30),
    ExponentiatedGradient(C=10.0, epochs=60),
    OneSlack(C=10.0, epochs=60),
]


@pytest.mark.parametrize(
    "learner", LEARNERS, ids=lambda learner: type(learner).__name__ + str(getattr(learner, "k", ""))
)
def test_a_structure_of_ones_own_trains_under_every_learner_whose_oracle_it_has(learner):
    rng = np.random.default_rng(1)
    inputs = [rng.uniform(0, 1, n).tolist() for n in (2, 3) * 6]
    gold = [tuple(i for i, number in enumerate(x) if number > 0.6) for x in inputs]
    features = FeatureMap(named)
    examples = list(zip(features.fit(inputs), gold, strict=True))
    problem = Problem(Some(), features.scorer(), examples)
    scorer = learner.fit(problem)
    right = [Some().argmax(scorer.potentials(x)) == y for x, y in problem.examples]
    assert np.mean(right) >= 0.8
    assert not problem.scorer.w.any()


def test_names_met_too_rarely_or_never_are_left_out():
    features = FeatureMap(_one, min_count=2)
    features.fit(["a", "b", "a"])
    assert features.names == ["a"]
    assert features("b").rows["choice"].ids.tolist() == []
    with pytest.raises(ConfigError, match="call fit"):
        _ = FeatureMap(_one).names


def _one(name):
    found = NamedFeatures({"choice": (2,)})
    found.add("choice", 1, name)
    return found


def test_a_part_that_is_not_there_is_refused():
    found = NamedFeatures({"choice": (2,)})
    with pytest.raises(DataError, match=r"there is no part 2 in the block 'choice' of shape \(2,\)"):
        found.add("choice", 2, "a")
    with pytest.raises(DataError, match="there is no block 'item'; there are choice"):
        found.add("item", 0, "a")


@st.composite
def featured(draw):
    """Two blocks that share features, weights, and parts to move by."""
    F = draw(st.integers(1, 4))
    shape = {"edge": (2, 2), "null": (2,)}
    rows = {}
    for name, size in shape.items():
        each = [
            draw(st.lists(st.tuples(st.integers(0, F - 1), st.sampled_from(brute.eighths)), max_size=3))
            for _ in range(np.prod(size))
        ]
        flat = [pair for row in each for pair in row]
        rows[name] = Rows(
            np.cumsum([0, *map(len, each)]).astype(np.int64),
            np.array([i for i, _ in flat], np.int32),
            np.array([v for _, v in flat], np.float32),
        )
    w = draw(brute.arrays((F,), brute.eighths, np.float64))
    delta = Parts(
        **{name: draw(brute.arrays(size, brute.eighths, np.float64)) for name, size in shape.items()}
    )
    return PartFeatures(shape, rows), FeatureScorer(F, w), delta


def moved(x, delta):
    """sum over parts p of delta(p) phi(p), written out."""
    total = defaultdict(float)
    for name, rows in x.rows.items():
        for p, d in enumerate(delta[name].reshape(-1).tolist()):
            for k in range(rows.ptr[p], rows.ptr[p + 1]):
                total[int(rows.ids[k])] += d * float(rows.values[k])
    return total


@brute.quick
@given(drawn=featured())
def test_scores_of_parts_are_inner_products_with_their_features(drawn):
    x, scorer, _ = drawn
    potentials = scorer.potentials(x)
    for name, size in x.shape.items():
        for at in np.ndindex(*size):
            one = Parts.zeros(x.shape)
            one[name][at] = 1
            wanted = sum(scorer.w[i] * v for i, v in moved(x, one).items())
            assert potentials[name][at] == pytest.approx(wanted)


@brute.quick
@given(drawn=featured(), step=st.sampled_from(brute.eighths))
def test_an_update_moves_the_weights_by_the_features_and_sq_norm_says_how_far(drawn, step):
    x, scorer, delta = drawn
    before, change = scorer.w.copy(), moved(x, delta)
    assert scorer.sq_norm(x, delta) == pytest.approx(sum(v * v for v in change.values()))
    scorer.update(x, delta, step)
    for i in range(scorer.F):
        assert scorer.w[i] == pytest.approx(before[i] + step * change[i])
