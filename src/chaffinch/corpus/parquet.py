"""Parquet tables of documents, read and written in batches of rows; needs the extra [arrow].

Columns are found as in CSV. Labels may be strings, numbers or lists of them; spans are a list of structs
{start, end, label}, and everything else goes to the fields.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from chaffinch.corpus.annotations import document
from chaffinch.corpus.delimited import own_names, text_and_label
from chaffinch.corpus.format import Format
from chaffinch.corpus.json_records import Record, as_field
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
    """A table of text, labels, spans and the documents' fields (by default those of the first one)."""
    arrow, parquet = _arrow()
    iterator = iter(documents)
    first = next(iterator, None)
    names = list(fields) if fields is not None else ([] if first is None else own_names(first))
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
    schema = arrow.schema(own + [(name, arrow.string()) for name in names])
    rows = enumerate([] if first is None else chain([first], iterator), start=1)
    with writing(path) as out, parquet.ParquetWriter(out, schema) as table:
        while batch := [_row(number, d, names) for number, d in islice(rows, BATCH)]:
            table.write_batch(arrow.RecordBatch.from_pylist(batch, schema=schema))


def _document(
    where: str, row: dict[str, Any], text: str, header: list[str], at_label: int | None
) -> Document:
    label = None if at_label is None else header[at_label]
    plain = {
        key: value if key in (text, label, "spans", "id") or value is None else as_field(value)
        for key, value in row.items()
    }
    if label is None or plain.get(label) is None:
        plain.pop(label or "", None)
        label = None
    return document(Record(where, plain), text=text, label=label)


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
