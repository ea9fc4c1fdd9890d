"""CoNLL-U written: comments first, then a row per word, with ranges and empty nodes back in their places."""

import itertools
from collections.abc import Iterable
from pathlib import Path

from chaffinch.corpus.column_writer import encoded
from chaffinch.corpus.conllu_text import (
    CELLS,
    COMBINED,
    EMPTY_NODE,
    FORM,
    MISC,
    NOTHING,
    RANGE,
    Unit,
    labelled,
    placed,
    space_after,
)
from chaffinch.corpus.json_records import as_text
from chaffinch.corpus.lines import shown
from chaffinch.errors import DataError
from chaffinch.files import writing
from chaffinch.text.document import LABEL, Document

_RESERVED = ("sent_id", "text", "newdoc", "newdoc id")


def write(documents: Iterable[Document], path: str | Path) -> None:
    """Write sentences as CoNLL-U.

    The label ``y`` goes to the column that the document lacks: upos, else xpos, else another of the ten;
    ``pos`` to xpos. Without a misc column, SpaceAfter=No comes from the tokens' places.
    """
    group, groups = None, 0
    with writing(path) as stream:
        for number, document in enumerate(documents, 1):
            lines = []
            if document.group != group:
                group, groups = document.group, groups + 1
                if group is None:
                    raise DataError(f"sentence {number}: belongs to no document, but follows one that does")
                lines.append("# newdoc" if group == str(groups) else f"# newdoc id = {group}")
            try:
                lines += _lines(document)
            except _Unfit as e:
                raise DataError(f"sentence {number}{e}") from None
            for line in lines:
                if any(sign in line for sign in "\n\r\0"):
                    raise DataError(f"sentence {number}: a line end or a NUL inside a line: {shown(line)}")
            stream.write(encoded("\n".join(lines) + "\n\n", number))


def misc(document: Document) -> list[str]:
    """The last column: the document's own, else SpaceAfter=No if the next token follows without a space.

    >>> from chaffinch.text.document import Token
    >>> misc(Document("no.", [Token("no", 0, 2), Token(".", 2, 3)]))
    ['SpaceAfter=No', '_']
    """
    if "misc" in document.columns:
        return document.columns["misc"]
    joined = [a.end == b.start for a, b in itertools.pairwise(document.tokens)]
    return ["SpaceAfter=No" if j else NOTHING for j in [*joined, False]] if document.tokens else []


class _Unfit(Exception):
    """What of a document CoNLL-U cannot say, after the sentence's number."""


def _lines(document: Document) -> list[str]:
    rows = _rows(document)
    fields = {key: as_text(value) for key, value in document.fields.items()}
    extra = {key: value for key, value in fields.items() if _is_row(key, value)}
    units = _units(rows, extra)
    if placed(units, document.text) != document.tokens:
        raise _Unfit(f": its tokens do not spell its text with white space between: {shown(document.text)}")
    lines = [] if document.id is None else [f"# sent_id = {document.id}"]
    for key, values in fields.items():
        if key in extra:
            continue
        if key in _RESERVED or not key or " = " in key or key != key.strip() or (" =" in key and not values):
            raise _Unfit(f": a field cannot be called {key!r} in a comment")
        lines += [f"# {key} = {value}" if value else f"# {key}" for value in values.split("\n")]
    lines.append(f"# text = {document.text}")
    lines += [f"{key}\t{row}" for key, row in extra.items() if key.startswith("0.")]
    for i, row in enumerate(rows, 1):
        lines += [f"{key}\t{row}" for key, row in extra.items() if key.startswith(f"{i}-")]
        lines.append("\t".join([str(i), *row]))
        lines += [f"{key}\t{row}" for key, row in extra.items() if key.startswith(f"{i}.")]
    return lines


def _rows(document: Document) -> list[tuple[str, ...]]:
    """The nine cells of each word."""
    if not document.tokens:
        raise _Unfit(f": has no tokens: {shown(document.text)}")
    columns = _columns(document)
    rows = list(zip(*(columns[name] for name in CELLS), strict=True))
    for t, row in enumerate(rows, 1):
        for name, cell in zip(CELLS, row, strict=True):
            if not cell or any(sign in cell for sign in "\t\n\r\0"):
                why = "is empty" if not cell else "holds a tab, a line end or a NUL"
                raise _Unfit(f", token {t} {shown(row[FORM])}: column {name!r} {why}: {shown(cell)}")
    return rows


def _columns(document: Document) -> dict[str, list[str]]:
    T = len(document.tokens)
    columns = {"form": document.words()} | document.columns
    y = columns.pop(LABEL, None)
    if "pos" in columns and "xpos" not in columns:
        columns["xpos"] = columns.pop("pos")
    for name in columns:
        if name not in CELLS:
            raise _Unfit(f": CoNLL-U has no column {name!r}; it has {', '.join(CELLS)}")
        if len(columns[name]) != T:
            raise _Unfit(f": column {name!r} has {len(columns[name])} cells for {T} tokens")
    if y is not None:
        _place_labels(columns, y)
    columns["misc"] = misc(document)
    return {name: columns.get(name, [NOTHING] * T) for name in CELLS}


def _place_labels(columns: dict[str, list[str]], y: list[str]) -> None:
    """Into the column or the two columns that are missing."""
    missing = tuple(name for name in CELLS if name not in columns)
    if missing in COMBINED.values() and all("|" in label for label in y):
        columns |= labelled(missing, y)
        return
    for name in ("upos", "xpos", *CELLS[:-1]):
        if name in missing:
            columns[name] = y
            return
    if columns["upos"] != y:
        raise _Unfit(f": no column is free for {LABEL!r}: all ten are there")


def _is_row(key: str, value: str) -> bool:
    """Is this field a multi-word token or an empty node of a CoNLL-U file?"""
    named = RANGE.fullmatch(key) or EMPTY_NODE.fullmatch(key)
    return named is not None and value.count("\t") == len(CELLS) - 1


def _units(rows: list[tuple[str, ...]], extra: dict[str, str]) -> list[Unit]:
    ranges = {}
    for key, value in extra.items():
        if m := RANGE.fullmatch(key):
            ranges[int(m[1])] = int(m[2]), value.split("\t")
            if not int(m[1]) < int(m[2]) <= len(rows):
                raise _Unfit(f": the range {key} is not within its {len(rows)} tokens")
    units = []
    i = 1
    while i <= len(rows):
        end, cells = ranges.get(i, (i, rows[i - 1]))
        units.append(Unit(cells[FORM], [row[FORM] for row in rows[i - 1 : end]], space_after(cells[MISC])))
        i = end + 1
    return units
