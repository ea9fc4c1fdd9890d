"""Why parsers, aligners and rerankers answered as they did: parts that add up to the models' own scores."""

import json
import re

import numpy as np
import pytest

from chaffinch import Aligner, ConfigError, DataError, Parser, Reranker, Tagger, samples
from chaffinch.corpus.brackets import bracketed, parse
from chaffinch.estimators.candidate_lists import (
    cross_validated_tag_lists,
    cross_validated_tree_lists,
)
from chaffinch.estimators.parser import words_of
from chaffinch.estimators.reranker import _in_words
from chaffinch.kernels import SubsetTreeKernel
from chaffinch.model.candidates import CandidateList
from chaffinch.recipes.aligners import ALIGNERS
from chaffinch.recipes.parsers import PARSERS, Pcfg
from chaffinch.recipes.rerankers import RERANKERS
from chaffinch.recipes.span_parser import SpanParser
from chaffinch.structures import Parts
from chaffinch.text.table import TokenTable
from chaffinch.trust.explain import Evidence
from commandline import Runner, run  # noqa: F401


def added_up(one: Evidence) -> tuple[float, float | None]:
    score = one.shared + sum(c.value * c.weight for c in one.contributions)
    rival = one.shared + sum(c.value * c.rival for c in one.contributions)
    return score, None if one.rival is None else rival


# -- parsers --------------------------------------------------------------------------------------------------------

PARSING = {recipe.name: recipe.config() for recipe in PARSERS} | {
    "pcfg, likeliest tree": Pcfg(expected=False),
    "parser, best tree": SpanParser(expected=False, epochs=2),
}


@pytest.fixture(scope="module")
def treebank():
    return [d.tree for d in samples.load("trees", "train")[:100]], [
        d.tree for d in samples.load("trees", "test")[:8]
    ]


@pytest.fixture(scope="module", params=PARSING)
def parser(request, treebank):
    return Parser(PARSING[request.param], threads=1).fit(treebank[0])


def test_the_parts_of_a_tree_add_up_to_its_score(parser, treebank):
    for tree in treebank[1]:
        words = words_of(tree)
        explanation = parser.explain(words)
        assert explanation.answer == parser.brackets([words])[0]
        assert explanation.decisions
        for one in explanation.decisions:
            assert one.answer == explanation.answer != one.rival
            assert added_up(one) == pytest.approx((one.score, one.rival_score), abs=2e-3)
        assert explanation.decisions[0].margin > -1e-3


def test_a_bracket_colours_all_of_its_words(parser, treebank):
    words = words_of(treebank[0][0])
    for one in parser.explain(words).decisions:
        for c in one.contributions:
            if m := re.search(r" over (\d+)(?:-(\d+))? '", c.name):
                first, last = int(m[1]) - 1, int(m[2] or m[1]) - 1
                assert (c.place, c.place if c.last is None else c.last) == (first, last)
    assert not any("(" in c.name.split(" over ")[0] for c in one.contributions)


def test_the_rival_of_the_best_tree_is_the_runner_up(parser, treebank):
    expected = parser.config_.expected
    for tree in treebank[1][:10]:
        words = words_of(tree)
        one = parser.explain(words).decisions[0]
        readings = parser.predict_kbest([words], 2)[0]
        if not expected:
            assert one.answer == bracketed(readings[0][1])
            assert one.rival == bracketed(readings[1][1])
            assert (one.score, one.rival_score) == pytest.approx((readings[0][0], readings[1][0]), abs=1e-3)


def test_brackets_count_their_probability_less_the_toll(parser, treebank):
    if not parser.config_.expected:
        assert [one.subject for one in parser.explain(words_of(treebank[1][0])).decisions] == ["the tree"]
        return
    for tree in treebank[1][:10]:
        words = words_of(tree)
        one = parser.explain(words).decisions[0]
        chances = {f"{c.label} {c.start}": c.p for c in parser.predict_marginals([words], least=0.0)[0]}
        for c in one.contributions:
            assert c.weight + c.rival + parser.config_.toll == pytest.approx(
                float(c.name.rsplit(" ", 1)[1]), abs=1e-3
            )
            assert f"{c.name.split()[0]} {c.place}" in chances


# -- aligners -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[recipe.name for recipe in ALIGNERS])
def aligner(request):
    documents = samples.load("pairs", "train")[:60]
    pairs = [(d.words(), list(d.links.target)) for d in documents]
    return Aligner(request.param).fit(pairs, [d.links.sure for d in documents])


@pytest.fixture(scope="module")
def pairs():
    return [(d.words(), list(d.links.target)) for d in samples.load("pairs", "dev")[:8]]


def test_the_features_of_links_add_up_to_the_score_of_the_matching(aligner, pairs):
    for pair in pairs:
        links, explanation = aligner.predict([pair])[0], aligner.explain(pair)
        own = aligner.predict_kbest([pair], 1)[0][0][0]
        assert len(explanation.decisions) == len(links)
        for one in explanation.decisions:
            assert one.answer == "linked"
            assert one.score == pytest.approx(own)
            assert added_up(one) == pytest.approx((one.score, one.rival_score))
            assert one.margin > -1e-9


def test_the_rival_of_a_link_is_the_best_matching_without_it(aligner, pairs):
    for pair in ([side[:3] for side in pair] for pair in pairs[:4]):
        every = aligner.predict_kbest([pair], 5000)[0]
        for i in range(len(pair[0])):
            for j in range(len(pair[1])):
                (one,) = aligner.explain(pair, link=(i, j)).decisions
                there = (i, j) in every[0][1]
                best = next(score for score, links in every if ((i, j) in links) != there)
                assert one.answer == ("linked" if there else "unlinked")
                assert one.rival_score == pytest.approx(best)
                assert added_up(one) == pytest.approx((one.score, one.rival_score))


def test_without_the_features_that_are_named_a_link_is_gone_or_has_come(aligner, pairs):
    model, turned = aligner.model_, set()
    names = np.array(model.feature_names())
    for pair in ([side[:5] for side in pair] for pair in pairs):
        n, m = map(len, pair)
        parts = {
            "source": [f"{w} {i + 1} alone" for i, w in enumerate(pair[0])],
            "target": [f"{w} {j + 1} alone" for j, w in enumerate(pair[1])],
        }
        links = [f"{pair[0][i]} {i + 1}-{j + 1} {pair[1][j]}" for i in range(n) for j in range(m)]
        for link in ((i, j) for i in range(n) for j in range(m)):
            (one,) = aligner.explain(pair, link=link).decisions
            if one.without is None:
                continue
            gone = {c.name for c in one.without.features}
            features = model.features(pair)
            blocks = {}
            for block, rows in features.rows.items():
                blocks[block] = np.array(
                    [
                        sum(
                            model.scorer.w[f] * v
                            for f, v in zip(rows.ids[a:b].tolist(), rows.values[a:b].tolist(), strict=True)
                            if f"{part}: {names[f]}" not in gone
                        )
                        for part, a, b in zip(
                            parts.get(block, links), rows.ptr[:-1], rows.ptr[1:], strict=True
                        )
                    ]
                ).reshape(features.shape[block])
            found = {tuple(y[:2]) for y in model.structure.argmax(Parts(**blocks))}
            assert ("linked" if link in found else "unlinked") == one.without.answer != one.answer
            turned.add(one.answer)
    assert turned == {"linked", "unlinked"}


def test_a_link_that_cannot_be_is_refused(aligner, pairs):
    with pytest.raises(DataError, match="there is no link 100-1: the sentences have"):
        aligner.explain(pairs[0], link=(99, 0))


# -- rerankers ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labellings():
    table = TokenTable.from_documents(samples.load("ingredients", "train")[:100])
    return cross_validated_tag_lists(lambda: Tagger("perceptron"), table, 5, 2)


@pytest.fixture(scope="module")
def trees(treebank):
    return cross_validated_tree_lists(lambda: Parser("pcfg"), treebank[0][:60], 6, 2)


RERANKING = {
    "tags": ("labellings", Reranker("risk")),
    "trees": ("trees", Reranker("risk", features="trees")),
    "consensus": ("trees", Reranker("risk", features="consensus")),
    "kernel": ("trees", Reranker("perceptron", kernel=SubsetTreeKernel().normalised())),
} | {
    f"own, by {recipe.name}": (
        "labellings",
        Reranker(recipe.name, features=lambda _, y: [*y, f"ends in {y[-1]}"]),
    )
    for recipe in RERANKERS
}


@pytest.mark.parametrize("name", RERANKING)
def test_the_features_of_candidates_add_up_and_all_have_names(name, request):
    kind, reranker = RERANKING[name]
    lists = request.getfixturevalue(kind)
    reranker.fit(lists)
    turned = 0
    for one in lists[:12]:
        (found,) = reranker.explain(one).decisions
        scores = reranker.scores([one])[0]
        chosen = reranker.choose([one])[0]
        assert found.score == pytest.approx(scores[chosen])
        assert added_up(found) == pytest.approx((found.score, found.rival_score), abs=1e-4)
        if chosen:
            assert found.rival_score == pytest.approx(scores[0])
        elif len(scores) > 1:
            assert found.rival_score == pytest.approx(max(scores[1:]))
        if found.without is not None:
            names, values, w, _ = reranker._evidence(one)
            assert values @ w == pytest.approx(scores, abs=1e-4)
            keep = ~np.isin(names, [c.name for c in found.without.features])
            best = one.candidates[int((values[:, keep] @ w[keep]).argmax())]
            assert found.without.answer == _in_words(best) != found.answer
            turned += 1
        if name != "kernel":
            assert not [c.name for c in found.contributions if c.name.startswith("#")]
        for place in range(len(scores)):
            if place != chosen:
                (asked,) = reranker.explain(one, against=place).decisions
                assert asked.rival_score == pytest.approx(scores[place])
    assert turned or kind != "trees" or name == "kernel"
    with pytest.raises(ConfigError, match="there is no candidate"):
        reranker.explain(lists[0], against=len(lists[0].candidates))
    with pytest.raises(ConfigError, match="is the chosen one"):
        reranker.explain(lists[0], against=reranker.choose(lists[:1])[0])


def test_features_of_a_class_of_ones_own_are_called_by_number():
    class Lengths:
        F = 1

        def fit(self, lists):
            return self.rows(lists)

        def rows(self, lists):
            from chaffinch.scorers import Rows

            lengths = np.array([len(y) for one in lists for y in one.candidates], np.float32)
            return Rows(np.arange(len(lengths) + 1), np.zeros(len(lengths), np.int32), lengths)

    lists = [CandidateList(None, ["a", "bcd"], np.array([0.0, -1.0]), np.array([1.0, 0.0]))] * 4
    (one,) = Reranker(features=Lengths()).fit(lists).explain(lists[0]).decisions
    assert "feature 0" in {c.name for c in one.contributions}


# -- on the command line --------------------------------------------------------------------------------------------


def test_the_command_explains_trees_links_and_candidates(tmp_path, run, treebank, labellings):  # noqa: F811
    parser, links, reranker = (tmp_path / f"{name}.chaff" for name in ("parser", "links", "reranker"))
    Parser("pcfg").fit(treebank[0]).save(parser)
    shown = run("explain", parser, " ".join(words_of(treebank[0][0])))
    assert shown.code == 0
    assert "the tree: (S" in shown.out
    assert "--against does not apply to trees" in run("explain", parser, "the fox", "--against", "NP").err
    assert "--token does not apply to trees" in run("explain", parser, "the fox", "--token", "1").err
    assert run("samples", "pairs", "--out", tmp_path / "pairs", "--size", "60").code == 0
    (file,) = (tmp_path / "pairs").glob("train.*")
    documents = samples.load("pairs", "train")[:40]
    pairs = [(d.words(), list(d.links.target)) for d in documents]
    Aligner().fit(pairs, [d.links.sure for d in documents]).save(links)
    shown = run("explain", links, file, "--number", 2, "--against", "1-1", "--json")
    assert shown.code == 0
    assert json.loads(shown.out)["explanations"][0]["decisions"][0]["answer"] in ("linked", "unlinked")
    assert "expected a link such as 2-3" in run("explain", links, file, "--against", "x").err
    assert "expected a file of sentence pairs" in run("explain", links, "some words").err
    lists = tmp_path / "lists.jsonl"
    row = {
        "input": "a",
        "candidates": [
            {"answer": "short", "score": 0, "loss": 1, "features": {"length": 5}},
            {"answer": "longer", "score": -0.1, "loss": 0, "features": {"length": 6}},
        ],
    }
    lists.write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")
    assert run("rerank", lists, "-o", reranker, "--recipe", "perceptron").code == 0
    shown = run("explain", reranker, lists, "--number", 1)
    assert shown.code == 0
    assert "length" in shown.out
    assert "expected a candidate's number" in run("explain", reranker, lists, "--against", "x").err
    assert "--base" in run("explain", reranker, "a text").err
    tagger, tags = tmp_path / "tagger.chaff", tmp_path / "tags.chaff"
    table = TokenTable.from_documents(samples.load("ingredients", "train")[:100])
    Tagger("perceptron").fit(table).save(tagger)
    Reranker("risk").fit(labellings).save(tags)
    data = tmp_path / "new.conll"
    data.write_text("2\tCD\tQTY\ncups\tNNS\tUNIT\nrice\tNN\tNAME\n\n")
    shown = run("explain", tags, data, "--base", tagger, "--kbest", 4)
    assert shown.code == 0
    assert "Candidate" in shown.out


def test_a_sentence_without_a_tree_is_named_and_not_explained():
    parser = Parser("parser").fit([parse("(S (NP (DT the) (NN owl)) (VP (VB sings)))")] * 5)
    with pytest.raises(DataError, match=r"no tree for 'owl', so there is nothing to explain"):
        parser.explain(["owl"])
