"""Parquet tables of documents, read and written in batches of rows; needs the extra [arrow].

Columns are found as in CSV and keep their types. Labels may be strings, numbers or lists of them; spans are a list of
structs {start, end, label}, and everything else goes to the fields. A table of ``tokens`` and ``ner_tags`` (or the
like), as Hugging Face's datasets write it, holds sentences; its class numbers have names in the table's metadata.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaffinch.corpus.annotations import CONFIDENCE, document
from chaffinch.corpus.delimited import TEXT_NAMES, own_names, text_and_label
from chaffinch.corpus.format import Format
from chaffinch.corpus.json_records import Record, as_text, shown
from chaffinch.corpus.jsonl import JsonOptions
from chaffinch.corpus.lines import cut, listed
from chaffinch.errors import DataError, missing_extra
from chaffinch.files import STDIO, display_name, reading, writing
from chaffinch.text.document import LABEL, Document

BATCH = 1024  # rows at a time
TOKEN_NAMES = ("tokens", "words")  # lists of words
TAG_NAMES = ("ner_tags", "tags", "labels", "pos_tags", "upos", "chunk_tags")  # lists of tags, to learn


def read(path: str | Path, *, text: str | None = None, label: str | None = None) -> Iterator[Document]:
    """The rows of a table as documents, batch by batch."""
    _, parquet = _arrow()
    name = display_name(path)
    if str(path) == STDIO:
        raise DataError("Parquet is read from its end and cannot come from standard input; name a file")
    with reading(path) as stream:
        try:
            table = parquet.ParquetFile(stream)
            header = table.schema_arrow.names
            names = class_names(table.schema_arrow.metadata or {})
            at_tags = None if text is not None else _tag_column(name, table.schema_arrow, label)
            at_text, at_label = (0, None) if at_tags else text_and_label(name, header, text, label)
            number = 0
            for batch in table.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    where = f"{name}: row {number}"
                    for key, known in names.items():
                        row[key] = _named(where, key, row.get(key), known)
                    if at_tags:
                        yield _tagged(where, row, *at_tags)
                    else:
                        yield _document(where, row, header[at_text], header, at_label)
        except _arrow_errors() as e:
            raise DataError(f"{name}: is not a readable Parquet file: {cut(str(e))}") from None


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
        inner = feature.get("feature", feature) if isinstance(feature, dict) else None
        names = inner.get("names") if isinstance(inner, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            found[column] = names
    return found


def _named(where: str, key: str, value: Any, names: list[str]) -> Any:
    """The names of classes for their numbers; -1 means no label."""
    if isinstance(value, list):
        return [_named(where, key, one, names) for one in value]
    if value is None or value == -1:
        return None
    if not isinstance(value, int):
        return value
    if not 0 <= value < len(names):
        raise DataError(
            f"{where}: class {value} in column {key!r}, but there are {len(names)} names of classes"
        )
    return names[value]


def _tag_column(name: str, schema: Any, label: str | None) -> tuple[str, str | None, list[str]] | None:
    """The columns of tokens, of the tags to learn, and of further tags, if the table is one of tokens."""
    lists = [field.name for field in schema if _is_list(field.type)]
    words = next((key for key in TOKEN_NAMES if key in lists), None)
    if words is None:
        return None
    others = [key for key in lists if key not in (words, "spans")]
    if label is not None and label not in others:
        if label in schema.names:  # of the whole text
            return None
        raise DataError(f"{name}: there is no column {label!r} of tags; there is {listed(others) or 'none'}")
    tags = label or next((key for key in TAG_NAMES if key in others), None)
    tags = tags or next((key for key in others if key.endswith("_tags")), None)
    if tags is None and any(key in schema.names for key in TEXT_NAMES):
        return None
    return words, tags, [key for key in others if key != tags and key.endswith("_tags")]


def _is_list(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind))


def _tagged(where: str, row: dict[str, Any], words: str, tags: str | None, others: list[str]) -> Document:
    """A sentence with its tags; the columns of further tags keep their names, and features read them if named."""
    given = row.get(words) or []
    if not all(isinstance(word, str) and word for word in given):
        raise DataError(f"{where}: expected {words!r} to be a list of words, found {shown(given)}")
    columns: dict[str, list[str]] = {}
    for name, key in [*((other, other) for other in others), *([] if tags is None else [(LABEL, tags)])]:
        cells = row.get(key) or []
        if len(cells) != len(given):
            raise DataError(f"{where}: {len(given)} tokens and {len(cells)} of {key!r}")
        missing = next((n for n, cell in enumerate(cells, 1) if cell is None), None)
        if missing is not None:
            raise DataError(f"{where}: token {missing} has no value in {key!r}")
        columns[name] = [as_text(cell) for cell in cells]
    d = Document.from_words([str(word) for word in given], **columns)
    d.id = Record(where, row).identifier("id")
    kept = (words, tags, "id", *others)
    d.fields = {key: _plain(value) for key, value in row.items() if key not in kept}
    return d


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
