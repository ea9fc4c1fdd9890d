"""Text from bytes, line by line or whole: faults of encoding are reported here, with their line."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from chaffinch import _core
from chaffinch.errors import DataError
from chaffinch.files import display_name, first_line, reading

BOM = b"\xef\xbb\xbf"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks
LONGEST_LINE = 1 << 23  # bytes
CHUNK = 1 << 20  # bytes read at a time
_LISTED = 12  # names that a message repeats
_SAID = 200  # characters of another library's message
_SHOWN = 60  # characters of a line that a message repeats


def lines(path: str | Path) -> Iterator[tuple[int, str]]:
    r"""The lines of a UTF-8 file (plain, .gz or '-') with their numbers, from 1, without their ends.

    Lines end at ``\n`` or ``\r\n`` and nowhere else: U+0085, U+2028 and the like are part of the text. A byte
    order mark at the start is dropped. NUL bytes, broken UTF-8, a carriage return inside a line, a line over 8 MiB
    and an empty file are refused.
    """
    return enumerate(texts(path), first_line(path))


def texts(path: str | Path) -> Iterator[str]:
    """The lines without their ends and numbers, as :func:`lines` gives them."""
    return chain.from_iterable(_lists_of_lines(path))


def _lists_of_lines(path: str | Path) -> Iterator[Iterable[str]]:
    number = first_line(path)
    for chunk in _ended_chunks(path):
        found = chunk[:-1].split("\n")
        yield found if "\r" not in chunk else _without_returns(path, number, found)
        number += len(found)


def _without_returns(path: str | Path, number: int, found: list[str]) -> Iterator[str]:
    for n, line in enumerate(found, number):
        text = line.removesuffix("\r")
        if "\r" in text:
            raise carriage_return(path, n, text)
        yield text


def ended_lines(path: str | Path) -> Iterator[str]:
    r"""The lines with their ends, ``\n`` or ``\r\n``; the same content is refused, but for carriage returns."""
    for chunk in _ended_chunks(path):
        yield from io.StringIO(chunk, newline="\n")


def _ended_chunks(path: str | Path) -> Iterator[str]:
    """The text in chunks of whole lines with their ends; a chunk with a fault comes line by line, to name the line."""
    number = first_line(path) - 1
    begun, counted = False, b""  # the chunk before, whose lines are counted if another comes
    with reading(path) as stream:
        for chunk in _whole_lines(stream):
            content = chunk if begun or number else chunk.removeprefix(BOM) or b"\n"
            begun = True
            number += counted.count(b"\n")
            text = _plain(content)
            if text is not None:
                counted = content
                yield text
                continue
            counted = b""
            for line in io.BytesIO(content):
                number += 1
                yield decoded(path, number, line) + ("\r\n" if line.endswith(b"\r\n") else "\n")
    if not begun:
        raise empty_file(path)


def _whole_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes in chunks that end at line ends; a line over the limit is a chunk by itself, cut off."""
    read = getattr(stream, "read1", None) or stream.read
    held: list[bytes] = []
    while more := read(CHUNK):
        end = more.rfind(b"\n") + 1
        if end:
            yield b"".join([*held, more[:end]])
            held = [more[end:]]
        else:
            held.append(more)
            if sum(map(len, held)) > LONGEST_LINE + 1:
                yield b"".join(held)
                held = []
    if rest := b"".join(held):
        yield rest


def _plain(content: bytes) -> str | None:
    """A chunk of lines as text, its last line ended; None if a line of it may be refused."""
    if b"\0" in content or len(content) > LONGEST_LINE or content.endswith(b"\r"):
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return text if text.endswith("\n") else text + "\n"


def is_sound(content: bytes) -> bool:
    """Whether bytes are UTF-8 without NUL; ASCII is seen quickly."""
    return (content.isascii() and b"\0" not in content) or _core.sound_prefix(content) == len(content)


class Lookahead:
    """A stream whose first lines can be read ahead before it is read from the start, chunk by chunk.

    number:  of the first line that ``chunks`` will give
    dropped: number of bytes before it
    at_once: all is read as one chunk, without a copy of a block that is in memory
    """

    def __init__(self, path: str | Path, stream: BinaryIO, *, at_once: bool = False) -> None:
        self.path = path
        self.number = first_line(path)
        self._stream = stream
        self._chunk = -1 if at_once else CHUNK
        self._seen = stream.read(self._chunk)
        if not self._seen:
            raise empty_file(path)
        self.dropped = len(BOM) if self._seen.startswith(BOM) else 0
        self._seen = self._seen.removeprefix(BOM)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Numbers and lines (without newline) from the first on, read lazily."""
        number, start = self.number, 0
        while (end := self._line_end(start, number)) is not None:
            yield number, self._seen[start:end]
            number, start = number + 1, end + 1

    def next_line(self) -> bytes:
        """Drop the first line."""
        line = next((line for _, line in self.lines()), b"")
        self.dropped += min(len(line) + 1, len(self._seen))
        self._seen = self._seen[len(line) + 1 :]
        self.number += 1
        return line

    def chunks(self) -> Iterator[bytes]:
        """Everything that was not dropped."""
        yield self._seen
        self._seen = b""
        while chunk := self._stream.read(self._chunk):
            yield chunk

    def _line_end(self, start: int, number: int) -> int | None:
        """Where the line at ``start`` ends; None if the stream has ended there."""
        while (end := self._seen.find(b"\n", start)) < 0:
            if len(self._seen) - start > LONGEST_LINE:
                raise long_line(self.path, number, self._seen[start:])
            more = self._stream.read(self._chunk)
            if not more:
                return len(self._seen) if start < len(self._seen) else None
            self._seen += more
        return end


def decoded(path: str | Path, number: int, line: bytes) -> str:
    """One line as text, without its end; DataError if it is not text."""
    content = line.removesuffix(b"\n").removesuffix(b"\r")
    if len(content) > LONGEST_LINE:
        raise long_line(path, number, content)
    if b"\0" in content:
        raise nul_byte(path, number, content)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise broken_utf8(path, number, content) from None


def whole_text(path: str | Path) -> str:
    """The content of a UTF-8 file, line ends as they are; a byte order mark at the start is dropped."""
    with reading(path) as stream:
        return whole_decoded(path, stream.read())


def whole_decoded(path: str | Path, content: bytes) -> str:
    """Bytes as text; errors name the line."""
    content = content.removeprefix(BOM)
    at = content.find(b"\0")
    if at >= 0:
        raise nul_byte(path, *_line_at(content, at))
    try:
        return content.decode()
    except UnicodeDecodeError as e:
        raise broken_utf8(path, *_line_at(content, e.start)) from None


def fault(path: str | Path, number: int, what: str) -> DataError:
    """The error for a line: ``file:line: what``."""
    return DataError(f"{display_name(path)}:{number}: {what}")


def empty_file(path: str | Path) -> DataError:
    """The error for a file with nothing in it."""
    return DataError(f"{display_name(path)}: is empty")


def long_line(path: str | Path, number: int, content: bytes) -> DataError:
    """The error for a line over the limit."""
    return fault(
        path,
        number,
        f"line of more than {LONGEST_LINE >> 20} MiB, so this is not a text file: {shown(content)}",
    )


def nul_byte(path: str | Path, number: int, content: bytes) -> DataError:
    """The error for a NUL byte."""
    if content[:2] in UTF_16:
        advice = "convert the file, for example with iconv -f utf-16 -t utf-8"
        return fault(path, number, f"NUL byte in UTF-16, expected UTF-8; {advice}")
    return fault(path, number, f"NUL byte, so this is not a text file: {shown(content)}")


def broken_utf8(path: str | Path, number: int, content: bytes) -> DataError:
    """The error for bytes that are not UTF-8."""
    return fault(
        path, number, f"not UTF-8: {shown(content)}; convert the file, for example with iconv -t utf-8"
    )


def carriage_return(path: str | Path, number: int, content: str | bytes) -> DataError:
    """The error for a carriage return that ends no line."""
    what = "carriage return inside the line, expected lines to end in LF or CR LF"
    return fault(path, number, f"{what}: {shown(content)}")


def shown(content: str | bytes) -> str:
    """A line's content as messages repeat it: quoted, and cut if it is long.

    >>> print(shown("Rockwell NNP"), shown("x" * 1000))
    'Rockwell NNP' 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'
    """
    text = content[: 4 * _SHOWN].decode(errors="backslashreplace") if isinstance(content, bytes) else content
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def cut(said: str) -> str:
    """The first line of another library's message, truncated.

    >>> len(cut("x" * 1000))
    200
    """
    line = next(iter(said.splitlines()), "")
    return line if len(line) <= _SAID else line[: _SAID - 3] + "..."


def listed(names: Iterable[str]) -> str:
    """Names as messages repeat them: each as :func:`shown`, the first few of many.

    >>> listed(["text", "label"]), listed("abcdefghijklmnopqrst")[-18:]
    ("'text', 'label'", ", 'l' and 8 others")
    """
    every = list(names)
    some = ", ".join(map(shown, every[:_LISTED]))
    return some if len(every) <= _LISTED else f"{some} and {len(every) - _LISTED} others"


def _line_at(content: bytes, at: int) -> tuple[int, bytes]:
    """Number and content of the line that holds byte ``at``."""
    first = content.rfind(b"\n", 0, at) + 1
    end = content.find(b"\n", at)
    return content.count(b"\n", 0, at) + 1, content[first : end if end >= 0 else len(content)]
