"""A file in blocks of whole records, as its bytes come: one block is in memory at a time, and a slow pipe is answered.

lines        a record is a line                     text, JSONL, fastText, pairs
paragraphs   records have blank lines between them  columns, CoNLL-U
rows         lines below a header; a quoted cell of CSV may hold line breaks
tables       rows of Parquet and Arrow; a block is a stream of Arrow
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaffinch._core import last_row_end, occurrences
from chaffinch.corpus.headers import header_delimiter, told_header
from chaffinch.corpus.lines import BOM, LONGEST_LINE, fault, shown
from chaffinch.corpus.parquet import arrow_blocks, arrow_rows, has_arrow
from chaffinch.errors import DataError
from chaffinch.files import reading

JSON_LINES = ("jsonl", "jsonl-spans", "jsonl-tokens", "doccano", "prodigy")
LINES = ("text", *JSON_LINES, "fasttext", "alignment", "brackets-tsv")
PARAGRAPHS = ("columns", "conllu", "hmm")
ROWS = ("csv", "tsv")
TABLES = ("parquet", "datasets")
SIZE = 1 << 19  # bytes of a block, if available
WIDER = {"conllu": 8}  # ten columns: as many tokens in a block need more bytes
LONGEST_RECORD = 8 * LONGEST_LINE  # bytes
_TOKEN = re.compile(rb"^(?!#|-DOCSTART-)[ \t]*[^\s]", re.MULTILINE)  # a line that is no comment and no mark
_LINE_END = re.compile(rb"\n")
_BLANK_LINE = re.compile(rb"(?<=\n)[ \t\r]*\n")  # as the splitter of columns knows it


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


def record_blocks(
    path: str | Path, format: str, text: str | None = None, times: int = 1
) -> Iterator[RecordBlock]:
    """The blocks of a file that has records; slow input comes in small blocks, without delay.

    text:  the name of the text column, if it is known
    times: the size of a block, if so much is available, as a multiple of the usual one
    """
    if format in TABLES:
        for content, row, end in arrow_blocks(path):
            yield RecordBlock(content, row, end)
        return
    made = (
        told_header(path, format).encode() if format in ROWS else b""
    )  # before a pipe is opened for reading
    with reading(path) as stream:
        header, read = made, 0
        for block, number in _cut(path, stream, format, made, text, SIZE * times * WIDER.get(format, 1)):
            read += len(block)
            if format not in ROWS:
                yield RecordBlock(block, number, read)
            elif not header:
                header = _header(block, format, text).removeprefix(BOM)
                yield RecordBlock(block, number, read)
            else:  # the block is below the header
                yield RecordBlock(header + block, number - header.count(b"\n"), read)


def single_records(block: RecordBlock, format: str, text: str | None = None) -> list[RecordBlock]:
    """The records of a block, one by one."""
    if format in TABLES:
        return [
            RecordBlock(c, block.first_line + n, block.end) for n, c in enumerate(arrow_rows(block.content))
        ]
    header = _header(block.content, format, text) if format in ROWS else b""
    repeated = header.removeprefix(BOM)
    body, made, at = block.content[len(header) :], [], 0
    number, place = block.first_line + header.count(b"\n"), block.end - len(block.content) + len(header)
    for end in (*_record_ends(body, format, header_delimiter(header, text)), len(body)):
        if end > at:
            piece = body[at:end]
            made.append(RecordBlock(repeated + piece, number - header.count(b"\n"), place + end))
            number, at = number + piece.count(b"\n"), end
    return made


def without_header(block: RecordBlock, format: str, text: str | None = None) -> bytes:
    """The records of a block as they came."""
    return block.content[len(_header(block.content, format, text)) :] if format in ROWS else block.content


def _cut(
    path: str | Path, stream: object, format: str, header: bytes, text: str | None, size: int
) -> Iterator[tuple[bytes, int]]:
    """Bytes up to the end of the last complete record that is there, and the number of their first line.

    header: a line that the file lacks
    """
    read: Callable[[int], bytes] = getattr(stream, "read1", None) or stream.read  # type: ignore[attr-defined]
    held, first, number = b"", not header, 1
    sign = header_delimiter(header, text)
    while more := read(size):
        if end := _own_end(more, format):  # one copy of all bytes instead of two
            block = b"".join([held, memoryview(more)[:end]])
            held = more[end:]
            yield block, number
            number += occurrences(block, "\n")
            continue
        seen = len(held)
        held += more
        if first and format == "csv":
            sign = header_delimiter(held, text)
        end = _last_end(held, format, sign, seen)
        if first and end and format in ROWS and end <= len(_header(held, format, text)):
            end = 0  # no more than the header
        if end:
            block, held, first = held[:end], held[end:], False
            yield block, number
            number += occurrences(block, "\n")
        elif len(held) > LONGEST_RECORD:
            raise _long_record(path, number, held, format)
    if held:
        yield held, number


def _long_record(path: str | Path, number: int, held: bytes, format: str) -> DataError:
    """The error for a record that does not end."""
    most = f"within {LONGEST_RECORD >> 20} MiB"
    if b"\n" not in held:
        what = f"no line end {most}, so this is not a text file"
    elif format in PARAGRAPHS:
        what = f"no blank line {most}, so this is no file of sentences"
    else:
        what = f"a quoted cell of this row is not closed {most}"
    start = shown(held.partition(b"\n")[0])
    return fault(path, number, f"{what}: {start}")


def _own_end(more: bytes, format: str) -> int:
    """The end of the last record that ends here, whatever stands before these bytes; 0 if that is not known."""
    if format in ROWS:
        return 0
    end = _last_end(more, format, b"")
    if format in PARAGRAPHS and end and not _TOKEN.search(more, more.find(b"\n") + 1, end):
        return 0  # the token may be the rest of a comment
    return end


def _last_end(held: bytes, format: str, sign: bytes, seen: int = 0) -> int:
    """The end of the last complete record; 0 if there is none. seen: length of the start that has none"""
    if format in PARAGRAPHS:  # after the last blank line, if a token stands before it
        blanks = (b"\n\n", b"\n\r\n") if b"\r" in held else (b"\n\n",)  # a search for one byte is fast
        end = max(held.rfind(blank) + len(blank) if blank in held else 0 for blank in blanks)
        new = max(end, held.rfind(b"\n", 0, seen))
        end = max((found.end() for found in _BLANK_LINE.finditer(held, new)), default=end)
        return end if end and _TOKEN.search(held, 0, end) else 0
    if format != "csv" or b'"' not in held:
        return held.rfind(b"\n") + 1
    if len(sign) == 1 and sign != b'"':
        return last_row_end(held, sign.decode())
    ends = (held.rfind(b"\n", start, end) + 1 for start, end in _outside_quotes(held, sign))
    return max(ends, default=0)


def _record_ends(body: bytes, format: str, sign: bytes) -> Iterator[int]:
    """The ends of all complete records."""
    if format in PARAGRAPHS:
        at, begun = 0, False
        for found in _LINE_END.finditer(body):
            end = found.end()
            if _TOKEN.match(body, at, end):
                begun = True
            elif begun and not body[at:end].strip():
                yield end
                begun = False
            at = end
        return
    for start, end in _outside_quotes(body, sign) if format == "csv" else [(0, len(body))]:
        for found in _LINE_END.finditer(body, start, end):
            yield found.end()


def _outside_quotes(content: bytes, sign: bytes) -> Iterator[tuple[int, int]]:
    """The stretches of CSV outside quoted cells, as its reader finds them.

    A quote mark opens a cell only at the cell's start. If other characters than a delimiter follow the closing mark,
    the row is not valid and ends with the line.
    """
    end = b"\n" + re.escape(sign)
    quoted = re.compile(
        rb'"(?:(?<![^%b]")|(?<=\A%b"))[^"]*(?:""[^"]*)*(?:"(?:[^%b][^\n]*)?|\Z)' % (end, BOM, end)
    )
    at = 0
    for found in quoted.finditer(content):
        yield at, found.start()
        at = found.end()
    yield at, len(content)


def _header(block: bytes, format: str, text: str | None) -> bytes:
    """The first row, and the line ``sep=;`` above it."""
    end = block.find(b"\n") + 1
    above = end if block.removeprefix(BOM).startswith(b"sep=") and format == "csv" else 0
    ends = _record_ends(block[above:], format, header_delimiter(block, text))
    return block[: above + next(ends, len(block) - above)]
