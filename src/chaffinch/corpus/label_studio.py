"""Label Studio's JSON: tasks with annotations (spans and choices), or with scored predictions.

An export is one JSON array and is loaded whole. Where a task has several annotations the one marked as ground
truth is read, else the first; cancelled ones are passed over; a task with predictions only gives those.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaffinch.corpus.annotations import check_offsets
from chaffinch.corpus.format import Format
from chaffinch.corpus.json_records import Record, as_field, compact, records, shown
from chaffinch.corpus.lines import BOM
from chaffinch.corpus.losses import Losses, accepted
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import writing_text
from chaffinch.knobs import knob
from chaffinch.text.document import Document, Span

CODE_POINTS, UTF_16 = "code-points", "utf-16"
SPANS, CHOICES, TEXT = (
    "label",
    "choice",
    "text",
)  # the names that our tasks give to the parts of the interface


@dataclass(frozen=True, kw_only=True)
class LabelStudioOptions:
    """How the tasks were set up."""

    text: str = knob(TEXT, "key of the text in each task's data")
    offsets: str = knob(CODE_POINTS, "what start and end count", choices=(CODE_POINTS, UTF_16))


def read(
    path: str | Path, *, text: str = TEXT, offsets: str = CODE_POINTS, losses: Losses | None = None
) -> Iterator[Document]:
    """The tasks of an export; ``text`` is the key of the text in each task's ``data``.

    offsets: what the file's start and end count, code points or UTF-16 units (they differ after an emoji);
             a span whose own text says that the wrong one was chosen is refused
    """
    if offsets not in (CODE_POINTS, UTF_16):
        raise ConfigError(f"offsets must be {CODE_POINTS} or {UTF_16}, got {offsets!r}")
    tally = losses if losses is not None else Losses()
    return accepted(records(path, tally), lambda task: _document(task, text, offsets, tally), tally)


def write(documents: Iterable[Document], path: str | Path, *, model: str = "chaffinch") -> None:
    """Tasks to import: annotations, or predictions where the spans have scores.

    A prediction's score is its least certain span's, so that sorting by it brings up what needs a look first.
    """
    with writing_text(path) as out:
        before = "[\n"
        for d in documents:
            out.write(before + compact(_task(d, model)))
            before = ",\n"
        out.write("\n]\n" if before == ",\n" else "[]\n")


def _document(task: Record, text: str, offsets: str, tally: Losses) -> Document:
    fields = task.record("data")
    d = Document(text=fields.string(text), id=task.scalar("id"), line=task.line)
    d.fields = {k: as_field(v) for k, v in fields.value.items() if k != text and v is not None}
    chosen = _chosen(task, tally)
    if chosen is not None:
        for result in chosen.records("result"):
            _annotate(d, result, offsets, tally)
    return d


def _task(d: Document, model: str) -> dict[str, Any]:
    if TEXT in d.fields:
        raise DataError(f"a field is called {TEXT!r}, which this format uses itself; rename the column")
    task: dict[str, Any] = {} if d.id is None else {"id": int(d.id) if _is_whole(d.id) else d.id}
    task["data"] = {TEXT: d.text} | d.fields
    results = [_span_result(i, s, d.text) for i, s in enumerate(d.spans, start=1)]
    if d.labels:
        value = {"choices": d.labels}
        results.append({"from_name": CHOICES, "to_name": TEXT, "type": "choices", "value": value})
    scores = [s.score for s in d.spans if s.score is not None]
    if scores:
        task["predictions"] = [{"model_version": model, "score": min(scores), "result": results}]
    elif results:
        task["annotations"] = [{"result": results}]
    return task


def _span_result(i: int, s: Span, text: str) -> dict[str, Any]:
    value = {"start": s.start, "end": s.end, "text": text[s.start : s.end], "labels": [s.label]}
    made = {"id": f"span-{i}", "from_name": SPANS, "to_name": TEXT, "type": "labels", "value": value}
    return made if s.score is None else made | {"score": s.score}


def _is_whole(name: str) -> bool:
    """Whether writing the id as a number and reading it back gives the same string."""
    return name.isascii() and name.isdigit() and (name == "0" or name[0] != "0") and len(name) < 19


def _chosen(task: Record, tally: Losses) -> Record | None:
    """The annotation or prediction that speaks for the task."""
    key = "completions" if "completions" in task else "annotations"
    given = list(task.records(key))
    kept = [a for a in given if not a.value.get("was_cancelled") and not a.value.get("skipped")]
    tally.add("cancelled annotations were passed over", task.where, len(given) - len(kept))
    if kept:
        tally.add("further annotations of the same task were passed over", task.where, len(kept) - 1)
        return next((a for a in kept if a.value.get("ground_truth")), kept[0])
    predictions = list(task.records("predictions"))
    if given or not predictions:
        return None
    tally.add("tasks without annotations were read from their predictions", task.where)
    return predictions[0]


def _annotate(d: Document, result: Record, offsets: str, tally: Losses) -> None:
    kind = result.value.get("type")
    if kind == "choices":
        d.labels.extend(_strings(result.record("value"), "choices"))
    elif kind in ("labels", "hypertextlabels"):
        value = result.record("value")
        start, end = _ends(value, d.text, offsets)
        names = _strings(value, kind if kind in value else "labels")
        d.spans.extend(Span(name, start, end, result.number("score")) for name in names)
    else:
        tally.add(f"results of type {kind} are not carried", result.where)


def _ends(value: Record, text: str, offsets: str) -> tuple[int, int]:
    """The span in code points, checked against the text that the span says it covers."""
    if isinstance(value.value.get("start"), str):
        raise DataError(
            f"{value.where}: expected 'start' to be a character offset in plain text, "
            f"found {shown(value.value['start'])}: a position in HTML, which is not read"
        )
    start, end = value.integer("start"), value.integer("end")
    said = value.value.get("text")
    counted = _from_utf16(value.where, start, end, text) if offsets == UTF_16 else (start, end)
    check_offsets(value.where, *counted, text)
    if isinstance(said, str) and not _same(said, text[counted[0] : counted[1]]):
        hint = ""
        if offsets == CODE_POINTS and _same(said, _utf16_slice(text, start, end)):
            hint = "; its offsets count UTF-16 units: read it with offsets utf-16"
        raise DataError(
            f"{value.where}: the span {start} to {end} covers {shown(text[counted[0] : counted[1]])}, "
            f"but says that it covers {shown(said)}{hint}"
        )
    return counted


def _same(said: str, covered: str) -> bool:
    """Whether the texts agree, up to how the tool writes line breaks and trims ends."""
    return said.replace("\\n", "\n").split() == covered.split() or said == covered


def _utf16_slice(text: str, start: int, end: int) -> str:
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", errors="replace")


def _from_utf16(where: str, start: int, end: int, text: str) -> tuple[int, int]:
    units = text.encode("utf-16-le")
    if not 0 <= start < end <= len(units) // 2:
        raise DataError(
            f"{where}: the span {start} to {end} does not lie in the text of {len(units) // 2} units"
        )
    try:
        return len(units[: 2 * start].decode("utf-16-le")), len(units[: 2 * end].decode("utf-16-le"))
    except UnicodeDecodeError:
        raise DataError(f"{where}: the span {start} to {end} cuts a character in half") from None


def _strings(value: Record, key: str) -> list[str]:
    found = value.array(key)
    for item in found:
        if not isinstance(item, str):
            raise DataError(f"{value.where}: expected {key!r} to be a list of strings, found {shown(found)}")
    return found


def _looks_like(_name: str, head: bytes) -> bool:
    """An array of tasks: their data is an object, or their annotations have results."""
    start = head.removeprefix(BOM).lstrip()
    return start.startswith(b"[") and bool(re.search(rb'"(data"\s*:\s*\{|result"\s*:\s*\[)', start))


FORMAT = Format(
    name="label-studio",
    extensions=(".json",),
    read=read,
    write=write,
    carries=frozenset({"text", "spans", "scores", "labels", "id", "fields"}),
    looks_like=_looks_like,
    options=LabelStudioOptions,
)
