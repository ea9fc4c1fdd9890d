"""JSON lines: documents with labels, and documents with spans; streamed, one object per line.

    {"text": "crisp and sweet", "label": "positive"}
    {"text": "it was all right", "labels": {"positive": 0.6, "negative": 0.4}}
    {"text": "Ann left Oslo", "spans": [{"start": 0, "end": 3, "label": "PER"}]}

Other keys become fields of the document, with their types, and are written again.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from chaffinch.corpus.annotations import (
    CONFIDENCE,
    PREDICTED,
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
from chaffinch.corpus.losses import Losses, accepted
from chaffinch.files import writing_text
from chaffinch.text.document import Document, typed_label


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
