"""Lines of a file: decoded in chunks, with the same lines and the same faults as line by line."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.corpus import lines as reading_lines
from chaffinch.corpus.lines import BOM, decoded, ended_lines, lines
from chaffinch.errors import DataError

PIECES = st.lists(
    st.sampled_from(
        [b"a", b"tea", b"\n", b"\r\n", b"\r", b"\0", b"\xff", BOM, "é".encode(), "\u2028".encode(), b"\x0b"]
    ),
    max_size=12,
)


def one_by_one(path, content):
    """The definition: each line by itself; what came before a fault, then the fault."""
    found = []
    for number, given_line in enumerate(io.BytesIO(content), 1):
        line = given_line.removeprefix(BOM) if number == 1 else given_line
        try:
            text = decoded(path, number, line)
        except DataError as e:
            return found, str(e)
        found.append(text + ("\r\n" if line.endswith(b"\r\n") else "\n"))
    return found, None if content else f"{path}: is empty"


@given(PIECES, st.integers(1, 9))
def test_chunks_give_the_lines_and_faults_of_single_lines(tmp_path_factory, pieces, chunk):
    path, content = tmp_path_factory.getbasetemp() / "lines.txt", b"".join(pieces)
    path.write_bytes(content)
    found, fault, whole = [], None, reading_lines.CHUNK
    reading_lines.CHUNK = chunk
    try:
        found.extend(ended_lines(path))
    except DataError as e:
        fault = str(e)
    finally:
        reading_lines.CHUNK = whole
    assert (found, fault) == one_by_one(path, content)


def test_a_line_over_the_limit_is_refused_by_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr(reading_lines, "LONGEST_LINE", 20)
    monkeypatch.setattr(reading_lines, "CHUNK", 8)
    path = tmp_path / "long.txt"
    path.write_bytes(b"short\n" + b"x" * 50 + b"\nshort\n")
    found = lines(path)
    assert next(found) == (1, "short")
    with pytest.raises(DataError, match=":2: "):
        next(found)
