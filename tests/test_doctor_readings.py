"""The doctor on rows that are odd or cannot be read: spans, characters, exports of tools, anything at all."""

import contextlib
import io
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.corpus.lines import Lookahead
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.splitter import RowRules, blocks
from chaffinch.doctor import CorpusFile, examine
from chaffinch.doctor.characters import unscrambled
from chaffinch.doctor.examination import examination_page
from chaffinch.doctor.span_bounds import span_bounds
from chaffinch.errors import DataError
from chaffinch.text.document import Document, Span
from chaffinch.text.tokens import tokenised
from doctor_findings import CELLS, found, lines, span_row

# -- spans ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "what", "suggestion"),
    [
        ((0, 4, "PER"), "ends with a space", "0-3"),
        ((3, 8, "PER"), "starts with a space", "4-8"),
        ((0, 2, "PER"), "ends within 'Ann'", "0-3 'Ann'?"),
        ((1, 3, "PER"), "starts within 'Ann'", "0-3 'Ann'?"),
        ((3, 4, "PER"), "starts with a space", "remove it: it covers nothing else"),
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
    assert "is nested in PER" in faults[0].what
    assert "occurs twice" in faults[1].what


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

    rules = RowRules(split="spaces", separator=" ", columns=2, kept=(0, 1), expected="as always")
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
