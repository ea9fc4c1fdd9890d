"""Probabilities of phrases: calibrated on trees that the parser has not seen, and kept in its file."""

import json

import numpy as np
import pytest

from chaffinch import Parser, load, samples
from chaffinch.corpus.brackets import bracketed, parse
from chaffinch.estimators.parser import trees_of
from chaffinch.evaluate.reliability import reliability
from chaffinch.model.parsing import SpanChance
from chaffinch.recipes.tree_calibration import in_tree
from chaffinch.text.binary_trees import nodes
from commandline import Runner, run  # noqa: F401

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def treebank():
    train, test = samples.load("trees", "train")[:400], samples.load("trees", "test")
    return trees_of(train), trees_of(test)


@pytest.fixture(scope="module")
def trained(treebank):
    return Parser("pcfg", threads=1).fit(treebank[0])


def words_of(tree):
    return [node.word for node in nodes(tree) if node.word is not None]


def error(parser, trees):
    """The expected calibration error of the phrases that are more probable than not."""
    p, right = [], []
    for tree, found in zip(trees, parser.predict_marginals([words_of(t) for t in trees]), strict=True):
        p += [one.p for one in found]
        right += in_tree(found, tree)
    p, right = np.array(p), np.array(right)
    return reliability(p[p >= 0.5], right[p >= 0.5]).error


def test_probabilities_of_phrases_are_closer_to_their_accuracy_than_those_of_the_grammar(treebank, trained):
    raw = Parser("pcfg", folds=0, threads=1).fit(treebank[0])
    assert raw.confidence_ is None
    assert trained.confidence_.unit == "phrases"
    assert error(raw, treebank[1]) > 0.02
    assert error(trained, treebank[1]) < 0.012
    assert raw.predict([words_of(treebank[1][0])]) == trained.predict([words_of(treebank[1][0])])


def test_every_recipe_is_calibrated_by_default(treebank):
    for recipe in Parser.recipes:
        parser = Parser(recipe.name, threads=1).fit(treebank[0][:40])
        assert parser.confidence_ is not None, recipe.name
        assert parser.confidence_.folds == 10


@pytest.mark.parametrize("start", [0, 60, 120])
def test_calibration_is_kept_only_if_it_helps_on_trees_it_was_not_fitted_on(treebank, start):
    few = treebank[0][start : start + 60]
    raw = error(Parser(folds=0, threads=1).fit(few), treebank[1])
    assert error(Parser(threads=1).fit(few), treebank[1]) <= raw + 0.001


def test_evaluate_says_that_trees_carry_no_probabilities(treebank, tmp_path, run: Runner):  # noqa: F811
    path = tmp_path / "trees.mrg"
    path.write_text("".join(f"{bracketed(tree)}\n" for tree in treebank[1][:3]))
    assert "Trees carry no probabilities" in run("evaluate", path, path).out


def test_phrases_are_listed_by_their_calibrated_probability(treebank, trained):
    sentences = [words_of(tree) for tree in treebank[1][:40]]
    for least in (0.01, 0.3, 0.9):
        for found in trained.predict_marginals(sentences, least=least):
            assert all(one.p >= least for one in found)
            places = [(one.start, -one.end) for one in found]
            assert places == sorted(places)


def test_calibration_is_kept_in_the_file_and_the_same_bytes_are_made_on_any_number_of_threads(
    treebank, trained, tmp_path
):
    trained.save(tmp_path / "one")
    Parser("pcfg", threads=2).fit(treebank[0]).save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    sentences = [words_of(tree) for tree in treebank[1][:20]]
    assert load(tmp_path / "one").predict_marginals(sentences) == trained.predict_marginals(sentences)


def test_dev_trees_serve_instead_of_folds(treebank):
    parser = Parser("pcfg", threads=1).fit(treebank[0], dev=treebank[1])
    assert parser.confidence_.folds == 0


def test_a_few_trees_are_too_few(treebank):
    assert Parser("pcfg", threads=1).fit(treebank[0][:19]).confidence_ is None


def test_equal_phrases_over_the_same_words_are_matched_one_to_one_in_a_deep_tree():
    tree = parse("(NP " * 3000 + "(NN tea)" + ")" * 3000)
    found = [SpanChance(0, 1, "NP", p) for p in np.linspace(0.1, 0.9, 3001)]
    right = in_tree(found, tree)
    assert sum(right) == 3000
    assert not right[0]  # the least probable of them


def test_train_tells_the_calibration_of_phrases(treebank, tmp_path, run: Runner):  # noqa: F811
    data, model = tmp_path / "train.mrg", tmp_path / "m.chaff"
    data.write_text("\n".join(map(bracketed, treebank[0][:60])), encoding="utf-8")
    found = json.loads(run("train", data, "-o", model, "--recipe", "pcfg", "--json").out)["calibration"]
    assert found["unit"] == "phrases"
    assert "probabilities of phrases calibrated" in run("train", data, "-o", model, "--recipe", "pcfg").out
    assert "not calibrated" not in run("predict", model, data, "--marginals").err
    record = run("train", data, "-o", model, "--recipe", "pcfg", "--folds", "0", "--json").out
    assert "calibration" not in json.loads(record)
    assert "not calibrated" in " ".join(run("predict", model, data, "--marginals").err.split())
