"""Prediction block by block: the same answers as of the whole file, as the input comes, with errors where they are."""

import gzip
import os
import select
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import Classifier, Tagger
from chaffinch.corpus import record_blocks as blocks_module
from chaffinch.corpus.delimited import rows
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.record_blocks import record_blocks, single_records, without_header
from chaffinch.errors import DataError
from chaffinch.files import block_of
from commandline import run  # noqa: F401
from forked import COMMAND, Forked

WORDS = [["Ann", "went", "home"], ["Bob", "saw", "Ann", "."], ["home"], ["the", "dog", "barks"]]
TAGS = [["B-PER", "O", "O"], ["B-PER", "O", "B-PER", "O"], ["O"], ["O", "O", "O"]]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    Tagger("crf", folds=0, features=["w[0]", "w[-1]"]).fit(WORDS * 3, TAGS * 3).save(folder / "tags.chaff")
    texts = ["good food", "very good", "bad soup", "awful, bad"] * 4
    Classifier("ridge", choose=False).fit(texts, ["+", "+", "-", "-"] * 4).save(folder / "texts.chaff")
    return folder


CONLL = "".join("".join(f"{w}\n" for w in s) + "\n" for s in WORDS * 5)
INPUTS = {
    "tags": {
        "in.conll": CONLL,
        "in.txt": "".join(" ".join(s) + "\n" for s in WORDS * 5) + "\n",
        "in.jsonl": "".join('{{"text": "{}"}}\n'.format(" ".join(s)) for s in WORDS * 5),
        "in.conllu": "".join(
            f"# sent_id = {n}\n" + "".join(f"{i}\t{w}" + "\t_" * 8 + "\n" for i, w in enumerate(s, 1)) + "\n"
            for n, s in enumerate(WORDS * 5)
        ),
    },
    "texts": {
        "in.csv": "id,text\n" + "".join(f'{n},"good, ""bad""\nfood {n}"\n' for n in range(20)),
        "in.tsv": "id\ttext\n" + "".join(f"{n}\tgood bad food\n" for n in range(20)),
        "in.jsonl": "".join(f'{{"text": "bad food", "n": {n}}}\n' for n in range(20)),
        "in.txt": "".join(f"good food {n}\n" for n in range(20)),
    },
}
CASES = [(kind, name) for kind, inputs in INPUTS.items() for name in inputs]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{k} {n}" for k, n in CASES])
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["rows", "json"])
def test_blocks_give_the_answers_of_the_whole(models, tmp_path, run, monkeypatch, kind, name, more):  # noqa: F811
    source = tmp_path / name
    source.write_text(INPUTS[kind][name])
    out = tmp_path / (
        "out" + (".jsonl" if more else ".csv" if name == "in.txt" and kind == "texts" else source.suffix)
    )
    answers = []
    for size in (1 << 20, 40, 1):
        monkeypatch.setattr(blocks_module, "SIZE", size)
        outcome = run("predict", str(models / f"{kind}.chaff"), str(source), "-o", str(out), *more)
        assert outcome.code == 0, outcome.err
        answers.append(out.read_text())
    assert answers[0] == answers[1] == answers[2]
    assert answers[0].count("\n") >= 20


@given(
    st.lists(st.sampled_from(["a B", "c", "# x", "-DOCSTART-", "", "", " ", "\t"]), max_size=12),
    st.integers(1, 9),
    st.booleans(),
)
def test_paragraphs_are_cut_between_sentences(tmp_path_factory, rows, size, ended):
    path = tmp_path_factory.mktemp("rows") / "in.conll"
    text = "\n".join(rows) + ("\n" if ended else "")
    path.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "SIZE", size)
        found = list(record_blocks(path, "columns"))
    assert b"".join(b.content for b in found).decode() == text
    at = 1
    for block in found:
        assert block.first_line == at
        at += block.content.count(b"\n")
    for block in found[:-1]:
        assert not block.content.split(b"\n")[-2].strip()
    for one in (one for block in found for one in single_records(block, "columns")):
        lines = [line.strip() or "|" for line in one.content.decode().split("\n")]
        assert sum("a B" in part or "c" in part for part in " ".join(lines).split("|")) <= 1


@pytest.mark.parametrize("blank", ["", " ", "\t", "\r", " \t\r"])
@pytest.mark.parametrize("size", [7, 64])
def test_blank_lines_that_hold_spaces_end_sentences_too(models, tmp_path, run, monkeypatch, blank, size):  # noqa: F811
    monkeypatch.setattr(blocks_module, "SIZE", size)
    monkeypatch.setattr(blocks_module, "LONGEST_RECORD", 40)
    path = tmp_path / "in.conll"
    path.write_bytes(CONLL.replace("\n\n", f"\n{blank}\n").encode())
    assert max(len(block.content) for block in record_blocks(path, "columns")) < size + 40
    assert run("predict", models / "tags.chaff", path, "-o", tmp_path / "out.conll").code == 0
    monkeypatch.setattr(blocks_module, "SIZE", 1 << 20)
    (tmp_path / "plain.conll").write_text(CONLL)
    run("predict", models / "tags.chaff", tmp_path / "plain.conll", "-o", tmp_path / "plain.out.conll")
    assert (tmp_path / "out.conll").read_bytes() == (tmp_path / "plain.out.conll").read_bytes()


@given(st.lists(st.text('ab,"\n', max_size=5), min_size=1, max_size=6), st.integers(1, 9))
def test_rows_keep_quoted_line_breaks_and_the_header(tmp_path_factory, cells, size):
    path = tmp_path_factory.mktemp("rows") / "in.csv"
    body = "".join('"{}"\n'.format(cell.replace('"', '""')) for cell in cells)
    path.write_text("text\n" + body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "SIZE", size)
        found = list(record_blocks(path, "csv"))
    assert all(block.content.startswith(b"text\n") for block in found)
    assert b"".join(without_header(b, "csv") for b in found).decode() == body
    singles = [one for b in found for one in single_records(b, "csv")]
    assert b"".join(without_header(b, "csv") for b in singles).decode() == body
    assert len(singles) == len(cells)


SLOW = {
    "tags text": [(b"Ann went\n", b"Ann B-PER"), (b"the dog\n", b"the O"), (b"Ann\n", b"Ann B-PER")],
    "tags columns": [
        (b"Ann\nwent\n\n", b"Ann B-PER"),
        (b"the\ndog\n\n", b"the O"),
        (b"Ann\n\n", b"Ann B-PER"),
    ],
    "texts csv": [
        (b"text\ngood\n", b"text,"),
        (b"bad soup\n", b"bad soup,-"),
        (b"very good\n", b"very good,+"),
    ],
    "texts text": [(b"good\n", b"text,"), (b"bad soup\n", b"bad soup,-"), (b"very good\n", b"very good,+")],
}


@pytest.mark.parametrize("case", SLOW)
def test_a_slow_pipe_is_answered_row_by_row(models, case):
    kind, format = case.split()
    (asked, ask), (answers, answer) = os.pipe(), os.pipe()
    process = Forked(
        COMMAND, "predict", models / f"{kind}.chaff", "--from", format, stdin=asked, stdout=answer
    )
    os.close(asked)
    os.close(answer)
    for number, (line, first) in enumerate(SLOW[case]):
        os.write(ask, line)
        seconds = 5 if number else 120  # the model is loaded before the first answer
        assert select.select([answers], [], [], seconds)[0], "no answer"
        assert os.read(answers, 1000).startswith(first)
    os.close(ask)
    assert process.wait(60) == 0
    os.close(answers)


def test_errors_name_the_line_of_the_file(models, tmp_path, run, monkeypatch):  # noqa: F811
    monkeypatch.setattr(blocks_module, "SIZE", 30)
    (tmp_path / "in.txt").write_bytes(b"good food\n" * 10 + b"bad \xff food\n" + b"good\n" * 3)
    outcome = run(
        "predict", str(models / "texts.chaff"), str(tmp_path / "in.txt"), "-o", str(tmp_path / "o.csv")
    )
    assert outcome.code == 2
    assert "in.txt:11: not UTF-8" in outcome.err
    assert not (tmp_path / "o.csv").exists()


def test_rows_that_cannot_be_read_are_skipped_or_marked(models, tmp_path, run):  # noqa: F811
    (tmp_path / "in.txt").write_bytes(b"good food\nbad \xff food\nbad\n")
    model, source = str(models / "texts.chaff"), str(tmp_path / "in.txt")
    skipped = run("predict", model, source, "-o", str(tmp_path / "s.csv"), "--on-error", "skip")
    assert "1 row could not be read and was left out; the first:" in skipped.err
    assert [line.split(",")[0] for line in (tmp_path / "s.csv").read_text().splitlines()] == [
        "text",
        "good food",
        "bad",
    ]
    run("predict", model, source, "-o", str(tmp_path / "m.csv"), "--on-error", "mark")
    rows = (tmp_path / "m.csv").read_bytes().splitlines()
    assert len(rows) == 4
    assert rows[2].startswith(b"bad \xff food,")
    run("predict", model, source, "-o", str(tmp_path / "m.jsonl"), "--on-error", "mark")
    assert '"error"' in (tmp_path / "m.jsonl").read_text().splitlines()[1]
    out = tmp_path / "m.conll"
    run("predict", str(models / "tags.chaff"), source, "-o", out, "--from", "text", "--on-error", "mark")
    assert out.read_bytes().split(b"\n\n")[1] == b"bad \xff food _"
    assert run("predict", model, source, "--on-error", "ignore").code == 2


CONLLU_ROW = b"1\tb\xffd" + b"\t_" * 8 + b"\n\n"


@pytest.mark.parametrize(
    ("kind", "name", "content", "out", "expected"),
    [
        (
            "texts",
            "in.csv",
            b"id,text\n1,b\xffd\n2,good\n",
            "o.csv",
            b'text,id,prediction,confidence\n"1,b\xffd","',
        ),
        (
            "texts",
            "in.tsv",
            b"id\ttext\n1\tb\xffd\n2\tgood\n",
            "o.tsv",
            b"confidence\n1 b\xffd\t\t\t\ngood\t2",
        ),
        (
            "texts",
            "in.csv",
            b"id,text\n1,b\xffd\n",
            "o.csv",
            b'text,prediction,confidence\n"1,b\xffd","",""\n',
        ),
        (
            "texts",
            "in.txt",
            b"b\xffd\0\ngood\n",
            "o.csv",
            b'text,prediction,confidence\nb\xffd\0,"",""\ngood,',
        ),
        (
            "tags",
            "in.conll",
            b"Ann\r\nb\xffd\r\n\r\nAnn\r\n\r\n",
            "o.conll",
            b"Ann _\nb\xffd _\n\nAnn B-PER\n",
        ),
        ("tags", "in.conllu", b"# id\n" + CONLLU_ROW, "o.conllu", b"# id\n" + CONLLU_ROW),
        ("tags", "in.jsonl", b'{"text": 3}\n{"text": "Ann"}\n', "o.conll", b'{"text": 3} _\n\nAnn B-PER\n'),
    ],
    ids=["csv", "tsv", "no answer", "text", "columns", "conllu", "json to columns"],
)
def test_marked_rows_have_their_bytes_in_the_format_of_the_answers(
    models,
    tmp_path,
    run,  # noqa: F811
    kind,
    name,
    content,
    out,
    expected,
):
    (tmp_path / name).write_bytes(content)
    model, target = models / f"{kind}.chaff", tmp_path / out
    outcome = run("predict", model, tmp_path / name, "-o", target, "--on-error", "mark")
    assert outcome.code == 0, outcome.err
    assert "1 row could not be read" in outcome.err
    assert expected in target.read_bytes()


@pytest.mark.parametrize("out", ["o.parquet", "o.conllu"])
def test_rows_are_not_marked_in_formats_that_cannot_hold_them(models, tmp_path, run, out):  # noqa: F811
    (tmp_path / "in.conll").write_bytes(b"Ann\n\n")
    model = models / "tags.chaff"
    outcome = run("predict", model, tmp_path / "in.conll", "-o", tmp_path / out, "--on-error", "mark")
    assert outcome.code == 2
    assert "use skip" in outcome.err


def test_a_closed_output_is_an_error_and_not_a_result_that_is_lost(models, tmp_path, run, monkeypatch):  # noqa: F811
    (tmp_path / "in.txt").write_text("good food\n")
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "__stdout__", None)
    model, source = models / "texts.chaff", tmp_path / "in.txt"
    outcome = run("predict", model, source)
    sys.stdout.close()  # what the command opened instead
    assert outcome.code == 2
    assert "<stdout>: is closed" in outcome.err
    monkeypatch.setattr(sys, "stdout", None)
    assert run("predict", model, source, "-o", tmp_path / "o.csv").code == 0
    sys.stdout.close()


@pytest.mark.parametrize("end", ["csv", "tsv"])
def test_a_quote_mark_within_a_cell_opens_no_quoted_cell(tmp_path, monkeypatch, end):
    monkeypatch.setattr(blocks_module, "SIZE", 50)
    sign = "\t" if end == "tsv" else ","
    content = f'id{sign}text\n1{sign}the 5" screen\n' + f"2{sign}words\n" * 200
    (tmp_path / f"in.{end}").write_text(content)
    found = list(record_blocks(tmp_path / f"in.{end}", end))
    assert max(len(block.content) for block in found) < 120
    assert len(found) > 10


class EveryFault(Losses):
    def refuse(self, error):
        self.add(str(error).partition(": ")[2])


CSV_PIECES = ["a", "b c", '"', '""', ",", ";", "\n", "\r\n", '"x"', ',"', ';"']


@given(
    pieces=st.lists(st.sampled_from(CSV_PIECES), min_size=1, max_size=30),
    above=st.sampled_from(["", "\ufeff", "sep=;\n", "\ufeffsep=,\n"]),
    size=st.integers(1, 30),
)
def test_blocks_of_any_csv_have_the_rows_of_the_whole(tmp_path_factory, pieces, above, size):
    path = tmp_path_factory.mktemp("any") / "in.csv"
    sign = ";" if ";" in above else ","
    path.write_bytes(f"{above}label{sign}text\n{''.join(pieces)}".encode())

    def cells():
        return [row for _, row in rows(path, None, True, EveryFault())][1:]

    whole = cells()
    with pytest.MonkeyPatch.context() as m:
        m.setattr(blocks_module, "SIZE", size)
        blocks = list(record_blocks(path, "csv"))
    for parts in (blocks, [one for block in blocks for one in single_records(block, "csv")]):
        found = []
        for part in parts:
            with block_of(path, part.content, part.first_line):
                found += cells()
        assert found == whole


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("in.csv", 'text\ngood\n"bad\n' + "x\n" * 200, "in.csv:3: a quoted cell of this row is not closed"),
        ("in.conll", "Ann\n\n" + "Bob\n" * 200, "in.conll:3: no blank line"),
        ("in.txt", "good\n" + "x" * 400, "in.txt:2: no line end"),
    ],
)
def test_a_record_without_an_end_is_named_by_its_line(tmp_path, monkeypatch, name, content, said):
    monkeypatch.setattr(blocks_module, "SIZE", 16)
    monkeypatch.setattr(blocks_module, "LONGEST_RECORD", 100)
    (tmp_path / name).write_text(content)
    formats = {"in.csv": "csv", "in.conll": "columns", "in.txt": "text"}
    with pytest.raises(DataError, match=said):
        list(record_blocks(tmp_path / name, formats[name]))


def test_a_block_without_labels_is_answered_with_the_columns_of_the_first(models, tmp_path, run, monkeypatch):  # noqa: F811
    monkeypatch.setattr(blocks_module, "SIZE", 20)
    rows = "label,text\n" + "+,good food\n" * 4 + ",bad soup\n" * 4
    outcome = run("predict", models / "texts.chaff", "--from", "csv", stdin=rows.encode())
    assert outcome.code == 0, outcome.err
    assert len(outcome.out.splitlines()) == 9
    assert outcome.out.splitlines()[-1].startswith('"",bad soup,-')


@pytest.mark.parametrize("end", [".gz", ".zst"])
def test_packed_files_are_read_and_written(models, tmp_path, run, end):  # noqa: F811
    if end == ".zst":
        zstd = pytest.importorskip("zstandard" if sys.version_info < (3, 14) else "compression.zstd")
        pack = zstd.compress
    else:
        pack = gzip.compress
    (tmp_path / "in.conll").write_text(CONLL)
    (tmp_path / f"in.conll{end}").write_bytes(pack(CONLL.encode()))
    model = str(models / "tags.chaff")
    run("predict", model, str(tmp_path / "in.conll"), "-o", str(tmp_path / "plain.conll"))
    assert (
        run("predict", model, str(tmp_path / f"in.conll{end}"), "-o", str(tmp_path / f"out.conll{end}")).code
        == 0
    )
    with (zstd.open if end == ".zst" else gzip.open)(tmp_path / f"out.conll{end}", "rb") as stream:
        content = stream.read()
    assert content == (tmp_path / "plain.conll").read_bytes()
    (tmp_path / f"cut.conll{end}").write_bytes(pack(CONLL.encode())[:-6])
    outcome = run("predict", model, str(tmp_path / f"cut.conll{end}"), "-o", str(tmp_path / "x.conll"))
    assert outcome.code == 2
    assert "is not a whole" in outcome.err


def test_a_file_whose_columns_change_is_refused_with_its_line(models, tmp_path, run, monkeypatch):  # noqa: F811
    monkeypatch.setattr(blocks_module, "SIZE", 20)
    (tmp_path / "in.conll").write_text(CONLL + "Ann\tNNP\n\n")
    outcome = run(
        "predict", str(models / "tags.chaff"), str(tmp_path / "in.conll"), "-o", str(tmp_path / "o.conll")
    )
    assert outcome.code == 2
    assert f"in.conll:{CONLL.count(chr(10)) + 1}: expected 1 column" in outcome.err
