"""Column files written: what a cell cannot hold is an error that names the sentence and the token."""

from collections.abc import Iterable
from pathlib import Path

from chaffinch.corpus.lines import shown
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import writing
from chaffinch.text.document import WORD, Document

DOCSTART = "-DOCSTART-"
_BOM = "\ufeff"


def write(
    documents: Iterable[Document],
    path: str | Path,
    *,
    columns: Iterable[str] | None = None,
    separator: str = "\t",
    header: bool = False,
) -> None:
    """Write sentences as a column file.

    columns: names in the order to write; by default ``w``, then the columns of the first document. Every
             document must have them all.
    Where the group changes, a ``-DOCSTART-`` line says so, with the group's name unless it is its number.
    """
    if not separator or "\n" in separator or "\r" in separator or "\0" in separator:
        raise ConfigError(f"the separator must be a string within a line, got {separator!r}")
    names = None if columns is None else list(columns)
    strict = columns is None
    group, groups, text = None, 0, ""
    with writing(path) as stream:
        for number, document in enumerate(documents, 1):
            if names is None:
                names = [WORD, *document.columns]
            rows = _rows(document, number, names, strict)
            if number == 1 and header:
                text = separator.join(names) + "\n"
            if document.group != group:
                group, groups = document.group, groups + 1
                text += _group_line(group, groups, number, len(names), separator)
            for t, cells in enumerate(rows, 1):
                line = separator.join(cells)
                why = _unfit(line, cells, separator, names)
                if why:
                    raise DataError(
                        f"sentence {number}, token {t} {shown(document.tokens[t - 1].text)}: {why}"
                    )
                text += line + "\n"
            if number == 1 and text.startswith(_BOM):
                text = _BOM + text  # the reader drops one
            stream.write(encoded(text + "\n", number))
            text = ""


def encoded(text: str, number: int) -> bytes:
    """UTF-8, which half a surrogate pair has not."""
    try:
        return text.encode()
    except UnicodeEncodeError as e:
        raise DataError(
            f"sentence {number}: {text[e.start]!r} is no character that UTF-8 can write"
        ) from None


def _rows(document: Document, number: int, names: list[str], strict: bool) -> list[tuple[str, ...]]:
    if not document.tokens:
        raise DataError(
            f"sentence {number}: has no tokens, and a column file has one per line: {shown(document.text)}"
        )
    by_name = document.columns | {WORD: document.words()}
    for name in names:
        if name not in by_name:
            raise DataError(f"sentence {number}: has no column {name!r}; it has {', '.join(by_name)}")
        if len(by_name[name]) != len(document.tokens):
            count, T = len(by_name[name]), len(document.tokens)
            raise DataError(f"sentence {number}: column {name!r} has {count} cells for {T} tokens")
    extra = [name for name in by_name if name not in names]
    if strict and extra:
        raise DataError(f"sentence {number}: has a column {extra[0]!r} that sentence 1 has not")
    return list(zip(*(by_name[name] for name in names), strict=True))


def _group_line(group: str | None, ordinal: int, number: int, columns: int, separator: str) -> str:
    if group is None:
        raise DataError(f"sentence {number}: belongs to no document, but follows one that does")
    if group == str(ordinal):
        return separator.join([DOCSTART, *["-X-"] * (columns - 2), *["O"] * (columns > 1)]) + "\n\n"
    if not group or any(sign in group for sign in "\n\r\0"):
        raise DataError(f"sentence {number}: its document's name {shown(group)} does not fit on a line")
    return f"{DOCSTART} ({group})\n\n"


def _unfit(line: str, cells: tuple[str, ...], separator: str, names: list[str]) -> str | None:
    """Why a reader would not get these cells back, or None."""
    for name, cell in zip(names, cells, strict=True):
        for sign, spoken in (
            ("\n", "a line end"),
            ("\r", "a carriage return"),
            ("\0", "a NUL"),
            (separator, f"the separator {separator!r}"),
        ):
            if sign in cell:
                return f"column {name!r} holds {spoken}: {shown(cell)}"
        if not cell and (name == WORD or separator == " "):
            return f"column {name!r} is empty"
        if separator == " " and "\t" in cell:
            return f"column {name!r} holds a tab: {shown(cell)}"
    if line.split(separator) != list(cells):
        return f"the cells run into the separator {separator!r}: {shown(line)}"
    if len(cells) == 1 and (" " in line or "\t" in line):
        return f"a file of one column cannot hold spaces: {shown(line)}"
    if not line.strip(" \t"):
        return "its line would be blank"
    if (
        line.startswith(DOCSTART) and line[len(DOCSTART) :].startswith((" ", "\t", separator))
    ) or line == DOCSTART:
        return f"its line would start a document: {shown(line)}"
    return None
