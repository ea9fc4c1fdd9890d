"""Prodigy's JSON lines: tasks with tokens, spans, choices and the annotator's answer; streamed.

    {"text": "Ann left", "spans": [{"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "PER"}],
     "tokens": [{"text": "Ann", "start": 0, "end": 3, "id": 0, "ws": true}, ...], "answer": "accept"}

Only accepted tasks are read; the others are counted. Prodigy's hashes and session names are not carried.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chaffinch.corpus.annotations import PREDICTION, check_offsets, is_predicted, span, span_object
from chaffinch.corpus.format import Format
from chaffinch.corpus.json_records import (
    Record,
    as_text,
    compact,
    first_object,
    line_records,
    shown,
)
from chaffinch.corpus.label_studio import KEEP, SKIP
from chaffinch.corpus.losses import Losses, accepted
from chaffinch.errors import DataError
from chaffinch.files import writing_text
from chaffinch.knobs import knob
from chaffinch.text.document import Document, Span, Token

ANSWERS = ("accept", "reject", "ignore")
OWN_KEYS = ("text", "tokens", "spans", "label", "accept", "options", "answer", "id")


@dataclass(frozen=True, kw_only=True)
class ProdigyOptions:
    """Which tasks are read."""

    unannotated: str = knob(
        SKIP, "rejected or ignored tasks: skip, or keep as plain texts", choices=(SKIP, KEEP)
    )


def read(path: str | Path, *, unannotated: str = SKIP, losses: Losses | None = None) -> Iterator[Document]:
    """The accepted tasks of a dataset as ``db-out`` prints it; ``unannotated="keep"`` adds the others as bare texts."""
    tally = losses if losses is not None else Losses()
    keep = unannotated == KEEP
    return accepted(line_records(path, tally), lambda record: _accepted(record, tally, keep), tally)


def write(
    documents: Iterable[Document],
    path: str | Path,
    *,
    options: Sequence[str] | None = None,
    predicted: bool | None = None,
) -> None:
    """Tasks answered ``accept``; predictions are tasks without an answer.

    options:   the labels to choose from (by default each task's own)
    predicted: spans and labels are a model's; None: they are if they have scores or are marked as predicted
    """
    with writing_text(path) as out:
        for d in documents:
            for name in d.fields:
                if name in OWN_KEYS or name.startswith("_"):
                    raise DataError(f"a field is called {name!r}, which Prodigy reserves; rename the column")
            guessed = is_predicted(d) or _only_predicted(d) if predicted is None else predicted
            answer = {} if guessed else {"answer": "accept"}
            out.write(compact(_task(d, options) | answer | d.fields) + "\n")


def _only_predicted(d: Document) -> bool:
    """Whether a model's label among the fields is the document's only annotation."""
    return PREDICTION in d.fields and not (d.labels or d.spans)


def _accepted(record: Record, tally: Losses, keep: bool) -> Document | None:
    answer = record.value.get("answer", "accept")
    if answer not in ANSWERS:
        raise DataError(f"{record.where}: expected 'answer' to be one of {ANSWERS}, found {shown(answer)}")
    if answer != "accept" and keep:
        return replace(_document(record, tally), spans=[], labels=[])
    if answer != "accept":
        tally.add(f"tasks answered {answer} are left out", record.where, rows=True)
        return None
    return _document(record, tally)


def _document(record: Record, tally: Losses) -> Document:
    d = Document(text=record.string("text"), id=record.identifier("id"), line=record.line)
    for item in record.records("tokens"):
        word, start, end = item.string("text"), item.integer("start"), item.integer("end")
        check_offsets(item.where, start, end, d.text)
        if d.text[start:end] != word:
            raise DataError(
                f"{item.where}: the token {shown(word)} differs from the text at {start} to {end}: "
                f"{shown(d.text[start:end])}"
            )
        if d.tokens and start < d.tokens[-1].end:
            raise DataError(f"{item.where}: the token at {start} overlaps the one before")
        d.tokens.append(Token(word, start, end))
    for item in record.records("spans"):
        if "label" not in item:
            tally.add("spans without a label are not carried", item.where)
            continue
        d.spans.append(_checked(span(item, d.text), item, d.tokens))
    d.labels = _labels(record)
    for key, value in record.value.items():
        if key.startswith("_"):
            tally.add("Prodigy's own keys (hashes, session, view) are not carried", record.where)
        elif key not in OWN_KEYS and value is not None:
            d.fields[key] = value
    return d


def _labels(record: Record) -> list[str]:
    """The selected choices, or the single label that was offered and accepted."""
    if "accept" in record:
        return [as_text(choice) for choice in record.array("accept")]
    label = record.scalar("label")
    return [] if label is None else [label]


def _checked(made: Span, item: Record, tokens: list[Token]) -> Span:
    """The span; DataError if its token positions contradict its offsets."""
    if not tokens or "token_start" not in item or "token_end" not in item:
        return made
    first, last = item.integer("token_start"), item.integer("token_end")
    if not 0 <= first <= last < len(tokens):
        raise DataError(f"{item.where}: tokens {first} to {last} do not exist; there are {len(tokens)}")
    if (tokens[first].start, tokens[last].end) != (made.start, made.end):
        raise DataError(
            f"{item.where}: tokens {first} to {last} are characters {tokens[first].start} to "
            f"{tokens[last].end}, but the span says {made.start} to {made.end}"
        )
    return made


def _task(d: Document, options: Sequence[str] | None) -> dict[str, Any]:
    task: dict[str, Any] = {} if d.id is None else {"id": d.id}
    task["text"] = d.text
    if d.tokens:
        task["tokens"] = [
            {
                "text": t.text,
                "start": t.start,
                "end": t.end,
                "id": i,
                "ws": d.text[t.end : t.end + 1].isspace(),
            }
            for i, t in enumerate(d.tokens)
        ]
    starts = {t.start: i for i, t in enumerate(d.tokens)}
    ends = {t.end: i for i, t in enumerate(d.tokens)}
    task["spans"] = []
    for s in d.spans:
        made = span_object(s)
        if s.start in starts and s.end in ends:
            made |= {"token_start": starts[s.start], "token_end": ends[s.end]}
        task["spans"].append(made)
    if d.labels or options:
        task["options"] = [{"id": name, "text": name} for name in (options or d.labels)]
        task["accept"] = d.labels
    return task


def _looks_like(_name: str, head: bytes) -> bool:
    first = first_object(head)
    return first.get("answer") in ANSWERS and "text" in first


FORMAT = Format(
    name="prodigy",
    extensions=(".jsonl",),
    read=read,
    write=write,
    carries=frozenset({"text", "tokens", "spans", "scores", "labels", "id", "fields"}),
    looks_like=_looks_like,
    options=ProdigyOptions,
)
