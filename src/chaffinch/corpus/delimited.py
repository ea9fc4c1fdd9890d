"""Delimited rows: CSV (quoted fields, which may hold line breaks) and TSV (never quoted).

The delimiter of CSV (comma, semicolon, tab, bar) is detected from the header, or from Excel's line ``sep=;``.

The columns of the text and of the label are found by their usual names or named by the caller; every other
column becomes a field of the document and is written again. A file
without a header is given one if it is certain which column is the label. Streamed.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from chaffinch import _core
from chaffinch.corpus.format import Format
from chaffinch.corpus.headers import (
    EXCEL,
    check_header,
    delimiter_of,
    has_text_column,
    header_delimiter,
    implied_header,
    text_and_label,
    told_header,
)
from chaffinch.corpus.json_records import as_text
from chaffinch.corpus.lines import BOM, LONGEST_LINE, ended_lines, is_sound
from chaffinch.corpus.losses import Losses
from chaffinch.corpus.text_table import FurtherCells, TextTable, strings_of
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import display_name, first_line, reading, writing
from chaffinch.knobs import knob
from chaffinch.text.document import Document

LONGEST_FIELD = 2**31 - 1
WRITTEN = 1000  # rows that are written at a time
_SIGNS = {"csv": (",", True), "tsv": ("\t", False)}  # the delimiter that is written; whether cells are quoted
# What Python's reader says, and what we say.
_FAULTS = {
    "unexpected end": "a quoted field is never closed",
    "new-line character": "carriage return inside the row, expected lines to end in LF or CR LF",
}
_BLANK_ROW = re.compile(rb"\n\r?\n")


@dataclass(frozen=True, kw_only=True)
class DelimitedOptions:
    """The columns of the text and of the label, if their names are unusual."""

    text: str | None = knob(None, "column of the text")
    label: str | None = knob(None, "column of the label")
    label_separator: str | None = knob(None, "separator of several labels in one cell")


@dataclass(frozen=True, kw_only=True)
class CsvOptions(DelimitedOptions):
    """The options of delimited rows, and the delimiter of CSV."""

    delimiter: str | None = knob(
        None, "separator of cells; by default detected from the header: , ; | or a tab"
    )


def read_csv(
    path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    label_separator: str | None = None,
    delimiter: str | None = None,
    losses: Losses | None = None,
) -> Iterator[Document]:
    """The rows of a comma-separated file as documents.

    text, label: names of columns; by default the first that has a usual name
    label_separator: separator of the labels in one cell, if a document may have several
    delimiter: separator of cells; by default detected from the header
    """
    if delimiter is not None and len(delimiter) != 1:
        raise ConfigError(f"the delimiter of CSV must be one character, got {delimiter!r}")
    table = rows(path, delimiter, True, losses, text, told_header(path, "csv", delimiter))
    return _read(table, path, text, label, label_separator)


def read_tsv(
    path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    label_separator: str | None = None,
    losses: Losses | None = None,
) -> Iterator[Document]:
    """The rows of a tab-separated file as documents; quote marks are ordinary characters."""
    table = rows(path, losses=losses, header=told_header(path, "tsv"))
    return _read(table, path, text, label, label_separator)


def write_csv(
    documents: Iterable[Document],
    path: str | Path,
    *,
    fields: Sequence[str] | None = None,
    label_separator: str | None = None,
    labelled: bool = True,
) -> None:
    """Rows ``label,text`` and further columns.

    fields:   names of the further columns (``id`` or fields); by default those of the first document
    labelled: whether there is a column of labels
    """
    _write(_rows(documents, fields, label_separator, labelled), path, "csv")


def write_tsv(
    documents: Iterable[Document],
    path: str | Path,
    *,
    fields: Sequence[str] | None = None,
    label_separator: str | None = None,
    labelled: bool = True,
) -> None:
    """As :func:`write_csv`, separated by tabs; a tab or a line break in a cell is refused."""
    _write(_rows(documents, fields, label_separator, labelled), path, "tsv")


def read_table(format: str, path: str | Path, text: str | None = None) -> TextTable | None:
    """All rows of a file as columns; None if a row cannot be read, which the readers of documents report."""
    content = told_header(path, format).encode()
    with reading(path) as stream:
        content += stream.read().removeprefix(BOM if first_line(path) == 1 else b"")
    sign = header_delimiter(content, text) if format == "csv" else b"\t"
    if format == "csv" and EXCEL.fullmatch(content.partition(b"\n")[0].decode(errors="replace").rstrip("\r")):
        content = content.partition(b"\n")[2]
    if len(sign) > 1 or len(content) > LONGEST_LINE or not is_sound(content):
        return None
    cells = _core.delimited_cells(content, sign.decode(), format == "csv")
    if cells is None or len(cells) < 2:
        return None
    if cells.width == 1 and _BLANK_ROW.search(content):
        return None  # blank lines are empty cells
    header = cells.pop_row()
    if len(set(header)) < len(header):
        return None
    at_text, at_label = text_and_label(display_name(path), header, text, None)
    others = {name: i for i, name in enumerate(header) if i not in (at_text, at_label)}
    ids = {"id": others.pop("id")} if "id" in others else {}
    return TextTable(cells, at_text, at_label, ids | others)


def write_table(
    table: TextTable,
    answers: Mapping[str, FurtherCells],
    path: str | Path,
    format: str,
    above: Sequence[str],
) -> None:
    """As :func:`write_csv` and :func:`write_tsv` write such rows with these cells beside them.

    above: the columns of the rows before; without any, labels and ids that are all empty are left out
    """
    cells, further = table.cells, dict(table.further)
    places = {"label": table.label, "id": further.pop("id", None)}
    empty = [""] * len(cells) if above else []
    shown: dict[str, int | FurtherCells] = {}
    for name, place in places.items():
        if place is not None and (name in above or cells.filled(place)):
            shown[name] = place
        elif name in above:
            shown[name] = empty
    own = {name: shown.pop(name) for name in ("label",) if name in shown} | {"text": table.text}
    columns = own | shown | further | dict(answers)
    _refuse_names([*shown, *further], own)
    sign, quoted = _SIGNS[format]
    with writing(path) as out:
        out.write(_lines([[name] for name in columns], format, 0))
        made = cells.lines(list(columns.values()), sign, quoted)
        if format == "tsv" and _is_broken(made, len(cells), len(columns)):
            strings = [cells.strings(c) if isinstance(c, int) else strings_of(c) for c in columns.values()]
            raise _broken_row(strings, 1)
        out.write(made)


def _write(rows: Iterator[list[str]], path: str | Path, format: str) -> None:
    """A header and rows, some at a time."""
    number = 0
    with writing(path) as out:
        while some := list(islice(rows, WRITTEN)):
            out.write(_lines([list(cells) for cells in zip(*some, strict=True)], format, number))
            number += len(some)


def _lines(columns: list[list[str]], format: str, number: int) -> bytes:
    """The rows of a table, the first of which has this number."""
    made = _core.delimited_lines(columns, *_SIGNS[format])
    if format == "tsv" and _is_broken(made, len(columns[0]), len(columns)):
        raise _broken_row(columns, number)
    return made


def _is_broken(made: bytes, rows: int, columns: int) -> bool:
    """Whether a cell of TSV holds a tab or a line break."""
    tabs, ends = _core.occurrences(made, "\t"), _core.occurrences(made, "\n")
    return b"\r" in made or tabs > rows * (columns - 1) or ends > rows


def _broken_row(columns: list[list[str]], number: int) -> DataError:
    """The error for the first row with such a cell. number: of the first row"""
    cells = zip(*columns, strict=True)
    bad = next(n for n, row in enumerate(cells, number) if any(c in cell for cell in row for c in "\t\n\r"))
    return DataError(f"document {bad}: a tab or line break does not fit in TSV; write CSV")


def rows(
    path: str | Path,
    delimiter: str | None = "\t",
    quoted: bool = False,
    losses: Losses | None = None,
    text: str | None = None,
    header: str = "",
) -> Iterator[tuple[int, list[str]]]:
    """The first line number and the cells of each row, header first; every row has as many cells as the header.

    Blank lines are no rows, but empty cells if there is a single column.

    delimiter: None: detected from the header, or from the line ``sep=;`` above it
    text:      the name of the text column, if it is known
    header:    a line that the file lacks

    A row that is not valid, or has a different number of cells, is refused through the losses.
    """
    name = display_name(path)
    tally = losses if losses is not None else Losses()
    csv.field_size_limit(LONGEST_FIELD)
    lines, before = ended_lines(path), first_line(path) - 1
    if header:
        lines, before = chain([header], lines), before - 1
    if delimiter is None:
        first = next(lines)
        if told := EXCEL.fullmatch(first.rstrip("\r\n")):
            delimiter, before = told[1], before + 1
        else:
            delimiter, lines = delimiter_of(first, text), chain([first], lines)
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    names: list[str] | None = None
    while True:
        at = reader.line_num + 1 + before
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as e:
            what = next((better for known, better in _FAULTS.items() if known in str(e)), str(e))
            fault = DataError(f"{name}:{at}: is not valid CSV: {what}")
            if names is None:
                raise fault from None
            tally.refuse(fault)
            continue
        if not row and (names is None or len(names) > 1):
            continue
        row = row or [""]  # of a single column, whose empty cells are blank lines
        if names is None:
            names = row
            check_header(name, names)
        elif len(row) != len(names):
            tally.refuse(
                DataError(f"{name}:{at}: expected {len(names)} columns as in the header, found {len(row)}")
            )
            continue
        yield at, row


def own_names(d: Document) -> list[str]:
    """The further columns that a document needs: its id, its fields."""
    return ([] if d.id is None else ["id"]) + list(d.fields)


def split_labels(cell: str, separator: str | None) -> list[str]:
    """The labels in a cell; an empty cell has none."""
    if separator is None:
        return [cell] if cell else []
    return [label for label in cell.split(separator) if label]


def joined_labels(number: int, labels: list[str], separator: str | None) -> str:
    """The cell for a document's labels; labels that could not be split again are refused."""
    if len(labels) > 1 and separator is None:
        raise DataError(
            f"document {number} has {len(labels)} labels: name their separator (--label-separator)"
        )
    for name in labels:
        if not name or (separator is not None and separator in name):
            raise DataError(
                f"document {number}: the label {name!r} does not fit in a cell separated by {separator!r}"
            )
    return (separator or "").join(labels)


def _read(
    table: Iterator[tuple[int, list[str]]],
    path: str | Path,
    text: str | None,
    label: str | None,
    separator: str | None,
) -> Iterator[Document]:
    first = next(table, None)
    if first is None:
        raise DataError(f"{display_name(path)}: expected a header and rows, found an empty file")
    header = first[1]
    at_text, at_label = text_and_label(display_name(path), header, text, label)
    further = [(i, cell) for i, cell in enumerate(header) if i not in (at_text, at_label)]
    at_id = next((i for i, cell in further if cell == "id"), None)
    others = [(i, cell) for i, cell in further if i != at_id]
    for number, row in table:
        yield Document(
            text=row[at_text],
            labels=[] if at_label is None else split_labels(row[at_label], separator),
            id=None if at_id is None else row[at_id] or None,
            fields={cell: row[i] for i, cell in others},
            line=number,
        )


def _rows(
    documents: Iterable[Document], fields: Sequence[str] | None, separator: str | None, labelled: bool
) -> Iterator[list[str]]:
    """The header, then one row per document."""
    iterator = iter(documents)
    first = next(iterator, None)
    names = list(fields) if fields is not None else ([] if first is None else own_names(first))
    own = [*(["label"] if labelled else []), "text"]
    _refuse_names(names, own)
    yield own + names
    known = set(names)
    for number, d in enumerate([] if first is None else chain([first], iterator), start=1):
        if not known.issuperset(d.fields):
            unknown = next(name for name in d.fields if name not in known)
            raise DataError(
                f"document {number} has a field {unknown!r} that the header lacks: {', '.join(names)}"
            )
        row = [joined_labels(number, d.labels, separator), d.text] if labelled else [d.text]
        for name in names:
            cell = d.id if name == "id" else d.fields.get(name)
            row.append(cell if isinstance(cell, str) else as_text(cell))
        yield row


def _refuse_names(names: Iterable[str], own: Iterable[str]) -> None:
    """Refuse a further column with the name of the text's or the label's."""
    for name in names:
        if name in own:
            raise DataError(f"a field is called {name!r}, which is the name of another column; rename it")


CSV = Format(
    name="csv",
    extensions=(".csv",),
    read=read_csv,
    write=write_csv,
    carries=frozenset({"text", "labels", "id", "fields"}),
    # The ending alone suffices: the reader then reports what is wrong.
    looks_like=lambda name, head: name.endswith(".csv") or has_text_column(b",;|")(name, head),
    options=CsvOptions,
)
TSV = Format(
    name="tsv",
    extensions=(".tsv",),
    read=read_tsv,
    write=write_tsv,
    carries=frozenset({"text", "labels", "id", "fields"}),
    looks_like=lambda name, head: (
        name.endswith(".tsv") or has_text_column(b"\t")(name, head) or bool(implied_header(head, "tsv"))
    ),
    options=DelimitedOptions,
)
