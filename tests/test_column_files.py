"""Column files: what is read under which options, tables equal to documents, and round trips."""

import gzip
import io
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from chaffinch import corpus
from chaffinch.corpus import lines
from chaffinch.errors import ConfigError, DataError
from chaffinch.text.document import Document
from chaffinch.text.table import TokenTable

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def file(tmp_path: Path, content: str | bytes, name: str = "f.conll") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(path: Path, **options: object) -> list[dict[str, list[str]]]:
    return [{"w": d.words()} | d.columns for d in corpus.read(path, "columns", **options)]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("a", ["w"]),
        ("a X", ["w", "y"]),
        ("a N X", ["w", "pos", "y"]),
        ("a N M X", ["w", "x1", "x2", "y"]),
        ("a\tN\tX", ["w", "pos", "y"]),
        ("a  N X ", ["w", "pos", "y"]),
    ],
)
def test_columns_have_names_by_their_number(tmp_path: Path, line: str, names: list[str]) -> None:
    path = file(tmp_path, line + "\n")
    assert list(rows(path)[0]) == names
    assert list(corpus.read_table(path).columns) == names


def test_runs_of_spaces_and_tabs_separate_when_asked_for(tmp_path: Path) -> None:
    path = file(tmp_path, " a  N \t X \nb\tN   Y\n")
    assert rows(path, separator="spaces") == [{"w": ["a", "b"], "pos": ["N", "N"], "y": ["X", "Y"]}]


def test_sentences_end_at_blank_lines_however_many(tmp_path: Path) -> None:
    path = file(tmp_path, "\n\na X\n \t\nb Y\nc Z\n\n\n\nd X")
    assert [d.text for d in corpus.read(path)] == ["a", "b c", "d"]


def test_carriage_returns_and_a_byte_order_mark_are_no_content(tmp_path: Path) -> None:
    path = file(tmp_path, b"\xef\xbb\xbfa X\r\nb Y\r\n\r\nc Z\r\n")
    assert rows(path) == [{"w": ["a", "b"], "y": ["X", "Y"]}, {"w": ["c"], "y": ["Z"]}]


def test_only_newlines_end_lines_and_only_the_separator_ends_cells(tmp_path: Path) -> None:
    word = "a\u00a0b\u2028c\x85d\x0be\x1cf\u3000g"
    for separator in ("\t", " "):
        path = file(tmp_path, f"{word}{separator}X\n")
        assert rows(path) == [{"w": [word], "y": ["X"]}]
        assert corpus.read_table(path).lists("w") == [[word]]


def test_hash_tokens_are_tokens(tmp_path: Path) -> None:
    path = file(tmp_path, "#tag\tX\n#\tY\n\n# text = no row\n# 2\tZ\n")
    assert rows(path) == [{"w": ["#tag", "#"], "y": ["X", "Y"]}, {"w": ["# 2"], "y": ["Z"]}]


def test_a_line_that_cannot_be_a_row_is_a_comment_only_before_a_sentence(tmp_path: Path) -> None:
    path = file(tmp_path, "# sent 1\na\tX\n\n# sent 2\nb\tY\n")
    assert [d.text for d in corpus.read(path)] == ["a", "b"]
    path = file(tmp_path, "a\tX\n# within\nb\tY\n")
    with pytest.raises(DataError, match=r"f.conll:2: expected 2 columns as on line 1, found 1: '# within'"):
        rows(path)
    path = file(tmp_path, "a\tX\n\n#tag\nb\tY\n")
    with pytest.raises(DataError, match=":3: expected 2 columns"):
        rows(path)


def test_comments_are_comments_when_asked_for(tmp_path: Path) -> None:
    path = file(tmp_path, "% one two\na X\n% three\nb Y\n")
    assert rows(path, comments="%") == [{"w": ["a", "b"], "y": ["X", "Y"]}]
    path = file(tmp_path, "#a X\na X\n")
    assert rows(path, comments="#") == [{"w": ["a"], "y": ["X"]}]
    assert rows(path) == [{"w": ["#a", "a"], "y": ["X", "X"]}]


def test_a_file_of_hash_tokens_alone_is_read(tmp_path: Path) -> None:
    path = file(tmp_path, "#a\tX\n#b\tY\n")
    assert rows(path) == [{"w": ["#a", "#b"], "y": ["X", "Y"]}]


def test_docstart_lines_make_groups(tmp_path: Path) -> None:
    content = (
        "a X Y\n\n-DOCSTART- -X- O\n\nb X Y\n\nc X Y\n-DOCSTART- (two (2))\nd X Y\n\n-DOCSTART-\n\ne X Y\n"
    )
    path = file(tmp_path, content)
    found = [(d.text, d.group) for d in corpus.read(path)]
    assert found == [("a", None), ("b", "1"), ("c", "1"), ("d", "two (2)"), ("e", "3")]
    groups = corpus.read_table(path).groups
    assert groups is not None
    assert groups.tolist() == [0, 1, 1, 2, 3]
    assert corpus.read_table(file(tmp_path, "a X\n")).groups is None


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"columns": "w,pos,lemma,tag"}, {"w": "a", "pos": "B", "lemma": "C", "y": "D"}),
        ({"columns": ["w", "pos", "y", "chunk"]}, {"w": "a", "pos": "B", "y": "C", "chunk": "D"}),
        ({"columns": "w,p,q,r", "label": ""}, {"w": "a", "p": "B", "q": "C", "r": "D"}),
        ({"columns": "1,3"}, {"w": "a", "y": "C"}),
        ({"columns": "1,-1,2"}, {"w": "a", "pos": "D", "y": "B"}),
        ({"columns": "w=4,y=2"}, {"w": "D", "y": "B"}),
        ({"label": 2}, {"w": "a", "y": "B", "x2": "C", "x3": "D"}),
        ({"label": "x2"}, {"w": "a", "x1": "B", "y": "C", "x3": "D"}),
        ({"word": 2}, {"x1": "a", "w": "B", "x2": "C", "y": "D"}),
        ({"label": ""}, {"w": "a", "x1": "B", "x2": "C", "x3": "D"}),
    ],
)
def test_columns_are_picked_and_named(
    tmp_path: Path, options: dict[str, object], found: dict[str, str]
) -> None:
    path = file(tmp_path, "a B C D\n")
    assert rows(path, **options) == [{name: [cell] for name, cell in found.items()}]
    table = corpus.read_table(path, **options)
    assert {name: table.lists(name) for name in table.columns} == {n: [[c]] for n, c in found.items()}


def test_a_header_names_the_columns(tmp_path: Path) -> None:
    path = file(tmp_path, "token\tcase\ttag\na\tU\tX\n\n")
    assert rows(path, header=True) == [{"w": ["a"], "case": ["U"], "y": ["X"]}]
    assert rows(path, header=True, label="case") == [{"w": ["a"], "y": ["U"], "tag": ["X"]}]
    assert rows(path, header=True, columns="w=token,y=tag") == [{"w": ["a"], "y": ["X"]}]
    path = file(tmp_path, "y w\nX a\n")
    assert rows(path, header=True) == [{"w": ["a"], "y": ["X"]}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "w,y,w"}, "the name 'w' is given twice"),
        ({"columns": "1,1"}, "number 1 is picked twice"),
        ({"columns": "1,9"}, "there is no column 9: the file has 3"),
        ({"columns": "w=token"}, "there is no column 'token': without a header, columns have numbers"),
        ({"label": "lemma"}, "label: there is no column 'lemma'; there are w, pos, y"),
        ({"label": 1}, "the words cannot be in column 1 and the labels in column 1 at once"),
        ({"columns": "1,2", "label": 3}, "label: column 3 is not among those picked: 1, 2"),
        ({"columns": "a,y,b", "label": "b"}, "two columns would be called 'y'"),
        ({"columns": " "}, "expected names or numbers"),
        ({"separator": ""}, "the separator must be a string within a line"),
        ({"seperator": "tab"}, "ColumnOptions has no setting 'seperator'; it has columns, comments, header"),
        ({"header": 1}, "columns: header must be true or false"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    path = file(tmp_path, "a B C\n")
    with pytest.raises(ConfigError, match=message):
        rows(path, **options)


@pytest.mark.parametrize("separator", [",", "||", " ||| ", "tab", "space", "\\t"])
def test_any_string_separates(tmp_path: Path, separator: str) -> None:
    between = {"tab": "\t", "space": " ", "\\t": "\t"}.get(separator, separator)
    path = file(tmp_path, between.join(["a", "", "X"]) + "\n")
    assert rows(path, separator=separator) == [{"w": ["a"], "pos": [""], "y": ["X"]}]


def test_packed_files_and_standard_input_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"a X\n\nb Y\n"
    packed = file(tmp_path, gzip.compress(content), "f.conll.gz")
    assert [d.text for d in corpus.read(packed)] == ["a", "b"]
    for read in (corpus.read_table, lambda p: TokenTable.from_documents(corpus.read(p))):
        raw = io.BufferedReader(io.BytesIO(content))  # type: ignore[arg-type]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
        assert read("-").lists("w") == [["a"], ["b"]]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_the_size_of_the_chunks_does_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    content = "# one\nä\tX\r\nbb\tY\n\n\n-DOCSTART- (d)\n\n# two\n#c\tX\n\xa0d\tY\n\ne\tZ"
    path = file(tmp_path, content)
    whole = list(corpus.read(path, separator="tab"))
    monkeypatch.setattr(lines, "CHUNK", chunk)
    assert list(corpus.read(path, separator="tab")) == whole
    assert corpus.read_table(path, separator="tab").lists("w") == [d.words() for d in whole]
    path = file(tmp_path, content + "\n\nx\n")
    with pytest.raises(DataError, match=r"f.conll:14: expected 2 columns as on line 2, found 1: 'x'"):
        rows(path, separator="tab")


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "CHUNK", 1 << 12)
    peaks = []
    for n in (1_000, 6_000):
        path = file(tmp_path, "".join(f"word{i} N{i} X\n\n" for i in range(n)))
        tracemalloc.start()
        assert sum(1 for _ in corpus.read(path)) == n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


cell = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
hostile = st.sampled_from(
    ["#", "# a", "-DOCSTART-", "\ufeff", "\r", "a\r", " ", "\u2028", "a b", "\t", "\n", "\0", ""]
)
table_cells = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.tuples(*[cell | hostile] * width), min_size=1, max_size=4), min_size=1, max_size=4
    )
)


def documents_of(sentences: list[list[tuple[str, ...]]]) -> list[Document]:
    width = len(sentences[0][0])
    names = {1: [], 2: ["y"], 3: ["pos", "y"], 4: ["x1", "x2", "y"]}[width]
    made = []
    for sentence in sentences:
        word, *columns = (list(column) for column in zip(*sentence, strict=True))
        made.append(Document.from_words(word, **dict(zip(names, columns, strict=True))))
    return made


@same_folder
@given(table_cells, st.sampled_from(["\t", " "]), st.booleans())
def test_what_is_written_is_read_again_or_refused(
    tmp_path: Path, sentences: list[list[tuple[str, ...]]], separator: str, grouped: bool
) -> None:
    documents = documents_of(sentences)
    if grouped:
        for n, document in enumerate(documents):
            document.group = "first" if n < 2 else "2"
    path = tmp_path / "out.conll"
    path.unlink(missing_ok=True)
    refusal = ""
    try:
        corpus.write(documents, path, "columns", separator=separator)
    except DataError as e:
        refusal = str(e)
    if refusal:
        assert refusal.startswith("sentence ")
        assert not path.exists()
        return
    assert list(corpus.read(path, "columns")) == documents
    table = corpus.read_table(path, "columns")
    expected = TokenTable.from_documents(documents)
    assert {n: table.lists(n) for n in table.columns} == {n: expected.lists(n) for n in expected.columns}
    again = tmp_path / "again.conll"
    corpus.write(corpus.read(path, "columns"), again, "columns", separator=separator)
    assert again.read_bytes() == path.read_bytes()


plain = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"), min_size=1, max_size=4
)


@same_folder
@given(st.lists(st.lists(st.tuples(plain, plain), min_size=1, max_size=4), min_size=1, max_size=4))
def test_plain_content_is_never_refused(tmp_path: Path, sentences: list[list[tuple[str, ...]]]) -> None:
    assume(all((w + y).strip(" ") for sentence in sentences for w, y in sentence))
    corpus.write(documents_of(sentences), tmp_path / "plain.conll")
    assert list(corpus.read(tmp_path / "plain.conll")) == documents_of(sentences)


def naive(content: bytes) -> list[list[list[str]]] | None:
    """A column file of two cells by the book, in Python: sentences of rows, or None if a line is wrong."""
    sentences: list[list[list[str]]] = [[]]
    for line in content.split(b"\n"):
        try:
            text = line.removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            return None
        cells = text.split("\t")
        if "\0" in text or "\r" in text:
            return None
        if not text.strip(" \t") or text == "-DOCSTART-" or text.startswith(("-DOCSTART- ", "-DOCSTART-\t")):
            sentences.append([])
        elif len(cells) == 2 and cells[0]:
            sentences[-1].append(cells)
        elif len(cells) == 2 or sentences[-1] or not text.startswith("# "):
            return None
    return [s for s in sentences if s]


PIECES = rb"""a\tX\n b\tY\n \n \r\n \x20\n #\tX\n #\x20c\n #\x20 -DOCSTART-\n -DOCSTART-\tO\n -DOCSTART-x\tO\n
    \rc\tX\n \xc3\xa9\t\n \xe2\x80\xa8\tX\r\n \tX\n \xff \0 a \t"""
pieces = st.sampled_from([p.decode("unicode_escape").encode("latin-1") for p in PIECES.split()])


@same_folder
@given(st.lists(pieces, max_size=12).map(b"".join), st.sampled_from([1, 3, 8, 1 << 20]))
def test_any_bytes_are_read_as_a_plain_parser_reads_them(tmp_path: Path, content: bytes, chunk: int) -> None:
    content = b"m\tO\n\n" + content
    path = file(tmp_path, content)
    found: list[list[list[str]]] | None = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK", chunk)
        try:
            table = corpus.read_table(path, "columns")
        except DataError:
            pass
        else:
            sentences = zip(table.lists("w"), table.lists("y"), strict=True)
            found = [[list(row) for row in zip(w, y, strict=True)] for w, y in sentences]
    assert found == naive(content)


def test_a_cell_that_does_not_fit_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    documents = [Document.from_words(["a"], y=["X"]), Document.from_words(["b", "c\td"], y=["X", "Y"])]
    path = file(tmp_path, "before")
    with pytest.raises(DataError, match=r"sentence 2, token 2 'c\\td': column 'w' holds the separator '\\t'"):
        corpus.write(documents, path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_documents_that_differ_in_columns_are_refused(tmp_path: Path) -> None:
    a, b = Document.from_words(["a"], y=["X"]), Document.from_words(["b"], pos=["N"], y=["Y"])
    with pytest.raises(DataError, match="sentence 2: has a column 'pos' that sentence 1 lacks"):
        corpus.write([a, b], tmp_path / "f.conll")
    with pytest.raises(DataError, match="sentence 2: has no column 'pos'; it has y, w"):
        corpus.write([b, a], tmp_path / "f.conll")
    with pytest.raises(DataError, match="sentence 1: column 'y' has 2 cells for 1 tokens"):
        corpus.write([Document.from_words(["a"], y=["X", "Y"])], tmp_path / "f.conll")
    with pytest.raises(DataError, match="sentence 1: has no tokens"):
        corpus.write([Document("text only")], tmp_path / "f.conll")
    corpus.write([a, b], tmp_path / "f.conll", columns=["y", "w"], header=True)
    assert (tmp_path / "f.conll").read_text() == "y\tw\nX\ta\n\nY\tb\n\n"


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"sentence 1: '\\ud800' cannot be written"):
        corpus.write([Document.from_words(["\ud800"])], tmp_path / "f.conll")


def test_detection_tells_column_files_from_others(tmp_path: Path) -> None:
    assert corpus.detect(file(tmp_path, "a X\n\nb Y\n", "unnamed")).name == "columns"
    assert corpus.detect(file(tmp_path, "a\tX\n\nb\tY\n", "f.tsv")).name == "columns"
    assert corpus.detect(file(tmp_path, "a X\nb Y\n\n", "train")).name == "hmm"
    assert corpus.detect(file(tmp_path, "New York X\n" + "a X\n" * 20, "train")).name == "hmm"
    assert corpus.detect(file(tmp_path, "a N X\nb N Y\n\n", "dev.out")).name == "columns"
    with pytest.raises(
        DataError, match=r"none of the known formats by its name or its start; .* --from FORMAT .*columns"
    ):
        corpus.detect(file(tmp_path, "some words\n", "notes"))
    with pytest.raises(ConfigError, match=r"there is no format 'xml'; there are .*columns"):
        corpus.read(tmp_path, "xml")


def test_the_model_line_is_found_behind_a_long_preamble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "CHUNK", 16)
    path = file(tmp_path, "# a long preamble\n" * 50 + "\na X\n")
    assert rows(path) == [{"w": ["a"], "y": ["X"]}]
