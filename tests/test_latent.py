"""Hidden parts of the answer: the perceptron and the likelihood that sum or search over them."""

import itertools
import json

import numpy as np
import pytest
from examples import hidden_kinds

import brute
from chaffinch import samples
from chaffinch.errors import ConfigError, DataError
from chaffinch.learners.costs import label_costs
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.latent import LatentLikelihood, LatentSvm, Refined, observed_likelihood
from chaffinch.learners.problem import Problem
from chaffinch.scorers import Example, Layout, Linear
from chaffinch.structures import Chain, Choice, Parts
from commandline import Runner, run  # noqa: F401


def test_hidden_kinds_of_a_label_remember_what_the_labels_cannot():
    found = hidden_kinds.main()
    assert found.pop("perceptron, nothing hidden") < 0.9
    assert len(found) == 2
    assert min(found.values()) > 0.97


@pytest.mark.parametrize("structure", [Chain(4), Choice(4)], ids=["chain", "choice"])
def test_the_likelihood_of_what_is_seen_sums_over_what_is_hidden(structure):
    chance = np.random.default_rng(0)
    refined = Refined(structure, np.array([0, 1, 1, 0]))
    shape = {"unary": (3, 4), "pair": (4, 4)} if isinstance(structure, Chain) else {"choice": (4,)}
    potentials = Parts(**{name: chance.normal(size=size) for name, size in shape.items()})
    y = np.array([1, 0, 1]) if isinstance(structure, Chain) else 1
    every = [(brute.score(structure, potentials, h), h) for h in brute.labelings(structure, potentials)]
    agreeing = [s for s, h in every if np.array_equal(refined.shown(h), y)]
    value, gradient = observed_likelihood(refined, potentials, y)
    expected = np.logaddexp.reduce(agreeing) - np.logaddexp.reduce([s for s, _ in every])
    assert value == pytest.approx(expected, abs=1e-5)
    for name, block in potentials.items():
        for at in itertools.islice(np.ndindex(block.shape), 6):
            step = np.zeros_like(block)
            step[at] = 1e-4
            up, _ = observed_likelihood(refined, potentials + Parts(**{name: step}), y)
            down, _ = observed_likelihood(refined, potentials - Parts(**{name: step}), y)
            assert gradient[name][at] == pytest.approx((up - down) / 2e-4, abs=1e-3)


@pytest.mark.parametrize("recipe", ["latent-perceptron", "latent-ssvm"])
def test_the_command_line_trains_predicts_and_explains_with_hidden_labels(recipe, tmp_path, run: Runner):  # noqa: F811
    samples.export("quotations", tmp_path / "q")
    for split, n in (("train", 80), ("test", 60)):
        sentences = (tmp_path / f"q/{split}.conll").read_text("utf-8").split("\n\n")[:n]
        (tmp_path / f"{split}.conll").write_text("\n\n".join(sentences) + "\n\n", "utf-8")
    (tmp_path / "words.txt").write_text("w[0]\n", "utf-8")
    given = ("train", tmp_path / "train.conll", "--features", tmp_path / "words.txt", "--folds", "0")
    plain = run(*given, "-o", tmp_path / "plain.chaff", "--recipe", "perceptron")
    assert plain.code == 0, plain.err
    restarts = "1" if recipe == "latent-ssvm" else "3"
    made = run(*given, "-o", tmp_path / "m.chaff", "--recipe", recipe, "--kinds", "2", "--restarts", restarts)
    assert made.code == 0, made.err
    right = {}
    for name in ("plain", "m"):
        assert (
            run(
                "predict", tmp_path / f"{name}.chaff", tmp_path / "test.conll", "-o", tmp_path / "t.conll"
            ).code
            == 0
        )
        right[name] = json.loads(run("evaluate", tmp_path / "t.conll", "--json").out)["token_accuracy"]
    assert right["plain"] < 0.9 < right["m"]
    told = run("explain", tmp_path / "m.chaff", tmp_path / "test.conll", "--number", "1")
    assert (told.code, "MARK#" in told.out) == (0, True)


def test_the_latent_margin_lowers_its_objective_and_is_the_structured_svm_if_nothing_is_hidden():
    _, train, _ = hidden_kinds.quotations()
    F = 1 + max(int(x.ids.max()) for x, _ in train)
    learner = LatentSvm(epochs=4, sweeps=15, restarts=4, C=0.3)
    made = list(learner.passes(Problem(hidden_kinds.KINDS, Linear(Layout.chain(F, 4)), train[:40])))
    reached = {}
    for one in made:
        reached.setdefault(one.scores["restart"], []).append(one.scores["objective"])
    for objectives in reached.values():
        assert all(b <= a * 1.02 for a, b in itertools.pairwise(objectives))
    kept = list(reached.values())
    assert learner._objective(
        Problem(hidden_kinds.KINDS, made[-1].model(), train[:40]),
        made[-1].model(),
        label_costs(
            (hidden_kinds.KINDS.shows[:, None] != hidden_kinds.KINDS.shows[None, :]).astype(np.float32)
        ),
    ) == pytest.approx(min(objectives[-1] for objectives in kept))
    open_ = Refined(Chain(3), np.arange(3))
    ours = LatentSvm(epochs=2, sweeps=10, restarts=1, C=0.3).fit(
        Problem(open_, Linear(Layout.chain(F, 3)), train[:20])
    )
    plain = FrankWolfe(C=0.3, epochs=10, measure=0, average=True).fit(
        Problem(Chain(3), Linear(Layout.chain(F, 3)), train[:20])
    )
    np.testing.assert_allclose(ours.w, plain.w, atol=1e-4)


def test_what_cannot_be_shown_or_summed_is_refused():
    refined = Refined(Chain(2), np.array([0, 0]))
    with pytest.raises(DataError, match="no hidden label shows 1"):
        refined.evidence({"unary": (1, 2)}, np.array([1]))

    class Matching:
        def parts(self, shape, y): ...
        def cost(self, shape, y): ...
        def argmax(self, potentials): ...

    x = Example(np.array([0, 1]), np.zeros(1, np.int32))
    problem = Problem(Refined(Matching(), np.array([0])), Linear(Layout.choice(1, 1)), [(x, 0)])
    with pytest.raises(ConfigError, match=r"needs marginals; Matching offers argmax\. Use LatentPerceptron"):
        LatentLikelihood().fit(problem)
