"""Kernel machines: the primal and the dual perceptron, libsvm's solution, gaps that close, neighbours."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from chaffinch.errors import ConfigError, DataError
from chaffinch.kernels import FunctionKernel, LinearKernel, Polynomial, Rbf, Sigmoid
from chaffinch.learners.dual import DualCrammerSinger
from chaffinch.learners.kernel_choice import NearestNeighbours, kernel_problem
from chaffinch.learners.kernel_eg import KernelExponentiatedGradient
from chaffinch.learners.kernel_perceptron import KernelPerceptron
from chaffinch.learners.kernel_svm import KernelSvm
from chaffinch.learners.online import Perceptron
from chaffinch.learners.problem import Problem, example_order
from chaffinch.learners.training import train_passes
from chaffinch.scorers import Example, Layout, Linear
from chaffinch.structures import Choice
from small_problems import documents

KERNELS = [LinearKernel(), Rbf(gamma=0.2), Polynomial(degree=2, gamma=0.5), Sigmoid(gamma=0.01)]


def blobs(N=120, Y=3, d=4, seed=0, spread=1.3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, Y, N).astype(np.int32)
    y[:Y] = np.arange(Y)
    return (rng.normal(size=(Y, d)) * 1.5)[y] + rng.normal(size=(N, d)) * spread, y


def problem_of(x, y, kernel, Y=None, **more):
    return kernel_problem(kernel, kernel.prepared(x), y, Y or int(y.max()) + 1, np.ones(len(y)), **more)


@given(st.integers(0, 10**6), st.integers(2, 4))
@settings(max_examples=15)
def test_primal_and_dual_perceptron_give_the_same_predictions(seed, Y):
    rng = np.random.default_rng(seed)
    dense = rng.random((40, 12)) < 0.3
    y = rng.integers(0, Y, 40).astype(np.int32)
    examples = [
        Example(np.array([0, len(f)]), f) for f in (np.flatnonzero(row).astype(np.int32) for row in dense)
    ]
    for hypothesis in ("last", "mean"):
        rule = Perceptron(epochs=3, seed=seed, average=hypothesis == "mean")
        pairs = list(zip(examples, y.tolist(), strict=True))
        primal = rule.fit(Problem(Choice(Y), Linear(Layout.choice(F=12, Y=Y)), pairs))
        machine = KernelPerceptron(epochs=3, hypothesis=hypothesis).fit(
            problem_of(dense.astype(np.float32), y, LinearKernel(), Y, seed=seed)
        )
        want = np.array([primal.potentials(x)["choice"] for x in examples])
        np.testing.assert_allclose(machine.scorer.scores(dense.astype(np.float32)), want, atol=1e-4)


def test_votes_are_those_of_every_hypothesis_on_the_way():
    x, y = blobs(40)
    problem = problem_of(x, y, LinearKernel(), seed=3)
    machine = KernelPerceptron(epochs=2, hypothesis="votes").fit(problem)
    W, votes = np.zeros((3, 4)), np.zeros((40, 3))
    for epoch in (1, 2):
        for n in example_order(40, 3, epoch).tolist():
            y_hat = int(np.argmax(W @ x[n]))
            if y_hat != y[n]:
                W[y[n]] += x[n]
                W[y_hat] -= x[n]
            votes[np.arange(40), (x @ W.T).argmax(axis=1)] += 1
    np.testing.assert_allclose(machine.scorer.scores(x), votes / 80)


def test_a_budget_bounds_the_support_and_is_for_the_last_hypothesis():
    x, y = blobs(200)
    machine = KernelPerceptron(budget=20, hypothesis="last").fit(problem_of(x, y, Rbf(gamma=0.3)))
    assert len(machine.support) <= 20
    assert (machine.scorer.scores(x).argmax(axis=1) == y).mean() > 0.6
    with pytest.raises(ConfigError, match="set hypothesis to last"):
        KernelPerceptron(budget=20).fit(problem_of(x, y, Rbf(gamma=0.3)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("Y", [2, 4])
@pytest.mark.parametrize("megabytes", [100.0, 0.01])
def test_the_solution_is_libsvms(kernel, Y, megabytes):
    x, y = blobs(150, Y)
    ours = KernelSvm(C=2.0, tolerance=1e-5).fit(problem_of(x, y, kernel, megabytes=megabytes)).scorer
    theirs = SVC(
        C=2.0,
        kernel=lambda a, b: kernel.gram(a, b).astype(np.float64),
        tol=1e-5,
        decision_function_shape="ovo",
    )
    theirs.fit(x, y)
    want = theirs.decision_function(x)
    if Y == 2:
        want = -want[:, None]
    np.testing.assert_allclose(ours.margins(x), want, atol=2e-3)
    if Y > 2:
        assert (ours.scores(x).argmax(axis=1) == theirs.predict(x)).mean() > 0.98


def test_pairs_of_labels_of_too_many_objects_ask_for_few_rows():
    x = np.concatenate([np.arange(60.0), 100 + np.arange(60.0), 200 + np.arange(60.0)])
    y = np.repeat(np.arange(3), 60).astype(np.int32)
    asked = 0

    def near(a, b):
        nonlocal asked
        asked += 1
        return np.exp(-((a - b) ** 2) / 1e3)

    small = 120 * 120 * 4 / 2**20  # two labels fit, three do not
    machine = KernelSvm(C=1.0).fit(problem_of(list(x), y, FunctionKernel(near), megabytes=small))
    assert asked < 3 * 120 * 121 / 2 / 4  # a quarter of what three whole matrices take
    assert (machine.scorer.scores(list(x)).argmax(axis=1) == y).all()


def test_shrinking_reaches_the_same_solution_on_a_larger_problem():
    x, y = blobs(1500, 2, spread=2.5)
    kernel = Rbf(gamma=0.1)
    machine = KernelSvm(C=1.0, tolerance=1e-4).fit(problem_of(x, y, kernel))
    theirs = SVC(C=1.0, gamma=0.1, tol=1e-4).fit(x, y)
    np.testing.assert_allclose(machine.scorer.margins(x)[:, 0], -theirs.decision_function(x), atol=2e-3)
    assert abs(len(machine.support) - len(theirs.support_)) <= 15


def test_the_gap_closes_and_the_dual_never_falls():
    x, y = blobs(400, 2, spread=2.0)
    seen = []
    problem = problem_of(x, y, Rbf(gamma=0.2))
    KernelSvm(C=5.0, tolerance=1e-6).fit(problem, lambda p: seen.append(p.scores))
    duals = [s["dual"] for s in seen]
    assert duals == sorted(duals)
    assert all(s["primal"] >= s["dual"] - 1e-6 for s in seen)
    assert seen[-1]["gap"] < 1e-4 * seen[-1]["primal"]


def test_a_gap_asked_for_stops_early():
    x, y = blobs(600, 3, spread=2.0)
    for against in ("one", "rest"):
        loose = KernelSvm(C=50.0, gap=0.1, tolerance=1e-9, against=against)
        last = train_passes(loose, problem_of(x, y, Rbf(gamma=0.5))).history[-1].scores
        assert last["gap"] <= 0.1 * last["primal"]


def test_one_against_the_rest_separates_too():
    x, y = blobs(150, 3, spread=0.5)
    machine = KernelSvm(against="rest").fit(problem_of(x, y, Rbf(gamma=0.2)))
    want = [SVC(gamma=0.2).fit(x, y == label).decision_function(x) for label in range(3)]
    np.testing.assert_allclose(machine.scorer.scores(x), np.array(want).T, atol=5e-3)


def test_weights_of_examples_are_those_of_libsvm():
    x, y = blobs(100, 2, spread=2.0)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 100)
    kernel = Rbf(gamma=0.3)
    problem = kernel_problem(kernel, kernel.prepared(x), y, 2, weight)
    theirs = SVC(gamma=0.3, tol=1e-5).fit(x, y, sample_weight=weight)
    found = KernelSvm(tolerance=1e-5).fit(problem).scorer.margins(x)[:, 0]
    np.testing.assert_allclose(found, -theirs.decision_function(x), atol=2e-3)


def test_exponentiated_gradient_reaches_the_crammer_singer_optimum():
    x, y = blobs(60, 3, spread=1.5)
    learner = KernelExponentiatedGradient(C=0.5, epochs=400, gap=1e-3)
    history = train_passes(learner, problem_of(x, y, LinearKernel())).history
    last = history[-1].scores
    assert last["gap"] <= 1e-3 * last["primal"]
    duals = [p.scores["dual"] for p in history]
    assert duals == sorted(duals)
    ptr = np.arange(61, dtype=np.int64)
    rows = documents(
        ptr=ptr * 4,
        ids=np.tile(np.arange(4, dtype=np.int32), 60),
        values=x.astype(np.float32).ravel(),
        F=4,
        label_ptr=ptr,
        labels=y,
        Y=3,
        importance=np.ones(60, np.float32),
    )
    w = DualCrammerSinger(C=0.5, epochs=2000, tolerance=1e-6, bias=0.0).fit(rows).w[:4, :3].astype(np.float64)
    scores = x.astype(np.float32).astype(np.float64) @ w
    loss = (scores + 1 - np.eye(3)[y]).max(axis=1) - scores[np.arange(60), y]
    optimum = (w**2).sum() / 2 + 0.5 * loss.sum()
    assert last["primal"] == pytest.approx(optimum, rel=2e-3)


@given(st.integers(0, 1000), st.integers(1, 6))
@settings(max_examples=15)
def test_nearest_neighbours_are_those_of_scikit_learn(seed, k):
    x, y = blobs(60, 3, seed=seed)
    found = NearestNeighbours(k=k).fit(problem_of(x, y, LinearKernel())).scorer.scores(x[::2] + 0.01)
    want = KNeighborsClassifier(k).fit(x, y).predict_proba(x[::2] + 0.01)
    np.testing.assert_allclose(found, want, atol=1e-9)


def test_any_python_function_is_a_kernel():
    words = ["tea", "tee", "the", "coffee", "toffee", "coffin"]
    y = np.array([0, 0, 0, 1, 1, 1], np.int32)
    kernel = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    for learner in (
        KernelSvm(),
        KernelPerceptron(hypothesis="last"),
        NearestNeighbours(k=1),
        KernelExponentiatedGradient(),
    ):
        machine = learner.fit(problem_of(words, y, kernel))
        assert machine.scorer.scores(words).argmax(axis=1).tolist() == y.tolist()


def test_bad_problems_are_refused_in_one_sentence():
    x, y = blobs(30, 2)
    for learner in (KernelSvm, KernelExponentiatedGradient):
        with pytest.raises(ConfigError, match=r"\.C must be <= 1e\+12, got inf"):
            learner(C=float("inf")).fit(problem_of(x, y, Rbf(gamma=1.0)))
    for learner in (KernelSvm, KernelExponentiatedGradient, KernelPerceptron, NearestNeighbours):
        with pytest.raises(
            DataError, match="needs at least two classes, and all 30 objects are of one class"
        ):
            learner().fit(problem_of(x, np.zeros(30, np.int32), Rbf(gamma=1.0)))
    nan = FunctionKernel(lambda a, b: float("nan"))
    for learner in (KernelSvm(), KernelPerceptron(), KernelExponentiatedGradient()):
        with pytest.raises(DataError, match="is nan: a kernel must be a finite number"):
            learner.fit(problem_of(["a", "b"], np.array([0, 1], np.int32), nan))


def test_duplicates_with_opposite_labels_are_a_finite_loss():
    x = np.array([[0.0, 1.0]] * 4 + [[1.0, 0.0]] * 4)
    y = np.array([0, 1] * 2 + [0, 0, 0, 1], np.int32)
    found = train_passes(KernelSvm(C=3.0), problem_of(x, y, Rbf(gamma=1.0)))
    machine, last = found.made, found.history[-1].scores
    assert np.isfinite(machine.scorer.scores(x)).all()
    assert last["gap"] < 1e-2 * last["primal"]


def test_an_error_names_the_function_that_is_a_kernel():
    def broken(a, b):
        return float("nan")

    with pytest.raises(DataError, match=r"FunctionKernel\(broken\) of object 1 and object 1 is nan"):
        FunctionKernel(broken).gram(["a"])
