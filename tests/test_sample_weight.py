"""Weights of examples: two is the example given twice, zero is its absence, for every learner that has a loss."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from chaffinch import Aligner, Classifier, Parser, Tagger, load
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Reranker
from chaffinch.learners.chain_smo import ChainSmo
from chaffinch.learners.latent import LatentLikelihood, LatentPerceptron, Refined
from chaffinch.learners.maximum_likelihood import ExpectedLoss, MaximumLikelihood
from chaffinch.learners.problem import Problem
from chaffinch.model.candidates import CandidateList
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.aligners import ALIGNERS, MarginAligner
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.margin import M3N_LEARNERS, SSVM_LEARNERS, MaxMarginMarkovNetwork, StructuredSvm
from chaffinch.recipes.memm import Memm
from chaffinch.recipes.parsers import PARSERS
from chaffinch.recipes.rerankers import RERANKERS
from chaffinch.recipes.semi_crf import SemiCrf
from chaffinch.recipes.span_parser import SpanParser
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Choice
from commandline import run  # noqa: F401
from small_problems import chain_problem, choice_problem, enumerated_planes, optimum, primal
from test_fused import lists
from test_margin_learners import LEARNERS, C

pytestmark = pytest.mark.long

TIMES = (3, 1, 2)  # how often the examples are given, in turn


def times(N: int) -> np.ndarray:
    return np.resize(TIMES, N)


def counted(problem: Problem) -> tuple[Problem, Problem]:
    """A problem whose examples have whole weights, and the one in which they are given as often."""
    k = times(len(problem.examples))
    again = [pair for pair, n in zip(problem.examples, k, strict=True) for _ in range(n)]
    return replace(problem, weight=k.astype(np.float32)), replace(problem, examples=again)


@cache
def repeated_optimum(made: Callable[[], Problem]) -> float:
    return optimum(counted(made())[1], C)


# -- learners ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_margin_learners_reach_the_optimum_of_repeated_examples(learner):
    for made in (choice_problem, chain_problem):
        weighted, repeated = counted(made())
        least, records = repeated_optimum(made), []
        scorer = learner.fit(weighted, lambda record: records.append(record) or True)  # noqa: B023
        reached = primal(enumerated_planes(repeated), scorer.w.astype(np.float64), C)
        assert reached == pytest.approx(records[-1].scores["primal"], rel=1e-4)
        assert least * (1 - 1e-5) <= reached <= least * (1 + max(learner.tolerance, 0.02) + 1e-4)
        assert all(record.scores["dual"] <= least * (1 + 1e-5) for record in records)


def test_smo_on_marginals_reaches_it_too():
    weighted, repeated = counted(chain_problem())
    scorer = ChainSmo(C=C, epochs=80, tolerance=2e-3).fit(weighted)
    reached = primal(enumerated_planes(repeated), scorer.w.astype(np.float64), C)
    assert reached <= repeated_optimum(chain_problem) * (1 + 2e-3 + 1e-4)


@pytest.mark.parametrize("learner", [MaximumLikelihood(tolerance=1e-9), ExpectedLoss(l2=1.0, tolerance=1e-9)])
def test_learners_of_lists_reach_the_weights_of_repeated_lists(learner):
    problem = lists()
    k = times(len(problem.examples))
    which = np.repeat(np.arange(len(k)), k)
    data = problem.examples
    sizes = np.diff(data.lists)[which]
    rows = np.concatenate([np.arange(data.lists[n], data.lists[n + 1]) for n in which])
    ids, values = data.rows.ids.reshape(-1, 3)[rows].ravel(), data.rows.values.reshape(-1, 3)[rows].ravel()
    examples = replace(
        data,
        lists=np.concatenate([[0], np.cumsum(sizes)]),
        rows=replace(data.rows, ptr=np.arange(len(rows) + 1) * 3, ids=ids, values=values)
        if hasattr(data.rows, "__dataclass_fields__")
        else data.rows._replace(ptr=np.arange(len(rows) + 1) * 3, ids=ids, values=values),
        losses=data.losses[rows],
    )
    weighted = learner.fit(replace(problem, weight=k.astype(np.float32)))
    repeated = learner.fit(replace(problem, examples=examples))
    np.testing.assert_allclose(weighted.w, repeated.w, atol=2e-3)
    assert np.abs(weighted.w - learner.fit(problem).w).max() > 0.02


def test_hidden_parts_are_weighed_by_the_likelihood_and_not_by_the_perceptron():
    problem = choice_problem(N=6)
    hidden = replace(
        problem,
        structure=Refined.alike(Choice, 3, 2),
        scorer=Linear(Layout.choice(6, 6)),
        weight=times(6).astype(np.float32),
    )
    again = [pair for pair, n in zip(problem.examples, times(6), strict=True) for _ in range(n)]
    learner = LatentLikelihood(c2=0.5, epochs=200, restarts=1, noise=0.01)

    def reached(given: Problem) -> float:
        seen: list[float] = []
        learner.fit(given, lambda record: seen.append(record.scores["objective"]) or True)
        return seen[-1]

    repeated = reached(replace(hidden, examples=again, weight=None))
    assert reached(hidden) == pytest.approx(repeated, rel=5e-3)
    assert reached(replace(hidden, weight=None)) < 0.8 * repeated
    with pytest.raises(
        ConfigError, match="no loss to scale by the weights of examples; use LatentLikelihood"
    ):
        LatentPerceptron().fit(hidden)


# -- taggers ----------------------------------------------------------------------------------------------------------

WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "dog", "barks"], ["Bob", "barks"]]
TAGS = [["O", "B-N", "O"], ["O", "B-N", "O"], ["O", "B-P", "B-P"], ["B-P", "O"]]
K = [3.0, 1.0, 2.0, 1.0]
X2 = [x for x, k in zip(WORDS, K, strict=True) for _ in range(int(k))]
Y2 = [y for y, k in zip(TAGS, K, strict=True) for _ in range(int(k))]
FEATURES = ["w[0]", "w[-1]|w[0]", "suffix2[0]"]

CLOSED = {"C": 0.1, "passes": 150, "tolerance": 5e-3, "measure": 1, "average": False}
CONVERGED = {
    **{f"ssvm {name}": StructuredSvm(learner=name, **CLOSED) for name in SSVM_LEARNERS},
    **{f"m3n {name}": MaxMarginMarkovNetwork(learner=name, **CLOSED) for name in M3N_LEARNERS},
    "m3n quadratic": MaxMarginMarkovNetwork(kernel="quadratic", **CLOSED),
    "crf": Crf(passes=200, tolerance=1e-6),
    "crf by L-BFGS": Crf(optimiser="precise", tolerance=1e-7),
    "memm": Memm(optimiser="lbfgs"),
    "semi-crf": SemiCrf(passes=500, span_count=1, c2=1.0, margin=0.0),
}


def objective(tagger: Tagger) -> float:
    scores = [record.scores for record in tagger.history_]
    name = "primal" if "primal" in scores[-1] else "objective"
    return min(one[name] for one in scores) if name == "primal" else scores[-1][name]


@pytest.mark.parametrize("config", CONVERGED.values(), ids=CONVERGED)
def test_a_tagger_ends_at_the_optimum_of_repeated_sentences(config):
    made = Tagger(config, features=FEATURES, folds=0, threads=1)
    weighted = objective(made.fit(WORDS, TAGS, sample_weight=K))
    assert weighted == pytest.approx(objective(made.fit(X2, Y2)), rel=0.01)
    assert abs(weighted - objective(made.fit(WORDS, TAGS))) > 0.1 * weighted


@pytest.mark.parametrize("recipe", ["hmm", "emission"])
def test_counting_taggers_count_a_sentence_as_often_as_it_weighs(recipe, tmp_path):
    for name, tagger in (
        ("weighted", Tagger(recipe, folds=0).fit(WORDS, TAGS, sample_weight=K)),
        ("repeated", Tagger(recipe, folds=0).fit(X2, Y2)),
    ):
        tagger.fingerprint_, tagger.trained_on_ = "", {}  # of other data, by design
        tagger.save(tmp_path / name)
    assert (tmp_path / "weighted").read_bytes() == (tmp_path / "repeated").read_bytes()
    with pytest.raises(
        ConfigError, match=r"weights must be whole numbers, but sentence 2 has 0.5; a recipe with a loss"
    ):
        Tagger(recipe).fit(WORDS, TAGS, sample_weight=[1, 0.5, 1, 1])


@pytest.mark.parametrize("recipe", [r.name for r in TAGGERS if "weight" in r.options])
def test_a_sentence_of_weight_zero_is_absent(recipe, tmp_path):
    Tagger(recipe, folds=0).fit(WORDS[:3], TAGS[:3], sample_weight=[2, 1, 1]).save(tmp_path / "absent")
    words, tags = [["Zoe", "left"], *WORDS[:3]], [["B-NEW", "O"], *TAGS[:3]]
    Tagger(recipe, folds=0).fit(words, tags, sample_weight=[0, 2, 1, 1]).save(tmp_path / "zero")
    assert (tmp_path / "zero").read_bytes() == (tmp_path / "absent").read_bytes()


def test_soft_labels_of_a_sentence_of_weight_zero_are_absent():
    soft = [[{"A": 0.5, "C": 0.5}], [{"A": 0.75, "B": 0.25}], ["B"]]
    tagger = Tagger(features=["w[0]"], folds=0).fit([["v"], ["u"], ["t"]], soft, sample_weight=[0, 1, 1])
    assert tagger.classes_.tolist() == ["A", "B"]
    assert tagger.predict([["u"]]) == [["A"]]


@pytest.mark.parametrize("recipe", [r.name for r in TAGGERS if "weight" not in r.options])
def test_taggers_without_a_loss_refuse_weights_and_name_those_with_one(recipe):
    with pytest.raises(
        ConfigError, match=f"recipe {recipe} cannot use weights of examples .it minimises no loss.*crf.*ssvm"
    ):
        Tagger(recipe).fit(WORDS, TAGS, sample_weight=K)


def test_learning_on_weighs_sentences_and_skips_those_of_weight_zero():
    tagger = Tagger(features=["w[0]"], folds=0).fit([["u"], ["v"]], [["A"], ["B"]])
    tagger.partial_fit([["u2"], ["z"]], [["A"], ["C"]], sample_weight=[1, 0])
    assert tagger.classes_.tolist() == ["A", "B"]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 3, r"has the shape \(3,\), expected \(4,\): one for each of the sentences"),
        ([1, 1, 1, -1], "finite and at least 0, got -1"),
        ([1, 1, 1, np.nan], "finite and at least 0, got nan"),
        ([0] * 4, "got 0 for all sentences"),
        (["a"] * 4, "one number for each of the 4 sentences"),
    ],
)
def test_senseless_weights_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        Tagger().fit(WORDS, TAGS, sample_weight=weights)


# -- classifiers ------------------------------------------------------------------------------------------------------

TEXTS = ["good tea", "bad tea", "good cake now", "bad cake", "fine tea", "poor cake", "good bad tea"]
LABELS = ["+", "-", "+", "-", "+", "-", "-"]
TIGHT = {
    "ridge": {"tolerance": 1e-7, "epochs": 2000},
    "svm": {"tolerance": 1e-7, "epochs": 2000},
    "crammer-singer": {"tolerance": 1e-7, "epochs": 2000},
    "logistic": {"tolerance": 1e-9, "epochs": 2000},
    "maxent": {"tolerance": 1e-9},
    "loglinear": {"epochs": 2000, "rate": 0.01, "l2": 0.1},
}


@pytest.mark.parametrize("recipe", [r.name for r in CLASSIFIERS])
def test_a_classifier_of_weighted_texts_is_that_of_repeated_ones(recipe):
    config = CLASSIFIERS.by_name(recipe).config
    known = {k: v for k, v in TIGHT.get(recipe, {}).items() if k in config.__dataclass_fields__}
    k = times(len(TEXTS))
    texts = [text for text, n in zip(TEXTS, k, strict=True) for _ in range(n)]
    labels = [label for label, n in zip(LABELS, k, strict=True) for _ in range(n)]

    def scores(*given) -> np.ndarray:
        settings = dict(known)
        if recipe == "loglinear":  # weights are shrunk at every document: the more there are, the more often
            settings["l2"] *= len(TEXTS) / np.count_nonzero(given[2] if len(given) > 2 else given[1])
        made = Classifier(config(**settings), features="counts", calibrate=False, smallest=0.0, bits=None)
        return made.fit(*given).decision_function(TEXTS)

    if recipe in ("perceptron", "kernel-perceptron", "knn"):  # no loss: it scales the update, or the vote
        assert scores(TEXTS, LABELS, k).shape == scores(texts, labels).shape
        return
    np.testing.assert_allclose(scores(TEXTS, LABELS, k), scores(texts, labels), atol=0.02)
    np.testing.assert_allclose(
        scores([*TEXTS, "new"], [*LABELS, "+"], [*k, 0]), scores(TEXTS, LABELS, k), atol=1e-6
    )


# -- trees, links, lists ----------------------------------------------------------------------------------------------

TREES = [
    "(S (NP (D the) (N fox)) (VP (V sleeps)))",
    "(S (NP (D a) (N hen)) (VP (V eats)))",
    "(S (NP (D the) (N hen)) (VP (V sleeps)))",
    "(S (NP (D a) (N fox)) (VP (V eats)))",
]


def test_a_grammar_counts_a_tree_as_often_as_it_weighs(tmp_path):
    k = [3, 1, 2, 1]
    parsers = {
        "weighted": Parser("pcfg").fit(TREES, sample_weight=k),
        "repeated": Parser("pcfg").fit([tree for tree, n in zip(TREES, k, strict=True) for _ in range(n)]),
    }
    for name, parser in parsers.items():
        parser.fingerprint_ = ""
        parser.save(tmp_path / name)
    assert (tmp_path / "weighted").read_bytes() == (tmp_path / "repeated").read_bytes()


@pytest.mark.parametrize("recipe", [r.name for r in PARSERS])
def test_a_tree_of_weight_zero_is_absent(recipe, tmp_path):
    Parser(recipe).fit(TREES, sample_weight=[1, 2, 1, 1]).save(tmp_path / "absent")
    Parser(recipe).fit(["(X (Y new))", *TREES], sample_weight=[0, 1, 2, 1, 1]).save(tmp_path / "zero")
    assert (tmp_path / "zero").read_bytes() == (tmp_path / "absent").read_bytes()


def test_of_two_trees_of_a_sentence_a_parser_believes_them_by_their_weights():
    # One sentence, two readings: at the optimum of the likelihood each is as likely as its share of the weight.
    left, right = "(S (A (N x) (N y)) (N z))", "(S (N x) (B (N y) (N z)))"
    config = SpanParser(epochs=300, rate=0.01, dropout=0.0, prune=0.0, min_count=1, rare=1)

    def share(trees, weights):
        parser = Parser(config).fit(trees, sample_weight=weights)
        found = parser.predict_marginals([["x", "y", "z"]], least=0.0)[0]
        return sum(c.p for c in found if (c.start, c.end, c.label) == (0, 2, "A"))

    weighted = share([left, left, right, right], [1.5, 1.5, 0.5, 0.5])
    assert weighted == pytest.approx(0.75, abs=0.05)
    assert share([left] * 3 + [right], None) == pytest.approx(weighted, abs=0.05)
    with pytest.raises(
        ConfigError, match="the perceptron minimises no loss that weights of trees could scale"
    ):
        Parser(SpanParser(loss="perceptron")).fit(TREES, sample_weight=[1] * 4)


PAIRS = [
    (["the", "house"], ["la", "maison"]),
    (["the", "book"], ["le", "livre"]),
    (["a", "house"], ["une", "maison"]),
]
LINKS = [{(0, 0), (1, 1)}, {(0, 0), (1, 1)}, {(0, 1), (1, 1)}]


def test_an_aligner_weighs_the_hinge_of_a_pair(tmp_path):
    config = MarginAligner(epochs=300, tolerance=1e-3, measure=1, average=False)

    def reached(**given) -> float:
        aligner = Aligner(config).fit(PAIRS, LINKS, **given)
        return aligner.history_[-1].scores["primal"]

    # The smallest of |w|^2 / 2 + k C sum of hinges: weights of k are a C of k times as much.
    more = Aligner(replace(config, C=3.0)).fit(PAIRS, LINKS).history_[-1].scores["primal"]
    assert reached(sample_weight=[3, 3, 3]) == pytest.approx(more, rel=5e-3)
    assert reached(sample_weight=[1, 1, 5]) > 1.05 * reached()
    Aligner().fit(PAIRS[:2], LINKS[:2], sample_weight=[1, 2]).save(tmp_path / "absent")
    Aligner().fit(PAIRS, LINKS, sample_weight=[1, 2, 0]).save(tmp_path / "zero")
    assert (tmp_path / "zero").read_bytes() == (tmp_path / "absent").read_bytes()
    for recipe in (r.name for r in ALIGNERS if "weight" not in r.options):
        with pytest.raises(
            ConfigError, match=f"recipe {recipe} cannot use weights of examples.*; aligner can"
        ):
            Aligner(recipe).fit(PAIRS, LINKS, sample_weight=[1, 1, 1])


def ranked() -> list[CandidateList]:
    chance = np.random.default_rng(1)
    made = []
    for _ in range(9):
        words = ["".join(chance.choice(list("abcd"), 3)) for _ in range(4)]
        losses = np.array([word.count("a") + 0.3 * chance.random() for word in words])
        made.append(CandidateList(None, words, -np.sort(chance.random(4)), losses))
    return made


@pytest.mark.parametrize("recipe", [r.name for r in RERANKERS if "weight" in r.options])
def test_a_reranker_of_weighted_lists_is_that_of_repeated_ones(recipe, tmp_path):
    given, k = ranked(), times(9)
    config = RERANKERS.by_name(recipe).config
    more = {"C": 0.3, "epochs": 60, "tolerance": 1e-3} if recipe == "hinge" else {"tolerance": 1e-9}

    def fitted(lists, weight=None) -> Reranker:
        return Reranker(config(**more), features=list_features, min_count=1).fit(lists, sample_weight=weight)

    weighted = fitted(given, k)
    repeated = fitted([one for one, n in zip(given, k, strict=True) for _ in range(n)])
    for one, other in zip(weighted.scores(given), repeated.scores(given), strict=True):
        np.testing.assert_allclose(one, other, atol=0.03)
    plain = fitted(given)
    apart = [np.abs(a - b).max() for a, b in zip(weighted.scores(given), plain.scores(given), strict=True)]
    assert max(apart) > 0.05
    fitted(given[1:], k[1:]).save(tmp_path / "absent")
    fitted(given, [0, *k[1:]]).save(tmp_path / "zero")
    assert (tmp_path / "zero").read_bytes() == (tmp_path / "absent").read_bytes()


def list_features(x, y):
    return list(y)


def test_rerankers_without_a_loss_refuse_weights():
    for recipe in ("perceptron", "mira"):
        with pytest.raises(
            ConfigError, match=f"recipe {recipe} cannot use weights.*likelihood, risk, hinge can"
        ):
            Reranker(recipe, features=list_features).fit(ranked(), sample_weight=times(9))


# -- the command line -------------------------------------------------------------------------------------------------

TAGGED = {
    "rows.jsonl": (
        '{"text": "u", "spans": [{"start": 0, "end": 1, "label": "A"}], "times": 1}\n'
        '{"text": "u", "spans": [{"start": 0, "end": 1, "label": "B"}], "times": 4.5}\n',
        ["--weight", "times"],
    ),
    "rows.conll": ("u 1 B-A\n\nu 4.5 B-B\n\n", ["--columns", "w,times,y", "--weight", "times"]),
    "rows.conllu": (
        "".join(
            f"# times = {k}\n1\tu\t_\t{tag}\t_\t_\t0\troot\t_\t_\n\n" for k, tag in ((1, "B-A"), (4.5, "B-B"))
        ),
        ["--weight", "times"],
    ),
    "bare.conll": ("u B-A\n\nu B-B\n\n", ["--weight", "weights.txt"]),
}


@pytest.mark.parametrize("name", TAGGED)
def test_train_takes_the_weights_of_sentences_from_fields_columns_comments_or_a_file(
    name,
    tmp_path,
    monkeypatch,
    run,  # noqa: F811
):
    monkeypatch.chdir(tmp_path)
    text, flags = TAGGED[name]
    (tmp_path / name).write_text(text)
    (tmp_path / "weights.txt").write_text("1\n4.5\n")
    check(run, "train", name, "-o", "m.chaff", "--json", *flags, code=0)
    model = load("m.chaff")
    assert model.predict([["u"]]) == [["B-B"]]
    assert "times" not in model.columns_
    check(
        run, "train", name, "-o", "m.chaff", *flags[:-1], "absent", code=2, says="no column or field 'absent'"
    )
    check(run, "train", name, "-o", "m.chaff", "--recipe", "mira", *flags, code=2, says="minimises no loss")


def test_train_takes_weights_for_every_kind_of_data(tmp_path, monkeypatch, run):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trees.mrg").write_text("\n".join(TREES) + "\n")
    (tmp_path / "pairs.tsv").write_text("source\ttarget\tsure\tpossible\n" + "a b\tc d\t1-1 2-2\t\n" * 4)
    (tmp_path / "texts.csv").write_text("text,label,k\ngood,+,1\nbad,-,2\ngood,+,0\nbad,-,1\n")
    choices = (
        '{"input": 1, "k": 2, "candidates": [{"answer": "a", "score": 0, "loss": %d}, '
        '{"answer": "b", "score": 0, "loss": 1}]}\n'
    )
    (tmp_path / "lists.jsonl").write_text("".join(choices % (n % 2) for n in range(4)))
    (tmp_path / "k").write_text("1\n2\n\n0.5\n1\n")
    for data in ("trees.mrg", "pairs.tsv", "texts.csv", "lists.jsonl"):
        check(run, "train", data, "-o", "m.chaff", "--weight", "k", "--json", code=0)
    (tmp_path / "k").write_text("1\n2\n")
    check(
        run,
        "train",
        "trees.mrg",
        "-o",
        "m.chaff",
        "--weight",
        "k",
        code=2,
        says="k: has 2 weights, and trees.mrg has 4",
    )
    (tmp_path / "k").write_text("1\n2\n-1\n0\n")
    check(
        run,
        "train",
        "trees.mrg",
        "-o",
        "m.chaff",
        "--weight",
        "k",
        code=2,
        says="k:3: expected a weight, a number of at least 0",
    )
    (tmp_path / "texts.csv").write_text("text,label,k\ngood,+,1\nbad,-,much\n")
    check(
        run,
        "train",
        "texts.csv",
        "-o",
        "m.chaff",
        "--weight",
        "k",
        code=2,
        says="texts.csv:3: expected a weight in 'k'",
    )


def check(run, *arguments, code: int, says: str = "") -> None:  # noqa: F811
    found = run(*arguments)
    assert found.code == code, found.err
    assert says in " ".join(found.err.split())
