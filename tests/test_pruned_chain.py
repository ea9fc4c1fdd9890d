"""Chains of many labels: pruned lattices against the chain that tries all labels."""

from itertools import pairwise

import numpy as np
import pytest

import chaffinch
from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.model.potentials import Pruned
from chaffinch.recipes.crf import Crf

EVERYTHING = 1e-30


def chain(seed: int, Y: int = 5, F: int = 9):
    """Random rows, weights of some (feature, label) pairs, and the same weights with their zeros."""
    rng = np.random.default_rng(seed)
    sentences = np.array([0, 4, 4, 5, 11])
    ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 4, 11))])
    ids = rng.integers(0, F, ptr[-1]).astype(np.int32)
    dense = np.where(rng.random((F, Y)) < 0.6, rng.normal(size=(F, Y)), 0).astype(np.float32)
    start, end = (rng.normal(size=Y).astype(np.float32) for _ in range(2))
    pair = rng.normal(size=(Y, Y)).astype(np.float32)
    features, labels = np.nonzero(dense)
    rows = np.concatenate([[0], np.cumsum(np.bincount(features, minlength=F))])
    sparse = (rows, labels.astype(np.uint16), dense[features, labels])
    return (sentences, ptr, ids), dense, sparse, (start, end, pair)


@pytest.mark.parametrize("seed", range(4))
def test_where_nothing_is_pruned_all_is_as_in_the_whole_chain(seed):
    x, dense, sparse, ends = chain(seed)
    whole = _core.LinearChain(dense, *ends, None, None, None)
    pruned = _core.PrunedChain(*sparse, *ends, EVERYTHING, 99)
    for found, expected in zip(pruned.kbest(*x, 3), whole.kbest(*x, 3), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    for found, expected in zip(pruned.marginals(*x), whole.marginals(*x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert pruned.states(*x) == 11 * 5


@pytest.mark.parametrize("seed", range(4))
def test_pruned_labels_are_those_that_a_token_itself_makes_unlikely(seed):
    (sentences, ptr, ids), dense, sparse, ends = chain(seed)
    threshold = 0.15
    pruned = _core.PrunedChain(*sparse, *ends, threshold, 99)
    unary = np.array([dense[ids[a:b]].sum(axis=0) for a, b in pairwise(ptr)])
    own = np.exp(unary - np.logaddexp.reduce(unary, axis=1, keepdims=True))
    likely = own >= np.minimum(threshold, own.max(axis=1, keepdims=True))
    p = pruned.marginals(sentences, ptr, ids)[0].reshape(-1, 5)
    assert ((p > 0) == likely).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    # What is left is the whole chain with the other labels forbidden.
    for n in range(len(sentences) - 1):
        at = slice(sentences[n], sentences[n + 1])
        if at.start == at.stop:
            continue
        banned = np.where(likely[at], unary[at], -np.inf).astype(np.float32)
        one = np.arange(len(banned) + 1)
        rest = _core.LinearChain(banned, *ends, None, None, None)
        expected, _ = rest.marginals(np.array([0, len(banned)]), one, one[:-1].astype(np.int32))
        np.testing.assert_allclose(p[at].ravel(), expected, atol=1e-5)


def test_never_more_states_than_asked_for():
    x, _, sparse, ends = chain(1)
    assert _core.PrunedChain(*sparse, *ends, EVERYTHING, 2).states(*x) == 22


def test_where_the_states_allow_no_labelling_more_are_tried():
    x, _, sparse, (start, end, pair) = chain(1)
    pair = np.full_like(pair, -np.inf)
    pair[0, 0] = 0
    pruned = _core.PrunedChain(*sparse, start, end, pair, 0.3, 2)
    labels, _, found = pruned.kbest(*x, 1)
    assert found.tolist() == [1, 0, 1, 1]
    assert (labels[:4] == 0).all()
    assert (labels[5:] == 0).all()


def test_training_where_nothing_is_pruned_is_that_of_the_whole_chain():
    rng = np.random.default_rng(3)
    sentences = np.arange(0, 61, 3)
    ptr = np.arange(0, 121, 2)
    ids, y = rng.integers(0, 8, 120).astype(np.int32), rng.integers(0, 4, 60).astype(np.int32)
    problem = _core.CrfProblem(sentences, ptr, ids, y, 8, 4)
    seen = np.zeros((8, 4), bool)
    seen[ids, np.repeat(y, 2)] = True
    trainable = np.zeros(problem.size, np.uint8).copy()
    trainable[: 14 * problem.stride].reshape(-1, problem.stride)[:, :4] = 1
    trainable[: 8 * problem.stride].reshape(8, -1)[:, :4] = seen
    masked = _core.CrfProblem(sentences, ptr, ids, y, 8, 4, trainable=trainable)
    w = np.zeros(problem.size, np.float32)
    sgd = _core.CrfSgd(masked, 0.5, 0.2, 3, 7, block=1)
    pruned = _core.PrunedSgd(problem, 0.5, 0.2, 3, EVERYTHING, 99, 7)
    for _ in range(3):
        assert pruned.run() == pytest.approx(sgd.run(w), rel=1e-4)
    _, labels, unary, chain_weights = pruned.weights()
    features = np.repeat(np.arange(8), np.diff(pruned.weights()[0]))
    rows = w.reshape(-1, problem.stride)[:, :4]
    np.testing.assert_allclose(unary, rows[features, labels], atol=1e-5)
    np.testing.assert_allclose(chain_weights, rows[8:14].ravel(), atol=1e-5)
    pruned.widen()
    assert len(pruned.weights()[1]) == 8 * 4
    np.testing.assert_allclose(pruned.weights()[2].reshape(8, 4)[seen], unary)


X = [[f"w{(7 * n + t) % 30}" for t in range(1 + n % 5)] for n in range(200)]
y = [[f"L{int(w[1:]) % 15}{'a' if t % 2 else 'b'}" for t, w in enumerate(s)] for s in X]


@pytest.mark.parametrize("knobs", [{}, {"states": "observed"}, {"bits": 8}, {"margin": 2.0}], ids=str)
def test_a_pruned_model_learns_the_training_data_and_is_the_same_after_saving(tmp_path, knobs):
    model = Tagger(Crf(prune=0.01, c2=0.05, passes=10, **knobs), features=["w[0]", "position"], seed=1).fit(
        X, y
    )
    assert isinstance(model.model_.source, Pruned)
    assert model.score(X, y) == 1.0
    model.save(tmp_path / "m.chaff")
    again = chaffinch.load(tmp_path / "m.chaff")
    assert again.predict(X) == model.predict(X)
    assert again.predict_kbest(X[:3], 2) == model.predict_kbest(X[:3], 2)
    np.testing.assert_array_equal(again.predict_marginals(X)[0], model.predict_marginals(X)[0])
    table = chaffinch.text.table.TokenTable.from_lists({"w": X})
    assert 1 <= model.model_.states(table, 1) <= 16 < len(model.classes_)


def test_the_distribution_of_a_pruned_model_is_that_of_its_marginals_and_readings():
    model = Tagger(Crf(prune=0.01, c2=1.0, passes=3), features=["w[-1..1]"], folds=0, seed=1).fit(X, y)
    found = model.distributions(X[:9])
    for d, p, readings in zip(
        found, model.predict_marginals(X[:9]), model.predict_kbest(X[:9], 3), strict=True
    ):
        np.testing.assert_allclose(d.marginals, p, atol=1e-5)
        assert [labels for _, labels in d.kbest(len(readings))] == [labels for _, labels in readings]
        best = d.best()
        assert d.probability(best) == pytest.approx(np.exp(readings[0][0] - d.log_z), rel=1e-4)
        assert d.probability(best) <= d.span_probability(0, 1, best[0]) + 1e-9 <= 1 + 2e-9
        assert d.entropy >= -np.log(d.probability(best)) * d.probability(best)
        assert all(d.probability(drawn) > 0 for drawn in d.sample(5, seed=1))


def test_many_labels_are_pruned_unless_somebody_says_no():
    words = [[f"w{n}"] for n in range(120)]
    labels = [[f"L{n}"] for n in range(120)]
    assert isinstance(Tagger(Crf(passes=1)).fit(words, labels).model_.source, Pruned)
    assert not isinstance(Tagger(Crf(passes=1, prune=0.0)).fit(words, labels).model_.source, Pruned)
    assert not isinstance(Tagger(Crf(passes=1)).fit(X, y).model_.source, Pruned)
    with pytest.raises(ConfigError, match=r"Crf\.prune needs"):
        Tagger(Crf(prune=0.01, order=2)).fit(X, y)


def test_an_interrupted_run_goes_on_to_the_same_weights(tmp_path):
    config = Crf(prune=0.01, checkpoint=str(tmp_path / "run.chaff"))
    whole = Tagger(config, seed=1).fit(X, y)
    seen: list[int] = []

    def stop(progress) -> bool:
        seen.append(progress.done)
        if progress.done == 2:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        Tagger(config, seed=1).fit(X, y, on_epoch=stop)
    rest = Tagger(config, seed=1).fit(X, y)
    assert [p.done for p in rest.history_] == [3, 4, 5]
    np.testing.assert_array_equal(rest.model_.weights.unary.values, whole.model_.weights.unary.values)
