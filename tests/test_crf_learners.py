"""The CRF's learners: all find the optimum of one objective, which SciPy and python-crfsuite find as well."""

import itertools
from dataclasses import replace

import numpy as np
import pycrfsuite
import pytest
from scipy.optimize import minimize

from chaffinch import _core, samples
from chaffinch.learners.costs import LabelCosts
from chaffinch.learners.examples import CrfExamples
from chaffinch.learners.likelihood import Lbfgs, Sdca, Sgd
from chaffinch.learners.native_likelihood import CALIBRATION_PASSES, calibrated_rate
from chaffinch.learners.problem import Problem
from chaffinch.recipes.crf import Crf, train
from chaffinch.recipes.recipe import TaggingTask
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Chain
from chaffinch.text.table import TokenTable
from test_crf_objective import problem as native_problem
from test_crf_objective import used

Y, F = 4, 40
SIZES = {"Y": Y, "F": F, "lengths": [5, 3, 8, 1, 6] * 8}


def as_problem(sentences, ptr, ids, y, F, Y, order=1, *, weight=None, cost=None, **more):
    """The same as learners are given it."""
    more["observations"] = tuple(more.get("observations", ()))
    layout = Layout.packed_chain(F, Y, order, sum(more["observations"]))
    examples = CrfExamples(sentences, ptr, ids, y, **more)
    costs = None if cost is None else LabelCosts(cost)
    return Problem(Chain(Y, order=order), Linear(layout), examples, weight, costs, seed=1)


def problem(seed, Y=3, F=7, order=1, **kind):
    """A problem as the core's objective reads it, and as learners are given it."""
    p, (sentences, ptr, ids, y, more) = native_problem(seed, Y, F, order, **kind)
    return p, as_problem(sentences, ptr, ids, y, F, Y, order, **more)


def value(p, w, c2: float) -> float:
    return float(_core.CrfObjective64(p, c2, 1)(w.astype(np.float64), np.empty(p.size)))


def run(learner, q, threads: int = 1):
    history = list(learner.passes(q, threads))
    return history[-1].model().w, history


def scipy_optimum(p, c2: float) -> tuple[float, np.ndarray]:
    f, gradient = _core.CrfObjective64(p, c2, 1), np.empty(p.size)

    def both(w):
        v = f(w, gradient)
        return v, gradient.copy()

    found = minimize(
        both, np.zeros(p.size), jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14}
    )
    return float(found.fun), found.x


LEARNERS = {
    "sdca": Sdca(c2=0.5, epochs=200, tolerance=1e-7, still=0.0),
    "sgd": Sgd(c2=0.5, epochs=400, rate=0.1),
    "lbfgs": Lbfgs(c2=0.5, tolerance=1e-9),
    "sgd, then lbfgs": Lbfgs(c2=0.5, tolerance=1e-9, start=Sgd(epochs=5, rate=0.1)),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", [{}, {"soft": True}, {"weighted": True, "offset": True}], ids=str)
def test_every_learner_reaches_the_optimum_that_scipy_finds(name, kind):
    p, q = problem(1, **SIZES, **kind)
    best, _ = scipy_optimum(p, 0.5)
    w, _ = run(LEARNERS[name], q)
    assert best * (1 - 1e-6) <= value(p, w, 0.5) <= best * (1.001 if name == "sgd" else 1.00001)


@pytest.mark.parametrize("kind", [{"order": 2}, {"bigrams": True}], ids=str)
@pytest.mark.parametrize("name", ["sgd", "lbfgs"])
def test_richer_chains_have_their_optimum_too(name, kind):
    p, q = problem(2, **SIZES, **kind)
    best, _ = scipy_optimum(p, 0.5)
    w, _ = run(LEARNERS[name], q)
    assert value(p, w, 0.5) <= best * (1.002 if name == "sgd" else 1.00001)


def test_partial_labels_are_learnt_from_by_summing_over_what_is_allowed():
    p, q = problem(3, **SIZES, partial=True)
    w, history = run(Lbfgs(c2=0.5, tolerance=1e-9), q)
    gradient = np.empty(p.size)
    _core.CrfObjective64(p, 0.5, 1)(w.astype(np.float64), gradient)
    assert np.abs(gradient).max() < 0.01
    assert history[-1].scores["objective"] < history[0].scores["objective"]


def test_optimal_weights_are_those_of_scipy():
    p, q = problem(4, **SIZES)
    _, best = scipy_optimum(p, 0.5)
    for name in ("sdca", "lbfgs"):
        w, _ = run(LEARNERS[name], q)
        np.testing.assert_allclose(w, best, atol=2e-3)


def elastic_optimum(p, c1: float, c2: float) -> float:
    """min f(w) + c1 |w|_1 as SciPy finds it, with w = u - v and u, v >= 0."""
    f, gradient = _core.CrfObjective64(p, c2, 1), np.empty(p.size)

    def both(uv):
        u, v = uv[: p.size], uv[p.size :]
        loss = f(u - v, gradient) + c1 * uv.sum()
        return loss, np.concatenate([gradient + c1, c1 - gradient])

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-8}
    start, bounds = np.zeros(2 * p.size), [(0, None)] * (2 * p.size)
    return float(minimize(both, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun)


ELASTIC = [
    ({}, 0.1, 0.01),
    ({}, 1.5, 0.1),
    ({}, 0.5, 0.0),
    ({"order": 2}, 0.3, 0.05),
    ({"bigrams": True}, 0.3, 0.05),
    ({"weighted": True, "offset": True}, 0.3, 0.05),
]


@pytest.mark.parametrize(("kind", "c1", "c2"), ELASTIC, ids=str)
def test_an_elastic_net_reaches_the_optimum_that_scipy_finds(kind, c1, c2):
    p, q = problem(5, **SIZES, **kind)
    w, _ = run(Lbfgs(c1=c1, c2=c2, tolerance=1e-9, steps=2000), q)
    best = elastic_optimum(p, c1, c2)
    found = value(p, w, c2) + c1 * float(np.abs(w).sum(dtype=np.float64))
    assert best * (1 - 1e-5) <= found <= best * (1 + 1e-4)


DUAL_ELASTIC = [
    ({}, 0.1, 0.01),
    ({}, 1.5, 0.1),
    ({}, 0.3, 1.0),
    ({"soft": True}, 0.3, 0.05),
    ({"weighted": True, "offset": True}, 0.3, 0.05),
]


@pytest.mark.parametrize(("kind", "c1", "c2"), DUAL_ELASTIC, ids=str)
def test_dual_ascent_on_an_elastic_net_reaches_the_optimum_that_scipy_finds(kind, c1, c2):
    p, q = problem(5, **SIZES, **kind)
    best = elastic_optimum(p, c1, c2)

    def found(w):
        return value(p, w, c2) + c1 * float(np.abs(w).sum(dtype=np.float64))

    history = list(Sdca(c1=c1, c2=c2, tolerance=1e-6, still=0.0, epochs=400).passes(q, 1))
    w, last = history[-1].model().w, history[-1].scores
    assert best * (1 - 1e-5) <= found(w) <= best * (1 + 2e-5)
    assert last["gap"] < 1e-6
    assert last["objective"] == pytest.approx(
        best, rel=1e-3
    )  # losses are those of each sentence's last visit


@pytest.mark.parametrize(("c1", "c2"), [(0.1, 0.01), (0.3, 1.0)])
def test_the_gap_of_dual_ascent_on_an_elastic_net_bounds_the_distance_to_the_optimum(c1, c2):
    p, q = problem(7, **SIZES)
    best = elastic_optimum(p, c1, c2)
    for met in Sdca(c1=c1, c2=c2, tolerance=1e-4, epochs=200).passes(q, 1):
        w = met.model().w
        above = (value(p, w, c2) + c1 * float(np.abs(w).sum(dtype=np.float64)) - best) / best
        if met.number > 5:
            assert met.scores["gap"] >= above - 1e-4
    assert met.scores["gap"] < 1e-4


@pytest.mark.parametrize(("c1", "c2"), [(0.1, 0.01), (0.3, 1.0)])
def test_the_loop_over_the_protocols_finds_the_same_elastic_net(c1, c2):
    _, q = problem(5, Y=3, F=10, lengths=(4, 2, 5) * 6)
    learner = Sdca(c1=c1, c2=c2, tolerance=1e-5, still=0.0, epochs=300)
    naive = list(learner.generic(q))[-1]
    w, history = run(learner, q)
    np.testing.assert_allclose(w, naive.model().w, atol=0.02)
    assert history[-1].scores["objective"] == pytest.approx(naive.scores["objective"], rel=1e-3)
    assert (w == 0).sum() > 0


def test_an_elastic_net_that_dual_ascent_leaves_far_from_its_optimum_is_finished_by_owl_qn():
    p, q = problem(5, **SIZES)
    w, history = run(Sdca(c1=0.1, c2=0.01, epochs=2, tolerance=1e-6, finish=Lbfgs(tolerance=1e-9)), q)
    assert len(history) > 2
    found = value(p, w, 0.01) + 0.1 * float(np.abs(w).sum(dtype=np.float64))
    assert found <= elastic_optimum(p, 0.1, 0.01) * (1 + 1e-3)


L1_LEARNERS = {
    "owl-qn": lambda c1, c2: Lbfgs(c1=c1, c2=c2, tolerance=1e-10, steps=2000),
    "sdca": lambda c1, c2: Sdca(c1=c1, c2=c2, tolerance=1e-7, still=0.0, epochs=400),
}


@pytest.mark.parametrize("name", L1_LEARNERS)
@pytest.mark.parametrize(("c1", "c2"), [(0.1, 0.01), (1.5, 0.1)])
def test_an_l1_penalty_is_optimal_where_its_subgradient_says_so_and_leaves_weights_zero(c1, c2, name):
    p, q = problem(5, **SIZES)
    w, _ = run(L1_LEARNERS[name](c1, c2), q)
    gradient = np.empty(p.size)
    _core.CrfObjective64(p, c2, 1)(w.astype(np.float64), gradient)
    on = used(p, Y)
    zero, rest = on & (w == 0), on & (w != 0)
    assert np.abs(gradient[zero]).max() <= c1 + 0.02
    assert np.abs(gradient[rest] + c1 * np.sign(w[rest])).max() < 0.02
    assert zero.sum() > (rest.sum() if c1 > 1 else 0)


@pytest.mark.parametrize("name", L1_LEARNERS)
def test_weights_that_are_not_trained_stay_zero_under_an_l1_penalty(name):
    p, (sentences, ptr, ids, y, more) = native_problem(8, **SIZES)
    trainable = np.ones(p.size, np.uint8)
    trainable[: 10 * p.stride] = 0
    q = as_problem(sentences, ptr, ids, y, F, Y, trainable=trainable, **more)
    w, _ = run(L1_LEARNERS[name](0.1, 0.01), q)
    assert not w[trainable == 0].any()
    assert w[trainable == 1].any()


def test_an_elastic_net_is_the_same_for_any_number_of_threads():
    _, q = problem(5, **SIZES)
    for learner in (Lbfgs(c1=0.1, c2=0.01, tolerance=1e-4), Sdca(c1=0.1, c2=0.01)):
        one, two = (run(learner, q, threads)[0] for threads in (1, 2))
        assert one.tobytes() == two.tobytes()


def test_a_penalty_that_no_gradient_exceeds_leaves_every_weight_zero():
    _, q = problem(5, **SIZES)
    w, history = run(Lbfgs(c1=1e4, c2=0.01), q)
    assert not w.any()
    assert (
        len(history) == 1 + 3
    )  # a step that finds nothing to do for each penalty of the path, and one for c1


def test_large_penalties_come_first_and_no_pass_before_the_one_asked_for_offers_a_model():
    _, q = problem(5, **SIZES)
    history = list(Lbfgs(c1=0.1, c2=0.01).passes(q, 1))
    offered = [one.model is not None for one in history]
    assert offered == sorted(offered)
    assert not offered[0]
    assert offered[-1]
    assert history[-1].scores["objective"] < history[0].scores["objective"]


def test_without_a_penalty_the_likelihood_itself_is_maximised():
    p, q = problem(6, **SIZES)
    best, _ = scipy_optimum(p, 0.0)
    w, _ = run(Lbfgs(c2=0.0, tolerance=1e-9), q)
    assert value(p, w, 0.0) <= best * 1.001
    assert np.isfinite(w).all()


def test_the_gap_of_dual_ascent_falls_and_bounds_the_distance_to_the_optimum():
    p, q = problem(7, **SIZES)
    best, _ = scipy_optimum(p, 1.0)
    for met in Sdca(c2=1.0, tolerance=1e-4).passes(q, 1):
        if met.number > 1:
            assert met.scores["gap"] >= (value(p, met.model().w, 1.0) - best) / best
    assert met.scores["gap"] < 1e-4


def sharing(copies: int):
    """Sentences whose tokens all have the same features besides their own, so that one step moves them all."""
    rng = np.random.default_rng(9)
    N, T, own, shared = 60, 8, 6, copies
    sentences = np.arange(N + 1, dtype=np.int64) * T
    ids = np.empty((N, T, own + shared), np.int32)
    ids[:, :, :own] = rng.integers(0, 300, (N, T, own))
    ids[:, :, own:] = (300 + rng.integers(0, 30, (N, 1, 1)) * shared + np.arange(shared)).astype(np.int32)
    y = rng.integers(0, Y, N * T).astype(np.int32)
    ptr = np.arange(N * T + 1, dtype=np.int64) * (own + shared)
    given = (sentences, ptr, ids.ravel(), y, 300 + 30 * shared, Y)
    return _core.CrfProblem(*given), as_problem(*given)


def test_dual_ascent_converges_where_all_tokens_of_a_sentence_share_features():
    p, q = sharing(20)
    w, history = run(Sdca(c2=0.5, tolerance=0.01, epochs=40), q)
    best, _ = scipy_optimum(p, 0.5)
    gap = history[-1].scores["gap"]
    assert gap < 0.01
    assert value(p, w, 0.5) <= best * (1 + gap)


def test_dual_ascent_converges_by_itself_on_ingredients_and_on_names_with_a_margin():
    for name, sentences, passes, margin in (("ingredients", 1000, 36, 0.0), ("posts", 300, 30, 6.0)):
        table = TokenTable.from_documents(samples.load(name)[:sentences])
        columns = tuple(c for c in table.columns if c != "y")
        crf = Crf(optimiser="sdca", tolerance=0.001, passes=passes, margin=margin)
        trained = train(TaggingTask(table=table, columns=columns, seed=1, threads=1), crf)
        assert trained.history[-1].scores["gap"] < 0.001, name


def test_the_weights_are_what_the_marginals_of_dual_ascent_make():
    p, _ = problem(12, **SIZES, weighted=True)
    w = np.zeros(p.size, np.float32)
    learner = _core.CrfSdca(p, 0.5)
    for _ in range(4):
        learner.run(w)
    again = np.zeros(p.size, np.float32)
    learner.add_weights(again)
    np.testing.assert_allclose(again, w, atol=1e-5)


def test_visits_to_one_sentence_bring_its_marginals_to_rest_and_keep_the_weights_true_to_them():
    p, _ = problem(12, **SIZES, weighted=True)
    w = np.zeros(p.size, np.float32)
    learner = _core.CrfSdca(p, 0.5, still=0.0)
    one = np.array([1])
    learner.settle(one, 2, w)
    early = learner.state()[2][1]
    learner.settle(one, 40, w)
    change = learner.state()[2]
    assert change[1] < 0.01 * early
    assert not np.delete(change, 1).any()  # the others were not visited
    again = np.zeros(p.size, np.float32)
    learner.add_weights(again)
    np.testing.assert_allclose(again, w, atol=1e-5)
    for wrong in (-1, len(change)):
        with pytest.raises(ValueError, match="no such sentence"):
            learner.settle(np.array([wrong]), 1, w)


def test_the_sentences_that_moved_most_are_visited_alone_and_the_weights_stay_true_to_them():
    p, _ = problem(12, **SIZES, weighted=True)
    w = np.zeros(p.size, np.float32)
    learner = _core.CrfSdca(p, 0.5, still=0.0)
    for _ in range(3):
        passed = learner.run(w)
    before = learner.state()
    loudest = np.argsort(-before[2], kind="stable")[:2]
    met = learner.settle_loudest(2, w)
    after = learner.state()
    assert met.visited == 2
    assert set(np.flatnonzero(before[2] != after[2])) == set(loudest)
    assert met.moved == pytest.approx(after[2].sum() / 2)
    assert met.moved < passed.moved
    assert met.loss == pytest.approx(after[3].sum(), rel=1e-6)
    again = np.zeros(p.size, np.float32)
    learner.add_weights(again)
    np.testing.assert_allclose(again, w, atol=1e-5)
    assert learner.settle_loudest(10**6, w).visited == len(after[2])  # all there are


def test_dual_ascent_from_other_weights_stays_near_them():
    p, _ = problem(13, **SIZES)
    start = np.random.default_rng(1).normal(size=p.size).astype(np.float32) * used(p, Y)
    w = start.copy()
    learner = _core.CrfSdca(p, 0.5, still=0.0)
    for _ in range(60):
        learner.run(w)
    gradient = np.empty(p.size)
    _core.CrfObjective64(p, 0.0, 1)(w.astype(np.float64), gradient)
    assert np.abs(gradient + 2 * 0.5 * (w - start)).max() < 0.01  # of loss + c2 |w - start|^2


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(learner):
    _, q = problem(8, **SIZES)
    results = {run(learner, q, threads=threads)[0].tobytes() for threads in (1, 2, 2, 3)}
    assert len(results) == 1


@pytest.mark.parametrize(
    "kind", [{}, {"order": 2}, {"bigrams": True}, {"weighted": True, "offset": True}], ids=str
)
def test_two_threads_that_share_blocks_of_sentences_give_the_same_bytes_as_one(kind):
    _, q = problem(8, Y=Y, F=F, lengths=[5, 3, 8, 1, 6] * 250, **kind)
    results = {run(Sgd(c2=0.5, epochs=2), q, threads=threads)[0].tobytes() for threads in (1, 2)}
    assert len(results) == 1


def test_weights_that_are_not_trained_stay_zero_under_every_learner():
    p, (sentences, ptr, ids, y, _) = native_problem(9, **SIZES)
    trainable = (np.random.default_rng(1).random(p.size) < 0.5).astype(np.uint8)
    p = _core.CrfProblem(sentences, ptr, ids, y, F, Y, trainable=trainable)
    q = as_problem(sentences, ptr, ids, y, F, Y, trainable=trainable)
    best, _ = scipy_optimum(p, 0.5)
    for name, learner in LEARNERS.items():
        w, _ = run(learner, q)
        assert not w[trainable == 0].any()
        assert value(p, w, 0.5) <= best * (1.001 if name == "sgd" else 1.00001)


@pytest.mark.parametrize("c1", [0.0, 0.3])
def test_the_weights_are_those_of_crfsuite_on_the_same_objective(tmp_path, c1):
    p, (sentences, ptr, ids, y, _) = native_problem(10, **SIZES)
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params({"c1": c1, "c2": 0.5, "max_iterations": 1000, "epsilon": 1e-9, "delta": 1e-12})
    observed = np.zeros(p.size, np.uint8)
    S, (pair, *_) = p.stride, p.blocks
    for a, b in itertools.pairwise(sentences.tolist()):
        rows = []
        for t in range(a, b):
            row: dict[str, float] = {}
            for f in ids[ptr[t] : ptr[t + 1]].tolist():
                row[f"f{f}"] = row.get(f"f{f}", 0.0) + 1.0
                observed[f * S + y[t]] = 1
            rows.append(row)
            if t > a:
                observed[pair + y[t - 1] * S + y[t]] = 1
        trainer.append(rows, [str(label) for label in y[a:b]])
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    theirs = np.zeros(p.size)
    for (feature, label), weight in tagger.info().state_features.items():
        theirs[int(feature[1:]) * S + int(label)] = weight
    for (before, after), weight in tagger.info().transitions.items():
        theirs[pair + int(before) * S + int(after)] = weight

    p = _core.CrfProblem(sentences, ptr, ids, y, F, Y, trainable=observed)
    q = as_problem(sentences, ptr, ids, y, F, Y, trainable=observed)
    for name in ("sdca", "lbfgs"):
        w, _ = run(replace(LEARNERS[name], c1=c1), q)
        np.testing.assert_allclose(w, theirs, atol=5e-3)
        ours, other = (value(p, v, 0.5) + c1 * float(np.abs(v).sum()) for v in (w, theirs))
        assert ours == pytest.approx(other, rel=1e-5)


def test_the_step_size_of_sgd_is_found_on_a_sample():
    p, q = problem(5, Y=3, F=20, lengths=(4,) * 40)
    found = calibrated_rate(q, Sgd(c2=0.1, rate=0.2))

    def reached(rate: float) -> float:
        w = np.zeros(p.size, np.float32)
        sgd = _core.CrfSgd(p, 0.1, rate, CALIBRATION_PASSES, 1)
        for _ in range(CALIBRATION_PASSES):
            sgd.run(w)
        return _core.CrfObjective(p, 0.1, 1)(w, np.empty_like(w))

    assert reached(found) <= min(reached(found / 2), reached(0.2))
    assert found <= 0.2
