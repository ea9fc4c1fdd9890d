"""JSON lines: documents with labels, and documents with spans; streamed, one object per line.

    {"text": "crisp and sweet", "label": "positive"}
    {"text": "it was all right", "labels": {"positive": 0.6, "negative": 0.4}}
    {"text": "Ann left Oslo", "spans": [{"start": 0, "end": 3, "label": "PER"}]}

Other keys become fields of the document, with their types, and are written again.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chaffinch import _core
from chaffinch.corpus.annotations import (
    CONFIDENCE,
    LABEL_KEYS,
    LOST_KEYS,
    PREDICTED,
    PREDICTION,
    SPAN_KEYS,
    TEXT_KEYS,
    JsonOptions,
    document,
    has_scores,
    span_object,
    with_fields,
)
from chaffinch.corpus.format import Format
from chaffinch.corpus.json_records import compact, first_object, line_records
from chaffinch.corpus.lines import BOM, LONGEST_LINE, is_sound
from chaffinch.corpus.losses import Losses, accepted
from chaffinch.corpus.text_table import FurtherCells, ObjectTable, TextTable
from chaffinch.files import first_line, reading, writing, writing_text
from chaffinch.text.document import Document, typed_label

# Keys that make a record more than a text with labels and fields, or that a prediction replaces.
_NOT_PLAIN = (*SPAN_KEYS, *LOST_KEYS, PREDICTED, PREDICTION, CONFIDENCE)


def read(
    path: str | Path, *, text: str | None = None, label: str | None = None, losses: Losses | None = None
) -> Iterator[Document]:
    """The documents of a file of JSON lines; labels and spans are found under their usual keys."""
    return accepted(line_records(path, losses), lambda r: document(r, losses, text=text, label=label), losses)


def write(documents: Iterable[Document], path: str | Path) -> None:
    """Text and labels: ``label`` for one label, ``labels`` for several."""
    with writing_text(path) as out:
        for d in documents:
            out.write(compact(with_fields(_head(d), d)) + "\n")


def read_table(path: str | Path, *, text: str | None = None) -> ObjectTable | None:
    """All lines of a file as objects of the core; None if one is not a plain document: :func:`read` reads it."""
    if text in ("id", *LABEL_KEYS, *_NOT_PLAIN):
        return None
    with reading(path) as stream:
        content = stream.read()
    content = content.removeprefix(BOM) if first_line(path) == 1 else content
    if len(content) > LONGEST_LINE or not is_sound(content):
        return None
    texts = list(TEXT_KEYS) if text is None else [text]
    rows = _core.json_rows(content, texts, list(LABEL_KEYS), list(_NOT_PLAIN))
    return None if rows is None or not len(rows) else ObjectTable(rows)


def fits_objects(table: TextTable) -> bool:
    """Whether no column has a name that :func:`write` reserves."""
    return not any(name in table.further for name in ("text", *LABEL_KEYS))


def write_table(
    table: TextTable | ObjectTable, answers: Mapping[str, FurtherCells], path: str | Path
) -> None:
    """As :func:`write` writes such rows with these fields, whose cells are JSON."""
    if isinstance(table, ObjectTable):
        made = table.rows.lines(list(answers), list(answers.values()))
    else:
        further: dict[str, int | FurtherCells] = {**table.further}
        columns: dict[str, int | FurtherCells] = {}
        columns |= {name: further.pop(name) for name in ("id",) if name in further} | {"text": table.text}
        columns |= {} if table.label is None else {"label": table.label}
        columns |= further | dict(answers)
        forms = {"id": "optional", "label": "optional"} | dict.fromkeys(answers, "spelt")
        shapes = [forms.get(name, "string") for name in columns]
        made = table.cells.json_lines(list(columns), shapes, list(columns.values()))
    with writing(path) as out:
        out.write(made)


def write_spans(documents: Iterable[Document], path: str | Path) -> None:
    """Text, spans and labels."""
    with writing_text(path) as out:
        for d in documents:
            head = _head(d) | {"spans": [span_object(s) for s in d.spans]}
            head |= {} if d.score is None else {CONFIDENCE: d.score}
            head |= {PREDICTED: True} if d.predicted and not has_scores(d) else {}
            out.write(compact(with_fields(head, d)) + "\n")


def _head(d: Document) -> dict[str, Any]:
    made: dict[str, Any] = {} if d.id is None else {"id": d.id}
    made["text"] = d.text
    if d.shares:
        made["labels"] = d.shares
    elif len(d.labels) == 1:
        made["label"] = typed_label(d.labels[0])
    elif d.labels:
        made["labels"] = [typed_label(label) for label in d.labels]
    return made


def _looks_like_spans(_name: str, head: bytes) -> bool:
    first = first_object(head)
    return any(isinstance(first.get(key), list) for key in SPAN_KEYS)


def _looks_like_documents(name: str, head: bytes) -> bool:
    """By content, or by the ending alone: the reader then reports what is wrong."""
    first = first_object(head)
    return any(isinstance(first.get(key), str) for key in TEXT_KEYS) or name.endswith((".jsonl", ".ndjson"))


SPANS = Format(
    name="jsonl-spans",
    extensions=(".jsonl", ".ndjson"),
    read=read,
    write=write_spans,
    carries=frozenset({"text", "spans", "scores", "labels", "shares", "id", "fields"}),
    looks_like=_looks_like_spans,
    options=JsonOptions,
)
DOCUMENTS = Format(
    name="jsonl",
    extensions=(".jsonl", ".ndjson"),
    read=read,
    write=write,
    carries=frozenset({"text", "labels", "shares", "id", "fields"}),
    looks_like=_looks_like_documents,
    options=JsonOptions,
)
