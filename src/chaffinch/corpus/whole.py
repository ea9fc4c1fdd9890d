"""A whole file as text, under the same checks as its lines: for formats that are one value or one text."""

from pathlib import Path

from chaffinch.corpus.lines import BOM, broken_utf8, nul_byte
from chaffinch.files import reading


def whole_text(path: str | Path) -> str:
    """The content of a UTF-8 file, line ends as they are; a byte order mark at the start is dropped."""
    with reading(path) as stream:
        return whole_decoded(path, stream.read())


def whole_decoded(path: str | Path, content: bytes) -> str:
    """Bytes as text; what is wrong is said with its line."""
    content = content.removeprefix(BOM)
    at = content.find(b"\0")
    if at >= 0:
        raise nul_byte(path, *_line_at(content, at))
    try:
        return content.decode()
    except UnicodeDecodeError as e:
        raise broken_utf8(path, *_line_at(content, e.start)) from None


def _line_at(content: bytes, at: int) -> tuple[int, bytes]:
    """Number and content of the line that holds byte ``at``."""
    first = content.rfind(b"\n", 0, at) + 1
    end = content.find(b"\n", at)
    return content.count(b"\n", 0, at) + 1, content[first : end if end >= 0 else len(content)]
