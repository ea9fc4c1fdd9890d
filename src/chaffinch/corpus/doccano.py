"""doccano exports: JSON lines (streamed) or a JSON array (loaded whole), of spans or of categories.

    {"id": 7, "text": "Ann left Oslo", "label": [[0, 3, "PER"], [9, 13, "LOC"]]}
    {"id": 8, "text": "crisp and sweet", "label": ["positive"]}

All of its spellings are read: ``label``, ``labels``, ``entities`` or ``annotations``, triples or objects.
Relations and comments are not carried.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from chaffinch.corpus.annotations import LABEL_KEYS, SPAN_KEYS, JsonOptions, document, with_fields
from chaffinch.corpus.format import Format
from chaffinch.corpus.json_records import first_object, records, writing_json
from chaffinch.corpus.lines import BOM
from chaffinch.corpus.losses import Losses, accepted
from chaffinch.files import writing_text
from chaffinch.text.document import Document, typed_label


def read(
    path: str | Path, *, text: str | None = None, label: str | None = None, losses: Losses | None = None
) -> Iterator[Document]:
    """The documents of an export, whichever version of doccano wrote it; another tool's records may have other keys."""
    return accepted(
        records(path, losses), lambda record: document(record, losses, text=text, label=label), losses
    )


def write(documents: Iterable[Document], path: str | Path, *, losses: Losses | None = None) -> None:
    """Write files for doccano to import: ``label`` holds the spans, or the categories if there are no spans.

    JSON lines, or one array if the file's name ends in .json.
    """
    with writing_text(path) as out, writing_json(out, path) as put:
        for i, d in enumerate(documents, start=1):
            made: dict[str, Any] = {} if d.id is None else {"id": d.id}
            made["text"] = d.text
            if d.spans:
                made["label"] = [[s.start, s.end, typed_label(s.label)] for s in d.spans]
                if d.labels and losses is not None:
                    losses.add(
                        "doccano holds spans or labels of a document, not both: labels", f"document {i}"
                    )
            else:
                made["label"] = [typed_label(label) for label in d.labels]
            put(with_fields(made, d))


def _looks_like(name: str, head: bytes) -> bool:
    """An array of objects with a text, or lines with labels that are triples or have doccano's offsets.

    A .json file of no other tool is read as doccano, and the reader reports what is wrong with it.
    """
    if head.removeprefix(BOM).lstrip().startswith(b"["):
        return (b'"text"' in head and b'"result"' not in head) or name.endswith(".json")
    first = first_object(head)
    items = [item for key in (*LABEL_KEYS, *SPAN_KEYS) for item in _listed(first.get(key))]
    return (
        "text" in first and any(isinstance(i, list) or "start_offset" in i for i in items)
    ) or name.endswith(".json")


def _listed(value: Any) -> list[Any]:
    return [item for item in value if isinstance(item, list | dict)] if isinstance(value, list) else []


FORMAT = Format(
    name="doccano",
    extensions=(".json", ".jsonl"),
    read=read,
    write=write,
    carries=frozenset({"text", "spans", "labels", "id", "fields"}),
    looks_like=_looks_like,
    options=JsonOptions,
)
