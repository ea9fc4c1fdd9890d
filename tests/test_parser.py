"""Parsers: grammars and span parsers, as estimators, in files and on the command line."""

import gzip
import json
import math

import numpy as np
import pytest

from chaffinch import ConfigError, DataError, ModelFileError, Parser, load, samples
from chaffinch.corpus import read
from chaffinch.corpus.brackets import bracketed, parse
from chaffinch.evaluate.trees import brackets, score_trees
from chaffinch.learners.adagrad import AdaGrad
from chaffinch.learners.examples import TreeExamples
from chaffinch.learners.frank_wolfe import FrankWolfe
from chaffinch.learners.grammar import GrammarCounts
from chaffinch.learners.online import Perceptron
from chaffinch.learners.problem import Problem
from chaffinch.learners.subgradient import Subgradient
from chaffinch.model.parsing import Parse, distinct
from chaffinch.model.tree_labels import TreeLabels
from chaffinch.recipes.parsers import Pcfg
from chaffinch.recipes.span_parser import SpanParser
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Parts, SpanTree
from chaffinch.text.binary_trees import binary, nodes
from commandline import Runner, run  # noqa: F401


@pytest.fixture(scope="module")
def treebank():
    train, test = samples.load("trees", "train")[:300], samples.load("trees", "test")[:60]
    return [d.tree for d in train], [d.tree for d in test]


@pytest.fixture(scope="module", params=["pcfg", "parser"])
def trained(request, treebank):
    return Parser(request.param).fit(treebank[0])


@pytest.fixture(scope="module")
def briefly_trained(treebank):
    """A span parser after two passes, with the default loss and pruning."""
    return Parser(SpanParser(epochs=2)).fit(treebank[0])


def words_of(tree):
    return [node.word for node in nodes(tree) if node.word is not None]


def test_a_trained_parser_finds_most_brackets_and_is_written_and_read_alike(trained, treebank, tmp_path):
    _, test = treebank
    assert trained.score(test) > 0.85
    X = [words_of(tree) for tree in test]
    assert trained.score(X, test) == trained.score(test)
    path = tmp_path / "parser.chaff"
    trained.save(path)
    again = load(path)
    assert again.brackets(X) == trained.brackets(X)
    assert again.labels_ == trained.labels_
    again.save(tmp_path / "again.chaff")
    assert path.read_bytes() == (tmp_path / "again.chaff").read_bytes()


def test_the_k_best_trees_differ_and_fall(trained, treebank):
    _, test = treebank
    lists = trained.predict_kbest([words_of(tree) for tree in test[:10]], 7)
    assert max(map(len, lists)) == 7, "where a grammar knows fewer trees, the list is shorter"
    for found in lists:
        scores = [score for score, _ in found]
        assert scores == sorted(scores, reverse=True)
        assert len({bracketed(tree) for _, tree in found}) == len(found) <= 7
        assert all(words_of(tree) == words_of(found[0][1]) for _, tree in found)


def test_chances_of_phrases_are_those_of_the_trees_that_have_them():
    trees = [
        "(S (NP (N a)) (VP (V b) (NP (N c))))",
        "(S (NP (N a) (N b)) (VP (V c)))",
        "(S (NP (N b)) (VP (V b) (NP (N a) (N c))))",
    ]
    parser = Parser(Pcfg(vertical=1, horizontal=99)).fit(trees)
    sentence = ["a", "b", "c"]
    parses = parser.predict_kbest([sentence], 1000)[0]
    total = math.fsum(math.exp(score) for score, _ in parses)
    expected: dict[tuple[str, int, int], float] = {}
    for score, tree in parses:
        for bracket in set(brackets(tree, [False] * 3)):
            expected[bracket] = expected.get(bracket, 0) + math.exp(score) / total
    (found,) = parser.predict_marginals([sentence], least=0.0001)
    assert len(parses) > 1
    assert {(c.label, c.start, c.end): round(c.p, 4) for c in found} == {
        b: round(p, 4) for b, p in expected.items() if p >= 0.0001
    }
    assert [(c.start, -c.end) for c in found] == sorted((c.start, -c.end) for c in found)


def test_likely_phrases_are_mostly_those_of_the_tree(trained, treebank):
    X = [words_of(tree) for tree in treebank[1][:20]]
    for words, tree, chances in zip(X, trained.predict(X), trained.predict_marginals(X), strict=True):
        in_tree = set(brackets(tree, [False] * len(words)))
        sure = {(c.label, c.start, c.end) for c in chances if c.p > 0.95}
        assert all(0.01 <= c.p <= 1 for c in chances)
        assert len(sure - in_tree) <= 1


def test_threads_change_nothing(trained, treebank):
    X = [words_of(tree) for tree in treebank[1][:20]]
    one, two = (Parser(trained.config_, threads=n) for n in (1, 2))
    one.model_ = two.model_ = trained.model_
    assert one.brackets(X) == two.brackets(X)


def test_given_parts_of_speech_are_kept(trained, treebank):
    tree = treebank[1][0]
    tagged = [(node.word, node.label) for node in nodes(tree) if node.word is not None]
    (found,) = trained.predict([tagged])
    assert [node.label for node in nodes(found) if node.word is not None] == [tag for _, tag in tagged]


def test_training_twice_gives_the_same_bytes(treebank, tmp_path):
    for name, threads in (("a", 1), ("b", 2)):
        config = SpanParser(epochs=1)
        Parser(config, threads=threads).fit(treebank[0][:60]).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_words_and_sentences_never_seen_are_parsed(trained):
    for sentence in (["Zounds"], ["xyzzy", "Plugh-1", "42", "!"], [","] * 5):
        (tree,) = trained.predict([sentence])
        assert words_of(tree) == sentence


@pytest.mark.long
def test_every_loss_learns(treebank, briefly_trained):
    assert briefly_trained.config_.loss == "likelihood"
    assert briefly_trained.score(treebank[1]) > 0.85
    for loss in ("hinge", "perceptron"):
        assert Parser(SpanParser(loss=loss, epochs=2)).fit(treebank[0]).score(treebank[1]) > 0.85, loss


def test_pruning_closes_spans_and_keeps_the_answers(treebank, briefly_trained):
    full = Parser(SpanParser(prune=0.0, epochs=2)).fit(treebank[0])
    pruned = briefly_trained
    X = [words_of(tree) for tree in treebank[1]]
    assert pruned.score(treebank[1]) >= full.score(treebank[1]) - 0.02
    model = pruned.model_
    tags = model.tags([type("S", (), {"words": x, "tags": None})() for x in X], 1)
    open_ = model.coarse.native.open(*model.columns(X, tags), model.prune, 1)
    assert open_.mean() < 0.6


def test_bad_input_is_refused(trained, treebank):
    with pytest.raises(DataError, match="sentence 1: has no words"):
        trained.predict([[]])
    with pytest.raises(DataError, match="expected a list of words"):
        trained.predict(["a string"])
    with pytest.raises(DataError, match="parts of speech for all words"):
        trained.predict([["a", ("b", "B")]])
    with pytest.raises(ConfigError, match="k must be >= 1"):
        trained.predict_kbest([["a"]], 0)
    with pytest.raises(DataError, match="expected the words of its tree"):
        Parser("pcfg").fit([["not", "it"]], [treebank[0][0]])
    with pytest.raises(DataError, match="at least one tree"):
        Parser("pcfg").fit([])
    with pytest.raises(ConfigError, match="not trained"):
        Parser().predict([["a"]])
    with pytest.raises(ConfigError, match="there is no recipe 'nope'"):
        Parser("nope").fit(treebank[0][:2])


def test_a_damaged_file_is_refused(trained, tmp_path):
    from chaffinch import modelfile

    path = tmp_path / "parser.chaff"
    trained.save(path)
    file = modelfile.read(path)
    for name in [name for name in file.arrays if not name.startswith("tagger.")]:
        arrays = dict(file.arrays)
        arrays[name] = arrays[name][:-1]
        modelfile.write(
            tmp_path / "bad.chaff", file.header, arrays, {k: list(v) for k, v in file.strings.items()}
        )
        with pytest.raises(ModelFileError):
            load(tmp_path / "bad.chaff")


def test_parameters_follow_scikit_learn():
    parser = Parser("pcfg", seed=3)
    parser.set_params(recipe__vertical=1)
    assert parser.get_params()["recipe__vertical"] == 1
    assert parser.recipe == Pcfg(vertical=1)
    with pytest.raises(ConfigError, match="has no parameter 'depth'"):
        parser.set_params(depth=1)


# -- the grammar ----------------------------------------------------------------------------------------------------


def counting(trees):
    """Binary trees as a problem of counting."""
    return Problem(None, None, trees)


def test_counts_become_probabilities():
    trees = ["(S (NP (N a)) (VP (V b)))"] * 3 + ["(S (NP (D c) (N a)) (VP (V b)))"]
    grammar = GrammarCounts(rule_smoothing=0, word_smoothing=0).fit(
        counting([binary(parse(t)) for t in trees])
    )
    assert grammar.rules["S", "NP N", "VP V"] == pytest.approx(math.log(3 / 4))
    assert grammar.rules["NP", "D", "N"] == 0
    assert grammar.top == {"S": 0.0}
    # log p(A|w) - log p(A): a is NP N three times of four, and three of nine words are NP N
    assert grammar.words["a"]["NP N"] == pytest.approx(math.log((3 / 4) / (3 / 9)))


def test_a_rule_seen_under_one_parent_is_possible_under_another():
    trees = ["(S (X (A a) (B b)) (Y (X (A a) (C c)) (D d)))"]
    made = [binary(parse(t), vertical=2) for t in trees]
    plain = GrammarCounts(rule_smoothing=0).fit(counting(made)).rules
    smooth = GrammarCounts(rule_smoothing=1).fit(counting(made)).rules
    assert ("X(^Y", "A", "B") not in plain
    assert smooth["X(^Y", "A", "B"] == pytest.approx(math.log(0.5 / 2))
    for symbol in {rule[0] for rule in smooth}:
        assert sum(math.exp(w) for rule, w in smooth.items() if rule[0] == symbol) == pytest.approx(1)


def test_the_best_derivation_has_the_product_of_its_rules():
    trees = ["(S (NP (N a)) (VP (V b)))"] * 3 + ["(S (NP (D c) (N a)) (VP (V b)))"]
    parser = Parser(Pcfg(vertical=1, rule_smoothing=0, word_smoothing=0, expected=False)).fit(trees)
    ((score, tree),) = parser.predict_kbest([["c", "a", "b"]], 1)[0]
    assert bracketed(tree) == "(S (NP (D c) (N a)) (VP (V b)))"
    words = math.log(9 / 1) + math.log((1 / 4) / (1 / 9)) + math.log(9 / 4)
    assert score == pytest.approx(math.log(1 / 4) + words, rel=1e-5)


# -- the learners ---------------------------------------------------------------------------------------------------


def tiny_problem():
    rng = np.random.default_rng(3)
    Y, F, N = 3, 40, 6
    tree = SpanTree(Y)
    layout = Layout.of({"span": (F, 3 * Y), "left": (Y, Y), "right": (Y, Y)})
    bounds, ptr, ids, gold = [0], [0], [], []
    for _ in range(N):
        T = int(rng.integers(1, 6))
        bounds.append(bounds[-1] + T)
        for _ in range(T * (T + 1) // 2):
            ids += sorted(rng.choice(F, 3, replace=False).tolist())
            ptr.append(len(ids))
        size = (T * (T + 1) // 2, 3 * Y)

        gold.append(tree.argmax(Parts(span=rng.normal(size=size))))
    examples = TreeExamples(
        np.array(bounds), np.array(ptr), np.array(ids, np.int32), np.concatenate(gold).astype(np.int32)
    )
    return Problem(tree, Linear(layout), examples)


@pytest.mark.parametrize("loss", ["likelihood", "hinge", "perceptron"])
@pytest.mark.parametrize("average", [True, False])
def test_the_fused_passes_equal_the_generic_loop(loss, average):
    problem, learner = tiny_problem(), AdaGrad(loss=loss, epochs=3, average=average)
    for ours, plain in zip(learner.passes(problem), learner.generic(problem), strict=True):
        assert ours.scores == plain.scores
        np.testing.assert_allclose(ours.model().w, plain.model().w, atol=2e-3)


@pytest.mark.parametrize("average", [True, False])
def test_the_fused_perceptron_of_trees_equals_the_generic_loop(average):
    problem, learner = tiny_problem(), Perceptron(epochs=4, average=average)
    for ours, plain in zip(learner.passes(problem), learner.generic(problem), strict=True):
        assert ours.scores == plain.scores
        np.testing.assert_allclose(ours.model().w, plain.model().w, atol=1e-4)


def test_structures_of_trees_train_under_the_general_learners():
    problem = tiny_problem()
    for learner in (Perceptron(epochs=30), FrankWolfe(epochs=20), Subgradient(epochs=30), AdaGrad(epochs=30)):
        scorer = learner.fit(problem)
        right = [
            np.array_equal(problem.structure.argmax(scorer.potentials(x)), y) for x, y in problem.examples
        ]
        assert np.mean(right) >= 0.8, learner


# -- smaller things -------------------------------------------------------------------------------------------------


def test_trees_that_differ_are_looked_for_until_there_are_enough():
    every = [Parse(-n, parse(f"(A (B w{n // 4}))")) for n in range(100)]
    assert [p.score for p in distinct(5, lambda n: every[:n])] == [0, -4, -8, -12, -16]
    assert len(distinct(50, lambda n: every[:n])) == 25


def test_a_label_twice_in_a_chain_is_two_brackets():
    labels = TreeLabels(("NP", "NP NP", "", "S(@"), np.ones(4, np.bool_), tagged=False)
    ptr, ids = labels.brackets
    assert ptr.tolist() == [0, 1, 3, 3, 3]
    assert ids.tolist() == [0, 0, 1]


def test_the_command_line_trains_parses_and_evaluates(tmp_path, treebank, run: Runner):  # noqa: F811
    for name, trees in (("train.mrg", treebank[0]), ("test.mrg", treebank[1])):
        (tmp_path / name).write_text("".join(bracketed(t) + "\n" for t in trees))
    model = tmp_path / "m.chaff"
    done = run(
        "train",
        tmp_path / "train.mrg",
        "-o",
        model,
        "--dev",
        tmp_path / "test.mrg",
        "--epochs",
        "2",
        "--json",
    )
    record = json.loads(done.out)
    assert record["recipe"] == "parser"
    assert record["dev"]["bracket.f1"] > 0.85
    run("predict", model, tmp_path / "test.mrg", "-o", tmp_path / "out.mrg")
    scores = json.loads(run("evaluate", tmp_path / "test.mrg", tmp_path / "out.mrg", "--json").out)
    assert scores["bracket.f1"] == pytest.approx(record["dev"]["bracket.f1"])
    (tmp_path / "raw.txt").write_text("the\nfox\nslept\n\n")
    lines = run("predict", model, tmp_path / "raw.txt", "--kbest", "3").out.splitlines()
    assert len(lines) == 4
    assert lines[3] == ""
    assert parse(lines[0].split("\t")[1])
    done = run("predict", model, tmp_path / "raw.txt", "--marginals")
    assert "not calibrated" not in " ".join(done.err.split())  # they are, on the dev trees
    chances = done.out.splitlines()
    assert chances[-1] == ""
    assert [line.split("\t")[:2] for line in chances[:1]] == [["0", "3"]]
    row = json.loads(run("predict", model, tmp_path / "raw.txt", "--marginals", "--json").out)
    assert row["w"] == ["the", "fox", "slept"]
    assert len(row["spans"]) == len(chances) - 1
    shown = run("inspect", model)
    assert "strongest children" in shown.out
    refused = run("predict", model, tmp_path / "raw.txt", "-o", tmp_path / "out.conll")
    assert (refused.code, "which holds no tree; name a .mrg" in refused.err) == (2, True)


def test_round_brackets_of_a_text_are_written_as_treebanks_write_them(tmp_path, treebank, run: Runner):  # noqa: F811
    Parser("pcfg").fit(treebank[0]).save(tmp_path / "m.chaff")
    (tmp_path / "raw.txt").write_text("the fox (red) slept\n")
    outcome = run("predict", tmp_path / "m.chaff", tmp_path / "raw.txt", "-o", tmp_path / "out.mrg")
    assert outcome.code == 0, outcome.err
    assert words_of(parse((tmp_path / "out.mrg").read_text())) == [
        "the",
        "fox",
        "-LRB-",
        "red",
        "-RRB-",
        "slept",
    ]


@pytest.mark.long
@pytest.mark.data
def test_the_grammar_of_the_treebank_scores_as_it_should(data, tmp_path):
    with gzip.open(data / "ptb_sample" / "trees.tsv.gz", "rt", encoding="utf-8") as rows:
        header, *lines = rows
    lines = lines[:500] + [line for line in lines if 160 <= int(line[4:8]) <= 179]
    (tmp_path / "trees.tsv").write_text(header + "".join(lines), encoding="utf-8")
    docs = list(read(tmp_path / "trees.tsv", strip=True))
    train = [d.tree for d in docs if int(d.group[4:8]) <= 159]
    dev = [d.tree for d in docs[500:] if len(d.tokens) <= 20][:30]
    assert (len(train), len(dev)) == (500, 30)
    found = Parser(Pcfg(vertical=1, horizontal=0, expected=False)).fit(train)
    assert score_trees(dev, found.predict([words_of(t) for t in dev])).bracket.f1 > 0.6
