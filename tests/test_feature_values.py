"""Features with values: the core against enumeration and repeated features; values of 1 change no byte."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.learner import Learner
from chaffinch.learners.likelihood import Lbfgs, PrunedSgd, Sdca, Sgd
from chaffinch.learners.online import Mira, Perceptron
from small_problems import chain_problem
from test_fused import packed, segments, table
from test_incremental import BOTH, LEFT, Sentences


def chain(seed: int, Y: int = 3, F: int = 6):
    """A small chain with random weights, as the core has it, and the weights."""
    rng = np.random.default_rng(seed)
    unary, start, end, pair = (
        rng.normal(size=size).astype(np.float32) for size in ((F, Y), (Y,), (Y,), (Y, Y))
    )
    return _core.LinearChain(unary, start, end, pair, None, None, None), (unary, start, end, pair)


def sentence(
    seed: int, T: int = 4, F: int = 6
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 4, T))]).astype(np.int64)
    return ptr, rng.integers(0, F, ptr[-1]).astype(np.int32), rng.normal(size=ptr[-1]).astype(np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_marginals_and_the_best_labels_of_features_with_values_are_what_enumeration_finds(seed: int) -> None:
    native, (unary, start, end, pair) = chain(seed)
    ptr, ids, values = sentence(seed)
    T, Y = len(ptr) - 1, 3
    scores = np.array([(values[a:b, None] * unary[ids[a:b]]).sum(0) for a, b in pairwise(ptr)])
    every = list(product(range(Y), repeat=T))
    total = np.array(
        [
            start[y[0]]
            + end[y[-1]]
            + sum(scores[t, y[t]] for t in range(T))
            + sum(pair[a, b] for a, b in pairwise(y))
            for y in every
        ],
        np.float64,
    )
    p = np.exp(total - np.logaddexp.reduce(total))
    expected = np.zeros((T, Y))
    for y, share in zip(every, p, strict=True):
        expected[np.arange(T), list(y)] += share
    bounds = np.array([0, T], np.int64)
    found, log_z = native.marginals(bounds, ptr, ids, 1, values)
    np.testing.assert_allclose(found.reshape(T, Y), expected, atol=1e-5)
    assert log_z[0] == pytest.approx(np.logaddexp.reduce(total), abs=1e-5)
    assert native.tag(bounds, ptr, ids, 1, values).tolist() == list(every[int(total.argmax())])
    labels, best, count = native.kbest(bounds, ptr, ids, 3, 1, values)
    assert count[0] == 3
    order = np.argsort(-total)[:3]
    assert labels.reshape(3, T).tolist() == [list(every[i]) for i in order]
    np.testing.assert_allclose(best, total[order], atol=1e-5)


LEARNERS = [
    (Perceptron(epochs=3, seed=4), lambda: chain_problem(N=12)),
    (Mira(C=0.3, epochs=3, seed=4), lambda: chain_problem(N=12)),
    (FrankWolfe(C=0.5, epochs=4, tolerance=0.0), lambda: chain_problem(N=12)),
    (Sdca(c2=0.5, epochs=5), packed),
    (Sgd(c2=0.5, epochs=5, rate=0.1), packed),
    (Sgd(c2=0.5, epochs=5, rate=0.1), lambda: packed(local=True)),
    (Sgd(c2=0.5, epochs=5, rate=0.1), segments),
    (Lbfgs(c2=0.5), packed),
    (Lbfgs(c1=0.2, c2=0.5), packed),
    (Sdca(c1=0.2, c2=0.05, epochs=5), packed),
    (PrunedSgd(c2=0.5, epochs=5, rate=0.1, threshold=1e-12, most=3), packed),
]


@pytest.mark.parametrize("case", LEARNERS, ids=lambda case: type(case[0]).__name__)
def test_values_of_one_learn_the_same_bytes_as_no_values(case: tuple[Learner, object]) -> None:
    learner, made = case
    problem = made()
    ones = replace(problem.examples, values=np.ones(len(problem.examples.ids), np.float32))
    found = [list(learner.passes(p, 1))[-1].model() for p in (problem, replace(problem, examples=ones))]
    plain, valued = (table(model, problem) for model in found)
    assert np.abs(plain).max() > 0
    assert plain.tobytes() == valued.tobytes()


@pytest.mark.parametrize(
    "learner", [Lbfgs(tolerance=1e-9), Sdca(tolerance=1e-7, still=0.0, epochs=400)], ids=["owl-qn", "sdca"]
)
def test_the_l1_penalty_finds_the_same_optimum_with_values_as_the_plain_gradient_says(
    learner: Lbfgs | Sdca,
) -> None:
    """At the optimum |gradient| <= c1 for weights at zero, and = c1 for the others."""
    made = packed()
    values = np.random.default_rng(3).normal(1, 0.7, len(made.examples.ids)).astype(np.float32)
    problem = replace(made, examples=replace(made.examples, values=values))
    c1, c2 = 0.4, 0.1
    passes = replace(learner, c1=c1, c2=c2).passes(problem, 1)
    w = np.asarray(list(passes)[-1].model().w, np.float64)
    data = problem.examples
    F, Y = problem.scorer.layout["unary"].rows, problem.structure.Y
    native = _core.CrfProblem(data.sentences, data.ptr, data.ids, data.y, F, Y, values=values)
    gradient = np.empty(native.size)
    _core.CrfObjective64(native, c2, 1)(w, gradient)
    assert (np.abs(gradient[w == 0]) <= c1 + 2e-3).all()
    np.testing.assert_allclose(gradient[w != 0], -c1 * np.sign(w[w != 0]), atol=2e-3)


@pytest.mark.parametrize("search", ["left-to-right", "easiest-first", "beam"])
def test_a_value_of_two_is_the_feature_given_twice_in_incremental_search(search: str) -> None:
    rng = np.random.default_rng(5)
    data = Sentences(rng, 7, 3, (4, 6, 2, 5), BOTH if search == "easiest-first" else LEFT)
    values = rng.integers(1, 3, len(data.ids)).astype(np.float32)
    times = values.astype(np.int64)
    ptr = np.concatenate([[0], np.cumsum(times)])[data.ptr].astype(np.int64)
    twice = np.repeat(data.ids, times).astype(np.int32)
    made = []
    for rows in ({"ptr": data.ptr, "ids": data.ids, "values": values}, {"ptr": ptr, "ids": twice}):
        trainer = _core.IncrementalTrainer(
            data.sentences,
            observations=data.observations,
            gold=data.y,
            F=7,
            Y=3,
            templates=data.native_templates,
            search=search,
            **rows,
        )
        tally = [trainer.epoch(np.arange(4)) for _ in range(4)]
        made.append((tally, trainer.weights(True).tobytes(), trainer.weights(False)))
    assert made[0][:2] == made[1][:2]
    assert np.abs(made[0][2]).max() >= 2


def test_values_that_do_not_fit_are_refused() -> None:
    native, _ = chain(0)
    ptr, ids, values = sentence(0)
    bounds = np.array([0, len(ptr) - 1], np.int64)
    with pytest.raises(ValueError, match="one value per feature id"):
        native.tag(bounds, ptr, ids, 1, values[:-1])
    values[0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        native.tag(bounds, ptr, ids, 1, values)
