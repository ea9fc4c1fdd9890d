"""Frank-Wolfe on matchings in the core, beside the same loop in Python."""

import numpy as np
import pytest

from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.problem import Problem
from chaffinch.scorers import FeatureScorer
from chaffinch.scorers.features import PartFeatures, Rows
from chaffinch.structures import GoldLinks, Matching
from chaffinch.structures.fertile import FertileMatching, GoldKindLinks

F = 12


def features(structure, n, m, chance):
    shape = structure.shape(n, m)
    rows = {}
    for name, size in shape.items():
        counts = chance.integers(0, 4, int(np.prod(size)))
        ids = chance.integers(0, F, counts.sum()).astype(np.int32)
        rows[name] = Rows(np.cumsum([0, *counts]), ids, chance.normal(size=len(ids)).astype(np.float32))
    return PartFeatures(shape, rows)


def plain_problem(seed=0):
    chance, structure = np.random.default_rng(seed), Matching(wrong=1.0, missed=1.5)
    sizes = [(3, 4), (1, 1), (4, 2), (0, 2), (3, 3)]
    gold = [{(0, 1), (2, 0)}, {(0, 0)}, {(3, 1)}, set(), set()]
    answers = [
        GoldLinks(frozenset(links), frozenset({(0, 0)} - links) if n else frozenset())
        for links, (n, _) in zip(gold, sizes, strict=True)
    ]
    return Problem(
        structure,
        FeatureScorer(F),
        [(features(structure, n, m, chance), y) for (n, m), y in zip(sizes, answers, strict=True)],
    )


def fertile_problem(seed=0):
    chance, structure = np.random.default_rng(seed), FertileMatching(wrong=1.0, missed=1.5)
    sizes = [(3, 4), (2, 3), (1, 2), (4, 1)]
    gold = [{(0, 1, 0), (2, 0, 0), (2, 2, 1)}, {(0, 0, 0)}, set(), {(0, 0, 0), (3, 0, 2)}]
    return Problem(
        structure,
        FeatureScorer(F),
        [
            (features(structure, n, m, chance), GoldKindLinks(frozenset(y), frozenset({(0, 0)})))
            for (n, m), y in zip(sizes, gold, strict=True)
        ],
    )


@pytest.mark.parametrize("made", [plain_problem, fertile_problem])
@pytest.mark.parametrize("average", [False, True], ids=["last", "mean"])
@pytest.mark.parametrize("sampling", ["gap", "turns"])
@pytest.mark.parametrize("seed", range(3))
def test_the_core_takes_the_same_steps_as_the_generic_loop(made, average, sampling, seed):
    problem = made(seed)
    learner = FrankWolfe(C=0.3, epochs=6, tolerance=0.0, average=average, sampling=sampling)
    for generic, fused in zip(learner.generic(problem), learner.passes(problem), strict=True):
        assert fused.scores["primal"] == pytest.approx(generic.scores["primal"], rel=1e-9)
        assert fused.scores["dual"] == pytest.approx(generic.scores["dual"], rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(fused.model().w, generic.model().w, atol=1e-9)


@pytest.mark.parametrize("made", [plain_problem, fertile_problem])
def test_the_gap_closes(made):
    *_, last = FrankWolfe(C=0.3, epochs=2000, tolerance=1e-3).passes(made())
    assert last.scores["gap"] <= 1e-3 * last.scores["primal"]


def test_a_cache_of_answers_is_left_to_the_generic_loop():
    problem = plain_problem()
    with_cache = FrankWolfe(C=0.3, epochs=300, tolerance=1e-3, cache=2).fit(problem)
    without = FrankWolfe(C=0.3, epochs=300, tolerance=1e-3).fit(problem)
    np.testing.assert_allclose(with_cache.w, without.w, atol=0.05)
