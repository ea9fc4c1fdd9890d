"""A block of columns, cut by marks of 64 bytes and written from the places of its cells: the same as line by line."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import Tagger, _core
from chaffinch.corpus import record_blocks
from chaffinch.corpus.record_blocks import _last_end
from chaffinch.corpus.splitter import RowRules, SentenceBlock, _column_text
from chaffinch.kinds.tags import kind
from chaffinch.text.table import Column, TokenTable
from commandline import Runner, run

__all__ = ["run"]

CELL = st.text(st.sampled_from("aé#-1\u2028"), max_size=3) | st.sampled_from(
    ["word" * 5, "w" * 63, "w" * 64, "w" * 200]
)
GAP = st.sampled_from(["\t", " ", "  ", "\t\t", " \t ", ""])
LINE = st.lists(st.tuples(GAP, CELL), max_size=5).map(
    lambda parts: "".join(gap + cell for gap, cell in parts)
)


def rows_of(lines: list[str], split: str, sign: str) -> list[list[list[str]]] | tuple[int, int]:
    """The cells of each sentence; the first line with another number of cells than 2 or no word, and its cells."""
    sentences: list[list[list[str]]] = [[]]
    for number, line in enumerate(lines, 1):
        cells = [c for c in re.split("[ \t]+", line) if c] if split == "spaces" else line.split(sign)
        if not line.strip(" \t"):
            sentences.append([])
        elif len(cells) != 2 or not cells[0]:
            return number, len(cells)
        else:
            sentences[-1].append(cells)
    return [sentence for sentence in sentences if sentence]


@given(
    st.lists(LINE | st.tuples(CELL, CELL).map("\t".join) | st.tuples(CELL, CELL).map(" ".join), max_size=12),
    st.sampled_from([("spaces", " "), ("separator", "\t"), ("separator", " "), ("separator", "é")]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_cells_are_those_of_lines_split_one_by_one(lines, rule, end, shared):
    split, sign = rule
    rules = RowRules(split=split, separator=sign, columns=2, kept=(0, 1), marked=(0, 1), expected="")
    content = (end.join(lines) + end).encode()
    types = [_core.Interner(), _core.Interner()] if shared else []
    text = _column_text(rules, 1)
    if shared:
        text = _core.ColumnText(
            split=split,
            separator=sign,
            columns=2,
            kept=(0, 1),
            word=0,
            comment="",
            group="",
            stray_comments=False,
            number_rows=False,
            longest=1 << 23,
            line=1,
            remarks=True,
            marked=(0, 1),
            shared=types,
        )
    expected = rows_of(lines, split, sign)
    if isinstance(expected, tuple):
        assert not text.feed(content)
        name, line, found, _ = text.fault()
        assert (name, line) == ("columns" if expected[1] != 2 else "empty word", expected[0])
        assert expected[1] == 2 or found == expected[1]
        return
    assert text.feed(content)
    assert text.finish()
    block = SentenceBlock(*text.take())
    columns = (
        block.columns
        if not shared
        else [(t.strings(), ids) for t, (_, ids) in zip(types, block.columns, strict=True)]
    )
    cells = [[types[i] for i in ids.tolist()] for types, ids in columns]
    assert [list(row) for row in zip(*cells, strict=True)] == [
        row for sentence in expected for row in sentence
    ]
    assert np.diff(block.ptr).tolist() == [len(sentence) for sentence in expected]
    places = block.places.reshape(-1, 2)
    assert [content[a:b].decode() for a, b in places.tolist()] == [
        c for s in expected for row in s for c in row
    ]


TABLE = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(
            st.tuples(*[st.text(st.sampled_from("aé.1"), min_size=1, max_size=20)] * width),
            min_size=1,
            max_size=4,
        ),
        min_size=1,
        max_size=4,
    )
)


@given(TABLE, st.sampled_from([" ", "\t", ", "]), st.integers(0, 9), st.randoms())
def test_rows_written_from_places_are_those_written_from_ids(sentences, separator, skipped, random):
    width = len(sentences[0][0])
    table = TokenTable.from_lists({f"c{c}": [[row[c] for row in s] for s in sentences] for c in range(width)})
    labels = ["O", "B-LOC", "a label of more than sixteen bytes", "é", ""]
    ids = np.array([random.randrange(len(labels)) for _ in range(table.n_tokens)], np.int32)
    content, places = b"x" * skipped, []
    for sentence in sentences:
        for row in sentence:
            for cell in row:
                content += random.choice([b"", b" ", b"|"])
                places += [len(content) - skipped, len(content) - skipped + len(cell.encode())]
                content += cell.encode()
    made = _core.labelled_rows(
        content, skipped, table.ptr, np.array(places, np.int64), width, separator, labels, ids
    )
    assert made == table.text(separator, Column(labels, ids))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"skipped": 9}, "skipped bytes"),
        ({"ptr": [0, 2]}, "bounds of sentences"),
        ({"ptr": [1, 1]}, "bounds of sentences"),
        ({"ptr": [0, 2, 1]}, "bounds of sentences"),
        ({"ptr": []}, "bounds of sentences"),
        ({"places": [0]}, "two places of every cell"),
        ({"columns": 2}, "two places of every cell"),
        ({"places": [0, 4]}, "ascending"),
        ({"places": [-1, 1]}, "ascending"),
        ({"places": [2, 1]}, "ascending"),
        ({"ids": [1]}, "an id has no label"),
        ({"ids": [-1]}, "an id has no label"),
    ],
)
def test_places_and_ids_that_do_not_fit_are_refused(changed, told):
    given = {"skipped": 0, "ptr": [0, 1], "places": [0, 1], "columns": 1, "ids": [0]} | changed
    with pytest.raises(ValueError, match=told):
        _core.labelled_rows(
            b"abc",
            given["skipped"],
            np.array(given["ptr"], np.int64),
            np.array(given["places"], np.int64),
            given["columns"],
            " ",
            ["X"],
            np.array(given["ids"], np.int32),
        )


WORDS = [["Ann", "went", "home"], ["Bob", "saw", "Ann", "."], ["home"], ["the", "dog", "barks", "at", "Zoë"]]
TAGS = [["B-P", "O", "O"], ["B-P", "O", "B-P", "O"], ["O"], ["O", "O", "O", "O", "B-P"]]
POS = [["N" if word[0].isupper() else "x" for word in words] for words in WORDS]
SPACED = "".join(
    "".join(f"{w} {p}\n" for w, p in zip(*s, strict=True)) + "\n" for s in zip(WORDS, POS, strict=True)
)
TABBED = SPACED.replace(" ", "\t")
PLAIN = "".join("\n".join(words) + "\n\n" for words in WORDS)
INPUTS = {
    "plain": PLAIN,
    "spaces": SPACED,
    "tabs": TABBED,
    "more columns": TABBED.replace("\tN", "\tN\tfurther cell"),
    "runs of spaces": SPACED.replace(" ", " \t  ").replace("\n", " \n"),
    "header": "word\tpos\n" + TABBED,
    "byte order mark": "\ufeff" + TABBED,
    "mark and header": "\ufeffword pos\n" + SPACED,
    "returns": SPACED.replace("\n", "\r\n"),
    "documents": "-DOCSTART- -X-\n\n" + SPACED + "-DOCSTART- (two)\n\n" + SPACED,
    "remarks": "# a remark here\n" + SPACED + "# another one of five\n" + SPACED,
    "sign as a word": SPACED + "# N\nAnn N\n\n",
    "blank lines": "\n\n \t\n" + SPACED.replace("\n\n", "\n \t \n\n"),
    "no end": SPACED.rstrip("\n"),
    "one cell too many": SPACED + "Ann N\nBob N N\n\n" + SPACED,
    "no word": TABBED + "\tN\n\n" + TABBED,
    "NUL": SPACED + "a\0 N\n\n",
    "nothing but a mark": "-DOCSTART-\n\n",
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    words = TokenTable.from_lists({"w": WORDS, "y": TAGS})
    tagged = TokenTable.from_lists({"w": WORDS, "pos": POS, "y": TAGS})
    fitted = {
        "hmm of words": Tagger("hmm", folds=0).fit(words),
        "crf of words": Tagger("crf", features=["w[0]", "suffix2[0]"], folds=0).fit(words),
        "crf of pos": Tagger("crf", features=["w[0]", "pos[0]"], folds=0).fit(tagged),
    }
    folder = tmp_path_factory.mktemp("models")
    made = {name: folder / f"{name}.chaff" for name in fitted}
    for name, tagger in fitted.items():
        tagger.save(made[name])
    return made


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("model", ["hmm of words", "crf of words", "crf of pos"])
@pytest.mark.parametrize("on_error", ["stop", "skip", "mark"])
def test_columns_written_from_places_are_those_written_from_ids(
    name: str, model: str, on_error: str, models: dict[str, Path], tmp_path: Path, run: Runner, monkeypatch
) -> None:
    source, out = tmp_path / "in.conll", tmp_path / "out.conll"
    source.write_bytes(INPUTS[name].encode())
    for size in (1 << 19, 40):
        monkeypatch.setattr(record_blocks, "SIZE", size)
        seen = []
        for put in (kind.label_rows, lambda *_: False):
            with monkeypatch.context() as patched:
                patched.setattr(kind, "label_rows", put)
                out.unlink(missing_ok=True)
                outcome = run(
                    "predict", models[model], source, "-o", out, "--from", "columns", "--on-error", on_error
                )
            seen.append((outcome.code, outcome.err, out.read_bytes() if out.exists() else None))
        assert seen[0] == seen[1]


@pytest.mark.parametrize("name", ["plain", "spaces", "tabs", "documents"])
def test_columns_are_written_without_a_table_of_strings(
    name: str, models: dict[str, Path], tmp_path: Path, run: Runner, monkeypatch
) -> None:
    (tmp_path / "in.conll").write_text(INPUTS[name])
    monkeypatch.setattr(kind, "input_table", None)  # the way line by line
    outcome = run("predict", models["hmm of words"], tmp_path / "in.conll", "-o", tmp_path / "out.conll")
    assert outcome.code == 0, outcome.err


def joined_blocks(content: bytes, sizes: list[int], format: str) -> list[bytes]:
    """The blocks of reads of these sizes, each searched with all that is held."""
    held, made = b"", []
    stream = io.BytesIO(content)
    for size in [*sizes, *[7] * len(content)]:
        more = stream.read(size)
        seen, held = len(held), held + more
        end = _last_end(held, format, b"", seen) if more else 0
        if end:
            made, held = [*made, held[:end]], held[end:]
    return [*made, held] if held else made


class SmallReads(io.BytesIO):
    """Gives as many bytes at a time as it is told."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        super().__init__(content)
        self.sizes = iter(sizes)

    def read1(self, _size: int | None = -1, /) -> bytes:
        return self.read(next(self.sizes, 7))


PIECE = st.sampled_from(
    ["a\tb\n", "\n", "# a\n", "#\n", "-DOCSTART-\n", " \n", "\r\n", "x", "\t", " y\n", "\r", "# c"]
)


@given(
    st.lists(PIECE, max_size=30).map("".join),
    st.lists(st.integers(1, 12), max_size=20),
    st.sampled_from(["columns", "conllu", "text", "jsonl"]),
)
def test_blocks_do_not_depend_on_where_their_ends_are_searched(text, sizes, format):
    content = text.encode()
    found = record_blocks._cut("f", SmallReads(content, sizes), format, b"", None, record_blocks.SIZE)
    assert [block for block, _ in found] == joined_blocks(content, sizes, format)
