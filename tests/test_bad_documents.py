"""Bad input to the document formats: one sentence with the file and line, exit code 2, nothing written."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from chaffinch.corpus import letters
from chaffinch.errors import DataError
from commandline import Runner, run

__all__ = ["run"]

LS = {"id": 1, "data": {"text": "Ann left"}}


def label_studio(value: object) -> bytes:
    result = [{"type": "labels", "from_name": "label", "to_name": "text", "value": value}]
    return json.dumps([LS | {"annotations": [{"result": result}]}]).encode()


def prodigy(**keys: object) -> bytes:
    return json.dumps({"text": "Ann left", "answer": "accept"} | keys).encode() + b"\n"


# format, content, what the message must match behind the file's name
FAULTS = {
    "csv without a text column": (
        "csv",
        b"label,words\nx,y\n",
        r":1: none of the columns 'label', 'words' .*--text",
    ),
    "csv with a duplicate header": (
        "csv",
        b"text,label,text\na,b,c\n",
        r":1: the header has the column 'text' twice",
    ),
    "csv with a short row": ("csv", b'label,text\nx,"a\nb"\nx\n', r":4: expected 2 columns .* found 1"),
    "csv with a long row": ("csv", b"label,text\nx,a,b\n", r":2: expected 2 columns .* found 3"),
    "csv with an open quote": ("csv", b'label,text\nx,a\nx,"b\n', r":3: .*never closed"),
    "csv with text after a quote": ("csv", b'label,text\nx,"a"b\n', r":2: is not valid CSV"),
    "csv with broken UTF-8": ("csv", b"label,text\nx,a\nx,\xff\n", r":3: not UTF-8"),
    "csv with NUL": ("csv", b"label,text\nx,a\0\n", r":2: NUL byte"),
    "csv with a long line": ("csv", b"label,text\nx," + b"a" * 10_000_000 + b"\n", r":2: line of more than"),
    "csv that is empty": ("csv", b"", r": is empty"),
    "tsv with a short row": ("tsv", b"label\ttext\nx\n", r":2: expected 2 columns .* found 1"),
    "tsv with a stray carriage return": ("tsv", b"label\ttext\nx\ta\rb\n", r":2: is not valid"),
    "fasttext with broken UTF-8": ("fasttext", b"__label__x a\n\xc3\n", r":2: not UTF-8"),
    "json that is none": ("jsonl", b'{"text": "a"}\n{"text": \n', r":2: is not valid JSON: .* column"),
    "json with NaN": ("jsonl", b'{"text": "a", "x": NaN}\n', r":1: is not usable JSON: NaN"),
    "json of great depth": (
        "jsonl",
        b'{"text": ' + b"[" * 100_000 + b"\n",
        r":1: is not (usable|valid) JSON",
    ),
    "json with a huge number": (
        "jsonl",
        b'{"text": "a", "x": ' + b"9" * 9999 + b"}\n",
        r":1: is not usable JSON",
    ),
    "json that is a list": ("jsonl", b"[1]\n", r":1: expected a JSON object, found \[1\]"),
    "json without a text": ("jsonl", b'{"txt": "a"}\n', r":1: expected a key 'text', found 'txt'"),
    "json with a text that is none": (
        "jsonl",
        b'{"text": 3}\n',
        r":1: expected 'text' to be a string, found 3",
    ),
    "json with NUL in an escape": ("jsonl", b'{"text": "a\\u0000"}\n', r":1: .*NUL"),
    "json with half a pair": ("jsonl", b'{"text": "a\\ud83d"}\n', r":1: .*surrogate"),
    "json with broken UTF-8": ("jsonl", b'{"text": "a"}\n{"text": "\xff"}\n', r":2: not UTF-8"),
    "json with a label that is none": (
        "jsonl",
        b'{"text": "a", "labels": [null]}\n',
        r":1: labels 1: expected a label",
    ),
    "json that is empty": ("jsonl", b"", r": is empty"),
    "spans that end before they start": (
        "jsonl-spans",
        b'{"text": "abc", "spans": [{"start": 2, "end": 1, "label": "X"}]}\n',
        r":1: spans 1: expected 0 <= start < end, found start 2 and end 1",
    ),
    "spans past the text": (
        "jsonl-spans",
        b'{"text": "abc", "spans": [{"start": 0, "end": 4, "label": "X"}]}\n',
        r":1: spans 1: the span 0 to 4 runs past the text, which has 3 characters",
    ),
    "spans with broken numbers": (
        "jsonl-spans",
        b'{"text": "abc", "spans": [{"start": 0.5, "end": 2, "label": "X"}]}\n',
        r":1: spans 1: expected 'start' to be a whole number, found 0.5",
    ),
    "spans with truth for a number": (
        "jsonl-spans",
        b'{"text": "abc", "spans": [{"start": true, "end": 2, "label": "X"}]}\n',
        r":1: spans 1: expected 'start' to be a whole number, found true",
    ),
    "spans without an end": (
        "jsonl-spans",
        b'{"text": "abc", "spans": [{"start": 0, "label": "X"}]}\n',
        r":1: spans 1: expected a key 'end'",
    ),
    "spans without a label": (
        "jsonl-spans",
        b'{"text": "abc", "spans": [{"start": 0, "end": 1}]}\n',
        r":1: spans 1: expected a key 'label'",
    ),
    "spans with an endless score": (
        "jsonl-spans",
        b'{"text": "abc", "spans": [{"start": 0, "end": 1, "label": "X", "score": 1e999}]}\n',
        r":1: spans 1: expected 'score' to be a finite number",
    ),
    "doccano with a pair": (
        "doccano",
        b'{"text": "abc", "label": [[0, 1]]}\n',
        r":1: label 1: expected \[start, end",
    ),
    "doccano with an offset of text": (
        "doccano",
        b'{"text": "abc", "entities": [{"start_offset": "0", "end_offset": 1, "label": "X"}]}\n',
        r":1: entities 1: expected 'start_offset' to be a whole number",
    ),
    "doccano array cut off": ("doccano", b'[{"text": "abc"},\n {"text": \n', r":3: is not valid JSON"),
    "label studio without data": ("label-studio", b'[{"id": 1}]', r": item 1: expected a key 'data'"),
    "label studio without text": (
        "label-studio",
        b'[{"data": {"t": "a"}}]',
        r": item 1: data: expected a key 'text'",
    ),
    "label studio past the text": (
        "label-studio",
        label_studio({"start": 0, "end": 99, "labels": ["X"]}),
        r": item 1: annotations 1: result 1: value: the span 0 to 99 runs past the text",
    ),
    "label studio with another text": (
        "label-studio",
        label_studio({"start": 0, "end": 3, "text": "left", "labels": ["X"]}),
        r": item 1: .* covers \"Ann\", but says that it covers \"left\"",
    ),
    "label studio in HTML": (
        "label-studio",
        label_studio({"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "labels": ["X"]}),
        r": item 1: .* a position in HTML",
    ),
    "prodigy with a foreign answer": (
        "prodigy",
        prodigy(answer="yes"),
        r":1: expected 'answer' to be one of",
    ),
    "prodigy with a token elsewhere": (
        "prodigy",
        prodigy(tokens=[{"text": "left", "start": 0, "end": 4, "id": 0}]),
        r":1: tokens 1: the token \"left\" differs from the text",
    ),
    "prodigy with other token positions": (
        "prodigy",
        prodigy(
            tokens=[
                {"text": "Ann", "start": 0, "end": 3, "id": 0},
                {"text": "left", "start": 4, "end": 8, "id": 1},
            ],
            spans=[{"start": 0, "end": 3, "token_start": 0, "token_end": 1, "label": "X"}],
        ),
        r":1: spans 1: tokens 0 to 1 are characters 0 to 8, but the span says 0 to 3",
    ),
    "trees that stay open": ("brackets", b"(S (NP (N a))\n", r":1: expected .* this tree is not closed"),
    "trees closed twice": ("brackets", b"(S (N a))\n(S (N a)))\n", r":2: expected a tree to begin with '\('"),
    "trees with two words": ("brackets", b"(S (N a b))\n", r":1: expected '\(' or '\)', found 'b'"),
    "trees without a word": (
        "brackets",
        b"(S (N))\n",
        r":1: expected a word or a tree after the label, found",
    ),
    "trees without a label": ("brackets", b"(S ((N a)))\n", r":1: expected a label"),
    "tree tables with three columns": (
        "brackets-tsv",
        b"file\ttree\na\t(S b)\tc\n",
        r":2: expected 2 columns",
    ),
    "alignments without a header": ("alignment", b"a b\tc d\t1-1\t\n", r":1: expected a header"),
    "alignments outside": (
        "alignment",
        b"e\tf\tsure\tpossible\na b\tc\t1-2\t\n",
        r":2: the link 1-2 points outside",
    ),
    "alignments from zero": (
        "alignment",
        b"e\tf\tsure\tpossible\na\tc\t0-1\t\n",
        r":2: the link 0-1 counts from 0",
    ),
    "alignments with words for links": (
        "alignment",
        b"e\tf\tsure\tpossible\na\tc\tx\t\n",
        r":2: expected links such as",
    ),
    "alignments with two spaces": (
        "alignment",
        b"e\tf\tsure\tpossible\na  b\tc\t\t\n",
        r":2: two spaces in a row",
    ),
    "parquet that is none": ("parquet", b"PAR1 but no more", r": is not a readable Parquet file"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_bad_input_is_one_sentence_with_the_line(fault: str, tmp_path: Path, run: Runner) -> None:
    format, content, expected = FAULTS[fault]
    source, target = tmp_path / "in.x", tmp_path / "out.jsonl"
    source.write_bytes(content)
    to = {"brackets": "brackets", "brackets-tsv": "brackets", "alignment": "alignment"}.get(
        format, "jsonl-spans"
    )
    outcome = run("convert", source, target, "--from", format, "--to", to)
    assert outcome.code == 2
    assert outcome.out == ""
    assert re.fullmatch(rf"chaffinch: {re.escape(str(source))}{expected}[^\n]*\n", outcome.err), outcome.err
    assert sorted(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    "format",
    [
        "csv",
        "tsv",
        "jsonl",
        "doccano",
        "label-studio",
        "prodigy",
        "fasttext",
        "brackets",
        "alignment",
        "parquet",
        "brat",
    ],
)
def test_a_missing_file_is_one_sentence(format: str, tmp_path: Path, run: Runner) -> None:
    outcome = run("convert", tmp_path / "no.x", tmp_path / "out", "--from", format, "--to", "jsonl")
    assert outcome.code == 2
    assert re.fullmatch(r"chaffinch: [^\n]*no\.[a-z]+: no such file\n", outcome.err), outcome.err


def test_a_folder_a_closed_file_and_an_unknown_format_are_one_sentence_each(
    tmp_path: Path, run: Runner
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "strange.xyz").write_text("what is this\n")
    for name, expected in (
        ("folder", "is a folder, and holds no corpus"),
        ("folder --from csv", "is a directory, expected a file"),
        ("strange.xyz", "none of the known formats"),
        ("strange.xyz --from xml", "there is no format 'xml'"),
    ):
        source, *options = name.split()
        outcome = run("convert", tmp_path / source, tmp_path / "out.jsonl", *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert expected in outcome.err
        assert outcome.err.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="permissions are others there")
def test_a_file_without_permission_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Runner
) -> None:
    source = tmp_path / "a.csv"
    source.write_text("text\na\n")

    def refuse(self: Path, mode: str) -> io.BytesIO:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    outcome = run("convert", source, tmp_path / "b.jsonl")
    assert (outcome.code, outcome.err) == (2, f"chaffinch: {source}: no permission to read it\n")


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path, run: Runner) -> None:
    contents = {
        "csv": b'label,text\nx,"a, b"\ny,c\n',
        "tsv": b"label\ttext\nx\ta, b\ny\tc\n",
        "jsonl": b'{"text": "a, b", "label": "x"}\n{"text": "c", "label": "y"}\n',
        "doccano": b'[\n{"text": "a, b", "label": ["x"]},\n{"text": "c", "label": ["y"]}\n]\n',
        "fasttext": b"__label__x a, b\n__label__y c\n",
    }
    for format, content in contents.items():
        written = set()
        for changed in (content, b"\xef\xbb\xbf" + content, content.replace(b"\n", b"\r\n")):
            (tmp_path / "in").write_bytes(changed)
            outcome = run("convert", tmp_path / "in", "-", "--from", format, "--to", "jsonl")
            assert outcome.code == 0
            written.add(outcome.out)
        assert len(written) == 1, format


def test_faults_in_brat_folders_name_the_file_and_line(tmp_path: Path, run: Runner) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Ann left\nOslo today")
    good = "T1\tPER 0 3\tAnn\n"
    for ann, expected in (
        ("T2\tLOC 0 3;9 13\tAnn Oslo\n", r"a.ann:2: the span has a gap"),
        ("T2\tLOC 9 99\tOslo\n", r"a.ann:2: the span 9 to 99 runs past"),
        ("T2\tLOC 9 13\tParis\n", r"a.ann:2: the span 9 to 13 covers 'Oslo', but says 'Paris'"),
        ("T2\tLOC 9\n", r"a.ann:2: expected 'T1<TAB>"),
        ("what\n", r"a.ann:2: expected a line of brat"),
    ):
        (folder / "a.ann").write_text(good + ann)
        outcome = run("convert", folder, tmp_path / "out.jsonl")
        assert outcome.code == 2
        assert re.search(expected, outcome.err), outcome.err
    (folder / "a.ann").unlink()
    (folder / "b.ann").write_text(good)
    assert "there is no text b.txt" in run("convert", folder, tmp_path / "out.jsonl").err
    assert not (tmp_path / "out.jsonl").exists()


def test_a_span_over_a_line_break_is_one_span_in_brat(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.txt").write_text("Ann\nLee left")
    (tmp_path / "a.ann").write_text(
        "T1\tPER 0 3;4 7\tAnn Lee\nR1\tRel Arg1:T1 Arg2:T1\n#1\tAnnotatorNotes T1\tsure\n"
    )
    outcome = run("convert", tmp_path / "a.ann", "-", "--to", "jsonl-spans")
    assert json.loads(outcome.out)["spans"] == [{"start": 0, "end": 7, "label": "PER"}]
    assert "brat relations are not carried: 1" in outcome.err
    assert "brat notes are not carried: 1" in outcome.err


def test_utf_16_offsets_are_noticed_and_read_when_asked_for(tmp_path: Path, run: Runner) -> None:
    value = {"start": 3, "end": 7, "text": "Oslo", "labels": ["LOC"]}
    result = [{"type": "labels", "value": value}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"data": {"text": "\U0001f600 Oslo"}, "annotations": [{"result": result}]}]))
    refused = run("convert", path, "-", "--to", "jsonl-spans")
    assert refused.code == 2
    assert "runs past the text" in refused.err or "offsets utf-16" in refused.err
    outcome = run("convert", path, "-", "--to", "jsonl-spans", "--offsets", "utf-16")
    assert json.loads(outcome.out)["spans"] == [{"start": 2, "end": 6, "label": "LOC"}]


def test_a_missing_extra_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Runner
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    outcome = run("convert", tmp_path / "a.parquet", tmp_path / "b.jsonl")
    assert outcome.code == 2
    assert (
        outcome.err
        == "chaffinch: this needs pyarrow, which is not installed: pip install 'chaffinch[arrow]'\n"
    )


def test_a_process_ends_with_code_two_and_no_traceback(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(b'{"text": "\xff"}\n')
    code = "from chaffinch.cli import main; main()"
    command = [sys.executable, "-c", code, "convert", str(source), str(tmp_path / "b.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"chaffinch: {source}:1: not UTF-8")
    assert done.stderr.count("\n") == 1


def arrays(**changed: object) -> dict[str, object]:
    return {
        "pixels": np.zeros((3, 128), np.uint8),
        "labels": np.zeros(3, np.uint8),
        "word_offsets": np.array([0, 1, 3], np.int32),
        "fold": np.zeros(2, np.uint8),
    } | changed


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"pixels": np.zeros((3, 64), np.uint8)}, "expected pixels of shape"),
        ({"pixels": np.full((3, 128), 2, np.uint8)}, "pixels must be 0 or 1, found 2"),
        ({"pixels": np.zeros((3, 128), np.float64)}, "expected pixels to be uint8"),
        ({"pixels": np.array([{}], dtype=object)}, "expected pixels to be uint8"),
        ({"labels": np.full(3, 26, np.uint8)}, "labels must be 0 to 25, found 26"),
        ({"word_offsets": np.array([0, 3], np.int32)}, "expected 3 word_offsets"),
        ({"word_offsets": np.array([0, 4, 3], np.int32)}, "must increase strictly from 0 to 3"),
        ({"word_offsets": np.array([1, 2, 3], np.int32)}, "must increase strictly from 0 to 3"),
        ({"word_offsets": np.array([-1, 0, 3], np.int32)}, "must increase strictly from 0 to 3"),
    ],
)
def test_letter_archives_are_checked_before_use(
    changed: dict[str, object], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, **arrays(**changed))
    with pytest.raises(DataError, match=expected):
        letters.read(path)


def test_cut_and_changed_letter_archives_never_crash(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **arrays())
    whole = path.read_bytes()
    rng = np.random.default_rng(7)
    for _ in range(300):
        broken = bytearray(whole)
        for at in rng.integers(0, len(whole), 3):
            broken[at] = rng.integers(0, 256)
        path.write_bytes(bytes(broken[: rng.integers(len(whole) // 2, len(whole) + 1)]))
        with suppress(DataError):
            letters.check(letters.read(path), "letters")
