"""Each check of the doctor on tiny corpora: the fault it is for, and the clean case in which it finds nothing."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.doctor import CorpusFile, examine
from chaffinch.doctor.conflicts import conflicts, duplicates
from chaffinch.doctor.corpus_file import normalised
from chaffinch.doctor.tag_schemes import tag_schemes
from chaffinch.errors import ConfigError
from chaffinch.text.document import Document
from chaffinch.text.schemes import TokenSpan, tags_of
from doctor_findings import CLEAN, found, lines, span_row

# -- a clean corpus ---------------------------------------------------------------------------------------------


def test_a_clean_corpus_of_tags_has_no_findings(tmp_path: Path) -> None:
    path = tmp_path / "clean.conll"
    path.write_text(CLEAN + "Cy B-PER\nknows O\nRome B-LOC\n\n")
    assert examine([path], quick=True).findings == []


def test_a_clean_corpus_of_documents_has_no_findings(tmp_path: Path) -> None:
    path = tmp_path / "clean.csv"
    rows = [f"{'ab'[i % 2]},text number {i} of many" for i in range(12)]
    path.write_text("label,text\n" + "\n".join(rows) + "\n")
    assert examine([path], quick=True).findings == []


def test_clean_spans_have_no_findings(tmp_path: Path) -> None:
    row = span_row("Ann Lee left Oslo", (0, 7, "PER"), (13, 17, "LOC"))
    other = span_row("Bo saw Rome", (0, 2, "PER"), (7, 11, "LOC"))
    third = span_row("so did Cy in Bern", (7, 9, "PER"), (13, 17, "LOC"))
    path = tmp_path / "clean.jsonl"
    path.write_text(row + other + third)
    assert examine([path], quick=True).findings == []


# -- duplicates -------------------------------------------------------------------------------------------------


def test_a_long_row_of_a_later_file_that_an_earlier_one_has_is_an_error(tmp_path: Path) -> None:
    train = "label,text\na,one two three four five six seven eight\nb,short one\n"
    test = "label,text\nb,new words\na,One two  three four five six seven EIGHT\nb,short one\n"
    leaks = found("duplicates", train, test, folder=tmp_path, ending=".csv")
    assert lines(leaks) == [("1.csv", 3, "error"), ("1.csv", 4, "hint")]
    assert leaks[0].what.startswith("except for case and spaces, the same text as")
    assert "0.csv:2" in leaks[0].what


def test_a_row_twice_in_one_file_is_a_hint(tmp_path: Path) -> None:
    once = "label,text\na,the very same words again and again and again\n"
    twice = once + "b,other\na,the very same words again and again and again\n"
    assert lines(found("duplicates", twice, folder=tmp_path, ending=".csv")) == [("0.csv", 4, "hint")]


def test_pairs_with_the_same_source_and_another_translation_are_no_duplicates(tmp_path: Path) -> None:
    table = "source\ttarget\tsure\tpossible\nthe house\tla maison\t1-1 2-2\t\nthe house\tle toit\t1-1\t\n"
    assert found("duplicates", table, folder=tmp_path, ending=".tsv") == []
    assert found("conflicts", table, folder=tmp_path, ending=".tsv") == []


texts = st.lists(st.sampled_from(["a b", "A b", "a  b", "c", "C", "d e f"]), max_size=8)


def files_of(parts: list[list[tuple[str, str]]]) -> list[CorpusFile]:
    made = []
    for i, part in enumerate(parts):
        documents = [Document(text=t, labels=[y], line=n + 1) for n, (t, y) in enumerate(part)]
        made.append(CorpusFile(Path(f"{i}.csv"), "csv", documents))
    return made


@given(st.lists(texts, min_size=1, max_size=3))
def test_duplicates_are_those_that_comparing_all_pairs_finds(parts: list[list[str]]) -> None:
    files = files_of([[(t, "y") for t in part] for part in parts])
    rows = [(f, n, t) for f, part in enumerate(parts) for n, t in enumerate(part)]
    naive = {
        (f"{f}.csv", n + 1)
        for i, (f, n, t) in enumerate(rows)
        if any(normalised(other) == normalised(t) for _, _, other in rows[:i])
    }
    assert {(d.file, d.line) for d in duplicates(files)} == naive


@given(st.lists(st.tuples(st.sampled_from(["a b", "A b", "c"]), st.sampled_from("xyz")), max_size=9))
def test_conflicts_are_the_rows_without_the_most_frequent_label_of_their_text(
    rows: list[tuple[str, str]],
) -> None:
    reported = {d.line for d in conflicts(files_of([rows]))}
    for text in {normalised(t) for t, _ in rows}:
        here = [(n + 1, y) for n, (t, y) in enumerate(rows) if normalised(t) == text]
        counts = Counter(y for _, y in here)
        told = {n for n, _ in here} & reported
        silent = {y for n, y in here if n not in told}
        assert len(silent) == 1  # what is not reported has one label, and none is more frequent
        assert counts[silent.pop()] == max(counts.values())


# -- conflicts --------------------------------------------------------------------------------------------------


def test_the_same_sentence_with_other_tags_is_an_error_at_the_token_that_differs(tmp_path: Path) -> None:
    usual = "2 QTY\nlarge SIZE\neggs NAME\n\n"
    odd = "2 QTY\nlarge NAME\neggs NAME\n\n"
    [conflict] = found("conflicts", usual + usual + odd, folder=tmp_path)
    assert (conflict.line, conflict.severity) == (10, "error")
    assert conflict.what.startswith("'large' is NAME here, SIZE at")
    assert "2 of 3 times" in conflict.what


def test_texts_that_differ_in_case_and_in_label_are_a_warning(tmp_path: Path) -> None:
    [conflict] = found("conflicts", "label,text\na,Good day\nb,good day\n", folder=tmp_path, ending=".csv")
    assert (conflict.line, conflict.severity) == (3, "warning")


def test_a_word_in_the_same_surroundings_with_another_tag_is_a_warning(tmp_path: Path) -> None:
    def sentence(first: str, tag: str) -> str:
        return f"{first} O\nhe O\nate O\norange {tag}\nsoup O\ntoday O\n\n"

    text = sentence("then", "A") + sentence("so", "A") + sentence("now", "B")
    [conflict] = found("conflicts", text, folder=tmp_path)
    assert (conflict.line, conflict.severity, conflict.suggestion) == (18, "warning", "A?")


def test_a_word_in_the_same_surroundings_that_one_row_leaves_out_is_a_warning(tmp_path: Path) -> None:
    texts = [f"{first} he met Ann in town" for first in ("then", "so", "now")]
    at = [text.index("Ann") for text in texts]
    rows = "".join(span_row(t, (a, a + 3, "PER")) for t, a in zip(texts[:2], at, strict=False)) + span_row(
        texts[2]
    )
    [conflict] = found("conflicts", rows, folder=tmp_path, ending=".jsonl")
    assert (conflict.line, conflict.severity, conflict.suggestion) == (3, "warning", "B-PER?")


def test_a_name_that_nearly_always_has_another_type_is_a_hint(tmp_path: Path) -> None:
    rows = (
        "".join(f"w{i} O\nx{i} O\nOslo B-LOC\ny{i} O\n\n" for i in range(10)) + "at O\nlast O\nOslo B-PER\n\n"
    )
    [hint] = found("conflicts", rows, folder=tmp_path)
    assert (hint.line, hint.severity, hint.suggestion) == (53, "hint", "LOC?")


def test_the_same_text_with_other_spans_is_a_conflict(tmp_path: Path) -> None:
    rows = span_row("Ann left", (0, 3, "PER")) + span_row("Ann left", (0, 3, "LOC"))
    [conflict] = found("conflicts", rows, folder=tmp_path, ending=".jsonl")
    assert conflict.severity == "error"
    assert "'Ann' is LOC here, 'Ann' is PER" in conflict.what


def test_the_same_words_with_another_tree_are_a_conflict(tmp_path: Path) -> None:
    trees = "(S (NP (NN a)) (VP (VB b)))\n(S (NP (NN a) (VB b)))\n"
    [conflict] = found("conflicts", trees, folder=tmp_path, ending=".mrg")
    assert (conflict.line, conflict.severity) == (2, "error")


# -- tag schemes ------------------------------------------------------------------------------------------------


def test_a_tag_that_cannot_stand_where_it_stands_is_an_error_with_what_it_may_be(tmp_path: Path) -> None:
    [fault] = found("tags", CLEAN + "so O\nCy I-PER\n\n", folder=tmp_path)
    assert (fault.line, fault.severity, fault.suggestion) == (13, "error", "B-PER?")


def test_a_tag_of_no_scheme_is_an_error_and_the_rest_is_judged(tmp_path: Path) -> None:
    faults = found("tags", CLEAN + "so O\nCy PER\nDi I-LOC\n\n", folder=tmp_path)
    assert lines(faults) == [("0.conll", 13, "error"), ("0.conll", 14, "error")]
    assert faults[0].suggestion == "B-PER or I-PER?"


def test_files_in_two_schemes_are_an_error(tmp_path: Path) -> None:
    other = "Ann B-PER\nLee E-PER\nleft O\n\nto O\nOslo S-LOC\n\n"
    [fault] = found("tags", CLEAN, other, folder=tmp_path)
    assert "uses the tag scheme BIOES" in fault.what
    assert fault.file.endswith("1.conll")


def test_letters_of_two_schemes_in_one_file_are_an_error(tmp_path: Path) -> None:
    mixed = "Ann B-PER\nLee E-PER\n\nBo B-PER\nTi L-PER\n\nto O\nOslo U-LOC\n\n"
    [fault] = found("tags", mixed, folder=tmp_path)
    assert "mixes tag schemes" in fault.what


def test_a_few_tags_that_fit_the_scheme_of_the_first_file_are_in_it(tmp_path: Path) -> None:
    bioes = "Ann B-PER\nLee E-PER\nleft O\n\nto O\nOslo S-LOC\n\n"
    assert found("tags", bioes, "in O\nRome S-LOC\n\n", folder=tmp_path) == []


def test_parts_of_speech_are_in_no_scheme_and_have_no_fault(tmp_path: Path) -> None:
    assert found("tags", "the DT\ndog NN\n\n( -LRB-\nB-52 I-X\nflew VBD\n\n", folder=tmp_path) == []


spans_of_tokens = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["", "PER", "LOC"])), min_size=1, max_size=6
)


@given(st.lists(spans_of_tokens, min_size=1, max_size=5), st.sampled_from(["BIO", "BIOES", "BILOU"]))
def test_tags_that_a_scheme_spells_have_no_fault(sentences: list[list[tuple[int, str]]], scheme: str) -> None:
    documents = []
    for pieces in sentences:
        spans, length = [], 0
        for size, label in pieces:
            if label:
                spans.append(TokenSpan(label, length, length + size))
            length += size
        documents.append(Document.from_words(["w"] * length, y=tags_of(spans, length, scheme)))
    assert list(tag_schemes([CorpusFile(Path("x"), "columns", documents)])) == []


# -- labels -----------------------------------------------------------------------------------------------------


def test_labels_that_differ_in_case_are_an_error(tmp_path: Path) -> None:
    tags = CLEAN * 3 + "so O\nCy B-per\n\n"
    [fault] = [f for f in found("labels", tags, folder=tmp_path) if f.severity == "error"]
    assert (fault.line, fault.suggestion) == (35, "PER?")
    assert "'per' (once, first here) looks like 'PER' (6 times)" in fault.what


def test_letters_as_labels_differ_in_case(tmp_path: Path) -> None:
    rows = "".join(f"{'aA'[i % 2]},stroke number {i}\n" for i in range(12))
    assert found("labels", "label,text\n" + rows, folder=tmp_path, ending=".csv") == []


def test_a_conflict_with_most_rows_has_their_label_for_a_suggestion(tmp_path: Path) -> None:
    rows = "label,text\na,good tea\na,good tea\nb,good tea\na,bad tea\nb,bad tea\n"
    faults = found("conflicts", rows, folder=tmp_path, ending=".csv")
    assert [(f.line, f.suggestion) for f in faults] == [(4, "a?"), (6, "choose one")]


def test_a_file_without_labels_is_noted_with_the_columns_that_may_hold_them(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("coarse,text\na,one\nb,two\n")
    assert any(
        "coarse holds them, name it with --label" in note for note in examine([path], quick=True).notes
    )
    assert examine([path], quick=True, label="coarse").notes == []


def test_a_label_that_training_never_shows_is_a_warning(tmp_path: Path) -> None:
    train = "label,text\n" + "".join(f"a,x{i}\nb,y{i}\n" for i in range(3))
    test = "label,text\na,z\nc,u\nc,v\nc,w\n"
    [warning] = found("labels", train, test, folder=tmp_path, ending=".csv")
    assert lines([warning]) == [("1.csv", 3, "warning")]
    assert "'c' (3 times, first here) never occurs" in warning.what


def test_a_label_that_occurs_once_is_a_hint(tmp_path: Path) -> None:
    rows = "label,text\n" + "".join(f"a,x{i}\nb,y{i}\n" for i in range(3)) + "c,z\n"
    assert lines(found("labels", rows, folder=tmp_path, ending=".csv")) == [("0.csv", 8, "hint")]


def test_part_of_speech_labels_of_signs_do_not_look_alike(tmp_path: Path) -> None:
    tags = "".join(f"a{i} PRP\nb{i} PRP$\n( -LRB-\n) -RRB-\n- :\n_ -\n. _\n\n" for i in range(3))
    assert found("labels", tags, folder=tmp_path) == []


# -- bad input --------------------------------------------------------------------------------------------------


def test_an_unknown_check_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no check 'spelling'; there are reading, text"):
        examine([tmp_path / "x"], checks=["spelling"])


def test_an_option_that_the_format_has_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mrg"
    path.write_text("(S (A a))\n")
    with pytest.raises(ConfigError, match="format brackets has no option --label"):
        examine([path], label="y")


# -- what is said by saying nothing -------------------------------------------------------------------------------


def test_a_text_with_spans_and_the_same_without_contradict_each_other(tmp_path: Path) -> None:
    rows = span_row("Ann left", (0, 3, "PER")) * 2 + span_row("Ann left")
    [conflict] = found("conflicts", rows, folder=tmp_path, ending=".jsonl")
    assert conflict.line == 3
    assert "no such span here, 'Ann' is PER" in conflict.what


def test_a_row_without_a_label_is_an_error_unless_rows_may_have_several(tmp_path: Path) -> None:
    rows = "label,text\na,one\n,two\nb,three\na,four\nb,five\na,six\nb,seven\n"
    [fault] = found("labels", rows, folder=tmp_path, ending=".csv")
    assert (fault.line, fault.severity) == (3, "error")
    several = rows.replace("a,four", "a|b,four")
    assert found("labels", several, folder=tmp_path, ending=".csv", label_separator="|") == []


def test_a_sentence_that_is_told_of_as_a_whole_is_not_told_of_word_by_word(tmp_path: Path) -> None:
    usual = "we O\nate O\nhot O\nsoup B-FOOD\nat O\nnoon O\n\n"
    odd = usual.replace("B-FOOD", "B-PLACE")
    assert len(found("conflicts", usual * 2 + odd, folder=tmp_path)) == 1


def test_missing_spans_are_doubted_too(tmp_path: Path) -> None:
    names = ["Ann", "Bo", "Cy", "Di", "Ed", "Flo"]
    rows = [
        span_row(f"today {name} went home to {i}", (6, 6 + len(name), "PER"))
        for i in range(12)
        for name in names
    ]
    rows.insert(40, span_row("today Ann went home to 99"))
    path = tmp_path / "x.jsonl"
    path.write_text("".join(rows))
    doubted = examine([path], checks=["suspects"]).of("suspects")
    assert 41 in {f.line for f in doubted}
    assert doubted[0].suggestion == "B-PER?"


def test_sentences_of_one_document_are_judged_by_text_where_documents_are_few(tmp_path: Path) -> None:
    path = tmp_path / "x.conll"
    sentences = "".join(f"{w}{i} N\nruns V\n\n" for i in range(20) for w in "ab")
    path.write_text("-DOCSTART- O\n\n" + sentences)
    assert examine([path], checks=["suspects"]).notes == []
