"""The HMM as users meet it: held against a plain re-statement in double precision and against known scores."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch import ConfigError, DataError, Tagger, load
from chaffinch.corpus import read_table
from chaffinch.evaluate import score_tags
from chaffinch.recipes.hmm import Emission, Hmm

WORDS = ["the", "dog", "runs", "Rome", "running", "9"]
TAGS = ["D", "N", "V"]
sentence = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(TAGS)), min_size=1, max_size=5)
corpora = st.lists(sentence, min_size=2, max_size=8)

PLAIN = Hmm(order=1, unknown="half", transition_smoothing="none", floor=None)


def split(corpus):
    return [[w for w, _ in s] for s in corpus], [[y for _, y in s] for s in corpus]


class NaiveHmm:
    """Counts in dictionaries, Viterbi by comparing every pair, minus infinity where a count is zero."""

    def __init__(self, X, y, k=0.5):
        self.tags = sorted({t for tags in y for t in tags})
        self.tag = Counter(t for tags in y for t in tags)
        self.pair = Counter(
            (w, t) for words, tags in zip(X, y, strict=True) for w, t in zip(words, tags, strict=True)
        )
        self.move = Counter(p for tags in y for p in zip(["<"], tags[:1], strict=True))
        self.move.update(p for tags in y for p in zip(tags, [*tags[1:], ">"], strict=True))
        self.left = Counter(a for a, _ in self.move.elements())
        self.seen = {w for w, _ in self.pair}
        self.k = k

    def e(self, word, t):
        count = self.k if word not in self.seen else self.pair[word, t]
        return math.log(count / (self.tag[t] + self.k)) if count else -math.inf

    def q(self, a, b):
        return math.log(self.move[a, b] / self.left[a]) if self.move[a, b] else -math.inf

    def score(self, words, tags):
        moves = zip(["<", *tags], [*tags, ">"], strict=True)
        return sum(self.q(a, b) for a, b in moves) + sum(
            self.e(w, t) for w, t in zip(words, tags, strict=True)
        )

    def decode(self, words):
        best = [self.q("<", t) + self.e(words[0], t) for t in self.tags]
        back = []
        for word in words[1:]:
            come = [[best[i] + self.q(a, b) for i, a in enumerate(self.tags)] for b in self.tags]
            back.append([row.index(max(row)) for row in come])
            best = [max(row) + self.e(word, b) for row, b in zip(come, self.tags, strict=True)]
        last = [s + self.q(t, ">") for s, t in zip(best, self.tags, strict=True)]
        at = [last.index(max(last))]
        for row in reversed(back):
            at.append(row[at[-1]])
        return [self.tags[i] for i in reversed(at)]


@settings(deadline=None)
@given(
    corpora,
    st.lists(st.lists(st.sampled_from([*WORDS, "unseen"]), min_size=1, max_size=4), min_size=1, max_size=3),
)
def test_the_half_rule_decodes_as_the_plain_algorithm_even_where_nothing_is_possible(corpus, probes):
    X, y = split(corpus)
    naive, ours = NaiveHmm(X, y), Tagger(PLAIN).fit(X, y)
    for words, tags in zip(probes, ours.predict(probes), strict=True):
        expected = naive.decode(words)
        a, b = naive.score(words, tags), naive.score(words, expected)
        if b == -math.inf:
            assert tags == expected
        else:
            assert math.isclose(a, b, rel_tol=1e-5)


@settings(deadline=None)
@given(corpora, st.integers(1, 2))
def test_scores_of_the_k_best_are_log_probabilities_in_falling_order(corpus, order):
    X, y = split(corpus)
    tagger = Tagger(Hmm(order=order)).fit(X, y)
    for words, readings in zip(X, tagger.predict_kbest(X, 4), strict=True):
        scores = [score for score, _ in readings]
        assert all(a >= b - 1e-4 for a, b in pairwise(scores))
        assert len({tuple(labels) for _, labels in readings}) == len(readings)
        assert readings[0][1] == tagger.predict([words])[0]


@settings(deadline=None)
@given(corpora, st.integers(1, 2), st.sampled_from(["suffix", "classes", "one", "half", "constant"]))
def test_marginals_of_every_token_sum_to_one(corpus, order, unknown):
    X, y = split(corpus)
    tagger = Tagger(Hmm(order=order, unknown=unknown)).fit(X, y)
    for p in tagger.predict_marginals([*X, ["never", "seen"]]):
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-5)


@settings(deadline=None)
@given(corpora)
def test_the_emission_tagger_takes_each_word_by_itself(corpus):
    X, y = split(corpus)
    tagger, naive = Tagger(Emission()).fit(X, y), NaiveHmm(X, y)
    for words, tags in zip(X, tagger.predict(X), strict=True):
        for word, tag in zip(words, tags, strict=True):
            best = max(naive.e(word, t) for t in naive.tags)
            assert math.isclose(naive.e(word, tag), best, rel_tol=1e-5)


@settings(deadline=None)
@given(corpora, st.integers(1, 2), st.sampled_from(["suffix", "classes", "half"]))
def test_a_model_is_the_same_after_save_and_load(tmp_path_factory, corpus, order, unknown):
    path = tmp_path_factory.mktemp("hmm") / "m.chaff"
    again = path.with_name("again.chaff")
    X, y = split(corpus)
    tagger = Tagger(Hmm(order=order, unknown=unknown)).fit(X, y)
    tagger.save(path)
    other = load(path)
    assert other.predict_kbest(X, 2) == tagger.predict_kbest(X, 2)
    other.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_the_second_order_sees_two_labels_back():
    # After "a b" comes C, after "b b" comes D: one label of history cannot tell.
    X = [["a", "b", "x"], ["b", "b", "x"]] * 20
    y = [["A", "B", "C"], ["B", "B", "D"]] * 20
    second = Tagger(Hmm(order=2, transition_smoothing="none")).fit(X, y)
    assert second.predict(X[:2]) == y[:2]


@pytest.mark.parametrize("settings", [{"order": 3}, {"unknown": "guess"}, {"unseen": -1.0}])
def test_a_knob_out_of_range_is_refused(settings):
    with pytest.raises(ConfigError, match="must be"):
        Tagger(Hmm(**settings)).fit([["a"]], [["A"]])


def test_sentences_and_labels_of_other_lengths_are_named():
    with pytest.raises(DataError, match="sentence 2 has 1 tokens and 2 labels"):
        Tagger("hmm").fit([["a"], ["b"]], [["A"], ["B", "C"]])


# -- the course project's data -------------------------------------------------------------------------------

REPRODUCED = {
    "half": (PLAIN, {"EN": (0.7745, 0.7042), "SG": (0.4991, 0.4070)}, 0.00005),
    # One sentence of EN has two labellings of exactly equal probability; which one wins is a rounding's choice.
    "constant": (
        Hmm(order=1, unknown="constant", transition_smoothing="none", floor=-1000.0),
        {"EN": (0.8356, 0.8025), "SG": (0.5590, 0.4790)},
        0.00025,
    ),
}


def entity_and_type_f(data, language, config):
    train, dev = (read_table(data / "sutd_hmm_2020" / language / name) for name in ("train", "dev.out"))
    predicted = Tagger(config, folds=0).fit(train).predict(dev)
    scores = score_tags(dev.lists("y"), predicted, convention="hmm-project").as_dict()
    return scores["untyped.f1"], scores["span.micro.f1"]


@pytest.mark.data
@pytest.mark.parametrize("language", ["EN", "SG"])
@pytest.mark.parametrize("rule", list(REPRODUCED))
def test_the_documented_scores_are_reproduced(data, rule, language):
    config, expected, tolerance = REPRODUCED[rule]
    assert entity_and_type_f(data, language, config) == pytest.approx(expected[language], abs=tolerance)


@pytest.mark.data
@pytest.mark.parametrize(("language", "least"), [("EN", (0.870, 0.849)), ("SG", (0.595, 0.518))])
def test_the_default_hmm_is_far_better(data, language, least):
    entity, typed = entity_and_type_f(data, language, Hmm())
    assert entity >= least[0]
    assert typed >= least[1]


@pytest.mark.data
@pytest.mark.parametrize("language", ["EN", "SG"])
def test_absolute_discounting_of_emissions_does_not_hurt(data, language):
    plain = {"order": 1, "unknown": "one", "rare": 1, "transition_smoothing": "none"}
    without = entity_and_type_f(data, language, Hmm(**plain, emission_smoothing="none"))
    with_it = entity_and_type_f(
        data, language, Hmm(**plain, emission_smoothing="absolute", emission_amount=0.5)
    )
    assert with_it[0] >= without[0]
    assert with_it[1] >= without[1]


@pytest.mark.parametrize("unknown", ["suffix", "half", "constant"])
def test_a_smoothing_that_the_rule_for_unknown_words_cannot_use_is_refused(unknown):
    with pytest.raises(ConfigError, match="needs unknown 'classes' or 'one'"):
        Tagger(Hmm(unknown=unknown, emission_smoothing="absolute")).fit([["a", "b"]], [["A", "B"]])
