"""Span scores against seqeval 1.2.2, a plain restatement of conlleval, and the course project's rules."""

import random
import warnings
from collections import Counter

import numpy as np
import pytest
import seqeval.scheme
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support as seqeval_loose
from seqeval.metrics.v1 import precision_recall_fscore_support as seqeval_strict

from chaffinch import Tagger
from chaffinch.errors import ConfigError, DataError, DataWarning
from chaffinch.evaluate import SCHEMES, TagPair, TagScorer, score_tags

ODD_TAGS = ["B", "I", "E", "S", "O-x", "B-", "B--x", "I-x-y", "Bx", "U-x", "L-x", "U", ".", ".-x", "N", "Ix"]


def seqeval_scores(gold, predicted, scheme=None):
    """Everything seqeval says, by our keys."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for average in ("micro", "macro", "weighted"):
            options = {"average": average, "zero_division": 0}
            if scheme is None:
                p, r, f, support = seqeval_loose(gold, predicted, **options)
            else:
                p, r, f, support = seqeval_strict(
                    gold, predicted, scheme=getattr(seqeval.scheme, scheme), **options
                )
            found |= {
                f"span.{average}.precision": p,
                f"span.{average}.recall": r,
                f"span.{average}.f1": f,
                f"span.{average}.gold": support,
            }
        if scheme is None:
            each = seqeval_loose(gold, predicted, average=None, zero_division=0)
        else:
            each = seqeval_strict(
                gold, predicted, average=None, zero_division=0, scheme=getattr(seqeval.scheme, scheme)
            )
    return found, list(zip(*(x.tolist() for x in each), strict=True))


def assert_equal_to_seqeval(gold, predicted, scheme=None):
    ours = score_tags(gold, predicted, "seqeval" if scheme is None else "seqeval-strict", scheme)
    theirs, each = seqeval_scores(gold, predicted, scheme)
    mine = ours.as_dict()
    for key, value in theirs.items():
        if np.isnan(value):  # seqeval averages over no types at all; we say 0
            assert mine[key] == 0.0
            assert not each
        else:
            assert mine[key] == value, key
    assert [(t.precision, t.recall, t.f1, t.gold) for t in ours.span.types.values()] == each


def random_tags(rng, tags, sentences=4, longest=12):
    lengths = [rng.randrange(longest) for _ in range(rng.randrange(1, sentences + 1))]
    gold = [[rng.choice(tags) for _ in range(n)] for n in lengths]
    # A prediction that is often right, so that matches of every kind occur.
    keep = rng.random()
    predicted = [[t if rng.random() < keep else rng.choice(tags) for t in row] for row in gold]
    return gold, predicted


def alphabet(rng, prefixes):
    types = rng.choice([["x"], ["x", "y"], [f"t{i}" for i in range(30)], ["x", "x-y", "x-"]])
    return ["O", *(f"{p}-{t}" for p in prefixes if p != "O" for t in types)]


def test_default_scores_equal_seqeval_to_the_last_digit_on_random_tags():
    rng = random.Random(1)
    for _ in range(300):
        tags = alphabet(rng, rng.choice(["BI", "BIES", "IE", "I", "BILU", "BIESLU"]))
        assert_equal_to_seqeval(*random_tags(rng, tags))


def test_default_scores_equal_seqeval_on_tags_it_never_expected():
    rng = random.Random(2)
    for _ in range(300):
        tags = alphabet(rng, "BIES") + ODD_TAGS
        assert_equal_to_seqeval(*random_tags(rng, rng.sample(tags, 6)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_strict_scores_equal_seqeval_to_the_last_digit_on_random_tags(scheme):
    rng = random.Random(3)
    prefixes = {"IOB1": "BI", "IOB2": "BI", "IOE1": "IE", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU"}[
        scheme
    ]
    for _ in range(120):
        tags = [*alphabet(rng, prefixes), "O-x", *prefixes]
        assert_equal_to_seqeval(*random_tags(rng, tags), scheme)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_default_scores_equal_seqeval_on_tags_that_hypothesis_invents(data):
    tag = st.one_of(
        st.sampled_from(["O", "B-x", "I-x", "I-y", "E-x", "S-y", "."]),
        st.text("BIOES-.x", min_size=1, max_size=4),
    )
    pairs = data.draw(st.lists(st.lists(st.tuples(tag, tag), max_size=8), min_size=1, max_size=4))
    assert_equal_to_seqeval([[g for g, _ in row] for row in pairs], [[p for _, p in row] for row in pairs])


def conlleval(gold, predicted):
    """The shared task's script restated: counts of gold, predicted and correct chunks by type."""

    def split(tag):
        prefix, hyphen, kind = tag.partition("-")
        return (prefix, kind) if hyphen else (tag, "")

    def ends(before, here):
        (p, p_type), (t, t_type) = before, here
        listed = {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O"), ("E", "E"), ("E", "I"), ("E", "O")}
        return (p, t) in listed or (p not in ("O", ".") and p_type != t_type) or p in ("[", "]")

    def starts(before, here):
        (p, p_type), (t, t_type) = before, here
        listed = {("B", "B"), ("I", "B"), ("O", "B"), ("O", "I"), ("E", "E"), ("E", "I"), ("O", "E")}
        return (p, t) in listed or (t not in ("O", ".") and p_type != t_type) or t in ("[", "]")

    found_gold, found_predicted, correct = Counter(), Counter(), Counter()
    in_correct = False
    last_gold = last_predicted = ("O", "")
    for gold_row, predicted_row in zip(gold, predicted, strict=True):
        for g, p in [*zip(gold_row, predicted_row, strict=True), ("O", "O")]:
            here_gold, here_predicted = split(g), split(p)
            gold_ends, predicted_ends = ends(last_gold, here_gold), ends(last_predicted, here_predicted)
            if in_correct:
                if gold_ends and predicted_ends and last_gold[1] == last_predicted[1]:
                    in_correct = False
                    correct[last_gold[1]] += 1
                elif gold_ends != predicted_ends or here_gold[1] != here_predicted[1]:
                    in_correct = False
            gold_starts, predicted_starts = (
                starts(last_gold, here_gold),
                starts(last_predicted, here_predicted),
            )
            if gold_starts and predicted_starts and here_gold[1] == here_predicted[1]:
                in_correct = True
            found_gold[here_gold[1]] += gold_starts
            found_predicted[here_predicted[1]] += predicted_starts
            last_gold, last_predicted = here_gold, here_predicted
    if in_correct:
        correct[last_gold[1]] += 1
    types = {t for t in found_gold | found_predicted if found_gold[t] or found_predicted[t]}
    return {t: (found_gold[t], found_predicted[t], correct[t]) for t in types}


def test_conlleval_counts_equal_the_script_on_random_tags():
    rng = random.Random(4)
    for _ in range(3000):
        tags = alphabet(rng, rng.choice(["BI", "BIE", "I", "BIESU", "BI[]"]))
        if rng.random() < 0.3:
            tags = rng.sample(tags + ODD_TAGS + ["[", "]-x"], 5)
        gold, predicted = random_tags(rng, tags)
        ours = score_tags(gold, predicted, "conlleval").span
        assert {k: (t.gold, t.predicted, t.correct) for k, t in ours.types.items()} == conlleval(
            gold, predicted
        )


def test_conlleval_and_seqeval_agree_where_tags_are_valid():
    rng = random.Random(5)
    for _ in range(300):
        gold, predicted = random_tags(rng, ["O", "B-x", "I-x", "B-y", "I-y"])
        ours, other = score_tags(gold, predicted, "conlleval"), score_tags(gold, predicted, "seqeval")
        assert ours.span == other.span
        assert ours.untyped == other.untyped


def project_spans(rows):
    """The course project's rules restated: (sentence, type, first token, length)."""
    spans = []
    for n, row in enumerate(rows):
        before = "O"
        for t, tag in enumerate(row):
            if tag[0] == "B" or (tag[0] == "I" and (before[0] == "O" or before[2:] != tag[2:])):
                spans.append([n, tag[2:], t, 1])
            elif tag[0] == "I":
                spans[-1][3] += 1
            before = tag
    return {tuple(s) for s in spans}


def test_project_scores_equal_its_rules_on_random_tags():
    rng = random.Random(6)
    for _ in range(1000):
        gold, predicted = random_tags(rng, alphabet(rng, "BI"))
        ours = score_tags(gold, predicted, "hmm-project")
        a, b = project_spans(gold), project_spans(predicted)
        micro, untyped = ours.span.micro, ours.untyped
        assert (micro.gold, micro.predicted, micro.correct) == (len(a), len(b), len(a & b))
        bare = [{(n, t, length) for n, _, t, length in spans} for spans in (a, b)]
        assert (untyped.gold, untyped.predicted, untyped.correct) == (len(a), len(b), len(bare[0] & bare[1]))


def test_a_prediction_without_spans_scores_zero():
    for name in ("hmm-project", "conlleval", "seqeval", "seqeval-strict"):
        scores = score_tags([["B-x", "I-x"]], [["O", "O"]], name)
        assert scores.span.micro.f1 == scores.span.macro.f1 == scores.untyped.f1 == 0.0


def test_an_inside_tag_starts_a_span_or_not_by_convention():
    gold, predicted = [["O", "B-x", "I-x"]], [["O", "I-x", "I-x"]]
    assert score_tags(gold, predicted, "conlleval").span.micro.f1 == 1.0
    assert score_tags(gold, predicted, "hmm-project").span.micro.f1 == 1.0
    assert score_tags(gold, predicted, "seqeval").span.micro.f1 == 1.0
    assert score_tags(gold, predicted, "seqeval-strict", "IOB2").span.micro.f1 == 0.0


def test_untyped_scores_forgive_the_type():
    scores = score_tags([["B-x", "I-x", "O"]], [["B-y", "I-y", "O"]])
    assert scores.span.micro.f1 == 0.0
    assert scores.untyped.f1 == 1.0


def test_the_strict_scheme_is_read_off_the_tags():
    cases = {
        "IOB2": "B-x I-x O",
        "IOE2": "I-x E-x O",
        "IOB1": "I-x O",
        "IOBES": "B-x E-x S-x",
        "BILOU": "U-x O",
    }
    for scheme, row in cases.items():
        assert score_tags([row.split()], [row.split()], "seqeval-strict").scheme == scheme
    with pytest.raises(ConfigError, match="cannot detect the scheme"):
        score_tags([["B-x", "L-x", "E-x"]], [["O", "O", "O"]], "seqeval-strict")


def test_tags_that_mark_no_spans_get_no_span_scores():
    scores = score_tags([["DT", "NN"]], [["DT", "NN"]])
    assert scores.span is None
    assert scores.sentence_accuracy == 1.0


def test_what_is_wrong_with_the_input_is_said():
    with pytest.raises(DataError, match="gold has 1 sentences, the prediction has 2"):
        score_tags([["O"]], [["O"], ["O"]])
    with pytest.raises(DataError, match="sentence 2: gold has 1 tags, the prediction has 2"):
        score_tags([["O"], ["O"]], [["O"], ["O", "O"]])
    with pytest.raises(DataError, match="an empty tag"):
        score_tags([[""]], [["O"]], "conlleval")
    with pytest.raises(DataError, match="tag 'Q-x': seqeval-strict"):
        score_tags([["Q-x"]], [["O"]], "seqeval-strict", "IOB2")
    with pytest.raises(ConfigError, match="unknown convention 'muc'"):
        score_tags([["O"]], [["O"]], "muc")
    with pytest.raises(ConfigError, match="unknown scheme 'BMES'"):
        score_tags([["O"]], [["O"]], "seqeval-strict", "BMES")


def test_ids_give_the_scores_of_their_strings():
    rng = random.Random(7)
    gold, predicted = random_tags(rng, alphabet(rng, "BI"), sentences=30)
    pair = TagPair.from_lists(gold, predicted)
    scorer = TagScorer(pair.labels, "seqeval")
    assert scorer.score(pair.y, pair.y_hat, pair.ptr) == score_tags(gold, predicted, "seqeval")


def test_ids_out_of_range_and_bad_bounds_are_refused():
    scorer = TagScorer(["O", "B-x"])
    y, ptr = np.array([0, 1], dtype=np.int32), np.array([0, 2])
    for bad_y, bad_ptr in ((y + 1, ptr), (y - 1, ptr), (y, ptr + 1), (y, np.array([0, 3, 2])), (y, ptr[:0])):
        with pytest.raises(ValueError, match=r"label id out of range|sentence bounds"):
            scorer.score(y, bad_y.astype(np.int32), bad_ptr)


def test_counts_of_the_sentences_add_up_to_the_scores():
    rng = random.Random(8)
    for name in ("conlleval", "seqeval", "seqeval-strict", "hmm-project"):
        gold, predicted = random_tags(rng, ["O", "B-x", "I-x", "B-y", "I-y"], sentences=40)
        pair = TagPair.from_lists(gold, predicted)
        scorer = TagScorer(pair.labels, name)
        tally = scorer.tally(pair.y, pair.y_hat, pair.ptr)
        scores = scorer.score(pair.y, pair.y_hat, pair.ptr)
        assert scorer.scores_of(tally.sums()) == scores
        known = scores.as_dict()
        for key, value in tally.score(tally.sums()).items():
            assert known.get(key, 0.0) == pytest.approx(value, abs=1e-15), key


def test_listed_spans_are_those_that_were_counted():
    rng = random.Random(9)
    gold, _ = random_tags(rng, ["O", "B-x", "I-x", "B-y", "I-y"], sentences=40)
    pair = TagPair.from_lists(gold, gold)
    scorer = TagScorer(pair.labels, "hmm-project")
    sentence, begin, end, kind = scorer.spans(pair.y, pair.ptr)
    listed = {
        (n, scorer.types[k], b - pair.ptr[n], e - b)
        for n, b, e, k in zip(sentence.tolist(), begin.tolist(), end.tolist(), kind.tolist(), strict=True)
    }
    assert listed == project_spans(gold)


def test_letters_without_types_are_scored_as_spans_of_one_type():
    gold = [["B", "I", "O", "B"], ["O", "B", "I"]]
    found = [["B", "O", "O", "B"], ["O", "B", "I"]]
    typed = [[[tag if tag == "O" else f"{tag}-X" for tag in row] for row in rows] for rows in (gold, found)]
    alone, named = score_tags(gold, found), score_tags(*typed)
    assert alone.span is not None
    assert alone.span.micro == named.span.micro
    assert alone.span.micro.f1 == pytest.approx(2 / 3)


def test_one_stray_label_among_tags_is_said_in_training():
    words, tags = [["Ann", "left"]] * 4, [["B-PER", "O"], ["B-PER", "I-PER"], ["B-PER", "O"], ["B-PER", "0"]]
    with pytest.warns(DataWarning, match="0 is no tag of a scheme"):
        Tagger("perceptron", folds=0, features=["w[0]"]).fit(words, tags)
