"""Headers of tables of texts: the delimiter, the columns of the text and of the label, and the header a file lacks."""

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from chaffinch.corpus.lines import BOM, listed, shown
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.files import display_name, head

TEXT_NAMES = (
    "text",
    "sentence",
    "document",
    "content",
    "body",
    "review",
    "message",
    "question",
    "raw_sentence",
    "utterance",
    "query",
    "comment",
    "tweet",
    "post",
)
LABEL_NAMES = (
    "label",
    "labels",
    "class",
    "category",
    "target",
    "tag",
    "topic",
    "sentiment",
    "y",
    "intent",
    "gold_label",
    "polarity",
    "emotion",
)
DELIMITERS = ",;\t|"
EXCEL = re.compile(r"sep=(.)")  # a first line that names the delimiter


def delimiter_of(line: str, text: str | None) -> str:
    """The delimiter of a header: one that yields a text column, else the one that yields most cells, else a comma.

    >>> delimiter_of("label;text", None), delimiter_of("text", None), delimiter_of("a|b, c|d", None)
    (';', ',', '|')
    """
    wanted = TEXT_NAMES if text is None else (text.lower(),)
    best, most = ",", (False, 1)
    for sign in DELIMITERS:
        try:
            cells = next(csv.reader([line], delimiter=sign), [])
        except csv.Error:
            continue
        found = (len(cells) > 1 and any(cell.strip().lower() in wanted for cell in cells), len(cells))
        if found > most:
            best, most = sign, found
    return best


def header_delimiter(start: bytes, text: str | None = None) -> bytes:
    """The delimiter of a CSV file with this start, as its reader detects it. text: the text column, if it is known

    >>> header_delimiter(b"label;text\\n"), header_delimiter(b"sep=|\\nlabel|text\\n")
    (b';', b'|')
    """
    first = start.removeprefix(BOM).partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    told = EXCEL.fullmatch(first)
    return (told[1] if told else delimiter_of(first, text)).encode()


def column(name: str, header: list[str], wanted: str | None, usual: Sequence[str], kind: str) -> int | None:
    """The index of the wanted column, or of the first with a usual name, or None.

    >>> column("x.csv", ["Label", "body"], None, TEXT_NAMES, "text")
    1
    >>> column("x.csv", ["Label", "body"], "txt", TEXT_NAMES, "text")
    Traceback (most recent call last):
    chaffinch.errors.DataError: x.csv:1: there is no column 'txt' for the text; the header has 'Label', 'body'
    """
    if wanted is not None:
        if wanted not in header:
            has = listed(header)
            raise DataError(f"{name}:1: there is no column {wanted!r} for the {kind}; the header has {has}")
        return header.index(wanted)
    lower = [cell.strip().lower() for cell in header]
    return next((lower.index(candidate) for candidate in usual if candidate in lower), None)


def text_and_label(
    name: str, header: list[str], text: str | None, label: str | None, *, lines: bool = True
) -> tuple[int, int | None]:
    """The indices of the columns of the text and of the label; a table without a text is refused.

    lines: the table is a text file: the error names line 1 and says that it may be a document
    """
    at_text = column(name, header, text, TEXT_NAMES, "text")
    if at_text is None:
        place, hint = (name, "")
        if lines:
            place, hint = (
                f"{name}:1",
                "; if this line is a document, add a line above it, such as label,text",
            )
        raise DataError(
            f"{place}: none of the columns {listed(header)} is known to hold the text; name it with --text{hint}"
        )
    at_label = column(name, header, label, LABEL_NAMES, "label")
    if at_label == at_text:
        raise ConfigError(f"the column {header[at_text]!r} cannot be both text and label")
    return at_text, at_label


def told_header(path: str | Path, format: str, delimiter: str | None = None) -> str:
    """The header that a file lacks, with a warning; empty if it has one, or if that is not certain."""
    made = implied_header(head(path), format, delimiter)
    if made:
        above = repr(made.removesuffix("\n"))
        warn_about_data(f"{display_name(path)}: has no header; it is read as if the first line were {above}")
    return made


def implied_header(start: bytes, format: str, delimiter: str | None = None) -> str:
    """A header for a file with this start that has none; empty if it has one, or if that is not certain.

    The first row is a document if its label is a label of later rows too, which a column's name is not. Labels are
    single words with few distinct values; texts are cells of several words. There must be one column of each.

    >>> implied_header(b"spam\\twin a prize\\nham\\tsee you\\nspam\\ta prize\\nham\\tok then\\n", "tsv")
    'label\\ttext\\n'
    >>> implied_header(b"kind\\tthe words\\nham\\tsee you\\nspam\\ta prize\\nham\\tok then\\n", "tsv")
    ''
    """
    lines = start.removeprefix(BOM).decode("utf-8", "replace").splitlines(keepends=True)
    sign = "\t" if format == "tsv" else delimiter or (delimiter_of(lines[0], None) if lines else ",")
    if not start.endswith(b"\n"):
        lines = lines[:-1]  # cut off
    cells = csv.reader(
        lines, delimiter=sign, quoting=csv.QUOTE_NONE if format == "tsv" else csv.QUOTE_MINIMAL
    )
    reader = (row for row in cells if row)
    try:
        first = next(reader, [])
        table = [] if _is_header(first) else [first, *reader]
    except csv.Error:
        return ""
    if len(table) < 3 or len({len(row) for row in table}) != 1:
        return ""
    columns = list(zip(*table, strict=True))
    texts = [i for i, cells in enumerate(columns) if 2 * sum(map(_has_words, cells)) > len(cells)]
    labels = [
        i
        for i, cells in enumerate(columns)
        if cells[0] in cells[1:] and 2 * len(set(cells)) <= len(cells) and not any(map(_has_words, cells))
    ]
    if len(texts) != 1 or len(labels) != 1:
        return ""
    names = {texts[0]: "text", labels[0]: "label"}
    return sign.join(names.get(i, f"column {i + 1}") for i in range(len(columns))) + "\n"


def _has_words(cell: str) -> bool:
    return len(cell.split()) > 1


def _is_header(row: Sequence[str]) -> bool:
    """Whether a cell is a usual name of the text."""
    return any(cell.strip().lower() in TEXT_NAMES for cell in row)


def check_header(name: str, header: list[str]) -> None:
    """Refuse a header that has a column twice."""
    seen: set[str] = set()
    for cell in header:
        if cell in seen:
            raise DataError(f"{name}:1: the header has the column {shown(cell)} twice")
        seen.add(cell)


def has_text_column(delimiters: bytes) -> Callable[[str, bytes], bool]:
    """Whether the first line is a header with a column that is usually the text."""

    def looks_like(_name: str, head: bytes) -> bool:
        first = head.removeprefix(BOM).partition(b"\n")[0].strip().lower()
        for sign in delimiters:
            cells = [cell.strip(b' "') for cell in first.split(bytes([sign]))]
            if len(cells) > 1 and any(name.encode() in cells for name in TEXT_NAMES):
                return True
        return False

    return looks_like
