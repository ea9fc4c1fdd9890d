"""Label Studio's JSON: tasks with annotations (spans and choices), or with scored predictions.

An export is one JSON array and is loaded whole. If a task has several annotations, the document has the one marked
as ground truth, else the first, and all of them as ``annotations``. A task without annotations, or whose annotations
were all cancelled, is left out and counted. If no task of a file has an annotation, predictions are read instead.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chaffinch.corpus.annotations import check_offsets, is_predicted
from chaffinch.corpus.format import Format
from chaffinch.corpus.json_records import Record, as_text, records, shown, writing_json
from chaffinch.corpus.lines import BOM
from chaffinch.corpus.losses import Losses, accepted
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import writing_text
from chaffinch.knobs import knob
from chaffinch.text.document import Annotation, Document, Span

CODE_POINTS, UTF_16 = "code-points", "utf-16"
SKIP, KEEP = "skip", "keep"
SPANS, CHOICES, TEXT = "label", "choice", "text"  # the names of the parts of the interface in our tasks


@dataclass(frozen=True, kw_only=True)
class LabelStudioOptions:
    """The setup of the tasks."""

    text: str = knob(TEXT, "key of the text in each task's data")
    offsets: str = knob(CODE_POINTS, "unit of start and end", choices=(CODE_POINTS, UTF_16))
    unannotated: str = knob(
        SKIP, "tasks without an annotation: skip, or keep as plain texts", choices=(SKIP, KEEP)
    )


def read(
    path: str | Path,
    *,
    text: str = TEXT,
    offsets: str = CODE_POINTS,
    unannotated: str = SKIP,
    losses: Losses | None = None,
) -> Iterator[Document]:
    """The tasks of an export; ``text`` is the key of the text in each task's ``data``.

    unannotated: tasks without annotations are left out ("skip") or read as documents without annotations ("keep")
    offsets: the unit of start and end, code points or UTF-16 units (they differ after an emoji);
             a span whose own text shows that the wrong unit was chosen is refused
    """
    if offsets not in (CODE_POINTS, UTF_16):
        raise ConfigError(f"offsets must be {CODE_POINTS} or {UTF_16}, got {offsets!r}")
    if unannotated not in (SKIP, KEEP):
        raise ConfigError(f"unannotated must be {SKIP} or {KEEP}, got {unannotated!r}")
    return _documents(path, text, offsets, unannotated, losses if losses is not None else Losses())


def write(
    documents: Iterable[Document],
    path: str | Path,
    *,
    model: str = "chaffinch",
    annotated: bool = True,
    predicted: bool | None = None,
) -> None:
    """Tasks to import, with annotations or with predictions.

    annotated: a document without spans and labels counts as annotated; False: it is not annotated yet
    predicted: spans and labels are a model's; None: they are if they have scores or are marked as predicted

    A prediction's score is the document's, else that of its least certain span, so sorting by score puts uncertain
    tasks first.
    """
    with writing_text(path) as out, writing_json(out, "tasks.json") as put:
        for d in documents:
            guessed = is_predicted(d) if predicted is None else predicted
            put(_task(d, model if guessed else None, annotated))


def _documents(
    path: str | Path, text: str, offsets: str, unannotated: str, tally: Losses
) -> Iterator[Document]:
    tasks = list(records(path, tally))
    kept = list(accepted(tasks, lambda task: (task, _kept(task, tally)), tally))
    predicted = not any(given for _, given in kept)  # a file of predictions, without human annotations

    def made(one: tuple[Record, list[Record]]) -> Document | None:
        task, given = one
        d = _text(task, text)
        if given:
            return _annotated(d, given, offsets, tally)
        guesses = list(task.records("predictions"))
        if predicted and guesses and not task.array(_key(task)):
            tally.add("tasks without annotations were read from their predictions", task.where)
            return _predicted(d, guesses[0], offsets, tally)
        if unannotated == KEEP:
            return d
        tally.add("tasks without annotations are left out", task.where, rows=True)
        return None

    return accepted(kept, made, tally)


def _text(task: Record, text: str) -> Document:
    """The task's text, not yet annotated."""
    fields = task.record("data")
    d = Document(text=fields.string(text), id=task.identifier("id"), line=task.line)
    d.fields = {k: v for k, v in fields.value.items() if k != text}
    return d


def _annotated(d: Document, given: list[Record], offsets: str, tally: Losses) -> Document:
    """The document with the final annotation, else the first, and with all of them if there are several."""
    final = next((n for n, a in enumerate(given) if a.value.get("ground_truth")), None)
    chosen = final or 0
    for result in given[chosen].records("result"):
        _annotate(d, result, offsets, tally)
    if len(given) > 1:
        tally.add("further annotations of the same task were skipped", given[0].where, len(given) - 1)
        for n, a in enumerate(given):
            other = replace(d, spans=[], labels=[])
            for result in a.records("result"):
                _annotate(other, result, offsets, Losses())
            who = as_text(a.value.get("completed_by", f"annotator {n + 1}"))
            d.annotations.append(Annotation(who, other.spans, other.labels, n == final))
    return d


def _predicted(d: Document, guess: Record, offsets: str, tally: Losses) -> Document:
    for result in guess.records("result"):
        _annotate(d, result, offsets, tally)
    score = guess.number("score")
    if score != min((s.score for s in d.spans if s.score is not None), default=None):
        d.score = score  # its own score, not that of its least certain span
    return d


def _task(d: Document, model: str | None, annotated: bool) -> dict[str, Any]:
    """A task; ``model``: the model that predicted the annotations, None for human annotations."""
    if TEXT in d.fields:
        raise DataError(f"a field is called {TEXT!r}, which this format uses itself; rename the column")
    task: dict[str, Any] = {} if d.id is None else {"id": int(d.id) if _is_whole(str(d.id)) else d.id}
    task["data"] = {TEXT: d.text} | d.fields
    results = [_span_result(i, s, d.text) for i, s in enumerate(d.spans, start=1)]
    if d.labels:
        value = {"choices": d.labels}
        results.append({"from_name": CHOICES, "to_name": TEXT, "type": "choices", "value": value})
    if model is not None:
        scores = [s.score for s in d.spans if s.score is not None] if d.score is None else [d.score]
        sure = {"score": min(scores)} if scores else {}
        task["predictions"] = [{"model_version": model, **sure, "result": results}]
    elif results or annotated:
        task["annotations"] = [{"result": results}]
    return task


def _span_result(i: int, s: Span, text: str) -> dict[str, Any]:
    value = {"start": s.start, "end": s.end, "text": text[s.start : s.end], "labels": [s.label]}
    made = {"id": f"span-{i}", "from_name": SPANS, "to_name": TEXT, "type": "labels", "value": value}
    return made if s.score is None else made | {"score": s.score}


def _is_whole(name: str) -> bool:
    """Whether writing the id as a number and reading it back gives the same string."""
    return name.isascii() and name.isdigit() and (name == "0" or name[0] != "0") and len(name) < 19


def _kept(task: Record, tally: Losses) -> list[Record]:
    """The annotations that were not cancelled."""
    given = list(task.records(_key(task)))
    kept = [a for a in given if not a.value.get("was_cancelled") and not a.value.get("skipped")]
    tally.add("cancelled annotations were skipped", task.where, len(given) - len(kept))
    return kept


def _key(task: Record) -> str:
    return "completions" if "completions" in task else "annotations"


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
    """The span in code points, checked against the span's own text."""
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
    """Whether the texts agree, apart from line breaks and trimmed ends."""
    return said.replace("\\n", "\n").split() == covered.split() or said == covered


def _utf16_slice(text: str, start: int, end: int) -> str:
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", errors="replace")


def _from_utf16(where: str, start: int, end: int, text: str) -> tuple[int, int]:
    units = text.encode("utf-16-le")
    if not 0 <= start < end <= len(units) // 2:
        raise DataError(
            f"{where}: expected a span within the text of {len(units) // 2} units, found {start} to {end}"
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
