"""Parquet tables of documents, read and written in batches of rows; needs the extra [arrow].

Columns are found as in CSV and keep their types. Labels may be strings, numbers or lists of them; spans are a list of
structs {start, end, label}, and everything else goes to the fields. A table of ``tokens`` and ``ner_tags`` (or the
like), as Hugging Face's datasets write it, holds sentences; its class numbers have names in the table's metadata.

The format ``datasets`` writes such tables: class numbers with their names in the metadata, ``tokens`` and lists of tags
for sentences, ``text`` and ``label`` for texts. Both formats read Arrow files and streams as well.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chaffinch.corpus.annotations import CONFIDENCE, JsonOptions, document
from chaffinch.corpus.delimited import own_names
from chaffinch.corpus.format import Format
from chaffinch.corpus.headers import text_and_label
from chaffinch.corpus.json_records import Record, as_text
from chaffinch.corpus.lines import cut
from chaffinch.corpus.token_lists import Lists, tagged, token_lists
from chaffinch.errors import DataError, missing_extra
from chaffinch.files import STDIO, display_name, first_line, reading, writing
from chaffinch.text.document import LABEL, Document
from chaffinch.text.schemes import scheme_of

BATCH = 1024  # rows at a time
PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"  # how files begin


def read(path: str | Path, *, text: str | None = None, label: str | None = None) -> Iterator[Document]:
    """The rows of a table as documents, batch by batch."""
    _, parquet = _arrow()
    name = display_name(path)
    if str(path) == STDIO:
        raise DataError("Parquet is read from its end and cannot come from standard input; name a file")
    with reading(path) as stream:
        try:
            schema, batches, _ = _batches(stream, parquet)
            header = schema.names
            names = class_names(schema.metadata or {})
            at_tags = None if text is not None else _lists(name, schema, label, names)
            at_text, at_label = (
                (0, None) if at_tags else text_and_label(name, header, text, label, lines=False)
            )
            number = first_line(path) - 1
            for batch in batches:
                for row in batch.to_pylist():
                    number += 1
                    where = f"{name}: row {number}"
                    for key, known in names.items():
                        row[key] = _named(where, key, row.get(key), known)
                    if at_tags:
                        yield tagged(where, _plain_row(row), at_tags)
                    else:
                        yield _document(where, row, header[at_text], header, at_label)
        except _arrow_errors() as e:
            raise DataError(f"{name}: is not a readable Parquet file: {cut(str(e))}") from None


def has_arrow() -> bool:
    """Whether the extra [arrow] is installed."""
    return find_spec("pyarrow") is not None


def arrow_blocks(path: str | Path) -> Iterator[tuple[bytes, int, int]]:
    """Each batch of a table as an Arrow stream, the number of its first row, from 1, and the bytes read up to its end.

    The columns of Parquet are not stored row by row: its bytes are counted in proportion to the rows.
    """
    _, parquet = _arrow()
    if str(path) == STDIO:
        raise DataError("Parquet is read from its end and cannot come from standard input; name a file")
    with reading(path) as stream:
        try:
            schema, batches, rows = _batches(stream, parquet)
            size = stream.seek(0, os.SEEK_END) if rows else 0
            row = 1
            for batch in batches:
                last = row - 1 + batch.num_rows
                yield _streamed(schema, batch), row, size * last // rows if rows else stream.tell()
                row = last + 1
        except _arrow_errors() as e:
            raise DataError(f"{display_name(path)}: is not a readable Parquet file: {cut(str(e))}") from None


def arrow_rows(content: bytes) -> list[bytes]:
    """Each row of an Arrow stream as an Arrow stream of its own."""
    import pyarrow

    with pyarrow.ipc.open_stream(content) as found:
        return [_streamed(found.schema, batch.slice(n, 1)) for batch in found for n in range(batch.num_rows)]


def _streamed(schema: Any, batch: Any) -> bytes:
    import pyarrow

    out = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(out, schema) as stream:
        stream.write_batch(batch)
    content: bytes = out.getvalue().to_pybytes()
    return content


def _batches(stream: Any, parquet: Any) -> tuple[Any, Iterable[Any], int | None]:
    """The schema of a table, its batches and, of Parquet, the number of rows; also of an Arrow file or stream."""
    import pyarrow

    magic = stream.read(6)
    stream.seek(0)
    if magic.startswith(PARQUET):
        table = parquet.ParquetFile(stream)
        return table.schema_arrow, table.iter_batches(batch_size=BATCH), table.metadata.num_rows
    if magic == ARROW_FILE:
        file = pyarrow.ipc.open_file(stream)
        return file.schema, _checked(file.get_batch(i) for i in range(file.num_record_batches)), None
    found = pyarrow.ipc.open_stream(stream)
    return found.schema, _checked(found), None


def _checked(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of an Arrow file, validated: by default pyarrow trusts their offsets."""
    for batch in batches:
        batch.validate(full=True)
        yield batch


def write(documents: Iterable[Document], path: str | Path, *, fields: Sequence[str] | None = None) -> None:
    """A table of text, labels, spans and the documents' fields (by default those of the first one).

    A column of fields that are all truth values, whole numbers or numbers keeps that type; others become strings.
    """
    arrow, parquet = _arrow()
    given = list(documents)  # the type of a column depends on all of its values
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
            raise DataError(f"a field is called {name!r}, which is the name of another column; rename it")
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


def write_classes(documents: Iterable[Document], path: str | Path) -> None:
    """A table in the layout of Hugging Face's ``datasets``: Parquet, or an Arrow stream if the name ends in ``.arrow``.

    Sentences have ``tokens``, ``ner_tags`` (``tags`` if they mark no spans) and their further columns; other documents
    ``text`` and ``label``, or ``labels`` if one has several. Tags and labels are numbers of classes.
    """
    arrow, parquet = _arrow()
    given = list(documents)
    rows: dict[str, list[Any]] = {}
    features: dict[str, Any] = {}
    kinds: dict[str, Any] = {}

    def add(name: str, cells: list[Any], feature: dict[str, Any], kind: Any) -> None:
        if name in rows:
            raise DataError(f"two columns would be called {name!r}; rename the field or the column")
        rows[name], features[name], kinds[name] = cells, feature, kind

    def value(dtype: str) -> dict[str, Any]:
        return {"dtype": dtype, "_type": "Value"}

    def classes(names: list[str]) -> dict[str, Any]:
        return {"names": names, "_type": "ClassLabel"}

    def sequence(feature: dict[str, Any]) -> dict[str, Any]:
        return {"feature": feature, "_type": "Sequence"}  # every version of datasets reads it

    if any(d.id is not None for d in given):
        add("id", [None if d.id is None else str(d.id) for d in given], value("string"), arrow.string())
    numbers = arrow.list_(arrow.int64())
    tagged = any(d.columns for d in given)
    if tagged:
        add("tokens", [d.words() for d in given], sequence(value("string")), arrow.list_(arrow.string()))
        known = {label for d in given for label in d.columns.get(LABEL, ())}
        label_name = "ner_tags" if known and scheme_of(sorted(known)) is not None else "tags"
        for column in dict.fromkeys(name for d in given for name in d.columns):
            names = sorted({cell for d in given for cell in d.columns.get(column, ())})
            place = {name: i for i, name in enumerate(names)}
            tags = [[place[cell] for cell in d.columns.get(column, [])] for d in given]
            for n, d in enumerate(given, 1):
                if column not in d.columns and d.tokens:
                    raise DataError(f"document {n} has no column {column!r}, which others have")
            add(label_name if column == LABEL else column, tags, sequence(classes(names)), numbers)
    else:
        add("text", [d.text for d in given], value("string"), arrow.string())
    if any(d.labels for d in given):
        names = sorted({label for d in given for label in d.labels})
        place = {name: i for i, name in enumerate(names)}
        if any(len(d.labels) > 1 for d in given):
            add("labels", [[place[x] for x in d.labels] for d in given], sequence(classes(names)), numbers)
        else:
            one = [place[d.labels[0]] if d.labels else -1 for d in given]
            add("label", one, classes(names), arrow.int64())
    for name in dict.fromkeys(name for d in given for name in d.fields):
        cells: list[Any] = [d.fields.get(name) for d in given]
        kind = _kind(cells)
        if kind == "string":
            cells = [None if cell is None else as_text(cell) for cell in cells]
        add(name, cells, value({"bool_": "bool"}.get(kind, kind)), getattr(arrow, kind)())
    metadata = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    schema = arrow.schema(list(kinds.items()), metadata=metadata)
    table = arrow.table(
        {name: arrow.array(cells, kinds[name]) for name, cells in rows.items()}, schema=schema
    )
    with writing(path) as out:
        if str(path).endswith(".arrow"):
            with arrow.ipc.new_stream(out, schema) as stream:
                stream.write_table(table, max_chunksize=BATCH)
        else:
            parquet.write_table(table, out)


def class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """The names of classes that Hugging Face's datasets write into a table, by column.

    >>> class_names({b"huggingface": b'{"info": {"features": {"y": {"names": ["-", "+"], "_type": "ClassLabel"}}}}'})
    {'y': ['-', '+']}
    """
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"].items()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}
    found = {}
    for column, feature in features:
        # A list with one feature means a list of that feature.
        inner = feature[0] if isinstance(feature, list) and feature else feature
        inner = inner.get("feature", inner) if isinstance(inner, dict) else None
        names = inner.get("names") if isinstance(inner, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            found[column] = names
    return found


def _named(where: str, key: str, value: Any, names: list[str]) -> Any:
    """The class names of class numbers; -1 means no label."""
    if isinstance(value, list):
        return [_named(where, key, one, names) for one in value]
    if value is None or value == -1:
        return None
    if not isinstance(value, int):
        return value
    if not 0 <= value < len(names):
        raise DataError(f"{where}: class {value} in column {key!r}, which has {len(names)} class names")
    return names[value]


def _lists(name: str, schema: Any, label: str | None, classes: Mapping[str, Any]) -> Lists | None:
    """The columns of tokens and tags; None if the table has no tokens."""
    lists = [field.name for field in schema if _is_list(field.type)]
    return token_lists(name, lists, [key for key in schema.names if key not in lists], label, classes)


def _is_list(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind))


def _document(
    where: str, row: dict[str, Any], text: str, header: list[str], at_label: int | None
) -> Document:
    label = None if at_label is None else header[at_label]
    plain = {key: value if key in (text, "spans", "id") else _plain(value) for key, value in row.items()}
    if label is None or plain.get(label) is None:
        plain.pop(label or "", None)
        label = None
    return document(Record(where, plain), text=text, label=label)


def _plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON values."""
    return {key: value if isinstance(value, list) else _plain(value) for key, value in row.items()}


def _plain(value: Any) -> Any:
    """A cell as a JSON value; dates and other types become strings."""
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
    looks_like=lambda _name, head: head.startswith(PARQUET),
    options=JsonOptions,
)
DATASETS = Format(
    name="datasets",
    extensions=(".arrow",),
    read=read,
    write=write_classes,
    carries=frozenset({"text", "tokens", "columns", "labels", "id", "fields"}),
    looks_like=lambda _name, head: head.startswith((ARROW_FILE, ARROW_STREAM)),
    options=JsonOptions,
)
