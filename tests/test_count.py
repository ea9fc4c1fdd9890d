"""The HMM's tables, counted once more by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.features.symbols import counted
from chaffinch.learners.count import (
    SymbolCounts,
    emissions_by_class,
    emissions_by_ladder,
    emissions_by_rule,
    transitions,
)
from chaffinch.learners.smoothing import SMOOTHINGS

Y = 3
sentences = st.lists(st.lists(st.integers(0, Y - 1), max_size=5), min_size=1, max_size=8).filter(any)


def flat(rows):
    ptr = np.cumsum([0] + [len(r) for r in rows]).astype(np.int64)
    return np.array([y for r in rows for y in r], dtype=np.int32), ptr


@given(sentences)
def test_first_order_transitions_are_relative_frequencies_with_start_and_stop(rows):
    y, ptr = flat(rows)
    t = transitions(y, ptr, Y, 1, "none", 0.0)
    pairs = [p for r in rows if r for p in zip(["S", *r], [*r, "E"], strict=True)]

    def q(a, b):
        seen = sum(p[0] == a for p in pairs)
        return pairs.count((a, b)) / seen if seen else 1 / (Y + 1)

    np.testing.assert_allclose(np.exp(t.start), [q("S", b) for b in range(Y)])
    np.testing.assert_allclose(np.exp(t.end), [q(a, "E") for a in range(Y)])
    np.testing.assert_allclose(np.exp(t.pair), [[q(a, b) for b in range(Y)] for a in range(Y)])


@pytest.mark.parametrize("smoothing", [*SMOOTHINGS, "deleted"])
@given(rows=sentences)
def test_the_probabilities_of_all_continuations_sum_to_one(smoothing, rows):
    y, ptr = flat(rows)
    one = transitions(y, ptr, Y, 1, smoothing, 0.5)
    np.testing.assert_allclose(np.exp(one.pair).sum(axis=1) + np.exp(one.end), 1.0)
    two = transitions(y, ptr, Y, 2, smoothing, 0.5)
    last = two.last + np.where(np.isfinite(two.end), two.end, 0.0)[None]
    np.testing.assert_allclose(np.exp(two.triple).sum(axis=2) + np.exp(last), 1.0)
    np.testing.assert_allclose(np.exp(two.first).sum(axis=1) + np.exp(two.end), 1.0)


@given(sentences)
def test_second_order_transitions_are_relative_frequencies_of_trigrams(rows):
    y, ptr = flat(rows)
    t = transitions(y, ptr, Y, 2, "none", 0.0)
    trigrams = [g for r in rows if r for g in zip(["S", "S", *r], ["S", *r], [*r, "E"], strict=False)]

    def q(a, b, c):
        seen = sum(g[:2] == (a, b) for g in trigrams)
        return trigrams.count((a, b, c)) / seen if seen else 1 / (Y + 1)

    expected = [[[q(a, b, c) for c in range(Y)] for b in range(Y)] for a in range(Y)]
    np.testing.assert_allclose(np.exp(t.triple), expected)
    np.testing.assert_allclose(np.exp(t.first), [[q("S", b, c) for c in range(Y)] for b in range(Y)])
    np.testing.assert_allclose(np.exp(t.start), [q("S", "S", c) for c in range(Y)])


words = st.sampled_from(["the", "The", "dog", "dogs", "ran", "running", "42", "Rome"])
tagged = st.lists(st.tuples(words, st.integers(0, Y - 1)), min_size=1, max_size=40)


def tables(tokens, ladder, rare, common=10):
    types = list(dict.fromkeys(w for w, _ in tokens))
    by_type = np.zeros((len(types), Y))
    for w, y in tokens:
        by_type[types.index(w), y] += 1
    made = counted(types, by_type, ladder, rare=rare, common=common)
    return made, SymbolCounts(
        made.counts, made.direct, len(made.symbols.words), made.parent, by_type.sum(axis=0)
    )


@given(tagged)
def test_the_half_rule_and_its_unknown_word_sum_to_one(tokens):
    made, counts = tables(tokens, "one", rare=1)
    e = np.exp(emissions_by_rule(counts, "half", 0.5))
    words_seen = e[: len(made.symbols.words)].sum(axis=0)
    np.testing.assert_allclose(words_seen + e[-1], 1.0)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@given(tokens=tagged, rare=st.integers(1, 4))
def test_emissions_of_a_label_sum_to_one_over_words_and_classes(smoothing, tokens, rare):
    _, counts = tables(tokens, "classes", rare)
    e = np.exp(emissions_by_class(counts, smoothing, 0.3))
    used = counts.direct.sum(axis=1) > 0
    if smoothing != "none":
        used |= counts.parent < 0  # a word of which nothing is known is an outcome too
    np.testing.assert_allclose(e[used].sum(axis=0), 1.0)


@given(tokens=tagged)
def test_a_discount_goes_to_the_unknown_word_as_to_any_other_that_a_label_was_not_seen_with(tokens):
    made, counts = tables(tokens, "one", rare=1)
    e = np.exp(emissions_by_class(counts, "absolute", 0.3))
    V = len(made.symbols.words)
    for y in np.flatnonzero(counts.labels):
        seen = counts.counts[:V, y] > 0
        share = 0.3 * seen.sum() / (counts.labels[y] * ((~seen).sum() + 1))
        np.testing.assert_allclose(e[-1, y], share)
        np.testing.assert_allclose(e[:V, y][~seen], share)


@given(tagged)
def test_every_token_is_counted_once_directly_and_rare_words_in_every_rung(tokens):
    made, counts = tables(tokens, "suffix", rare=2)
    np.testing.assert_allclose(counts.direct.sum(axis=0), counts.labels)
    star = len(made.symbols.words) + made.symbols.rungs.index("*")
    np.testing.assert_allclose(counts.counts[star], counts.labels)


@given(tagged)
def test_an_unseen_word_reads_the_narrowest_rung_and_every_rung_has_a_wider_parent(tokens):
    made, _ = tables(tokens, "suffix", rare=1)
    symbols = made.symbols
    for symbol in range(len(symbols)):
        up, steps = symbol, 0
        while made.parent[up] >= 0:
            up, steps = int(made.parent[up]), steps + 1
            assert steps < 20
        assert symbols.rungs[up - len(symbols.words)] == "*"
    ending = [w for w, _ in tokens if w == "running"]
    expected = "x ing" if ending else None
    rung = symbols.rungs[int(symbols.of(["swing"])[0]) - len(symbols.words)]
    if expected and "ran" not in [w for w, _ in tokens]:
        assert rung == expected


@given(tagged)
def test_the_ladder_gives_every_symbol_a_distribution_over_labels(tokens):
    _, counts = tables(tokens, "suffix", rare=1)
    table, _, _ = emissions_by_ladder(counts, None, None)
    prior = (counts.labels + 1e-3) / (counts.labels + 1e-3).sum()
    # By Bayes: the sum over y of e(s|y) p(y) is p(s), and these sum to one over words and rungs.
    p = (np.exp(table) * prior).sum(axis=1)
    np.testing.assert_allclose(p.sum(), 1.0)
    seen = counts.counts[: counts.words].sum(axis=1)
    np.testing.assert_allclose(p[: counts.words] / p[0], seen / seen[0])


@given(tagged)
def test_a_word_seen_often_enough_outweighs_its_class(tokens):
    tokens = [*tokens, *[("jumping", 2)] * 500, ("singing", 0), ("ringing", 0)]
    made, counts = tables(tokens, "suffix", rare=1)
    table, _, _ = emissions_by_ladder(counts, None, None)
    jumping, swinging = made.symbols.of(["jumping", "swinging"]).tolist()
    assert table[jumping, 2] - table[jumping, 0] > table[swinging, 2] - table[swinging, 0]
