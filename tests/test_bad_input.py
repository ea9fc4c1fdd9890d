"""Bad input to the token formats: one sentence with file and line, exit code 2, nothing written."""

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaffinch import corpus
from chaffinch.corpus.lines import LONGEST_LINE, lines
from chaffinch.errors import DataError
from forked import COMMAND, forked

UD = "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n"

# name: file name, format, content, options, message after the file's path
FAULTS: dict[str, tuple[str, bytes, dict[str, object], str]] = {
    "wrong column count": (
        "f.conll",
        b"a NN X\nRockwell NNP\n",
        {},
        ":2: expected 3 columns as on line 1, found 2: 'Rockwell NNP'",
    ),
    "too many columns": (
        "f.conll",
        b"a X\nb c Y\n",
        {},
        ":2: expected 2 columns as on line 1, found 3: 'b c Y'",
    ),
    "other count than named": (
        "f.conll",
        b"a X\n",
        {"columns": "w,pos,y"},
        ":1: expected 3 columns (w, pos, y), found 2: 'a X'",
    ),
    "other count than the header": (
        "f.conll",
        b"w\ty\na\tX\nb\n",
        {"header": True},
        ":3: expected 2 columns as in the header, found 1: 'b'",
    ),
    "long content is shortened": (
        "f.conll",
        b"a X\n" + b"x" * 10_000 + b"\n",
        {},
        f":2: expected 2 columns as on line 1, found 1: '{'x' * 57}...'",
    ),
    "no token": ("f.conll", b"a\tX\n\tY\n", {}, r":2: no token in column 1: '\tY'"),
    "broken UTF-8": (
        "f.conll",
        b"a X\nb Y\n\ncaf\xe9 Z\n",
        {},
        r":4: not UTF-8: 'caf\\xe9 Z'; convert the file, for example with iconv -t utf-8",
    ),
    "broken UTF-8 on the first line": ("f.conll", b"caf\xe9 Z\n", {}, ":1: not UTF-8: "),
    "a surrogate in UTF-8": ("f.conll", b"a X\n\xed\xa0\x80 Y\n", {}, ":2: not UTF-8: "),
    "an overlong form in UTF-8": ("f.conll", b"a X\n\xc0\xaf Y\n", {}, ":2: not UTF-8: "),
    "UTF-8 cut short": ("f.conll", b"a X\nb \xe2\x82\n", {}, ":2: not UTF-8: "),
    "NUL byte": ("f.conll", b"a X\nb\0 Y\n", {}, r":2: NUL byte, so this is not a text file: 'b\x00 Y'"),
    "empty file": ("f.conll", b"", {}, ": is empty"),
    "nothing but blank lines": ("f.conll", b"\n\n \n", {}, ": holds no sentence"),
    "nothing but a byte order mark": ("f.conll", b"\xef\xbb\xbf", {}, ": holds no sentence"),
    "nothing but a header": ("f.conll", b"w y\n", {"header": True}, ": holds no sentence"),
    "one line of 10 MB": (
        "f.conll",
        b"x" * 10_000_000,
        {},
        ":1: line of more than 8 MiB, so this is not a text file: 'xxx",
    ),
    "10 MB on a later line": ("f.conll", b"a X\n" + b"x " * 5_000_000, {}, ":2: line of more than 8 MiB"),
    "duplicate header": (
        "f.conll",
        b"w pos pos y\na N N X\n",
        {"header": True},
        ":1: expected distinct names in the header, found 'pos' twice",
    ),
    "nameless column": (
        "f.conll",
        b"w\t\ty\na\tN\tX\n",
        {"header": True},
        ":1: column 2 has no name in the header",
    ),
    "truncated gzip": (
        "f.conll.gz",
        gzip.compress(b"a X\n" * 10_000)[:-20],
        {},
        ": is not a whole gzip file: ",
    ),
    "no gzip at all": ("f.conll.gz", b"a X\n", {}, ": is not a whole gzip file: "),
    "damaged gzip": (
        "f.conll.gz",
        gzip.compress(os.urandom(100_000))[:50_000] + b"\xff" * 50_000,
        {},
        ": ",
    ),
    "CoNLL-U with nine columns": (
        "f.conllu",
        (UD + UD[:-3] + "\n").encode(),
        {},
        ":2: expected 10 columns separated by tabs, as CoNLL-U has, found 9: ",
    ),
    "CoNLL-U without numbers": ("f.conllu", ("x" + UD[1:]).encode(), {}, ":1: expected "),
    "HMM layout without a tag": (
        "train",
        b"a X\nb\n",
        {},
        ":2: expected 2 columns (token TAG), found 1: 'b'",
    ),
}


def reads(path: Path, options: dict[str, object]) -> Iterator[str]:
    """The message of the documents' reader, then that of the table's."""
    name = {"train": "hmm"}.get(path.name) or ("conllu" if "conllu" in path.name else "columns")
    with pytest.raises(DataError) as caught:
        list(corpus.read(path, name, **options))
    yield str(caught.value)
    with pytest.raises(DataError) as caught:
        corpus.read_table(path, name, **options)
    yield str(caught.value)


@pytest.mark.parametrize("what", FAULTS)
def test_bad_input_is_one_sentence_with_file_and_line(tmp_path: Path, what: str) -> None:
    name, content, options, message = FAULTS[what]
    path = tmp_path / name
    path.write_bytes(content)
    for said in reads(path, options):
        assert said.startswith(f"{path}{message}")
        assert "\n" not in said
        assert len(said) < len(str(path)) + 200


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for said in reads(tmp_path / "none.conll", {}):
        assert said == f"{tmp_path}/none.conll: no such file"
    (tmp_path / "folder.conll").mkdir()
    for said in reads(tmp_path / "folder.conll", {}):
        assert said == f"{tmp_path}/folder.conll: is a directory, expected a file"


@contextmanager
def as_someone_else() -> Iterator[None]:
    """Root may read everything; be nobody for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "secret.conll"
    path.write_text("a X\n")
    path.chmod(0)
    with as_someone_else():
        for said in reads(path, {}):
            assert said == f"{path}: no permission to read it"


@pytest.mark.parametrize(
    "what", ["broken UTF-8", "NUL byte", "empty file", "one line of 10 MB", "truncated gzip"]
)
def test_lines_of_any_format_are_checked_alike(tmp_path: Path, what: str) -> None:
    name, content, _, message = FAULTS[what]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        list(lines(path))
    assert str(caught.value).startswith(f"{path}{message}")


def test_lines_end_at_newlines_only_and_lose_their_ends(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes("\ufeffa\u2028b\r\n\x85\n\ufeffc".encode())
    assert list(lines(path)) == [(1, "a\u2028b"), (2, "\x85"), (3, "\ufeffc")]
    path.write_bytes(b"x" * LONGEST_LINE + b"\r\ny\n")
    assert [(n, len(line)) for n, line in lines(path)] == [(1, LONGEST_LINE), (2, 1)]


@pytest.mark.parametrize(
    "what", ["wrong column count", "broken UTF-8", "NUL byte", "empty file", "truncated gzip"]
)
def test_the_command_line_says_it_with_exit_code_2_and_writes_nothing(tmp_path: Path, what: str) -> None:
    name, content, _, message = FAULTS[what]
    path = tmp_path / name
    path.write_bytes(content)
    done = forked(COMMAND, "convert", path, tmp_path / "out.conll")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"chaffinch: {path}{message}")
    assert done.stderr.count(b"\n") == 1
    assert list(tmp_path.iterdir()) == [path]
