"""Annotated records: the forms in which tools write spans and labels into JSON, distinguished by their values.

Spans are ``[start, end, label]`` triples or objects with ``start`` and ``end`` (or ``start_offset`` and
``end_offset``) and ``label``, under one of the keys ``spans``, ``entities``, ``annotations``, ``label`` or
``labels``. Strings under ``label`` or ``labels`` are labels of the whole document; an object of numbers is the share
of each label.
"""

from dataclasses import dataclass
from typing import Any

from chaffinch.corpus.headers import TEXT_NAMES
from chaffinch.corpus.json_records import Record, shown
from chaffinch.corpus.lines import listed
from chaffinch.corpus.losses import Losses
from chaffinch.errors import DataError
from chaffinch.knobs import knob
from chaffinch.text.document import Document, Span, ValueLabel, typed_label

SPAN_KEYS = ("spans", "entities", "annotations")
LABEL_KEYS = ("label", "labels")
LOST_KEYS = ("relations", "Comments", "comments")  # of lists that are not carried
TEXT_KEYS = ("text", "data", *TEXT_NAMES)
# The fields of predictions: a document's label, and the probability of it or of all spans together.
PREDICTION, CONFIDENCE = "prediction", "confidence"
PREDICTED = "predicted"  # true: the annotations of a record are a model's, if no score says so


@dataclass(frozen=True, kw_only=True)
class JsonOptions:
    """The keys of the text and of the labels, if they are unusual."""

    text: str | None = knob(None, "key of the text")
    label: str | None = knob(None, "key of the label or labels")


def document(
    record: Record, losses: Losses | None = None, *, text: str | None = None, label: str | None = None
) -> Document:
    """The document of a record; ``text`` and ``label`` name its keys if they are unusual.

    >>> d = document(Record("x:1", {"text": "Ann left", "label": [[0, 3, "PER"]], "source": "chat"}))
    >>> d.spans, d.labels, d.fields
    ([Span(label='PER', start=0, end=3, score=None)], [], {'source': 'chat'})
    """
    text_key = text
    if text_key is None:  # nearly always the first
        text_key = TEXT_KEYS[0]
        if text_key not in record:
            text_key = next((k for k in TEXT_KEYS if k in record), text_key)
    made = Document(text=record.string(text_key), id=record.identifier("id"), line=record.line)
    label_keys = (label,) if label is not None else LABEL_KEYS
    if label is not None and label not in record.value:
        raise DataError(f"{record.where}: expected a key {label!r}, found {listed(record.value)}")
    for key, value in record.value.items():
        if key in (text_key, "id"):
            continue
        if value is None:
            if key not in (*label_keys, *SPAN_KEYS):
                made.fields[key] = None
        elif key in label_keys or (key in SPAN_KEYS and _is_annotation(value)):
            _annotate(made, record, key, value)
        elif key == PREDICTED and value is True:
            made.predicted = True
        elif key in LOST_KEYS and isinstance(value, list):
            if losses is not None:
                losses.add(f"{key.lower()} are not carried", record.where, len(value))
        else:
            made.fields[key] = value
    score = made.fields.get(CONFIDENCE)
    if "spans" in record and PREDICTION not in made.fields and isinstance(score, float) and 0 <= score <= 1:
        made.score = made.fields.pop(CONFIDENCE)
    return made


def span(
    record: Record, text: str, *, ends: tuple[str, str] = ("start", "end"), label: str = "label"
) -> Span:
    """The span that an object describes, its offsets checked against the text."""
    start, end = record.integer(ends[0]), record.integer(ends[1])
    check_offsets(record.where, start, end, text)
    name = record.scalar(label)
    if name is None:
        raise DataError(f"{record.where}: expected a key {label!r}, found {listed(record.value)}")
    return Span(name, start, end, record.number("score"))


def check_offsets(where: str, start: int, end: int, text: str) -> None:
    """Raise unless ``text[start:end]`` is a non-empty stretch of the text."""
    if not 0 <= start < end:
        raise DataError(f"{where}: expected 0 <= start < end, found start {start} and end {end}")
    if end > len(text):
        raise DataError(
            f"{where}: the span {start} to {end} runs past the text, which has {len(text)} characters"
        )


def with_fields(head: dict[str, Any], d: Document) -> dict[str, Any]:
    """An object to write: the keys of the format, then the document's fields."""
    for name in d.fields:
        if name in head or name in LABEL_KEYS:
            raise DataError(f"a field is called {name!r}, which this format reserves; rename the column")
    return head | d.fields


def span_object(s: Span) -> dict[str, Any]:
    """A span as an object; the score only if it has one."""
    made: dict[str, Any] = {"start": s.start, "end": s.end, "label": typed_label(s.label)}
    if s.score is not None:
        made["score"] = s.score
    return made


def is_predicted(d: Document) -> bool:
    """Whether the annotations are predictions of a model: marked as such, or with a score of the document or a span."""
    return d.predicted or has_scores(d)


def has_scores(d: Document) -> bool:
    """Whether the document or one of its spans has a score."""
    return d.score is not None or any(s.score is not None for s in d.spans)


def _is_annotation(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, list | dict | str) for v in value)


def _annotate(made: Document, record: Record, key: str, value: Any) -> None:
    if isinstance(value, dict) and not {"start", "start_offset"} & value.keys():
        made.shares = _shares(record.record(key), predicted=PREDICTION in record.value)
        made.labels.append(max(made.shares, key=lambda name: made.shares[name]))
        return
    items = value if isinstance(value, list) else [value]
    for i, item in enumerate(items, start=1):
        where = f"{record.where}: {key} {i}" if isinstance(value, list) else f"{record.where}: {key}"
        if isinstance(item, dict):
            named = Record(where, item)
            ends = ("start_offset", "end_offset") if "start_offset" in item else ("start", "end")
            made.spans.append(span(named, made.text, ends=ends))
        elif isinstance(item, list):
            made.spans.append(_triple(where, item, made.text))
        elif isinstance(item, str):
            made.labels.append(item)
        elif isinstance(item, bool | int | float):
            made.labels.append(ValueLabel(item))
        else:
            raise DataError(f"{where}: expected a label or a span, found {shown(item)}")


def _shares(record: Record, predicted: bool) -> dict[str, float]:
    """The share of each label of a document; for predictions the probability of each label."""
    found = {name: record.number(name) or 0.0 for name in record.value}
    if predicted and found and min(found.values()) >= 0 and max(found.values()) <= 1:
        return found
    if not found or min(found.values()) < 0 or abs(sum(found.values()) - 1.0) > 1e-3:
        raise DataError(
            f"{record.where}: expected shares of labels that are not negative and add up to one, "
            f"found {shown(record.value)}"
        )
    return found


def _triple(where: str, item: list[Any], text: str) -> Span:
    if len(item) != 3:
        raise DataError(f"{where}: expected [start, end, label], found {shown(item)}")
    return span(Record(where, dict(zip(("start", "end", "label"), item, strict=True))), text)
