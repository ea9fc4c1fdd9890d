"""The learners of document classifiers against plain restatements, closed forms and scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.svm import LinearSVC

from chaffinch import _core
from chaffinch.errors import DataError
from chaffinch.features.rows import SparseRows
from chaffinch.learners.choice import dealt
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoicePerceptron, ChoiceSgd
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge
from chaffinch.learners.naive_bayes import ComplementNaiveBayes, MultinomialNaiveBayes
from naive_choice import losses, objective, sgd
from small_problems import documents

N, F, Y = 60, 12, 3
random = np.random.default_rng(5)
X = (random.normal(size=(N, F)) * (random.random((N, F)) < 0.5)).astype(np.float32)
y = (X @ random.normal(size=(F, Y)) + random.gumbel(size=(N, Y))).argmax(axis=1).astype(np.int32)
c = random.uniform(0.5, 2.0, N).astype(np.float32)
signs = np.where(y[:, None] == np.arange(Y), 1.0, -1.0)


def problem(**changes):
    rows = SparseRows.of(X)
    given = {
        "ptr": rows.ptr,
        "ids": rows.ids,
        "values": rows.values,
        "F": F,
        "label_ptr": np.arange(N + 1),
        "labels": y,
        "Y": Y,
        "importance": c,
        "seed": 3,
    }
    return documents(**{**given, **changes})


def weights(made):
    return made.w[:F, :Y].astype(np.float64)


LOSS = {
    "hinge": lambda z: np.maximum(0, 1 - z),
    "squared-hinge": lambda z: np.maximum(0, 1 - z) ** 2,
    "squared": lambda z: (1 - z) ** 2,
}


@pytest.mark.parametrize("loss", LOSS)
def test_one_vs_rest_margins_reach_the_objective_of_liblinear(loss):
    made = DualRest(loss=loss, C=0.7, epochs=2000, tolerance=1e-5).fit(problem())

    def value(w):
        return 0.5 * (w**2).sum() + 0.7 * (c[:, None] * LOSS[loss](signs * (X @ w))).sum()

    if loss == "squared":
        A = np.eye(F) + 2 * 0.7 * (X.T * c) @ X
        best = np.linalg.solve(A, 2 * 0.7 * (X.T * c) @ signs)
    else:
        rival = LinearSVC(
            loss=loss.replace("-", "_"), C=0.7, fit_intercept=False, tol=1e-8, max_iter=100000, dual=True
        )
        best = rival.fit(X.astype(np.float64), y, sample_weight=c).coef_.T
    assert value(weights(made)) == pytest.approx(value(best), rel=1e-4)
    np.testing.assert_allclose(weights(made), best, atol=0.02)


def test_ridge_is_the_squared_loss_by_another_name():
    passes = {"C": 0.7, "bias": 1.0, "epochs": 500, "tolerance": 1e-6}
    made, same = DualRidge(**passes).fit(problem()), DualRest(loss="squared", **passes).fit(problem())
    np.testing.assert_allclose(made.w, same.w, atol=1e-4)


def test_crammer_singer_reaches_the_objective_of_liblinear():
    made = DualCrammerSinger(C=0.5, epochs=3000, tolerance=1e-5).fit(problem())
    rival = LinearSVC(multi_class="crammer_singer", C=0.5, fit_intercept=False, tol=1e-8, max_iter=100000)
    best = rival.fit(X.astype(np.float64), y, sample_weight=c).coef_.T

    def value(w):
        s = X @ w
        violation = (s + (signs < 0)).max(axis=1) - s[np.arange(N), y]
        return 0.5 * (w**2).sum() + 0.5 * (c * violation).sum()

    assert value(weights(made)) == pytest.approx(value(best), rel=2e-4)


def test_crammer_singer_with_the_squared_hinge_is_where_no_step_leads_down():
    made = DualCrammerSinger(loss="squared-hinge", C=0.5, epochs=3000, tolerance=1e-6).fit(problem())
    rows = np.arange(N)

    def value_and_slope(flat):
        w = flat.reshape(F, -1)
        s = X @ w + (signs < 0)
        worst = s.argmax(axis=1)
        short = s[rows, worst] - s[rows, y]
        d = np.zeros_like(s)
        d[rows, worst] += short * c
        d[rows, y] -= short * c
        return 0.5 * (w**2).sum() + 0.5 * (c * short**2).sum(), (w + X.T @ d).ravel()

    found = weights(made).astype(np.float64).ravel()
    best = scipy.optimize.minimize(value_and_slope, found, jac=True, method="L-BFGS-B", tol=1e-12)
    assert value_and_slope(found)[0] == pytest.approx(best.fun, rel=1e-5)


@pytest.mark.parametrize("loss", [_core.MarginLoss.hinge, _core.MarginLoss.squared_hinge])
def test_documents_that_are_right_by_far_rest_and_are_woken(loss):
    random = np.random.default_rng(3)
    gold = random.integers(0, 3, 400).astype(np.int32)
    dense = np.eye(3)[gold] * 3 + random.normal(size=(400, 3)) * 0.5
    native = SparseRows.of(dense).native(0.0)
    solvers = [
        _core.DualCrammerSinger(native, gold, np.full(400, 0.1, np.float32), 3, loss, resting)
        for resting in (False, True)
    ]
    found = np.zeros((2, 4, 8), np.float32)
    for solver, w in zip(solvers, found, strict=True):
        for _ in range(200):
            solver.run(np.arange(400))
        solver.weights(w)
    assert solvers[0].resting == 0
    assert solvers[1].resting > 100
    np.testing.assert_allclose(found[1], found[0], atol=1e-3)
    solvers[1].wake()
    assert solvers[1].resting == 0
    assert solvers[1].run(np.arange(400))[0] < 1e-3


@pytest.mark.parametrize(
    "learner", [DualLogistic(C=2.0, epochs=500, tolerance=1e-7), ChoiceBatch(l2=0.5, tolerance=1e-9)]
)
def test_logistic_regression_is_that_of_scikit_learn(learner):
    rival = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(
        X, y, sample_weight=c
    )
    np.testing.assert_allclose(weights(learner.fit(problem())), rival.coef_.T, atol=5e-3)


def test_soft_targets_pull_the_dual_and_the_batch_learner_to_the_same_weights():
    q = random.dirichlet(np.ones(Y), N).astype(np.float32)
    dual = DualLogistic(C=2.0, epochs=500, tolerance=1e-7).fit(problem(soft=q))
    batch = ChoiceBatch(l2=0.5, tolerance=1e-9).fit(problem(soft=q))
    np.testing.assert_allclose(weights(dual), weights(batch), atol=5e-3)


def test_an_l1_penalty_reaches_the_objective_of_scikit_learn_and_makes_weights_zero():
    rival = LogisticRegression(
        solver="saga", l1_ratio=1.0, C=0.2, fit_intercept=False, tol=1e-5, max_iter=50000
    ).fit(X, y, sample_weight=c)
    made = weights(ChoiceBatch(l1=5.0, l2=0.0, tolerance=1e-9).fit(problem()))
    q = (signs + 1) / 2

    def value(w):
        return objective("softmax", w, X, q, c, 0.0) + 5.0 * np.abs(w).sum()

    assert value(made) == pytest.approx(value(rival.coef_.T), rel=1e-4)
    assert (made == 0).sum() > 3


@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
def test_the_gradient_is_that_of_finite_differences(loss):
    rows = SparseRows.of(X)
    q = ((signs + 1) / 2).astype(np.float32)
    native = rows.native(1.0)
    batch = _core.ChoiceBatch(native, q, c, getattr(_core.ChoiceLoss, loss), 0.0, 0.3)
    w = np.zeros((F + 1, 8), np.float32)
    w[:, :Y] = random.normal(size=(F + 1, Y))
    gradient = np.zeros_like(w)
    value = batch.evaluate(w, gradient)
    wide = np.hstack([X, np.ones((N, 1))])
    inner = w[:, :Y].astype(np.float64)
    assert value == pytest.approx(objective(loss, inner, wide, q, c, 0.3), rel=1e-5)
    for f, label in [(0, 0), (3, 2), (F, 1)]:
        step = np.zeros_like(inner)
        step[f, label] = 1e-5
        up, down = (objective(loss, inner + sign * step, wide, q, c, 0.3) for sign in (1, -1))
        assert gradient[f, label] == pytest.approx((up - down) / 2e-5, rel=1e-3, abs=1e-3)
    assert not gradient[:, Y:].any()


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["softmax", "sigmoid", "hinge", "perceptron"]),
    st.sampled_from([1, 7]),
    st.sampled_from([(0.0, 0.0), (0.01, 0.0), (0.0, 0.1)]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_gradient_steps_are_those_of_the_plain_algorithm(loss, batch, penalty, adaptive, average, seed):
    l1, l2 = penalty
    order = np.random.default_rng(seed).permutation(N)
    rates = np.random.default_rng(seed).uniform(0.01, 0.1, -(-N // batch)).astype(np.float32)
    rows = SparseRows.of(X)
    q = ((signs + 1) / 2).astype(np.float32)
    native = rows.native(0.0)
    learner = _core.ChoiceSgd(F, Y, getattr(_core.ChoiceLoss, loss), adaptive, average, l1, l2)
    w = np.zeros((F + 1, 8), np.float32)
    met = learner.run(native, q, c, order, batch, rates, 2, w)
    learner.settle(w)
    out = w.copy()
    if average:
        learner.average(w, out)
    expected = sgd(
        loss,
        X.astype(np.float64),
        q,
        c,
        order,
        rates,
        batch=batch,
        l1=l1,
        l2=l2,
        adaptive=adaptive,
        average=average,
    )
    assert np.isfinite(met)
    np.testing.assert_allclose(out[:F, :Y], expected, atol=2e-3 if adaptive else 2e-4)


def test_a_step_of_a_tied_perceptron_counts_against_the_gold_label():
    assert losses("perceptron", np.zeros(2), np.array([1.0, 0.0]))[1].tolist() == [1, -1]
    assert ChoicePerceptron(epochs=1, average=False).fit(problem()).w.any()


@pytest.mark.parametrize(
    "learner",
    [
        DualRest(C=1.0),
        DualCrammerSinger(),
        DualLogistic(),
        ChoiceBatch(),
        ChoiceSgd(minibatch=True, batch=16, adaptive=True, rate=0.1),
        ChoiceSgd(average=True),
    ],
)
def test_the_weights_have_the_same_bytes_for_any_number_of_threads(learner):
    wide = (y * 13 + np.arange(N, dtype=np.int32) % 13).astype(np.int32)
    made = [learner.fit(problem(labels=wide, Y=40), threads=t).w.tobytes() for t in (1, 2, 3)]
    assert made[0] == made[1] == made[2]


def test_naive_bayes_is_that_of_scikit_learn():
    counts = np.random.default_rng(1).poisson(1.0, (N, F)).astype(np.float32)
    rows = SparseRows.of(counts)
    given_counts = problem(ptr=rows.ptr, ids=rows.ids, values=rows.values)
    made = MultinomialNaiveBayes(alpha=0.3).fit(given_counts).w
    rival = MultinomialNB(alpha=0.3).fit(counts, y, sample_weight=c)
    np.testing.assert_allclose(made[:F, :Y], rival.feature_log_prob_.T, rtol=1e-4)
    np.testing.assert_allclose(made[F, :Y], rival.class_log_prior_, rtol=1e-4)
    for norm in (False, True):
        made = ComplementNaiveBayes(alpha=0.3, normalised=norm).fit(given_counts).w
        rival = ComplementNB(alpha=0.3, norm=norm).fit(counts, y, sample_weight=c)
        np.testing.assert_allclose(made[:F, :Y], rival.feature_log_prob_.T, rtol=1e-3, atol=1e-5)


def test_random_rates_and_repeated_batches_depend_on_the_seed_alone():
    learner = ChoiceSgd(schedule="random", rate=0.5, iterations=2, batch=10)
    assert learner.fit(problem()).w.tobytes() == learner.fit(problem()).w.tobytes()
    assert learner.fit(problem()).w.tobytes() != learner.fit(problem(seed=4)).w.tobytes()


def test_documents_that_join_late_are_scored_by_weights_that_never_met_them():
    made = DualRidge(C=1.0, epochs=2, bias=0.0).fit(problem())
    early = np.setdiff1d(np.arange(N), made.held)
    assert len(made.held) == N // 10
    rows = SparseRows.of(X[early])
    order = _core.permutation(N, 3)
    place = {int(n): i for i, n in enumerate(early)}
    again = np.array([place[int(n)] for n in order if int(n) in place], dtype=np.int64)
    native = rows.native(0.0)
    w = np.zeros((F + 1, 8), np.float32)
    ptr = np.arange(len(early) + 1)
    solver = _core.DualRest(native, ptr, y[early], c[early], Y, _core.MarginLoss.squared, False)
    solver.run(again, 1, np.zeros(Y, np.float32))
    solver.weights(w)
    np.testing.assert_allclose(made.held_scores, X[made.held] @ w[:F, :Y], atol=1e-5)


@pytest.mark.parametrize(
    "learner", [DualRest(epochs=200, tolerance=1e-4), DualCrammerSinger(epochs=200, tolerance=1e-4)]
)
def test_each_part_is_scored_by_what_the_others_teach(learner, monkeypatch):
    monkeypatch.setattr("chaffinch.learners.choice.FOLD_PASSES", 100)
    made = learner.fit(problem())
    assert made.held.tolist() == list(range(N))
    fold = dealt(y, 3)
    for k in range(3):
        others, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        rows = SparseRows.of(X[others])
        alone = problem(
            ptr=rows.ptr,
            ids=rows.ids,
            values=rows.weights(),
            label_ptr=np.arange(len(others) + 1),
            labels=y[others],
            importance=c[others],
        )
        w = replace(learner, folds=0).fit(alone).w
        np.testing.assert_allclose(made.held_scores[held], X[held] @ w[:F, :Y] + w[F, :Y], atol=0.02)


def test_without_folds_no_document_is_held_out():
    assert DualRest(folds=0).fit(problem()).held is None
    assert DualRest(folds=1).fit(problem()).held is None


@pytest.mark.parametrize("kind", ["rest", "crammer-singer", "logistic"])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), density=st.floats(0.02, 0.5))
def test_features_of_one_document_alone_have_the_weights_that_their_sum_says(kind, seed, density):
    random = np.random.default_rng(seed)
    n, f, labels = 12, 40, 3
    dense = random.normal(size=(n, f)) * (random.random((n, f)) < density)
    rows = SparseRows.of(dense)
    native = rows.native(0.5)
    gold, ones = random.integers(0, labels, n).astype(np.int32), np.ones(n, np.float32)
    ptr, order, w = np.arange(n + 1), np.arange(n), np.full((f + 1, 8), np.nan, np.float32)
    with_bias = np.concatenate([dense, np.full((n, 1), 0.5)], axis=1)
    if kind == "rest":
        solver = _core.DualRest(native, ptr, gold, ones, labels, _core.MarginLoss.hinge, True)
        for _ in range(3):
            solver.run(order, 1, np.zeros(labels, np.float32))
        d = np.asarray(solver.alpha())[:, :labels] * (2 * np.eye(labels)[gold] - 1)
    elif kind == "crammer-singer":
        solver = _core.DualCrammerSinger(native, gold, ones, labels, _core.MarginLoss.hinge, True)
        for _ in range(3):
            solver.run(order)
        d = np.array(solver.alpha())[:, :labels]
    else:
        solver = _core.DualLogistic(native, np.eye(labels, dtype=np.float32)[gold], ones)
        for _ in range(3):
            solver.run(order)
        d = np.eye(labels)[gold] - np.asarray(solver.alpha())[:, :labels]
    solver.weights(w)
    np.testing.assert_allclose(w[:, :labels], with_bias.T @ d, atol=1e-4)
    if kind != "logistic":
        out = np.zeros((n, 8), np.float32)
        solver.scores(order, out)
        np.testing.assert_allclose(out[:, :labels], with_bias @ w[:, :labels], atol=1e-4)
        solver.forget(np.arange(5))
        solver.weights(w)
        d[:5] = 0
        np.testing.assert_allclose(w[:, :labels], with_bias.T @ d, atol=1e-4)


@pytest.mark.parametrize(
    "learner", [DualRest(), DualCrammerSinger()], ids=lambda learner: type(learner).__name__
)
def test_a_margin_needs_two_classes(learner):
    with pytest.raises(DataError, match="needs at least two classes, and all 60 documents are of one class"):
        learner.fit(problem(labels=np.ones(N, np.int32)))
    some = np.minimum(np.arange(N + 1), 5)  # a label that only the first five documents have is no such case
    assert DualRest().fit(problem(label_ptr=some, labels=np.zeros(5, np.int32), Y=1)).w.any()


@pytest.mark.parametrize(
    "learner",
    [
        DualRest(),
        DualRidge(),
        DualCrammerSinger(),
        DualLogistic(),
        ChoiceSgd(epochs=2),
        ChoiceSgd(epochs=2, adaptive=True),
        ChoiceBatch(),
        ChoicePerceptron(),
        MultinomialNaiveBayes(),
    ],
)
@pytest.mark.parametrize("rare", [False, True])
def test_values_as_factors_of_features_and_rows_are_learnt_from_as_if_spelt_out(learner, rare):
    random = np.random.default_rng(3)
    has = random.random((30, 12)) < 0.4
    has[:2] = not rare  # unless rare, two documents hold every feature
    has[0, 0] = True
    has[1:, 0] &= not rare
    rows = SparseRows.of(has.astype(np.float32))
    factors = (random.random(12).astype(np.float32) + 0.1, random.random(30).astype(np.float32) + 0.1)
    rows = replace(rows, values=None, factors=factors)
    gold = random.integers(0, 3, 30).astype(np.int32)
    given = documents(
        ptr=rows.ptr,
        ids=rows.ids,
        values=None,
        factors=factors,
        F=12,
        label_ptr=np.arange(31),
        labels=gold,
        Y=3,
        importance=np.ones(30, np.float32),
    )
    spelt_out = replace(given, examples=replace(given.examples, values=rows.weights(), factors=None))
    w = learner.fit(given).w
    assert np.allclose(w, learner.fit(spelt_out).w, atol=1e-4)
