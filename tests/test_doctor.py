"""Each check of the doctor on tiny corpora: the fault it is for, and the clean case in which it finds nothing."""

import contextlib
import io
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch import samples
from chaffinch.corpus import write
from chaffinch.corpus.lines import Lookahead
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.splitter import Rules, blocks
from chaffinch.doctor import CorpusFile, Finding, Opinions, examine, held_out_opinions
from chaffinch.doctor.characters import unscrambled
from chaffinch.doctor.conflicts import conflicts
from chaffinch.doctor.corpus_file import normalised
from chaffinch.doctor.duplicates import duplicates
from chaffinch.doctor.label_errors import Judgement
from chaffinch.doctor.page import examination_page
from chaffinch.doctor.span_bounds import span_bounds
from chaffinch.doctor.tag_schemes import tag_schemes
from chaffinch.errors import ConfigError, DataError
from chaffinch.lab.parts import Texts, part_of
from chaffinch.text.document import Document, Span
from chaffinch.text.schemes import TokenSpan, tags_of
from chaffinch.text.tokens import tokenised

CLEAN = "Ann B-PER\nLee I-PER\nleft O\n\nto O\nOslo B-LOC\n\nBo B-PER\nsaw O\nOslo B-LOC\n\n"

CELLS = "_\tNOUN\t_\t_\t0\troot\t_\t_"  # of a row of CoNLL-U after its word


def found(
    check: str, *contents: str, folder: Path, ending: str = ".conll", **options: object
) -> list[Finding]:
    paths = []
    for i, content in enumerate(contents):
        paths.append(folder / f"{i}{ending}")
        paths[-1].write_text(content)
    return examine(paths, checks=[check], **options).of(check)


def lines(findings: list[Finding]) -> list[tuple[str, int | None, str]]:
    return [(Path(f.file).name, f.line, f.severity) for f in findings]


def span_row(text: str, *spans: tuple[int, int, str]) -> str:
    return (
        json.dumps({"text": text, "spans": [{"start": a, "end": b, "label": y} for a, b, y in spans]}) + "\n"
    )


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
    assert leaks[0].what.startswith("case and spaces aside, the text of")
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
    assert "spells its spans in BIOES" in fault.what
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
    assert [(f.line, f.suggestion) for f in faults] == [(4, "a?"), (6, "decide for one")]


def test_a_file_without_labels_is_noted_with_the_columns_that_may_hold_them(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("coarse,text\na,one\nb,two\n")
    assert any("coarse, name it with --label" in note for note in examine([path], quick=True).notes)
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


# -- spans ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "what", "suggestion"),
    [
        ((0, 4, "PER"), "ends with a space", "0-3"),
        ((3, 8, "PER"), "starts with a space", "4-8"),
        ((0, 2, "PER"), "ends within 'Ann'", "0-3 'Ann'?"),
        ((1, 3, "PER"), "starts within 'Ann'", "0-3 'Ann'?"),
        ((3, 4, "PER"), "starts with a space", "take it away: it covers nothing else"),
    ],
)
def test_a_span_that_is_not_a_run_of_words_is_an_error(
    tmp_path: Path, span: tuple[int, int, str], what: str, suggestion: str
) -> None:
    rows = span_row("Bo left", (0, 2, "PER")) + span_row("Ann left", span)
    [fault] = found("spans", rows, folder=tmp_path, ending=".jsonl")
    assert (fault.line, fault.severity, fault.suggestion) == (2, "error", suggestion)
    assert what in fault.what


@given(st.integers(0, 17), st.integers(1, 18))
def test_a_span_within_words_is_widened_to_all_words_that_it_touches(start: int, length: int) -> None:
    text = "Ann Lee left Oslo."
    d = tokenised(Document(text, spans=[Span("PER", start, min(len(text), start + length))]))
    file = CorpusFile(Path("x.jsonl"), "jsonl-spans", [d])
    [s] = d.spans
    for fault in span_bounds([file]):
        if "within" in fault.what:
            touched = [t for t in d.tokens if t.start < s.end and s.start < t.end]
            assert fault.suggestion.startswith(f"{touched[0].start}-{touched[-1].end} ")


def test_spans_over_each_other_and_spans_that_stand_twice_are_errors(tmp_path: Path) -> None:
    rows = span_row("Ann Lee", (0, 7, "PER"), (4, 7, "LOC")) + span_row("Bo", (0, 2, "PER"), (0, 2, "PER"))
    faults = found("spans", rows, folder=tmp_path, ending=".jsonl")
    assert [(f.line, f.severity) for f in faults] == [(1, "error"), (2, "error")]
    assert "overlaps PER" in faults[0].what
    assert "stands twice" in faults[1].what


def test_every_record_with_offsets_outside_its_text_is_found_and_the_others_are_read(tmp_path: Path) -> None:
    rows = span_row("Ann", (0, 9, "PER")) + span_row("Bo left", (0, 2, "PER")) + span_row("Cy", (3, 1, "PER"))
    path = tmp_path / "x.jsonl"
    path.write_text(rows)
    examined = examine([path], quick=True)
    assert [(f.line, f.severity) for f in examined.of("reading")] == [(1, "error"), (3, "error")]
    assert len(examined.files[0].documents) == 1


@pytest.mark.parametrize(
    ("ending", "content", "lines_refused", "rows"),
    [
        (".csv", 'label,text\na,"two\nlines"\nb,too,many\nb\na,the last\n', [4, 5], 2),
        (".csv", 'label,text\na,the first\na,"never closed\nb,c\n', [3], 1),
        (".tsv", "label\ttext\na\tone\nb\na\tthree\n", [3], 2),
        (".tsv", "source\ttarget\tsure\tpossible\na\tb\tx\t\na\tb\t1-1\na\tb\t1-1\t\n", [2, 3], 1),
        (
            ".conllu",
            f"1\ta\t{CELLS}\n\n1\tb\n\n# text = other\n1\tc\t{CELLS}\n\n1\td\t{CELLS}\n\n",
            [3, 6],
            2,
        ),
        (".jsonl", '{"text": "one"}\n{"text": \n[1]\n{"text": "four"}\n', [2, 3], 2),
        (".conll", "Ann B-PER\n\nleft\nx y z\n\nBo B-PER\n\nto many cells\n", [3, 8], 2),
        (".conll", "Ann B-PER\nleft\n \nBo B-PER\nCy B-PER\n\na\n\nb", [2, 7, 9], 1),
    ],
)
def test_records_that_cannot_be_read_are_findings_and_the_others_are_read(
    tmp_path: Path, ending: str, content: str, lines_refused: list[int], rows: int
) -> None:
    path = tmp_path / f"x{ending}"
    path.write_text(content)
    examined = examine([path], quick=True)
    assert [f.line for f in examined.of("reading")] == lines_refused
    assert all(f.severity == "error" and f.suggestion for f in examined.of("reading"))
    assert len(examined.files[0].documents) == rows


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=12), st.integers(1, 40))
def test_sentences_with_a_line_of_other_columns_are_refused_whatever_the_chunks(
    sentences: list[list[bool]], size: int
) -> None:
    numbered = enumerate(line for s in sentences for line in [*s, None])
    text = "".join("\n" if ok is None else f"w{n + 1} X\n" if ok else f"w{n + 1}\n" for n, ok in numbered)
    ahead = Lookahead("x", io.BytesIO(text.encode()))
    whole = text.encode()
    ahead.chunks = lambda: (whole[i : i + size] for i in range(0, len(whole), size))  # type: ignore[method-assign]
    refused: list[int] = []

    class Kept(Losses):
        def refuse(self, fault: DataError) -> None:
            refused.append(int(str(fault).split(":")[1]))

    rules = Rules(split="spaces", separator=" ", columns=2, kept=(0, 1), expected="as always")
    sound: list[int] = []
    with contextlib.suppress(DataError):  # no sentence at all
        for block in blocks(ahead, rules, Kept()):
            sound += block.lines.tolist()
    starts = list(itertools.accumulate((len(s) + 1 for s in sentences), initial=1))
    assert sound == [start for start, s in zip(starts, sentences, strict=False) if all(s)]
    assert refused == [
        start + s.index(False) for start, s in zip(starts, sentences, strict=False) if not all(s)
    ]


def test_links_outside_their_sentences_are_found(tmp_path: Path) -> None:
    table = "source\ttarget\tsure\tpossible\na b\tc d\t1-1\t\ne f\tg h\t1-3\t\n"
    [fault] = found("reading", table, folder=tmp_path, ending=".tsv")
    assert (fault.line, fault.severity) == (3, "error")


# -- text -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "severity", "what"),
    [
        ('""', "error", "empty"),
        ("a\u200bb", "warning", "U+200B ZERO WIDTH SPACE"),
        ("caf\u00c3\u00a9", "warning", "looks like UTF-8 read in another encoding"),
        ("it\u00e2\u20ac\u2122s", "warning", "looks like UTF-8"),
        ("a\x0bb", "warning", "U+000B"),
        ("lost \ufffd sign", "warning", "lost"),
        ("2\u00a0kg", "hint", "U+00A0 NO-BREAK SPACE"),
    ],
)
def test_texts_with_odd_characters_are_found(tmp_path: Path, text: str, severity: str, what: str) -> None:
    [fault] = found("text", f"label,text\na,plain\na,{text}\n", folder=tmp_path, ending=".csv")
    assert (fault.line, fault.severity) == (3, severity)
    assert what in fault.what


@pytest.mark.parametrize(
    "text", ["café", "Ärger", "naïve Ålesund", "ÃO É", "CAFÉ’s MENÜ“ «Ô»", "中文", "👩‍🚀", "می‌خواهم"]
)
def test_letters_of_other_languages_are_not_odd(tmp_path: Path, text: str) -> None:
    assert found("text", f"label,text\na,{text}\n", folder=tmp_path, ending=".csv") == []


@given(st.text(alphabet="abc éüñ’–€漢", min_size=1))
def test_text_read_in_the_wrong_encoding_is_unscrambled(text: str) -> None:
    garbled = text.encode().decode("latin-1")
    assert unscrambled(garbled) == (text if not text.isascii() else None)


def test_a_sentence_far_longer_than_the_others_is_a_hint(tmp_path: Path) -> None:
    rows = "a X\nb X\n\n" * 5 + "c X\n" * 200 + "\n"
    assert lines(found("text", rows, folder=tmp_path)) == [("0.conll", 16, "hint")]


# -- labels that models doubt -----------------------------------------------------------------------------------


def test_the_slips_of_a_sample_are_doubted_and_little_else(tmp_path: Path) -> None:
    given_, meant = (samples.load("ingredients", n=1200, careful=careful) for careful in (False, True))
    path = tmp_path / "train.conll"
    write(given_, path)
    doubted = {f.line for f in examine([path], checks=["suspects"]).findings}
    lines_of, start = {}, 1
    for d, e in zip(given_, meant, strict=True):
        for t, (a, b) in enumerate(zip(d.columns["y"], e.columns["y"], strict=True)):
            lines_of[start + t] = a != b
        start += len(d.tokens) + 1
    slips = {line for line, wrong in lines_of.items() if wrong}
    assert len(slips) > 50
    assert len(slips & doubted) > 0.85 * len(slips)
    assert len(slips & doubted) > 0.8 * len(doubted)


def test_a_row_never_judges_itself() -> None:
    """A label that stands in one row only, and in the copies of it, is one that the judges have never met."""
    texts = [f"word{i} other{i % 7} more" for i in range(60)] + ["lonely text here", "Lonely  text here"]
    labels = ["a" if i % 2 else "b" for i in range(60)] + ["rare", "rare"]
    opinions = held_out_opinions(Texts(texts, labels), [normalised(t) for t in texts])
    assert np.isnan(opinions.p_given[-2:]).all()
    assert not np.isnan(opinions.p_given[:60]).any()


def test_held_out_opinions_are_the_same_on_one_thread_and_on_two() -> None:
    documents = samples.load("ingredients", n=150)
    part = part_of(documents, "sample")
    groups = [d.text for d in documents]
    one, two = (held_out_opinions(part, groups, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.p_other, two.p_other, equal_nan=True)


def test_held_out_probabilities_of_two_labels_sum_to_one() -> None:
    texts = [f"good {i}" if i % 2 else f"bad {i}" for i in range(40)]
    labels = ["plus" if i % 2 else "minus" for i in range(40)]
    opinions = held_out_opinions(Texts(texts, labels), texts)
    assert np.allclose(opinions.p_given + opinions.p_other, 1.0, atol=1e-5)


def test_a_label_that_models_seldom_find_is_doubted_by_hints_and_after_the_others() -> None:
    found = Opinions(
        ["O", "RARE"],
        np.array([0] * 9 + [0] + [1, 1, 1], np.int32),
        np.array([1] * 10 + [0, 0, 0], np.int32),
        np.array([0.99] * 9 + [0.01, 0.001, 0.001, 0.9], np.float32),
        np.array([0.01] * 9 + [0.99, 0.999, 0.999, 0.1], np.float32),
    )
    np.testing.assert_allclose(found.trust, [0.9, 1 / 3])
    np.testing.assert_allclose(found.share_doubted(10.0), [0.1, 2 / 3])
    judged = Judgement(found, 10.0)
    assert [judged.severity(label) for label in (0, 1, [0, 1])] == ["warning", "hint", "hint"]
    assert judged.weight(100.0, 0) > judged.weight(100.0, 1) == judged.weight(100.0, [0, 1])


def test_of_several_labels_each_is_doubted_for_itself(tmp_path: Path) -> None:
    rows = []
    for i in range(60):
        topic, mood = ("soup", "staff")[i % 2], ("good", "bad")[i // 2 % 2]
        labels = [topic, *(["complaint"] if mood == "bad" else [])]
        rows.append(f"{'|'.join(labels)},the {topic} was {mood} on day {i}")
    rows[30] = "soup|complaint,the soup was good on day 30"
    rows[33] = "staff,the staff was bad on day 33"
    path = tmp_path / "x.csv"
    path.write_text("label,text\n" + "\n".join(rows) + "\n")
    doubted = examine([path], checks=["suspects"], label_separator="|").of("suspects")
    assert {f.line: f.suggestion for f in doubted} == {32: "take complaint away?", 35: "complaint?"}


def test_too_few_rows_are_not_judged_and_a_note_says_so(tmp_path: Path) -> None:
    path = tmp_path / "few.conll"
    path.write_text(CLEAN)
    examined = examine([path])
    assert examined.of("suspects") == []
    assert "30 different rows or more" in examined.notes[0]


def test_one_group_alone_cannot_be_judged_by_others() -> None:
    with pytest.raises(DataError, match="only one row or one group"):
        held_out_opinions(Texts(["a", "b"], ["x", "y"]), ["same", "same"])


def test_careful_samples_have_the_same_texts_and_other_labels_here_and_there() -> None:
    for name in samples.SAMPLES:
        slips, careful = (samples.load(name, n=300, careful=c) for c in (False, True))
        assert [d.text for d in slips] == [d.text for d in careful]
        differ = sum(a != b for a, b in zip(slips, careful, strict=True))
        assert differ < 150
        assert (differ > 0) == (name != "quotations")


# -- bad input --------------------------------------------------------------------------------------------------


def test_an_unknown_check_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no check 'spelling'; there are reading, text"):
        examine([tmp_path / "x"], checks=["spelling"])


def test_an_option_that_the_format_has_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mrg"
    path.write_text("(S (A a))\n")
    with pytest.raises(ConfigError, match="format brackets has no option --label"):
        examine([path], label="y")


# -- what tools export --------------------------------------------------------------------------------------------


def test_spans_of_brat_are_told_by_their_own_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ann left Oslo")
    (tmp_path / "a.ann").write_text("T1\tPER 0 3\tAnn\nT2\tLOC 9 99\tOslo\nT3\tLOC 9 12\tOsl\n")
    examined = examine([tmp_path], quick=True)
    [refused] = examined.of("reading")
    [within] = examined.of("spans")
    assert refused.where == f"{tmp_path / 'a.ann'}:2"
    assert within.where == str(tmp_path / "a.ann")
    assert "ends within 'Oslo'" in within.what


def test_tasks_of_label_studio_are_told_by_their_number(tmp_path: Path) -> None:
    def task(text: str, start: int, end: int) -> dict[str, object]:
        value = {"start": start, "end": end, "labels": ["PER"]}
        return {"data": {"text": text}, "annotations": [{"result": [{"type": "labels", "value": value}]}]}

    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task("Ann left", 0, 3), task("Bo", 0, 7), task("Cy left", 0, 3)]))
    examined = examine([path], quick=True)
    [refused] = examined.of("reading")
    [padded] = examined.of("spans")
    assert "item 2" in refused.what
    assert padded.where == f"{path}, item 3"
    assert "ends with a space" in padded.what


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


# -- whatever comes -----------------------------------------------------------------------------------------------

words = st.text(alphabet="ab\u200b\u00a0\u00c3\u00a9'-/(){}|", min_size=1, max_size=4)
odd_tags = st.sampled_from(["O", "B-X", "I-X", "I-Y", "E-X", "S-", "-", "B", "X", "b-x", "L-X", "U-Y", "_"])


@settings(max_examples=60)
@given(st.lists(st.lists(st.tuples(words, odd_tags), min_size=1, max_size=4), min_size=1, max_size=6))
def test_any_tags_are_examined(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[tuple[str, str]]]
) -> None:
    path = tmp_path_factory.mktemp("any") / "x.conll"
    path.write_text("".join("".join(f"{w}\t{y}\n" for w, y in s) + "\n" for s in sentences))
    examined = examine([path, path], quick=True)
    assert json.loads(json.dumps(examined.as_dict())) == examined.as_dict()
    assert examination_page(examined).render()
    for finding in examined.findings:
        assert finding.line is None or 1 <= finding.line <= sum(len(s) + 1 for s in sentences)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=12),
            st.lists(st.tuples(st.integers(-1, 13), st.integers(-1, 13), st.sampled_from("XYx")), max_size=3),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_spans_are_examined(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, list[tuple[int, int, str]]]]
) -> None:
    path = tmp_path_factory.mktemp("any") / "x.jsonl"
    path.write_text("".join(span_row(text, *spans) for text, spans in rows), encoding="utf-8")
    examined = examine([path], quick=True)
    refused = {
        n + 1
        for n, (text, spans) in enumerate(rows)
        if any(not 0 <= a < b <= len(text) for a, b, _ in spans)
        or any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in text)
    }
    assert {f.line for f in examined.of("reading")} == refused
    assert len(examined.files[0].documents) == len(rows) - len(refused)
