"""Linear duals: their objectives are those of the definitions, the gap closes, and it stops them."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from chaffinch import Classifier, _core, samples
from chaffinch.errors import ConfigError
from chaffinch.features.rows import SparseRows
from chaffinch.learners.dual import DualCrammerSinger, DualLogistic, DualRest, DualRidge, GapWatch
from chaffinch.learners.training import train_passes
from small_problems import documents

LEARNERS = [
    DualRest(loss="hinge"),
    DualRest(loss="squared-hinge"),
    DualRidge(),
    DualCrammerSinger(),
    DualCrammerSinger(loss="squared-hinge"),
    DualLogistic(C=2.0),
]


def problem_of(N=80, F=12, Y=3, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.random((N, F)) < 0.4) * rng.normal(size=(N, F))
    y = rng.integers(0, Y, N).astype(np.int32)
    rows = SparseRows.of(X)
    ptr = np.arange(N + 1, dtype=np.int64)
    made = documents(
        ptr=rows.ptr,
        ids=rows.ids,
        values=rows.values,
        F=F,
        label_ptr=ptr,
        labels=y,
        Y=Y,
        importance=np.ones(N, np.float32),
    )
    return made, X, y


def primal(learner, X, y, w):
    C, N, Y = learner.C, len(y), w.shape[1]
    s, gold = X @ w, np.eye(Y)[y]
    if isinstance(learner, DualLogistic):
        loss = np.log(np.exp(s).sum(axis=1)) - s[np.arange(N), y]
    elif isinstance(learner, DualCrammerSinger):
        loss = ((s + 1 - gold).max(axis=1) - s[np.arange(N), y]) ** (1 if learner.loss == "hinge" else 2)
    else:
        short = 1 - (2 * gold - 1) * s
        kind = getattr(learner, "loss", "squared")
        loss = short**2 if kind == "squared" else np.maximum(short, 0) ** (1 if kind == "hinge" else 2)
    return (w**2).sum() / 2 + C * loss.sum()


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_the_objectives_are_those_of_the_weights_and_close_to_each_other(learner):
    problem, X, y = problem_of()
    found = train_passes(type(learner)(**{**vars(learner), "gap": 1e-4, "bias": 0.0}), problem)
    made, history = found.made, found.history
    last = history[-1].scores
    assert 0 <= last["gap"] + 1e-6 <= 1e-4 * last["primal"] + 2e-6
    assert last["primal"] == pytest.approx(
        primal(learner, X, y, made.w[:-1, :3].astype(np.float64)), rel=1e-5
    )
    looked = [p.scores for p in history if "gap" in p.scores]
    duals = [s["dual"] for s in looked]
    assert all(later >= earlier - 1e-4 for earlier, later in pairwise(duals))
    assert all(s["primal"] >= duals[-1] - 1e-3 for s in looked)


def test_the_gap_certifies_liblinears_optimum():
    problem, X, y = problem_of(200, 20)
    for loss in ("hinge", "squared-hinge"):
        found = train_passes(DualRest(loss=loss, gap=1e-4, bias=0.0), problem)
        name = "hinge" if loss == "hinge" else "squared_hinge"
        theirs = LinearSVC(loss=name, fit_intercept=False, tol=1e-6, max_iter=100000, dual=True).fit(X, y)
        optimum = primal(DualRest(loss=loss), X, y, theirs.coef_.T)
        last = found.history[-1].scores
        assert last["dual"] <= optimum * (1 + 1e-5)
        assert last["primal"] == pytest.approx(optimum, rel=2e-4)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_without_a_gap_asked_for_the_last_pass_reports_it(learner):
    learner = type(learner)(**{**vars(learner), "bias": 0.0, "epochs": 3})
    history = train_passes(learner, problem_of()[0]).history
    assert ("gap" in history[-1].scores) == (not isinstance(learner, DualRidge))
    assert all("gap" not in p.scores for p in history[:-1])


def test_a_listener_may_stop_before_the_gap_is_closed():
    seen = []
    problem, _, _ = problem_of()
    learner = DualRest(gap=1e-9, bias=0.0)
    found = train_passes(learner, problem, on_epoch=lambda p: seen.append(p) or len(seen) < 2)
    assert len(found.history) == 2


def test_objectives_are_the_same_on_any_number_of_threads():
    problem, _, _ = problem_of(3000)
    solver = _core.DualRest(
        problem.examples.rows(),
        problem.examples.label_ptr,
        problem.examples.labels,
        problem.weight,
        3,
        _core.MarginLoss.hinge,
        True,
    )
    solver.run(np.arange(3000), 2, np.zeros(3, np.float32))
    assert solver.objective(1) == solver.objective(3)


@pytest.mark.parametrize(("fall", "overstated"), [(0.2, 1.0), (0.9, 1.0), (0.9, 5.0)])
def test_the_watch_looks_seldom_and_finds_the_gap_soon_after_it_closed(fall, overstated):
    watch = GapWatch(1e-3)
    looks = []
    for epoch in range(1, 200):
        if watch.due(epoch, overstated * fall ** (epoch - 1)):  # what the pass before had left
            looks.append(epoch)
            watch.seen(epoch, 1.0, 1.0 - fall**epoch)
        if watch.closed:
            break
    first = next(epoch for epoch in range(1, 200) if fall**epoch <= 1e-3)
    assert first <= looks[-1] <= (first + 1 if overstated == 1.0 else 2 * first)
    assert len(looks) <= 5


def test_texts_are_learnt_to_a_gap_on_request():
    documents = samples.load("questions", "train")[:200]
    texts, labels = [d.text for d in documents], [d.labels[0] for d in documents]
    classifier = Classifier(DualCrammerSinger(gap=0.01)).fit(texts, labels)
    last = classifier.history_[-1].scores
    assert last["gap"] <= 0.01 * last["primal"]
    with pytest.raises(ConfigError, match=r"DualCrammerSinger\.C must be <= 1e\+12, got inf"):
        Classifier(DualCrammerSinger(C=float("inf"))).fit(texts, labels)
