"""The learners of the structured margin: one optimum, honest gaps, whatever the structure."""

import itertools

import numpy as np
import pytest

import brute
from chaffinch.errors import ConfigError
from chaffinch.learners.cutting_plane import NSlack, OneSlack
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.margin import Margin
from chaffinch.learners.slack import most_violated_by_slack
from chaffinch.learners.subgradient import Subgradient
from chaffinch.structures import Parts
from small_problems import chain_problem, choice_problem, enumerated_planes, optimum, primal

C = 0.3
PROBLEMS = {"chain": chain_problem, "choice": choice_problem}

LEARNERS = {
    "frank-wolfe": FrankWolfe(C=C, epochs=200, tolerance=2e-3),
    "frank-wolfe in turns": FrankWolfe(C=C, epochs=200, tolerance=2e-3, sampling="turns"),
    "frank-wolfe with a cache": FrankWolfe(C=C, epochs=200, tolerance=2e-3, cache=4),
    "frank-wolfe averaged": FrankWolfe(C=C, epochs=100, tolerance=1e-2, average=True),
    "subgradient": Subgradient(C=C, epochs=150, tolerance=2e-2),
    "cutting plane, n slacks": NSlack(C=C, epochs=50, tolerance=1e-3),
    "cutting plane, one slack": OneSlack(C=C, epochs=100, tolerance=2e-3),
    "subgradient, last step": Subgradient(C=C, epochs=100, tolerance=1e-2, average=False),
}

every_problem = pytest.mark.parametrize("made", PROBLEMS.values(), ids=PROBLEMS)
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


@pytest.fixture(scope="module")
def least():
    return {name: optimum(made(), C) for name, made in PROBLEMS.items()}


@every_problem
@every_learner
def test_every_learner_reaches_the_optimum_and_says_how_far_it_is(made, learner, least):
    problem, records = made(), []
    name = next(n for n, m in PROBLEMS.items() if m is made)
    scorer = learner.fit(problem, lambda record: records.append(record) or True)
    reached = primal(enumerated_planes(problem), scorer.w.astype(np.float64), C)
    last = records[-1].scores
    assert reached == pytest.approx(last["primal"], rel=1e-4)
    assert last["gap"] <= learner.tolerance * last["primal"]
    assert reached <= least[name] * (1 + learner.tolerance + 1e-4)
    for record in records:
        s = record.scores
        assert s["dual"] <= least[name] * (1 + 1e-5) <= s["primal"] * (1 + 2e-5)
        assert s["gap"] == pytest.approx(s["primal"] - s["dual"])
    assert not problem.scorer.w.any()


def test_the_dual_of_frank_wolfe_never_falls():
    duals = []
    FrankWolfe(C=C, epochs=15, tolerance=0.0).fit(
        chain_problem(), lambda record: duals.append(record.scores["dual"]) or True
    )
    assert all(b >= a - 1e-5 for a, b in itertools.pairwise(duals))


@pytest.mark.parametrize(
    "learner",
    [
        NSlack(C=C, epochs=40, tolerance=2e-3, rescale="slack"),
        OneSlack(C=C, epochs=40, tolerance=5e-3, rescale="slack"),
        FrankWolfe(C=C, epochs=30, tolerance=5e-2, rescale="slack"),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_slack_rescaling_reaches_its_own_optimum(learner):
    problem, records = chain_problem(N=6, longest=3), []
    scorer = learner.fit(problem, lambda record: records.append(record.scores) or True)
    reached = primal(enumerated_planes(problem, slack=True), scorer.w.astype(np.float64), C)
    assert reached == pytest.approx(records[-1]["primal"], rel=1e-4)
    assert reached <= optimum(problem, C, slack=True) * (1 + learner.tolerance + 1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_the_answer_most_violated_by_slack_is_the_best_of_all(seed):
    chance = np.random.default_rng(seed)
    problem = chain_problem(N=1, longest=4, seed=seed)
    x, y = problem.examples[0]
    shape = problem.scorer.shape(x)
    structure = problem.structure
    potentials = Parts(**{n: chance.normal(size=s) for n, s in shape.items()})
    gold, cost = structure.parts(shape, y), structure.cost(shape, y)

    def product(answer):
        parts = structure.parts(shape, answer)
        return cost.dot(parts) * (1 + potentials.dot(parts - gold))

    best = max(product(answer) for answer in brute.labelings(structure, potentials))
    assert product(most_violated_by_slack(structure, potentials, y)) == pytest.approx(max(best, 0.0))


def test_a_learner_may_be_stopped_after_any_pass():
    seen = []
    FrankWolfe(epochs=50, tolerance=0.0).fit(chain_problem(), lambda r: seen.append(r.done) or len(seen) < 3)
    assert seen == [1, 2, 3]


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="C must be finite, got inf"):
        FrankWolfe(C=float("inf")).fit(chain_problem())
    started = chain_problem()
    started.scorer.w[0] = 1
    with pytest.raises(ConfigError, match="starts from weights of zero"):
        Subgradient().fit(started)


def test_a_measured_pass_knows_what_each_example_adds_to_the_gap():
    problem = chain_problem()
    margin = Margin(problem, C)
    planes = [margin.zero(n) for n in range(len(margin))]
    objective, gaps = margin.measured(margin.scorer(planes), planes)
    assert objective.gap == pytest.approx(gaps.sum())
