"""Rules in the decoder: every search agrees with enumeration of the labellings that obey them."""

import copy
import dataclasses
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch.model.ruled as ruled_module
from chaffinch import Tagger, load
from chaffinch.errors import ConfigError, DataError, DataWarning, ModelFileError
from chaffinch.model.potentials import Additive, Pruned
from chaffinch.model.ruled import FilteredModel, under_rules
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.hmm import Hmm
from chaffinch.recipes.incremental_search import BeamTagger, EasiestFirstTagger, Greedy
from chaffinch.recipes.margin import StructuredSvm
from chaffinch.recipes.memm import Memm
from chaffinch.recipes.perceptron import StructuredPerceptron
from chaffinch.recipes.semi_crf import SemiCrf
from chaffinch.rules import (
    Infeasible,
    before,
    contiguous,
    forbid,
    must,
    needs_earlier,
    never,
    once,
    read_rules,
)
from chaffinch.search.label_rules import RuleBook, rules_as_data, rules_of
from chaffinch.text.schemes import spans
from chaffinch.text.table import TokenTable
from commandline import run  # noqa: F401

WORDS = ["ann", "went", "to", "rome", "with", "bob", "2", "cups"]
LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def sentences(n, seed=0):
    """Sentences with random legal BIO tags: every label and pair occurs, none is certain."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        T = int(rng.integers(2, 7))
        tags, last = [], "O"
        for _ in range(T):
            kind = last[2:]
            legal = [l for l in LABELS if not l.startswith("I-") or l[2:] == kind]
            last = legal[int(rng.integers(len(legal)))]
            tags.append(last)
        X.append([WORDS[int(rng.integers(len(WORDS)))] for _ in range(T)])
        y.append(tags)
    return X, y


def obeys(rules, tags):
    """The meaning of each rule, told from the spans."""
    found = spans(tags, "BIO")
    for rule in rules:
        x = [s for s in found if s.label == rule.labels[0]]
        z = [s for s in found if s.label == rule.labels[-1]]
        match rule.name:
            case "once":
                ok = len(x) <= 1
            case "contiguous":
                ok = all(a.end == b.start for a, b in pairwise(x))
            case "before":
                ok = not x or not z or x[-1].end <= z[0].start
            case "needs_earlier":
                ok = not x or (bool(z) and z[0].end <= x[0].start)
            case "never":
                first, second = rule.labels
                if first in LABELS:
                    ok = all(pair != (first, second) for pair in pairwise(tags))
                else:
                    ok = not any(a.end == b.start for a in x for b in z)
            case "must":
                ok = (rule.labels[0], rule.start, rule.end) in [tuple(s) for s in found]
            case "forbid":
                ok = not any(s.start < rule.end and rule.start < s.end for s in x)
        if not ok:
            return False
    return True


KINDS = ["PER", "LOC"]
RULES = st.one_of(
    st.sampled_from(KINDS).map(once),
    st.sampled_from(KINDS).map(contiguous),
    st.permutations(KINDS).map(lambda p: before(*p)),
    st.permutations(KINDS).map(lambda p: needs_earlier(*p)),
    st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)).map(lambda p: never(*p)),
    st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)).map(lambda p: never(*p)),
)
PLACED = st.tuples(
    st.integers(0, 2), st.integers(1, 2), st.sampled_from(KINDS), st.sampled_from([must, forbid])
).map(lambda p: p[3]((p[0], p[0] + p[1]), p[2]))

CHAINS = {
    "crf": Crf(optimiser="precise"),
    "crf order 2": Crf(order=2, optimiser="precise"),
    "crf pruned": Crf(prune=0.05),
    "crf y[-1]": Crf(),
    "hmm": Hmm(),
    "memm": Memm(),
    "perceptron": StructuredPerceptron(),
    "ssvm": StructuredSvm(passes=5),
}


@pytest.fixture(scope="module")
def taggers():
    X, y = sentences(60)
    made = {}
    for name, config in CHAINS.items():
        features = ["w[0]", "w[0] | y[-1]"] if name.endswith("y[-1]") else ["w[0]", "w[-1]"]
        made[name] = Tagger(config, folds=0, features=None if name == "hmm" else features, seed=1).fit(X, y)
    return made


def scores_of_all(tagger, words):
    """Every labelling that the model itself allows, with its score."""
    source = tagger.model_.source
    if isinstance(source, Pruned):  # under rules every label is tried
        weights = source.weights
        whole = Additive(dataclasses.replace(weights, unary=weights.dense))
        tagger = copy.copy(tagger)
        tagger.model_ = dataclasses.replace(tagger.model_, source=whole)
    every = tagger.predict_kbest([words], len(LABELS) ** len(words))[0]
    return [(score, tags) for score, tags in every if score > -np.inf]


@pytest.mark.parametrize("name", CHAINS)
@settings(max_examples=12)
@given(
    rules=st.lists(RULES, min_size=1, max_size=3),
    placed=st.lists(PLACED, max_size=1),
    seed=st.integers(0, 99),
)
def test_chains_agree_with_enumeration(taggers, name, rules, placed, seed):
    tagger, words = taggers[name], sentences(1, seed)[0][0][:4]
    rules = [*rules, *(rule for rule in placed if rule.end <= len(words))]
    legal = [(score, tags) for score, tags in scores_of_all(tagger, words) if obeys(rules, tags)]
    under = tagger.with_rules(rules)
    if not legal:
        with pytest.raises(Infeasible):
            under.predict([words])
        return
    (tags,), (listed,) = under.predict([words]), under.predict_kbest([words], 5)
    best = max(score for score, _ in legal)
    assert obeys(rules, tags)
    assert {tuple(t): s for s, t in legal}[tuple(tags)] == pytest.approx(best, abs=1e-3)
    assert [s for s, _ in listed] == pytest.approx(sorted((s for s, _ in legal), reverse=True)[:5], abs=1e-3)
    temperature = tagger.model_.temperature
    p = np.exp((np.array([s for s, _ in legal]) - best) / temperature)
    p /= p.sum()
    place = {label: i for i, label in enumerate(tagger.classes_)}
    expected = np.zeros((len(words), len(place)))
    for mass, (_, labels) in zip(p, legal, strict=True):
        for t, label in enumerate(labels):
            expected[t, place[label]] += mass
    assert under.predict_marginals([words])[0] == pytest.approx(expected, abs=2e-3)
    assert obeys(rules, under.predict_posterior(TokenTable.from_lists({"w": [words]}))[0])


@pytest.mark.parametrize(
    "config", [Greedy(), EasiestFirstTagger(), BeamTagger()], ids=["greedy", "easiest", "beam"]
)
def test_incremental_searches_obey(config):
    X, y = sentences(60)
    tagger = Tagger(config, folds=0, features=["w[0]", "w[-1]", "y[-1]"], seed=1).fit(X, y)
    words = sentences(40, 7)[0]
    sets = [
        [once("PER"), before("PER", "LOC")],
        [needs_earlier("PER", "LOC"), contiguous("LOC")],
        [never("PER", "LOC"), once("LOC")],
    ]
    changed = 0
    for rules in sets:
        found = tagger.with_rules(rules).predict(words)
        assert all(obeys(rules, tags) for tags in found)
        free = tagger.predict(words)
        for a, b in zip(free, found, strict=True):
            if obeys(rules, a) and not isinstance(config, EasiestFirstTagger):
                changed += a != b
    assert changed == 0  # from left to right, an answer that obeys is the answer under the rules
    placed = [must((1, 3), "LOC"), forbid((0, 1), "PER")]
    long = next(w for w in words if len(w) >= 4)
    assert obeys(placed, tagger.with_rules(placed).predict([long])[0])
    with pytest.raises(Infeasible, match=r"must.* and forbid|forbid.* and must"):
        tagger.with_rules([must((0, 2), "PER"), forbid((1, 2), "PER")]).predict([long])


def test_a_wide_beam_finds_the_best_labelling_that_obeys():
    X, y = sentences(60)
    tagger = Tagger(BeamTagger(width=700), folds=0, features=["w[0]", "y[-1]"], seed=1).fit(X, y)
    rules = [once("PER"), needs_earlier("LOC", "PER")]
    for words in (w[:4] for w in sentences(10, 3)[0]):
        legal = [(s, t) for s, t in tagger.predict_kbest([words], 600)[0] if obeys(rules, t)]
        assert tagger.with_rules(rules).predict_kbest([words], 1)[0][0] == max(legal)


def test_a_word_of_the_dictionary_does_not_break_a_rule():
    X = [["Ann", "saw", "Bob"]] * 10
    y = [["B-PER", "O", "B-PER"]] * 10
    tagger = Tagger(Greedy(dictionary=2), folds=0).fit(X, y)
    assert tagger.predict(X[:1]) == [y[0]]
    assert obeys([once("PER")], tagger.with_rules([once("PER")]).predict(X[:1])[0])


def test_segments_are_searched_by_their_best_readings(monkeypatch):
    X, y = sentences(40)
    tagger = Tagger(SemiCrf(longest=3), folds=0).fit(X, y)
    words = [w[:4] for w in sentences(12, 5)[0]]
    rules = [once("PER"), before("LOC", "PER"), forbid((0, 1), "LOC", sentence=2)]
    found = tagger.with_rules(rules)
    assert isinstance(found.answering(), FilteredModel)
    for n, (sentence, tags) in enumerate(zip(words, found.predict(words), strict=True)):
        here = rules if n == 2 else rules[:2]
        legal = [(s, t) for s, t in tagger.predict_kbest([sentence], 2000)[0] if obeys(here, t)]
        assert tags == legal[0][1]
    with pytest.raises(ConfigError, match="no probabilities under rules"):
        found.predict_marginals(words)
    monkeypatch.setattr(ruled_module, "MOST_READINGS", 8)
    with pytest.raises((ConfigError, Infeasible)):
        tagger.with_rules([must((0, 1), "PER"), must((1, 2), "LOC"), must((2, 3), "PER")]).predict([words[0]])


def test_too_many_states_fall_back_to_the_best_readings(taggers, monkeypatch):
    monkeypatch.setattr("chaffinch.search.label_rules.MOST_STATES", 3)
    rules = [once("PER"), before("PER", "LOC")]
    with pytest.warns(UserWarning, match="best labellings"):
        under = under_rules(taggers["crf"].model_, rules)
    assert isinstance(under, FilteredModel)
    words = [w[:4] for w in sentences(8, 2)[0]]
    exact = taggers["crf"].with_rules([])
    table = TokenTable.from_lists({"w": words})
    found = under.decode(table, 1)
    outer, at = under.labels.outer, 0
    for sentence in words:
        tags = [outer[i] for i in found[at : at + len(sentence)]]
        at += len(sentence)
        legal = [(s, t) for s, t in scores_of_all(exact, sentence) if obeys(rules, t)]
        assert {tuple(t): s for s, t in legal}[tuple(tags)] == pytest.approx(max(legal)[0])


def test_an_infeasible_set_is_named_and_smallest(taggers):
    rules = [contiguous("LOC"), once("PER"), must((0, 1), "PER"), must((2, 3), "PER")]
    with pytest.raises(Infeasible) as caught:
        taggers["crf"].with_rules(rules).predict([["ann", "to", "rome", "bob"]])
    assert set(caught.value.rules) == set(rules[1:])
    assert str(caught.value).startswith("sentence 1: no labelling obeys once(PER) and must(1:0-1, PER)")


def test_labels_without_a_scheme_are_runs():
    X, y = [["2", "eggs", "and", "1", "onion"]] * 3, [["QTY", "NAME", "O", "QTY", "NAME"]] * 3
    tagger = Tagger("crf", folds=0).fit(X, y)
    (tags,) = tagger.with_rules([once("QTY"), once("NAME")]).predict(X[:1])
    for label in ("QTY", "NAME"):
        runs = sum(a != label and b == label for a, b in zip(["", *tags], tags, strict=False))
        assert runs <= 1
    assert tagger.with_rules([must((1, 3), "QTY")]).predict(X[:1])[0][1:3] == ["QTY", "QTY"]


def test_a_file_keeps_the_rules_and_learning_on_keeps_them(taggers, tmp_path):
    X, y = sentences(60)
    tagger = Tagger(Crf(), folds=0, features=["w[0]"], rules=[once("PER"), must((0, 1), "PER")]).fit(X, y)
    words = sentences(30, 4)[0]
    tagger.save(tmp_path / "m.chaff")
    read = load(tmp_path / "m.chaff")
    assert read.rules_ == (once("PER"),)  # a rule about tokens is about one input
    assert read.predict(words) == tagger.with_rules([once("PER")]).predict(words)
    twice = next(n for n, tags in enumerate(y) if tags.count("B-PER") > 1)
    with pytest.warns(DataWarning, match=r"1 of 1 sentences .* still wrong .* rules"):
        read.partial_fit(X[twice : twice + 1], y[twice : twice + 1])
    assert all(obeys([once("PER")], tags) for tags in read.predict(words))


def test_a_file_with_damaged_rules_is_refused(taggers, tmp_path):
    tagger = taggers["crf"].with_rules([once("PER")])
    tagger.save(tmp_path / "m.chaff")
    content = (tmp_path / "m.chaff").read_bytes()
    kept = b'once\\":[[\\"PER\\"]]'
    assert content.count(kept) == 1
    (tmp_path / "m.chaff").write_bytes(content.replace(kept, kept.replace(b"PER", b"PEX")))
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.chaff")


def test_rules_are_read_from_a_file(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(
        'once = ["PER"]\nbefore = [["PER", "LOC"]]\nmust = [{sentence = 2, start = 0, end = 2, label = "LOC"}]\n'
    )
    rules = read_rules(path)
    assert rules == (once("PER"), before("PER", "LOC"), must((0, 2), "LOC", sentence=1))
    assert rules_of(rules_as_data(rules)) == rules


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("only = ['PER']", "there is no rule 'only'"),
        ("once = 'PER'", "expected a list"),
        ("before = ['PER']", "expected two labels"),
        ("must = ['PER']", "expected {sentence"),
        ("once = [", "expected rules in TOML"),
    ],
)
def test_what_is_no_rule_is_refused(tmp_path, text, says):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises((ConfigError, DataError), match=says):
        read_rules(path)


def test_unknown_labels_are_refused_before_training(taggers):
    with pytest.raises(ConfigError, match="there is no 'ORG'; there are LOC, PER"):
        taggers["crf"].with_rules([once("ORG")])
    with pytest.raises(ConfigError, match="there is no 'ORG'"):
        Tagger("crf", rules=[once("ORG")]).fit(*sentences(3))
    with pytest.raises(DataError, match="the sentence has only 2 tokens"):
        taggers["crf"].with_rules([must((1, 3), "PER")]).predict([["a", "b"]])
    with pytest.raises(DataError, match="the input ends with sentence 1"):
        taggers["crf"].with_rules([must((0, 1), "PER", sentence=4)]).predict([["a", "b"]])


def test_explanations_are_of_the_answer_under_the_rules(taggers):
    words = ["ann", "bob", "ann", "rome"]
    under = taggers["crf"].with_rules([once("PER"), once("LOC")])
    (tags,) = under.predict([words])
    why = under.explain(words)
    assert [d.answer for d in why.decisions] == tags
    for decision in why.decisions:
        assert sum(c.difference for c in decision.contributions) == pytest.approx(decision.margin, abs=1e-3)


def test_the_automaton_accepts_what_the_rules_mean():
    book = RuleBook((once("PER"), needs_earlier("LOC", "PER")), *plain())
    for tags in product(range(len(LABELS)), repeat=4):
        named = [book.outer[i] for i in tags]
        assert (book.broken(tags) is None) == obeys(book.rules, named)


def plain():
    outer = tuple(sorted(LABELS))
    return outer, outer, np.arange(len(outer), dtype=np.int32)


def test_the_command_line_obeys_a_file_of_rules(run, tmp_path):  # noqa: F811
    X, y = sentences(60)
    pairs = [zip(words, tags, strict=True) for words, tags in zip(X, y, strict=True)]
    data = "\n\n".join("\n".join(f"{w} {t}" for w, t in sentence) for sentence in pairs)
    (tmp_path / "train.conll").write_text(data + "\n")
    (tmp_path / "rules.toml").write_text('once = ["PER"]\n')
    words = "\n\n".join("\n".join(s) for s in sentences(20, 8)[0])
    (tmp_path / "new.txt").write_text(words + "\n")
    run(
        "train",
        str(tmp_path / "train.conll"),
        "-o",
        str(tmp_path / "m.chaff"),
        "--recipe",
        "crf",
        "--folds",
        "0",
    )
    out = run(
        "predict",
        str(tmp_path / "m.chaff"),
        str(tmp_path / "new.txt"),
        "--rules",
        str(tmp_path / "rules.toml"),
    )
    answers = [[line.split()[-1] for line in block.split("\n")] for block in out.out.strip().split("\n\n")]
    assert len(answers) == 20
    assert all(obeys([once("PER")], tags) for tags in answers)
    kept = ["--recipe", "crf", "--folds", "0", "--rules", str(tmp_path / "rules.toml")]
    run("train", str(tmp_path / "train.conll"), "-o", str(tmp_path / "n.chaff"), *kept)
    again = run("predict", str(tmp_path / "n.chaff"), str(tmp_path / "new.txt"))
    assert again.out == out.out
