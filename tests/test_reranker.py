"""Reranking: what a list is, what learners make of it, how it is kept, and the command line."""

import json

import numpy as np
import pytest

from chaffinch import Reranker, Tagger, load, modelfile, samples
from chaffinch.corpus import read_table
from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.estimators.candidate_lists import cross_validated_tag_lists, tag_lists, worth_of_a_wrong_span
from chaffinch.estimators.reranker import cross_validated, oracle
from chaffinch.features.tag_lists import tag_list_features
from chaffinch.kernels import GramRows, LinearKernel, Spectrum, SubsetTreeKernel
from chaffinch.learners.examples import ListExamples
from chaffinch.learners.maximum_likelihood import MaximumLikelihood
from chaffinch.learners.online import Perceptron
from chaffinch.learners.problem import Problem
from chaffinch.model.candidates import CandidateList, NamedCandidates
from chaffinch.recipes.rerankers import RERANKERS
from chaffinch.scorers import FeatureScorer, Rows
from chaffinch.scorers.dual import KernelLists
from chaffinch.structures.choice import Candidates, Judged
from commandline import Runner, run  # noqa: F401


def made_lists(seed, n=60):
    """The right answer has an even sum; the base model does not know."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(n):
        candidates = [tuple(rng.integers(0, 5, 3).tolist()) for _ in range(4)]
        losses = np.array([float(sum(c) % 2) for c in candidates])
        lists.append(CandidateList(None, candidates, -np.sort(rng.uniform(0, 2, 4)), losses))
    return lists


def parity(x, y):
    return [f"sum {'odd' if sum(y) % 2 else 'even'}", f"first {y[0]}", "always"]


def mean_loss(lists, places):
    return np.mean([one.losses[k] for one, k in zip(lists, places, strict=True)])


@pytest.mark.parametrize("recipe", [r.name for r in RERANKERS])
def test_every_recipe_learns_what_the_base_model_does_not_see(recipe):
    train, test = made_lists(0), made_lists(1)
    reranker = Reranker(recipe, features=parity).fit(train)
    chosen = reranker.choose(test)
    best = np.mean([one.losses.min() for one in test])
    assert mean_loss(test, chosen) < 0.5 * mean_loss(test, [0] * len(test)) + 0.5 * best
    assert reranker.predict(test) == [one.candidates[k] for one, k in zip(test, chosen, strict=True)]


def test_without_other_features_the_base_model_is_followed():
    lists = [CandidateList(None, ["a", "b"], np.array([0.0, -1.0]), np.array([0.0, 1.0]))] * 3
    assert Reranker(features=lambda x, y: []).fit(lists).choose(lists) == [0, 0, 0]


def test_what_all_candidates_have_alike_is_no_feature():
    features = NamedCandidates(parity)
    features.fit(made_lists(0))
    assert "always" not in features.names
    assert "sum odd" in features.names


def test_likelihood_over_lists_end_to_end_is_the_generic_one():
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 5, 12)
    P = int(sizes.sum())
    rows = Rows(
        np.arange(P + 1) * 2,
        rng.integers(0, 6, 2 * P).astype(np.int32),
        rng.normal(size=2 * P).astype(np.float32),
    )
    lists = ListExamples(
        np.cumsum([0, *sizes]).astype(np.int64), rows, rng.integers(0, 3, P).astype(np.float64)
    )
    learner = MaximumLikelihood(l2=0.5, tolerance=0)
    together = learner.fit(Problem(Candidates(), FeatureScorer(6), lists))
    apart = learner.fit(Problem(Candidates(), FeatureScorer(6), list(lists)))
    np.testing.assert_allclose(together.w, apart.w, atol=1e-3)
    assert lists.best.tolist() == [int(lists.lists[n]) + lists[n][1].best for n in range(len(lists))]


def test_the_cost_of_a_candidate_is_how_much_worse_it_is_than_the_best():
    gold = Judged.of(np.array([3.0, 1.0, 1.0]))
    cost = Candidates().cost({"choice": (3,)}, gold)["choice"]
    assert (gold.best, cost.tolist()) == (1, [2.0, 0.0, 0.0])


def test_each_list_is_made_by_a_model_that_has_not_seen_it():
    def lists(rest, part):
        assert not set(rest.tolist()) & set(part.tolist())
        return [CandidateList(int(i), [0], np.zeros(1)) for i in part]

    assert [one.x for one in cross_validated(7, 3, lists)] == list(range(7))
    with pytest.raises(ConfigError, match="folds must be between 2 and 3"):
        cross_validated(3, 4, lists)


def test_features_of_labellings_do_not_depend_on_threads_or_on_other_lists():
    words = [["Anna", "met", "Anna", "Lee"], ["in", "Rome"]]
    candidates = [
        [["B-P", "O", "B-P", "I-P"], ["B-P", "O", "O", "O"], ["O", "O", "O", "O"]],
        [["O", "B-L"], ["O", "O"]],
    ]
    one, two = (tag_list_features(words * 50, candidates * 50, threads=n) for n in (1, 2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))
    alone = tag_list_features(words[1:], candidates[1:], threads=1)
    assert one.keys[one.ptr[3] : one.ptr[5]].tolist() == alone.keys.tolist()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("posts")
    samples.export("posts", folder / "all")
    for part, n in (("train", 150), ("test", 80)):
        sentences = (folder / "all" / f"{part}.conll").read_text("utf-8").split("\n\n")[:n]
        (folder / f"{part}.conll").write_text("\n\n".join(sentences) + "\n\n", "utf-8")
    return folder


def test_a_tagger_is_reranked_and_the_oracle_is_above_both(files):
    train, test = read_table(files / "train.conll"), read_table(files / "test.conll")
    lists = cross_validated_tag_lists(lambda: Tagger("hmm"), train, 5, 3)
    gold = test.lists("y")
    tests = tag_lists(Tagger("hmm").fit(train), test, 5, gold=gold)
    reranker = Reranker().fit(lists)
    base, ours = mean_loss(tests, [0] * len(tests)), mean_loss(tests, reranker.choose(tests))
    best = np.mean([one.losses.min() for one in tests])
    assert best <= ours < base
    assert len(oracle(tests)) == len(tests)


def test_a_wrong_span_costs_what_it_is_worth_to_the_f1():
    gold = [["B-P", "O", "B-P"], ["B-P", "O", "O"]]
    lists = [
        CandidateList(["a", "b", "c"], [["B-P", "O", "O"], ["O", "O", "O"]], np.zeros(2)),
        CandidateList(["d", "e", "f"], [["O", "B-P", "O"], ["O", "O", "O"]], np.zeros(2)),
    ]
    # One right of two found and three wanted: F1 = 2/5, and 2/5 / (2 - 2/5) = 1/4.
    assert worth_of_a_wrong_span(gold, lists) == pytest.approx(0.25)
    right, found, wanted = 10, 20, 30
    f1 = 2 * right / (found + wanted)
    step, worth = 1e-6, f1 / (2 - f1)
    moved = 2 * (right + worth * step) / (found + step * (1 + worth) + wanted)
    assert moved == pytest.approx(f1, abs=1e-10)  # one wrong span makes up for ``worth`` right ones
    assert worth_of_a_wrong_span([["X", "Y"]], [CandidateList(["a", "b"], [["X", "X"]], np.zeros(1))]) == 1


def test_the_command_line_trains_applies_and_reports(files, tmp_path, run: Runner):  # noqa: F811
    base, made = tmp_path / "base.chaff", tmp_path / "r.chaff"
    assert run("train", files / "train.conll", "-o", base, "--recipe", "hmm").code == 0
    told = run(
        "rerank", files / "train.conll", "--base", base, "-o", made,
        "--dev", files / "test.conll", "--folds", "3", "--kbest", "5", "--json",
    )  # fmt: skip
    assert told.code == 0, told.err
    record = json.loads(told.out)
    dev = record["dev"]
    assert dev["span.micro.f1.oracle"] >= dev["span.micro.f1.reranked"]
    assert dev["span.micro.f1.gain.low"] <= dev["span.micro.f1.gain"] <= dev["span.micro.f1.gain.high"]
    done = run(
        "rerank",
        files / "test.conll",
        "--base",
        base,
        "--with",
        made,
        "--kbest",
        "5",
        "-o",
        tmp_path / "out.conll",
    )
    assert done.code == 0, done.err
    scored = json.loads(run("evaluate", tmp_path / "out.conll", "--json").out)
    assert scored["span.micro.f1"] == pytest.approx(dev["span.micro.f1.reranked"], abs=1e-4)
    wrong = run("predict", made, files / "test.conll")
    assert (wrong.code, "this model is a reranker" in wrong.err) == (2, True)


def test_lists_of_a_file_are_learnt_from_and_chosen_from(tmp_path, run: Runner):  # noqa: F811
    lines = []
    for one in made_lists(0):
        candidates = [
            {"answer": list(y), "score": float(s), "loss": float(loss), "features": parity(None, y)}
            for y, s, loss in zip(one.candidates, one.scores, one.losses, strict=True)
        ]
        lines.append(json.dumps({"input": None, "candidates": candidates}))
    path = tmp_path / "lists.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    assert run("rerank", path, "-o", tmp_path / "r.chaff", "--recipe", "perceptron").code == 0
    assert run("rerank", path, "--with", tmp_path / "r.chaff", "-o", tmp_path / "chosen.jsonl").code == 0
    chosen = [json.loads(line) for line in (tmp_path / "chosen.jsonl").read_text("utf-8").splitlines()]
    wrong = [c["candidates"][c["chosen"]]["loss"] for c in chosen]
    assert np.mean(wrong) < np.mean([c["candidates"][0]["loss"] for c in chosen])
    path.write_text('{"candidates": [{"answer": 1}]}\n', "utf-8")
    bad = run("rerank", path, "-o", tmp_path / "x.chaff")
    assert (bad.code, "lists.jsonl:1: candidate 1: expected a number as 'score'" in bad.err) == (2, True)


def test_a_saved_reranker_chooses_alike(tmp_path):
    lists = made_lists(0)
    reranker = Reranker(features=parity).fit(lists)
    reranker.save(tmp_path / "r.chaff")
    again = Reranker.loaded(modelfile.read(tmp_path / "r.chaff"), parity)
    assert again.choose(lists) == reranker.choose(lists)
    with pytest.raises(ConfigError, match="these candidates have no features"):
        load(tmp_path / "r.chaff").choose(lists)


def test_trees_are_reranked_by_a_kernel_of_trees():
    good, bad = "(S (NP a) (VP (V b) (NP c)))", "(S (NP a) (V b) (NP c))"
    lists = [
        CandidateList(None, [bad, good], np.array([0.0, -0.5]), np.array([1.0, 0.0])),
        CandidateList(
            None, [good.replace("a", "x"), bad.replace("a", "x")], np.array([0.0, -0.1]), np.array([0.0, 1.0])
        ),
    ]
    for recipe in ("perceptron", "mira"):
        reranker = Reranker(recipe, kernel=SubsetTreeKernel()).fit(lists)
        assert reranker.choose(lists) == [1, 0]
        new = CandidateList(None, [bad.replace("c", "z"), good.replace("c", "z")], np.array([0.0, -0.2]))
        assert reranker.choose([new]) == [1]
    with pytest.raises(ConfigError, match="with a kernel, use perceptron or mira"):
        Reranker(kernel=SubsetTreeKernel()).fit(lists)


@pytest.mark.parametrize("kernel", [SubsetTreeKernel(decay=0.3).normalised(), Spectrum()])
def test_a_reranker_with_a_kernel_is_the_same_out_of_a_file(tmp_path, kernel):
    rng = np.random.default_rng(3)
    texts = [f"(S (A {rng.choice(list('abc'))}) (B (C {rng.choice(list('xyz'))}) (D d)))" for _ in range(60)]
    lists = [
        CandidateList(None, texts[n : n + 3], rng.normal(size=3), rng.permutation(3).astype(float))
        for n in range(0, 60, 3)
    ]
    reranker = Reranker("mira", kernel=kernel, base=0.5).fit(lists)
    reranker.save(tmp_path / "r.chaff")
    again = load(tmp_path / "r.chaff")
    for ours, theirs in zip(reranker.scores(lists), again.scores(lists), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    again.save(tmp_path / "s.chaff")
    assert (tmp_path / "r.chaff").read_bytes() == (tmp_path / "s.chaff").read_bytes()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"arrays": {"alpha": np.array([np.nan])}}, "expected finite numbers"),
        ({"arrays": {"alpha": np.zeros(7)}}, "has the size 7"),
        ({"arrays": {"alpha": np.zeros(1), "more": np.zeros(1)}}, "unknown section"),
        ({"details": {"kernel": {"kernel": "telepathy"}}}, "no kernel 'telepathy'"),
        ({"details": {"base": "much"}}, "base weight"),
        ({"strings": {"support": ['{"tree": "(S (A"}']}}, "support object"),
        ({"strings": {"support": ['{"numbers": [1, 2]}']}}, "cannot read its support"),
    ],
)
def test_a_damaged_kernel_reranker_is_refused(tmp_path, damage, message):
    header = modelfile.Header(
        recipe="perceptron",
        details={
            "task": "reranker",
            "kernel": {"kernel": "subset-tree"},
            "base": 1.0,
            **damage.get("details", {}),
        },
    )
    arrays = damage.get("arrays", {"alpha": np.ones(1)})
    modelfile.write(
        tmp_path / "r.chaff", header, arrays, damage.get("strings", {"support": ['{"tree": "(S (A a))"}']})
    )
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "r.chaff")


def test_a_linear_kernel_learns_what_the_features_do():
    lists = made_lists(0, 30)
    vectors = [
        CandidateList(one.x, [[float(v) for v in y] for y in one.candidates], one.scores, one.losses)
        for one in lists
    ]

    def entries(x, y):
        return {f"{k}": value for k, value in enumerate(y)}

    problem_rows = GramRows(LinearKernel(), [y for one in vectors for y in one.candidates])
    bounds = np.cumsum([0, *(len(one.candidates) for one in vectors)]).tolist()
    examples = [
        ((a, b), Judged.of(one.losses)) for one, a, b in zip(vectors, bounds[:-1], bounds[1:], strict=True)
    ]
    learner = Perceptron(epochs=2)
    dual = learner.fit(Problem(Candidates(), KernelLists(problem_rows, np.zeros(bounds[-1])), examples))
    features = NamedCandidates(entries)
    listed = ListExamples(
        np.array(bounds, np.int64), features.fit(vectors), np.concatenate([o.losses for o in vectors])
    )
    primal = learner.fit(Problem(Candidates(), FeatureScorer(features.F), listed))
    for n, (x, _) in enumerate(listed):
        ours, theirs = dual.potentials(examples[n][0])["choice"], primal.potentials(x)["choice"]
        np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-3)


def test_faulty_lists_are_refused():
    with pytest.raises(DataError, match="found an empty list"):
        CandidateList(None, [], np.zeros(0))
    with pytest.raises(DataError, match="every training list needs losses"):
        Reranker(features=parity).fit([CandidateList(None, [(1,)], np.zeros(1))])
    with pytest.raises(ConfigError, match="not trained"):
        Reranker().choose(made_lists(0))
    with pytest.raises(DataError, match="expected one label for each of 2 words"):
        Reranker().fit([CandidateList(["a", "b"], [["X"]], np.zeros(1), np.zeros(1))])
