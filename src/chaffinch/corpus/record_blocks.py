"""A file in blocks of whole records, as its bytes come: one block is in memory at a time, and a slow pipe is answered.

lines        a record is a line                     text, JSONL, fastText, pairs
paragraphs   records have blank lines between them  columns, CoNLL-U
rows         lines below a header; a quoted cell may hold line breaks
tables       rows of Parquet and Arrow; a block is a stream of Arrow
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaffinch.corpus.delimited import told_header
from chaffinch.corpus.lines import BOM, LONGEST_LINE, long_line
from chaffinch.corpus.parquet import arrow_blocks, arrow_rows, has_arrow
from chaffinch.files import reading

JSON_LINES = ("jsonl", "jsonl-spans", "jsonl-tokens", "doccano", "prodigy")
LINES = ("text", *JSON_LINES, "fasttext", "alignment", "brackets-tsv")
PARAGRAPHS = ("columns", "conllu", "hmm")
ROWS = ("csv", "tsv")
TABLES = ("parquet", "datasets")
SIZE = 1 << 19  # bytes of a block, if available
_TOKEN = re.compile(rb"^(?!#|-DOCSTART-)[ \t]*[^\s]", re.MULTILINE)  # a line that is no comment and no mark


@dataclass(frozen=True)
class RecordBlock:
    """Whole records of a file.

    first_line: the number of its first line, from 1; of a block that repeats the header, the header is counted
    end:        number of unpacked bytes of the file up to its end
    """

    content: bytes
    first_line: int
    end: int


def has_records(format: str, start: bytes) -> bool:
    """Whether a file of this format with this start is a sequence of records; a JSON array is not."""
    if format in JSON_LINES:
        return not start.removeprefix(BOM).lstrip().startswith(b"[")
    return format in (*LINES, *PARAGRAPHS, *ROWS) or (format in TABLES and has_arrow())


def record_blocks(path: str | Path, format: str) -> Iterator[RecordBlock]:
    """The blocks of a file that has records; slow input comes in small blocks, without delay."""
    if format in TABLES:
        for content, row in arrow_blocks(path):
            yield RecordBlock(content, row, row)
        return
    complete = {**dict.fromkeys(LINES, _lines), **dict.fromkeys(PARAGRAPHS, _paragraphs)}.get(format, _rows)
    with reading(path) as stream:
        made = told_header(path, format).encode() if format in ROWS else b""
        header, number, read = made, 1, 0
        for block in _cut(path, stream, complete):
            read += len(block)
            if format not in ROWS:
                yield RecordBlock(block, number, read)
            elif not header:
                header = _header(block)
                yield RecordBlock(block, number, read)
            else:  # the block is below the header
                yield RecordBlock(header + block, number - header.count(b"\n"), read)
            number += block.count(b"\n")


def single_records(block: RecordBlock, format: str) -> list[RecordBlock]:
    """The records of a block, one by one."""
    if format in TABLES:
        return [
            RecordBlock(c, block.first_line + n, block.end) for n, c in enumerate(arrow_rows(block.content))
        ]
    header = _header(block.content) if format in ROWS else b""
    body, made, at = block.content[len(header) :], [], 0
    number, place = block.first_line + header.count(b"\n"), block.end - len(block.content) + len(header)
    complete = {**dict.fromkeys(LINES, _lines), **dict.fromkeys(PARAGRAPHS, _paragraphs)}.get(format, _rows)
    while at < len(body):
        end = at
        while True:
            end = body.find(b"\n", end) + 1 or len(body)
            if end == len(body) or complete(body[at:end], False) == end - at:
                break
        piece = body[at:end]
        made.append(RecordBlock(header + piece, number - header.count(b"\n"), place + end))
        number, at = number + piece.count(b"\n"), end
    return made


def without_header(block: RecordBlock, format: str) -> bytes:
    """The records of a block as they came."""
    return block.content[len(_header(block.content)) :] if format in ROWS else block.content


def _cut(path: str | Path, stream: object, complete: Callable[[bytes, bool], int]) -> Iterator[bytes]:
    """Bytes up to the end of the last complete record that is there."""
    read: Callable[[int], bytes] = getattr(stream, "read1", None) or stream.read  # type: ignore[attr-defined]
    held, first = b"", True
    while more := read(SIZE):
        held += more
        end = complete(held, first)
        if end:
            yield held[:end]
            held, first = held[end:], False
        elif len(held) > LONGEST_LINE * 8:
            raise long_line(path, 1, held)
    if held:
        yield held


def _lines(held: bytes, _: bool) -> int:
    return held.rfind(b"\n") + 1


def _paragraphs(held: bytes, _: bool) -> int:
    """After the last blank line, if a token stands before it."""
    end = max(
        held.rfind(b"\n\n") + 2 if b"\n\n" in held else 0,
        held.rfind(b"\n\r\n") + 3 if b"\n\r\n" in held else 0,
    )
    return end if end and _TOKEN.search(held, 0, end) else 0


def _rows(held: bytes, first: bool) -> int:
    """After the last line end that is in no quoted cell: there the number of quote marks so far is even."""
    end = held.rfind(b"\n") + 1
    while end and held.count(b'"', 0, end) % 2:
        end = held.rfind(b"\n", 0, end - 1) + 1
    if first and end and held.count(b"\n", 0, end) == len(_header(held).splitlines()):
        return 0  # the header alone
    return end


def _header(block: bytes) -> bytes:
    """The first row, and the line ``sep=;`` above it."""
    end = block.find(b"\n") + 1
    if block.removeprefix(BOM).startswith(b"sep="):
        end = block.find(b"\n", end) + 1
    while block.count(b'"', 0, end) % 2:
        end = block.find(b"\n", end) + 1
    return block[:end]
