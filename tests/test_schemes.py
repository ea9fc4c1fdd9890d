"""Tag schemes against enumeration: every sequence of tags and every set of spans over a few tokens."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.scheme import BILOU as SEQEVAL_BILOU
from seqeval.scheme import IOB2 as SEQEVAL_IOB2
from seqeval.scheme import IOBES as SEQEVAL_IOBES
from seqeval.scheme import IOE2 as SEQEVAL_IOE2
from seqeval.scheme import Entities
from seqeval.scheme import auto_detect as seqeval_detect

from chaffinch.errors import ConfigError, DataError
from chaffinch.text import schemes
from chaffinch.text.schemes import SCHEMES, Scheme, TokenSpan
from chaffinch.text.schemes.legality import span_arrays

NAMES = list(SCHEMES)
TYPES = ("x", "y-z")


def span_sets(length: int, start: int = 0) -> list[list[TokenSpan]]:
    """Every set of spans that do not overlap, over ``length`` tokens and two types."""
    if start == length:
        return [[]]
    found = span_sets(length, start + 1)
    for end in range(start + 1, length + 1):
        for kind in TYPES:
            found += [[TokenSpan(kind, start, end), *rest] for rest in span_sets(length, end)]
    return found


def touching(spans: list[TokenSpan]) -> bool:
    return any(a.end == b.start and a.label == b.label for a in spans for b in spans)


def holds(scheme: str, spans: list[TokenSpan]) -> bool:
    return scheme != "IO" or not touching(spans)


@pytest.mark.parametrize("name", NAMES)
def test_spans_come_back_from_their_tags(name: str) -> None:
    for length in range(5):
        for spans in span_sets(length):
            if holds(name, spans):
                assert schemes.spans(schemes.tags_of(spans, length, name), name) == spans


@pytest.mark.parametrize("name", NAMES)
def test_the_allowed_sequences_are_exactly_those_that_some_spans_are_written_as(name: str) -> None:
    labels = schemes.tag_set(TYPES, name)
    legal, start, end = schemes.legal_transitions(labels, name)
    for length in range(1, 4):
        written = {
            tuple(schemes.tags_of(spans, length, name)) for spans in span_sets(length) if holds(name, spans)
        }
        for ids in product(range(len(labels)), repeat=length):
            tags = tuple(labels[i] for i in ids)
            path = start[ids[0]] and end[ids[-1]] and all(legal[a, b] for a, b in pairwise(ids))
            assert path == (tags in written), tags
            assert (not schemes.validate([tags], name)) == (tags in written), tags


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_a_conversion_keeps_the_spans_and_comes_back(source: str, target: str) -> None:
    corpus = [s for length in range(5) for s in span_sets(length) if holds(source, s) and holds(target, s)]
    lengths = [max((s.end for s in spans), default=1) for spans in corpus]
    tags = [schemes.tags_of(s, n, source) for s, n in zip(corpus, lengths, strict=True)]
    converted = schemes.convert(tags, source, target)
    assert converted == [schemes.tags_of(s, n, target) for s, n in zip(corpus, lengths, strict=True)]
    assert schemes.convert(converted, target, source) == tags


def test_io_refuses_spans_of_one_type_that_touch() -> None:
    with pytest.raises(DataError, match="1 places two of one type touch, first in sentence 2 at token 3"):
        schemes.convert([["O"], ["B-x", "I-x", "B-x"]], "BIO", "IO")
    with pytest.raises(DataError, match="IO cannot separate"):
        schemes.tags_of([TokenSpan("x", 0, 1), TokenSpan("x", 1, 2)], 2, "IO")


@given(st.data(), st.sampled_from(NAMES))
def test_a_repair_is_allowed_keeps_the_spans_and_names_every_change(data: st.DataObject, name: str) -> None:
    labels = schemes.tag_set(TYPES, name)
    tags = data.draw(st.lists(st.lists(st.sampled_from(labels), max_size=6), max_size=4))
    repaired, changes = schemes.repair(tags, name)
    assert schemes.validate(repaired, name) == []
    assert [schemes.spans(t, name) for t in repaired] == [schemes.spans(t, name) for t in tags]
    undone = [list(t) for t in repaired]
    for change in changes:
        assert undone[change.sentence][change.token] == change.after
        undone[change.sentence][change.token] = change.before
    assert undone == tags
    assert bool(changes) <= bool(schemes.validate(tags, name))


def test_a_repair_of_sound_tags_changes_nothing() -> None:
    tags = [["O", "B-x", "I-x"]]
    assert schemes.repair(tags, "BIO") == (tags, [])


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("BIO", SEQEVAL_IOB2), ("IOE2", SEQEVAL_IOE2), ("BIOES", SEQEVAL_IOBES), ("BILOU", SEQEVAL_BILOU)],
)
def test_sound_tags_have_the_spans_that_seqeval_sees_in_strict_mode(name: str, theirs: type) -> None:
    for spans in span_sets(4):
        tags = schemes.tags_of(spans, 4, name)
        seen = [TokenSpan(e.tag, e.start, e.end) for e in Entities([tags], theirs).entities[0]]
        assert seen == schemes.spans(tags, name), tags


@pytest.mark.parametrize("name", NAMES)
def test_a_scheme_is_detected_from_tags_that_show_it(name: str) -> None:
    spans = [TokenSpan("x", 0, 2), TokenSpan("x", 2, 3), TokenSpan("x", 3, 6), TokenSpan("y", 6, 7)]
    if name == "IO":
        spans = [spans[0], spans[3]]
    tags = [schemes.tags_of(spans, 8, name)]
    assert schemes.detect(tags) is SCHEMES[name]


def test_detection_prefers_the_plain_reading() -> None:
    assert schemes.detect([["I-x", "O"]]) is schemes.IO
    assert schemes.detect([["B-x", "O"]]) is schemes.BIO
    assert schemes.detect([["O", "O"]]) is schemes.BIO
    assert schemes.detect([["B", "I", "O"]]) is schemes.BIO
    assert schemes.detect([["NOUN", "VERB"]]) is None
    assert schemes.detect([["B_NAME", "O"]]) is None
    # one fault in many does not turn BIO into IOB1
    assert schemes.detect([["B-x", "I-x", "O", "B-y"], ["I-x", "O"]]) is schemes.BIO


def test_detection_agrees_with_seqeval_where_it_decides() -> None:
    theirs = {"IOBES": "BIOES", "IOB2": "BIO", "IOE2": "IOE2", "BILOU": "BILOU"}
    for tags in (["B-x", "I-x", "O"], ["B-x", "E-x", "S-y"], ["B-x", "L-x", "U-y"], ["I-x", "E-x", "O"]):
        assert str(schemes.detect([tags])) == theirs[seqeval_detect([tags]).__name__]


def test_faults_say_where_and_why() -> None:
    faults = schemes.validate([["O", "O"], ["I-x", "I-y"], ["B-x", "S-x", "NN"]], "BIO")
    assert [(f.sentence, f.token, f.tag) for f in faults] == [
        (1, 0, "I-x"),
        (1, 1, "I-y"),
        (2, 1, "S-x"),
        (2, 2, "NN"),
    ]
    assert "follows the start of the sentence" in faults[0].why
    assert "follows 'I-x'" in faults[1].why
    assert [f.why for f in schemes.validate([["B-x"]], "BILOU")] == [
        "must be continued by its type, but is followed by the end of the sentence"
    ]
    assert [f.why for f in schemes.validate([["O", "B-x"]], "IOB1")] == [
        "must come right after a span of its type, but follows 'O'"
    ]
    assert [f.why for f in schemes.validate([["E-x", "O"]], "IOE1")] == [
        "must come right before a span of its type, but is followed by 'O'"
    ]


def test_a_conversion_refuses_faulty_tags_and_counts_them() -> None:
    with pytest.raises(DataError, match=r"2 tags are not BIO; sentence 1, token 1: 'I-x' must continue"):
        schemes.convert([["I-x"], ["I-y"]], "BIO", "BIOES")


def test_spans_that_overlap_or_leave_the_sentence_are_refused() -> None:
    with pytest.raises(DataError, match="overlap"):
        schemes.tags_of([TokenSpan("x", 0, 2), TokenSpan("y", 1, 3)], 3, "BIO")
    with pytest.raises(DataError, match="spans within 2 tokens"):
        schemes.tags_of([TokenSpan("x", 0, 3)], 2, "BIO")


def test_names_have_aliases_and_unknown_ones_list_the_known() -> None:
    assert schemes.scheme_named("iobes") is schemes.BIOES
    assert isinstance(schemes.scheme_named(schemes.IO), Scheme)
    with pytest.raises(ConfigError, match="there is no tag scheme 'BMES'; there are BIO, IO"):
        schemes.scheme_named("BMES")


def test_labels_that_are_no_tags_have_no_mask() -> None:
    with pytest.raises(DataError, match="'NN' is not a tag of BIO, which has the letters B, I and O"):
        schemes.legal_transitions(["O", "NN"], "BIO")


def test_empty_sentences_do_not_blur_the_borders() -> None:
    assert schemes.validate([[], ["B-x"], [], ["I-x"], []], "BIO")[0].sentence == 3
    assert schemes.convert([[], ["B-x"], [], ["B-x", "I-x"], []], "BIO", "BIOES") == [
        [],
        ["S-x"],
        [],
        ["B-x", "E-x"],
        [],
    ]
    assert isinstance(schemes.legal_transitions(["O"], "BIO")[0], np.ndarray)


@given(st.data(), st.sampled_from(list(SCHEMES)))
def test_spans_of_many_sentences_are_those_of_each(data: st.DataObject, name: str) -> None:
    scheme = SCHEMES[name]
    labels = tuple(schemes.tag_set(["PER", "LOC"], scheme))
    own = data.draw(st.lists(st.lists(st.integers(0, len(labels) - 1), max_size=8), max_size=6))
    ptr = np.concatenate([[0], np.cumsum([len(ids) for ids in own])]).astype(np.int64)
    ids = np.array([y for sentence in own for y in sentence], np.int32)
    expected = [schemes.spans([labels[y] for y in sentence], scheme) for sentence in own]
    assert span_arrays(ids, ptr, labels, scheme).lists() == expected


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (["b-per", "i-per", "o"], "are spelt as in no scheme"),
        (["B_PER", "I_PER", "O"], "are spelt as in no scheme"),
        (["PER-B", "PER-I", "O"], "are spelt as in no scheme"),
        (["B-PER", "I-PER", "O", "0"], "0 is no tag of a scheme"),
        (["B-PER", "I-PER", "PER", "none"], "PER, none are no tags of a scheme"),
        (["B-PER", "E-PER", "U-PER", "O"], "no scheme has all the letters B, E, U"),
    ],
)
def test_labels_that_seem_to_mark_spans_but_are_of_no_scheme_are_doubted(labels: list[str], why: str) -> None:
    assert f"look like tags of spans, but {why}" in (schemes.scheme_doubt(labels) or "")


@pytest.mark.parametrize("name", SCHEMES)
def test_tags_of_a_scheme_are_not_doubted(name: str) -> None:
    assert schemes.scheme_doubt(schemes.tag_set(["PER", "creative-work"], name)) is None


@pytest.mark.parametrize("labels", [["NN", "VB", "IN"], ["i:x", "b:x", *"acdefg"], ["S", "O"], ["O"], []])
def test_labels_of_another_kind_are_not_doubted(labels: list[str]) -> None:
    assert schemes.scheme_doubt(labels) is None
