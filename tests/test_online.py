"""The online loop: rules held against plain versions, and every fused pair against the generic loop."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest

from chaffinch import Tagger
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob, knobs
from chaffinch.learners.examples import SentenceExamples
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.learner import FUSED, native
from chaffinch.learners.online import Arow, MarginPerceptron, Mira, PassiveAggressive, Perceptron
from chaffinch.learners.problem import Problem, example_order
from chaffinch.recipes.incremental_search import BeamTagger, EasiestFirstTagger, Greedy
from chaffinch.recipes.perceptron import RULES, MiraTagger
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Chain

LEARNERS = {
    "perceptron": Perceptron(epochs=3, seed=4),
    "last weights": Perceptron(epochs=3, seed=4, average=False),
    "perceptron with margin": MarginPerceptron(epochs=3, seed=4, margin=4.0),
    "pa": PassiveAggressive(epochs=3, seed=4, C=0.3),
    "mira": Mira(epochs=3, seed=4, C=0.3),
    "3-best mira": Mira(epochs=3, seed=4, C=0.3, k=3),
    "arow": Arow(epochs=3, seed=4, r=0.7),
}


def chain_problem(seed=0, masks=False, F=9, Y=3, N=12):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, N)
    T = int(lengths.sum())
    sizes = rng.integers(0, 4, T)
    y = rng.integers(0, Y, T).astype(np.int32)
    transitions = None
    if masks:
        transitions = np.ones((Y, Y), bool)
        transitions[0, 1] = False
        y[:] = rng.integers(1, Y, T)
    examples = SentenceExamples(
        np.cumsum([0, *lengths]).astype(np.int64),
        np.cumsum([0, *sizes]).astype(np.int64),
        np.concatenate([rng.choice(F, n, replace=False) for n in sizes]).astype(np.int32),
        y,
    )
    return Problem(Chain(Y, transitions), Linear(Layout.chain(F, Y)), examples)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("masks", [False, True])
def test_fused_epochs_equal_the_generic_loop(name, masks):
    problem, learner = chain_problem(masks=masks), LEARNERS[name]
    assert (Chain, Linear, type(learner)) in FUSED
    fused, generic = learner.passes(problem), learner.generic(problem)
    for ours, plain in zip(fused, generic, strict=True):
        assert ours.scores == plain.scores
        np.testing.assert_allclose(ours.model().w, plain.model().w, atol=2e-5)
    assert plain.scores["wrong"] > 0 or plain.model().w.any()


def sparse_features(x, y):
    """f(x, y) as a dictionary."""
    f = defaultdict(float)
    for t, label in enumerate(y):
        for i in x.ids[x.ptr[t] : x.ptr[t + 1]].tolist():
            f["unary", i, label] += 1
        if t:
            f["pair", y[t - 1], label] += 1
    f["start", y[0]] += 1
    f["end", y[-1]] += 1
    return f


def test_arow_equals_its_definition_on_single_weights():
    problem, r = chain_problem(3), 0.7
    chain, layout = problem.structure, problem.scorer.layout
    learner = Arow(epochs=2, seed=1, r=r)
    last = learner.fit(problem)
    w, sigma = defaultdict(float), defaultdict(lambda: 1.0)

    def as_linear():
        scorer = Linear(layout)
        for key, value in w.items():
            scorer.block(key[0])[key[1:] if len(key) == 3 else (0, key[1])] = value
        return scorer

    for number in (1, 2):
        for n in example_order(len(problem.examples), 1, number).tolist():
            x, y = problem.examples[n]
            scorer = as_linear()
            y_hat = chain.argmax(scorer.potentials(x) + chain.cost(scorer.shape(x), y))
            if np.array_equal(y, y_hat):
                continue
            d = sparse_features(x, y.tolist())
            for key, value in sparse_features(x, y_hat.tolist()).items():
                d[key] -= value
            missing = np.sum(y != y_hat) - sum(w[key] * value for key, value in d.items())
            beta = 1 / (sum(sigma[key] * value**2 for key, value in d.items()) + r)
            for key, value in d.items():
                step = sigma[key] * value
                w[key] += beta * max(0.0, missing) * step
                if missing > 0:
                    sigma[key] -= beta * step**2
    np.testing.assert_allclose(last.w, as_linear().w, atol=1e-4)


class HalfSteps(Perceptron):
    """A rule of one's own that inherits from a native one."""

    def move(self, scorer, x, mistakes, weight=1.0):
        scorer.update(x, mistakes[0].delta, 0.5 * weight)


class Reversed(Perceptron):
    """A loop of one's own."""

    def generic(self, problem):
        return self.loop(problem, lambda epoch: np.arange(len(problem.examples))[::-1])


@pytest.mark.parametrize("own", [HalfSteps, Reversed])
def test_a_subclass_with_updates_of_its_own_does_not_get_the_native_epoch_of_its_base(own):
    problem, learner = chain_problem(), own(epochs=2, seed=4)
    w = learner.fit(problem).w
    *_, last = learner.generic(problem)
    np.testing.assert_array_equal(w, last.model().w)
    assert not np.allclose(w, Perceptron(epochs=2, seed=4).fit(problem).w)


class Longer(FrankWolfe):
    """A learner of one's own that inherits from a native one that is no online rule."""

    def record(self, number, objective, scorer):
        return super().record(number, objective, lambda: scorer().with_weights(2 * scorer().w))


@dataclass(frozen=True, kw_only=True)
class Cheaper(FrankWolfe):
    """Another default of a knob, which the core knows."""

    C: float = knob(0.1, "weight of an example's hinge loss")


def test_a_learner_that_changes_more_than_knobs_does_not_get_the_native_epoch_of_its_base():
    problem = chain_problem()
    assert native(FrankWolfe(), problem) is not None
    assert native(Longer(), problem) is None
    assert native(Cheaper(), problem) is native(FrankWolfe(), problem)


@pytest.mark.parametrize("name", RULES)
def test_every_setting_of_a_rule_is_a_knob_of_the_recipes_that_offer_it(name):
    own = {k.name for k in knobs(RULES[name])} - {"seed"}
    assert own <= {k.name for k in knobs(MiraTagger)}
    for config in (Greedy, EasiestFirstTagger, BeamTagger):
        assert own - {"k"} <= {k.name for k in knobs(config)}  # these searches consider one answer


def test_a_rule_without_a_native_epoch_trains_the_searches_and_is_refused_by_a_cache(monkeypatch, tmp_path):
    monkeypatch.setitem(RULES, "perceptron", HalfSteps)
    X, y = [["a", "b"], ["b", "a"], ["a"]], [["X", "Y"], ["Y", "X"], ["X"]]
    for config in (
        Greedy(rule="perceptron", epochs=2),
        EasiestFirstTagger(rule="perceptron", epochs=2),
        BeamTagger(rule="perceptron", epochs=2),
    ):
        assert Tagger(config, folds=0).fit(X, y).predict(X) == y
    monkeypatch.setitem(RULES, "pa", HalfSteps)
    with pytest.raises(ConfigError, match="HalfSteps has no native epoch, which training from a cache needs"):
        Tagger(MiraTagger(rule="pa"), folds=0).fit(X, y, cache=tmp_path / "cache")


def test_a_passive_aggressive_step_reaches_the_margin_and_no_further():
    problem = chain_problem(5, N=1)
    x, y = problem.examples[0]
    learner = PassiveAggressive(epochs=1, C=1e9, average=False)
    scorer = next(learner.passes(problem)).model()
    chain, shape = problem.structure, scorer.shape(x)
    y_hat = chain.argmax(problem.scorer.potentials(x))
    delta = chain.parts(shape, y) - chain.parts(shape, y_hat)
    assert scorer.potentials(x).dot(delta) == pytest.approx(np.sum(y != y_hat), abs=1e-4)


def test_k_best_mira_puts_every_answer_it_saw_below_gold_by_its_cost():
    problem = chain_problem(6, N=1)
    x, y = problem.examples[0]
    learner = Mira(epochs=1, C=1e9, k=4, average=False)
    scorer = next(learner.passes(problem)).model()
    chain, shape = problem.structure, scorer.shape(x)
    augmented = problem.scorer.potentials(x) + chain.cost(shape, y)
    for _, y_hat in chain.kbest(augmented, 4):
        delta = chain.parts(shape, y) - chain.parts(shape, y_hat)
        assert scorer.potentials(x).dot(delta) >= np.sum(y != y_hat) - 1e-2


def test_learning_leaves_the_problem_as_it_was_and_depends_on_the_seed_alone():
    problem = chain_problem(7)
    first, second = (Perceptron(epochs=2, seed=9).fit(problem) for _ in range(2))
    assert np.array_equal(first.w, second.w)
    assert not problem.scorer.w.any()
    assert not np.array_equal(first.w, Perceptron(epochs=2, seed=8).fit(problem).w)


def test_a_listener_stops_learning():
    seen = []
    Perceptron(epochs=9).fit(chain_problem(), lambda p: seen.append(p.done) or p.done < 2)
    assert seen == [1, 2]


def test_wrong_settings_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"Mira\.k must be >= 1, got 0"):
        Mira(k=0).fit(chain_problem())


def test_separable_data_is_learnt_without_a_mistake():
    ids = np.random.default_rng(0).integers(0, 6, 30).astype(np.int32)
    examples = SentenceExamples(np.arange(0, 31, 5), np.arange(31), ids, ids % 3)
    problem = Problem(Chain(3), Linear(Layout.chain(6, 3)), examples)
    assert list(Perceptron(epochs=20).passes(problem))[-1].scores["wrong"] == 0
