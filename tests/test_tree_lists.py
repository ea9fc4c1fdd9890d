"""Reranking trees: features of whole trees, losses, and a reranker that knows words where the grammar does not."""

import json
from collections import Counter

import numpy as np
import pytest

from chaffinch import Parser, modelfile, samples
from chaffinch.corpus.brackets import bracketed, parse
from chaffinch.errors import DataError
from chaffinch.estimators.candidate_lists import cross_validated_tree_lists, tree_lists
from chaffinch.estimators.parser import words_of
from chaffinch.estimators.reranker import Reranker, oracle
from chaffinch.evaluate.trees import score_trees
from chaffinch.features.tree_lists import GLOBAL, tree_list_features
from chaffinch.learners.examples import ListExamples
from chaffinch.learners.maximum_likelihood import expected_loss
from chaffinch.model.candidates import CandidateList, TreeCandidates, tree_losses
from chaffinch.model.head_grammar import KINDS, HeadGrammar, events_of
from chaffinch.model.tree_consensus import TEMPERATURES, TreeConsensus, consensus
from chaffinch.scorers import Rows
from commandline import Runner, run  # noqa: F401

ATE = "(S (NP (N we)) (VP (V ate) (NP (N pie)) (PP (P with) (NP (N forks)))))"
PIE = "(S (NP (N we)) (VP (V ate) (NP (NP (N pie)) (PP (P with) (NP (N forks))))))"


def test_subtrees_that_all_candidates_share_make_no_features():
    one = [parse(ATE), parse(PIE)]
    rows = tree_list_features([one], [np.zeros(2)])
    alone = tree_list_features([one[:1]], [np.zeros(1)])
    assert len(alone.keys) == len(GLOBAL), "a list of one tree differs nowhere"
    first, second = (set(rows.keys[rows.ptr[i] : rows.ptr[i + 1]].tolist()) for i in (0, 1))
    assert first - second
    assert second - first


def test_features_count_how_often_a_thing_is_there():
    twice = parse("(S (A (X a) (Y b)) (A (X a) (Y b)))")
    rows = tree_list_features([[twice, parse("(T (B (X a) (Y b)) (C (X a) (Y b)))")]], [np.zeros(2)])
    assert 2.0 in rows.values[: rows.ptr[1] - len(GLOBAL)].tolist()


def test_losses_are_one_minus_f1():
    found = tree_losses(parse(ATE), [parse(ATE), parse(PIE)])
    assert found[0] == 0
    assert found[1] == pytest.approx(1 - score_trees([parse(ATE)], [parse(PIE)]).bracket.f1)


def test_fitted_features_keep_their_columns():
    lists = [CandidateList(None, [parse(ATE), parse(PIE)], np.zeros(2))]
    features = TreeCandidates(min_count=1)
    rows = features.fit(lists)
    again = features.rows(lists)
    assert np.array_equal(rows.ids, again.ids)
    assert np.array_equal(rows.values, again.values)


@pytest.mark.long
def test_reranking_the_lists_of_a_grammar_gains(tmp_path):
    train = [d.tree for d in samples.load("trees", "train")[:400]]
    test = [d.tree for d in samples.load("trees", "test")[:150]]

    made = cross_validated_tree_lists(lambda: Parser("pcfg"), train, 8, 2)
    base = tree_lists(Parser("pcfg").fit(train), [words_of(tree) for tree in test], 8, test)
    reranker = Reranker("likelihood", features="trees").fit(made)
    before = score_trees(test, [one.candidates[0] for one in base]).bracket.f1
    after = score_trees(test, reranker.predict(base)).bracket.f1
    best = score_trees(test, oracle(base)).bracket.f1
    assert before + 0.005 < after <= best
    reranker.save(tmp_path / "r.chaff")
    again = Reranker.loaded(modelfile.read(tmp_path / "r.chaff"))
    assert again.choose(base) == reranker.choose(base)


@pytest.mark.parametrize(
    "way",
    [(), ("--features", "trees"), ("--kernel", "subset-tree")],
    ids=lambda way: " ".join(way) or "default",
)
def test_the_command_line_reranks_trees(tmp_path, run: Runner, way):  # noqa: F811
    for name, split, n in (("train.mrg", "train", 120), ("dev.mrg", "test", 40)):
        lines = [bracketed(d.tree) + "\n" for d in samples.load("trees", split)[:n]]
        (tmp_path / name).write_text("".join(lines))
    parser, reranker = tmp_path / "p.chaff", tmp_path / "r.chaff"
    run("train", tmp_path / "train.mrg", "-o", parser, "--recipe", "pcfg")
    asked = (
        "--base",
        parser,
        "-o",
        reranker,
        "--dev",
        tmp_path / "dev.mrg",
        "--kbest",
        "5",
        "--folds",
        "2",
        "--json",
        *way,
    )
    record = json.loads(run("rerank", tmp_path / "train.mrg", *asked).out)
    dev = record["dev"]
    assert dev["bracket.f1.base"] <= dev["bracket.f1.oracle"]
    assert dev["bracket.f1.gain.low"] <= dev["bracket.f1.gain"] <= dev["bracket.f1.gain.high"]
    done = run(
        "rerank",
        tmp_path / "dev.mrg",
        "--base",
        parser,
        "--with",
        reranker,
        "--kbest",
        "5",
        "-o",
        tmp_path / "o.mrg",
    )
    assert done.code == 0, done.err
    scores = json.loads(run("evaluate", tmp_path / "dev.mrg", tmp_path / "o.mrg", "--json").out)
    assert scores["bracket.f1"] == pytest.approx(dev["bracket.f1.reranked"])


def test_consensus_is_what_enumerating_pairs_of_trees_gives():
    trees = [
        parse(ATE),
        parse(PIE),
        parse("(S (S (NP (N we)) (VP (V ate))) (NP (NP (N pie) (P with)) (N forks)))"),
    ]
    scores = np.array([-1.0, -1.5, -3.0])
    found = consensus(trees, scores)
    size = [score_trees([tree], [tree]).bracket.gold for tree in trees]
    for t, temperature in enumerate(TEMPERATURES):
        p = np.exp(temperature * scores) / np.exp(temperature * scores).sum()
        for c, tree in enumerate(trees):
            against = [score_trees([other], [tree]).bracket for other in trees]
            right = sum(p[d] * rates.correct for d, rates in enumerate(against))
            f1 = sum(p[d] * rates.f1 for d, rates in enumerate(against))
            assert found[c, 2 * t] == pytest.approx(right)
            assert found[c, 2 * t + 1] == pytest.approx(f1)
    assert found[:, -1].tolist() == size


def test_the_grammar_with_heads_has_probabilities_that_add_up():
    trees = [d.tree for d in samples.load("trees", "train")[:60]]
    grammar = HeadGrammar.counted(trees)
    seen = {came for tree in trees for kind, _, came in events_of(tree) if kind == "child"}
    for kind, contexts, _ in list(events_of(trees[0])):
        if kind == "child":
            every = [(kind, contexts, came) for came in [*seen, "never seen"]]
            assert grammar.probabilities(every).sum() == pytest.approx(1)


def test_the_grammar_with_heads_likes_trees_as_it_has_seen_them():
    grammar = HeadGrammar.counted([parse(ATE)] * 3 + [parse(PIE)])
    ate, pie = grammar.scores([parse(ATE), parse(PIE)]).sum(axis=1)
    assert ate > pie


def test_the_grammar_with_heads_counts_as_a_plain_count_does():
    trees = [d.tree for d in samples.load("trees", "train")[:30]]
    grammar = HeadGrammar.counted(trees)
    every = [event for tree in trees for event in events_of(tree)]
    unseen = [(kind, contexts, "never seen") for kind, contexts, _ in every[:40]]
    kinds = {kind: {came for k, _, came in every if k == kind} for kind in KINDS}
    seen = Counter(((kind, context), came) for kind, contexts, came in every for context in contexts)
    for (kind, contexts, came), found in zip(
        [*every[:100], *unseen], grammar.probabilities([*every[:100], *unseen]), strict=True
    ):
        p = 1 / (len(kinds[kind]) + 1)
        for context in ((kind, one) for one in contexts):
            times = [n for (c, _), n in seen.items() if c == context]
            if times:
                p = (seen[context, came] + 3 * len(times) * p) / (sum(times) + 3 * len(times))
        assert found == pytest.approx(p)


@pytest.mark.long
def test_a_reranker_by_consensus_is_the_same_out_of_a_file(tmp_path):
    train = [d.tree for d in samples.load("trees", "train")[:200]]
    test = [d.tree for d in samples.load("trees", "test")[:60]]
    made = cross_validated_tree_lists(lambda: Parser("pcfg"), train, 8, 2, grammar=True)
    grammar = HeadGrammar.counted(train)
    reranker = Reranker("risk", features=TreeConsensus(grammar=grammar)).fit(made)
    parser = Parser("pcfg").fit(train)
    lists = tree_lists(parser, [words_of(t) for t in test], 8, test)
    reranker.save(tmp_path / "r.chaff")
    again = Reranker.loaded(modelfile.read(tmp_path / "r.chaff"))
    assert again.choose(lists) == reranker.choose(lists)
    asked = tree_lists(parser, [words_of(t) for t in test], 8, test, grammar)
    assert reranker.choose(asked) == reranker.choose(lists)
    before = score_trees(test, [one.candidates[0] for one in lists]).bracket.f1
    assert score_trees(test, reranker.predict(lists)).bracket.f1 > before
    plain = Reranker("risk", features="consensus").fit(made)
    with pytest.raises(DataError, match="other models"):
        plain.choose(lists)


def test_the_slope_of_the_expected_loss_is_that_of_differences():
    rng = np.random.default_rng(5)
    losses, scores = rng.random(7), rng.normal(size=7)
    rows = Rows(np.zeros(8, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    examples = ListExamples(np.array([0, 3, 7]), rows, losses)
    weight = np.array([1.0, 2.5])
    _, slope = expected_loss(scores, examples, weight)
    for i in range(7):
        step = np.eye(7)[i] * 1e-6
        change = expected_loss(scores + step, examples, weight)[0]
        change -= expected_loss(scores - step, examples, weight)[0]
        assert slope[i] == pytest.approx(change / 2e-6, abs=1e-7)
