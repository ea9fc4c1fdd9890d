"""Parquet tables of documents, read and written in batches of rows; needs the extra [arrow].

Columns are found as in CSV and keep their types. Labels may be strings, numbers or lists of them; spans are a list of
structs {start, end, label}, and everything else goes to the fields.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from chaffinch.corpus.annotations import CONFIDENCE, document
from chaffinch.corpus.delimited import own_names, text_and_label
from chaffinch.corpus.format import Format
from chaffinch.corpus.json_records import Record, as_text
from chaffinch.corpus.jsonl import JsonOptions
from chaffinch.corpus.lines import cut
from chaffinch.errors import DataError, missing_extra
from chaffinch.files import STDIO, display_name, reading, writing
from chaffinch.text.document import Document

BATCH = 1024  # rows at a time


def read(path: str | Path, *, text: str | None = None, label: str | None = None) -> Iterator[Document]:
    """The rows of a table as documents, batch by batch."""
    _, parquet = _arrow()
    name = display_name(path)
    if str(path) == STDIO:
        raise DataError("Parquet is read from its end and does not come from standard input: name a file")
    with reading(path) as stream:
        try:
            table = parquet.ParquetFile(stream)
            header = table.schema_arrow.names
            at_text, at_label = text_and_label(name, header, text, label)
            number = 0
            for batch in table.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield _document(f"{name}: row {number}", row, header[at_text], header, at_label)
        except _arrow_errors() as e:
            raise DataError(f"{name}: is not a readable Parquet file: {cut(str(e))}") from None


def write(documents: Iterable[Document], path: str | Path, *, fields: Sequence[str] | None = None) -> None:
    """A table of text, labels, spans and the documents' fields (by default those of the first one).

    A column of fields that are all truth values, whole numbers or numbers is one of those; any other is of strings.
    """
    arrow, parquet = _arrow()
    given = list(documents)  # the type of a column is known once all of it was seen
    names = list(fields) if fields is not None else (own_names(given[0]) if given else [])
    span = arrow.struct(
        [
            ("start", arrow.int64()),
            ("end", arrow.int64()),
            ("label", arrow.string()),
            ("score", arrow.float64()),
        ]
    )
    own = [("text", arrow.string()), ("labels", arrow.list_(arrow.string())), ("spans", arrow.list_(span))]
    for name in names:
        if name in ("text", "label", "labels", "spans"):
            raise DataError(
                f"a field is called {name!r}, which is the name of a column of its own; rename it"
            )
    rows = [_row(number, d, names) for number, d in enumerate(given, start=1)]
    if any(d.score is not None for d in given) and CONFIDENCE not in names:
        names.append(CONFIDENCE)
        for row, d in zip(rows, given, strict=True):
            row[CONFIDENCE] = d.score
    for name in names:
        column = [row[name] for row in rows]
        kind = _kind(column)
        if kind == "string":
            for row in rows:
                row[name] = None if row[name] is None else as_text(row[name])
        own.append((name, getattr(arrow, kind)()))
    schema = arrow.schema(own)
    with writing(path) as out, parquet.ParquetWriter(out, schema) as table:
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            table.write_batch(arrow.RecordBatch.from_pylist(batch, schema=schema))


def _document(
    where: str, row: dict[str, Any], text: str, header: list[str], at_label: int | None
) -> Document:
    label = None if at_label is None else header[at_label]
    plain = {
        key: value if key in (text, label, "spans", "id") else _plain(value) for key, value in row.items()
    }
    if label is None or plain.get(label) is None:
        plain.pop(label or "", None)
        label = None
    return document(Record(where, plain), text=text, label=label)


def _plain(value: Any) -> Any:
    """A cell as a JSON value; dates and the like are written out."""
    return (
        value
        if isinstance(value, str | int | float | bool | None)
        else json.loads(json.dumps(value, default=str))
    )


def _kind(column: list[Any]) -> str:
    """The Arrow type that holds all values of a column; a null fits any."""
    kinds = {type(value) for value in column if value is not None}
    if kinds == {bool}:
        return "bool_"
    if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in column):
        return "int64"
    return "float64" if kinds and kinds <= {int, float} and float in kinds else "string"


def _row(number: int, d: Document, names: list[str]) -> dict[str, Any]:
    unknown = next((name for name in d.fields if name not in names), None)
    if unknown is not None:
        raise DataError(f"document {number} has a field {unknown!r} that the table lacks: {', '.join(names)}")
    cells = d.fields | {"id": d.id}
    spans = [{"start": s.start, "end": s.end, "label": s.label, "score": s.score} for s in d.spans]
    return {"text": d.text, "labels": d.labels, "spans": spans} | {name: cells.get(name) for name in names}


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise missing_extra("arrow", "pyarrow") from None
    return pyarrow, pyarrow.parquet


def _arrow_errors() -> tuple[type[Exception], ...]:
    import pyarrow

    return (pyarrow.ArrowException, OSError, UnicodeError, OverflowError)


FORMAT = Format(
    name="parquet",
    extensions=(".parquet", ".pq"),
    read=read,
    write=write,
    carries=frozenset({"text", "spans", "scores", "labels", "id", "fields"}),
    looks_like=lambda _name, head: head.startswith(b"PAR1"),
    options=JsonOptions,
)
