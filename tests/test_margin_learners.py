"""The learners of the structured margin: one optimum, honest gaps, whatever the structure."""

import itertools

import numpy as np
import pytest

import brute
from chaffinch.errors import ConfigError, DataError
from chaffinch.kernels import Polynomial, Rbf
from chaffinch.learners.chain_smo import ChainSmo
from chaffinch.learners.costs import Costed, label_costs
from chaffinch.learners.cutting_plane import NSlack, OneSlack
from chaffinch.learners.examples import DenseExamples, MonomialExamples
from chaffinch.learners.exponentiated import ExponentiatedGradient
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.margin import Margin, most_violated_by_slack
from chaffinch.learners.problem import Problem
from chaffinch.learners.subgradient import Subgradient
from chaffinch.scorers import Layout, Linear
from chaffinch.scorers.dual import KernelChain, Observations, Observed
from chaffinch.scorers.monomials import Monomials, MonomialScorer
from chaffinch.structures import Chain, Parts
from small_problems import chain_problem, choice_problem, enumerated_planes, optimum, primal

pytestmark = pytest.mark.long

C = 0.3
PROBLEMS = {"chain": chain_problem, "choice": choice_problem}

LEARNERS = {
    "frank-wolfe": FrankWolfe(C=C, epochs=200, tolerance=2e-3),
    "frank-wolfe in turns": FrankWolfe(C=C, epochs=200, tolerance=2e-3, sampling="turns"),
    "frank-wolfe with a cache": FrankWolfe(C=C, epochs=200, tolerance=2e-3, cache=4),
    "frank-wolfe averaged": FrankWolfe(C=C, epochs=100, tolerance=2e-2, average=True),
    "subgradient": Subgradient(C=C, epochs=150, tolerance=2e-2),
    "cutting plane, n slacks": NSlack(C=C, epochs=50, tolerance=1e-3),
    "cutting plane, one slack": OneSlack(C=C, epochs=100, tolerance=2e-3),
    "exponentiated gradient": ExponentiatedGradient(C=C, epochs=100, tolerance=2e-2),
    "subgradient, last step": Subgradient(C=C, epochs=100, tolerance=2e-2, average=False),
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


def test_smo_on_the_marginals_of_a_chain_reaches_the_same_optimum(least):
    problem, records = chain_problem(), []
    scorer = ChainSmo(C=C, epochs=60, tolerance=2e-3).fit(problem, lambda r: records.append(r.scores) or True)
    reached = primal(enumerated_planes(problem), scorer.w.astype(np.float64), C)
    assert reached == pytest.approx(records[-1]["primal"], rel=1e-4)
    assert records[-1]["gap"] <= 2e-3 * reached
    assert reached <= least["chain"] * (1 + 2e-3 + 1e-4)
    assert all(b["dual"] >= a["dual"] - 1e-5 for a, b in itertools.pairwise(records))
    with pytest.raises(ConfigError, match="needs a chain of order 1"):
        ChainSmo().fit(choice_problem())


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


@pytest.mark.parametrize("seed", range(18))
@pytest.mark.parametrize("scale", [0.2, 1.0, 4.0])
def test_the_answer_most_violated_by_slack_is_the_best_of_all(seed, scale):
    chance = np.random.default_rng(seed)
    problem = chain_problem(N=1, longest=5, seed=seed)
    x, y = problem.examples[0]
    shape = problem.scorer.shape(x)
    structure = problem.structure
    potentials = Parts(**{n: scale * chance.normal(size=s) for n, s in shape.items()})
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


@pytest.mark.parametrize("learner", [FrankWolfe, Subgradient], ids=lambda c: c.__name__)
def test_gaps_are_measured_as_often_as_asked_and_at_the_end(learner):
    seen = []
    learner(epochs=5, measure=2, tolerance=0.0).fit(
        chain_problem(N=5), lambda r: seen.append(bool(r.scores)) or True
    )
    assert seen == [False, True, False, True, True]


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match=r"FrankWolfe\.C must be <= 1e\+12, got inf"):
        FrankWolfe(C=float("inf")).fit(chain_problem())
    started = chain_problem()
    started.scorer.w[0] = 1
    with pytest.raises(ConfigError, match="must start from weights of zero"):
        Subgradient().fit(started)


def test_a_measured_pass_knows_what_each_example_adds_to_the_gap():
    problem = chain_problem()
    margin = Margin(problem, C)
    planes = [margin.zero(n) for n in range(len(margin))]
    objective, gaps = margin.objective(margin.scorer(planes), planes)
    assert objective.gap == pytest.approx(gaps.sum())


def dense(problem):
    """The same problem with its features as rows of numbers."""
    data, F = problem.examples, problem.scorer.layout["unary"].rows
    rows = np.zeros((len(data.y), F), np.float32)
    np.add.at(rows, (np.repeat(np.arange(len(data.y)), np.diff(data.ptr)), data.ids), 1)
    return Problem(problem.structure, problem.scorer, DenseExamples(data.sentences, rows, data.y))


def monomial(problem, degree=3):
    """The same problem over products of its features."""
    data, F = problem.examples, problem.scorer.layout["unary"].rows
    map = Monomials(F, degree, gamma=0.5, offset=0.7)
    scorer = MonomialScorer(Layout.chain(map.rows, problem.structure.Y), map)
    return Problem(
        problem.structure, scorer, MonomialExamples(data.sentences, data.ptr, data.ids, data.y, map)
    )


FORMS = {"sparse": lambda p: p, "dense": dense, "monomial": monomial}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("average", [False, True], ids=["last", "mean"])
@pytest.mark.parametrize("sampling", ["gap", "turns"])
def test_fused_frank_wolfe_equals_the_generic_loop(form, average, sampling):
    learner = FrankWolfe(C=C, epochs=4, tolerance=0.0, average=average, sampling=sampling)
    problem = form(chain_problem(N=20))
    for generic, fused in zip(learner.generic(problem), learner.passes(problem), strict=True):
        assert fused.scores["primal"] == pytest.approx(generic.scores["primal"], rel=1e-3)
        assert fused.scores["dual"] == pytest.approx(generic.scores["dual"], rel=1e-3)
        np.testing.assert_allclose(fused.model().w, generic.model().w, atol=2e-3)


def test_fused_frank_wolfe_keeps_to_the_masks():
    made = chain_problem(N=20)
    may = np.array([[True, True, False], [True, True, True], [True, False, True]])
    start = np.array([True, True, False])
    problem = Problem(Chain(3, may, start), made.scorer, made.examples)
    learner = FrankWolfe(C=C, epochs=3, tolerance=0.0)
    for generic, fused in zip(learner.generic(problem), learner.passes(problem), strict=True):
        np.testing.assert_allclose(fused.model().w, generic.model().w, atol=2e-3)


def test_dense_rows_and_lists_of_features_are_the_same_problem():
    problem = chain_problem()
    x, rows = problem.examples[3][0], dense(problem).examples[3][0]
    chance = np.random.default_rng(0)
    scorer = Linear(problem.scorer.layout)
    delta = Parts(unary=chance.normal(size=(x.T, 3)), pair=chance.normal(size=(3, 3)))
    other = Linear(problem.scorer.layout)
    scorer.update(x, delta, 0.5)
    other.update(rows, delta, 0.5)
    np.testing.assert_allclose(scorer.w, other.w, rtol=1e-5)
    np.testing.assert_allclose(scorer.potentials(x)["unary"], other.potentials(rows)["unary"], rtol=1e-4)
    assert scorer.sq_norm(x, delta) == pytest.approx(other.sq_norm(rows, delta), rel=1e-5)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_monomials_have_the_inner_products_of_the_polynomial_kernel(degree):
    chance = np.random.default_rng(degree)
    map = Monomials(9, degree, gamma=0.5, offset=0.7)
    a, b = (np.flatnonzero(chance.random(9) < 0.6).astype(np.int32) for _ in range(2))
    rows = [set(map.expanded(np.array([0, len(x)]), x)[1].tolist()) for x in (a, b)]
    firsts = list(map.native.firsts)
    common = [np.searchsorted(firsts, m, side="right") - 1 for m in rows[0] & rows[1]]
    kernel = (0.5 * len(set(a) & set(b)) + 0.7) ** degree
    assert sum(map.squares[size] for size in common) == pytest.approx(kernel)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_a_monomial_knows_its_factors(degree):
    map = Monomials(7, degree)
    products = [map.factors(row) for row in range(map.rows)]
    assert sorted(products) == sorted(
        c for m in range(degree + 1) for c in itertools.combinations(range(7), m)
    )
    for row, product in enumerate(products):
        assert row in map.expanded(np.array([0, len(product)]), np.array(product, np.int32))[1]


def kernelised(problem, kernel):
    """The same problem with a kernel of two positions."""
    data = dense(problem).examples
    spans = zip(data.sentences[:-1].tolist(), data.sentences[1:].tolist(), strict=True)
    examples = [(Observed(a, b), data.y[a:b]) for a, b in spans]
    return Problem(problem.structure, KernelChain(Observations(kernel, data.rows), 3), examples)


def test_a_polynomial_kernel_and_its_monomials_are_one_model():
    learner = FrankWolfe(C=C, epochs=5, tolerance=0.0, sampling="turns")
    problem = chain_problem(N=15)
    spelt_out = monomial(problem, degree=3)
    kernel = Polynomial(degree=3, gamma=0.5, offset=0.7)
    dual = kernelised(problem, kernel)
    for one, two in zip(learner.passes(spelt_out), learner.passes(dual), strict=True):
        assert two.scores["primal"] == pytest.approx(one.scores["primal"], rel=1e-3)
        assert two.scores["dual"] == pytest.approx(one.scores["dual"], rel=1e-3)
    for (x, _), (z, _) in zip(spelt_out.examples, dual.examples, strict=True):
        np.testing.assert_allclose(
            one.model().potentials(x)["unary"], two.model().potentials(z)["unary"], atol=0.02
        )


@pytest.mark.parametrize("learner", [NSlack, ExponentiatedGradient, ChainSmo], ids=lambda c: c.__name__)
def test_every_dual_learner_climbs_with_a_kernel(learner):
    problem = kernelised(chain_problem(N=8), Rbf(gamma=0.3))
    reached = learner(C=1.0, epochs=60, tolerance=2e-2).fit(problem)
    records = []
    FrankWolfe(C=1.0, epochs=60, tolerance=1e-2).fit(problem, lambda r: records.append(r.scores) or True)
    planes = [Margin(problem, 1.0).zero(n) for n in range(8)]
    hinges = Margin(problem, 1.0).objective(reached, planes)[0].primal
    K = problem.scorer.observations.gram.astype(np.float64)
    norm = np.sum((K @ reached.a) * reached.a) + sum(
        np.sum(b.astype(np.float64) ** 2) for b in reached.shared.values()
    )
    assert hinges + norm / 2 == pytest.approx(records[-1]["primal"], rel=0.03)
    new = reached.scores(problem.scorer.observations.objects.values[:2])
    np.testing.assert_allclose(new, reached.potentials(Observed(0, 2))["unary"], atol=1e-4)


def test_a_gram_matrix_that_fills_the_memory_is_refused():
    with pytest.raises(ConfigError, match=r"Gram matrix of 100,000 positions needs 37\.3 GB"):
        Observations(Rbf(), np.zeros((100_000, 1), np.float32))


@pytest.mark.parametrize("learner", [FrankWolfe, NSlack, Subgradient], ids=lambda c: c.__name__)
@every_problem
def test_a_cost_of_ones_own_has_its_own_optimum(made, learner):
    problem = made(N=8)
    costs = label_costs([[0, 3, 1], [0.5, 0, 0.5], [1, 2, 0]])
    costed = Problem(problem.structure, problem.scorer, problem.examples, cost=costs)
    scorer = learner(C=C, epochs=120, tolerance=2e-2).fit(costed)
    planes = enumerated_planes(costed)
    assert primal(planes, scorer.w.astype(np.float64), C) <= optimum(costed, C) * 1.021
    assert {float(v) for _, losses in planes for v in losses} > {0.0, 0.5, 1.0}


def test_costs_that_are_none_are_refused():
    with pytest.raises(ConfigError, match="zeros on its diagonal"):
        label_costs([[1, 2], [0, 0]])
    problem = chain_problem()
    free = Costed(problem.structure, lambda shape, y: Parts(unary=np.ones(shape["unary"])))
    with pytest.raises(DataError, match="zero on the gold answer"):
        FrankWolfe().fit(Problem(free, problem.scorer, problem.examples))
