"""Plain text: a document per line; a blank line is an empty document, so row n is line n; streamed."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from chaffinch._core import text_lines
from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import BOM, LONGEST_LINE, is_sound, lines
from chaffinch.corpus.text_table import TextTable
from chaffinch.errors import DataError
from chaffinch.files import STDIO, first_line, reading, writing_text
from chaffinch.text.document import Document

EXTENSIONS = (".txt", ".text")


def read(path: str | Path) -> Iterator[Document]:
    """One document per line, blank lines among them."""
    return (Document(text=line, line=number) for number, line in lines(path))


def read_table(path: str | Path) -> TextTable | None:
    """All lines; None if :func:`read` has to name a fault."""
    with reading(path) as stream:
        content = stream.read()
    content = content.removeprefix(BOM) or b"\n" if first_line(path) == 1 else content
    if len(content) > LONGEST_LINE or not is_sound(content):
        return None
    cells = text_lines(content)
    return None if cells is None or not len(cells) else TextTable(cells, 0, None, {})


def write(documents: Iterable[Document], path: str | Path) -> None:
    """One line per document; a text with a line break is refused."""
    with writing_text(path) as out:
        for number, d in enumerate(documents, start=1):
            if "\n" in d.text or "\r" in d.text:
                raise DataError(
                    f"document {number}: its text has a line break, which lines of text cannot hold"
                )
            out.write(d.text + "\n")


def may_be_text(name: str, _head: bytes = b"") -> bool:
    """Whether a file of this name, or standard input, is plain text if no other format claims it."""
    return name == STDIO or name.endswith(EXTENSIONS)


FORMAT = Format(
    name="text",
    extensions=EXTENSIONS,
    read=read,
    write=write,
    carries=frozenset({"text"}),
    looks_like=may_be_text,
)
