"""Label Studio's protocol for machine-learning backends: it requests predictions and sends annotations.

Predictions are spans (``<Labels>``) of taggers and choices (``<Choices>``) of classifiers. An annotation that is made,
changed or deleted makes, changes or takes back a correction. It is acknowledged when it is in the journal, and learnt
afterwards.
"""

import logging
from typing import Any

from chaffinch.errors import ChaffinchError, DataError
from chaffinch.serve import correcting
from chaffinch.serve.answers import Answer
from chaffinch.serve.asking import answer_rows
from chaffinch.serve.corrections import UNDO, Correction
from chaffinch.serve.endpoint import Call
from chaffinch.serve.messages import Asked, CorrectionBody, Input, PredictBody, RequestError
from chaffinch.serve.projects import Control, controls
from chaffinch.serve.served import ServedModel
from chaffinch.serve.server import Server
from chaffinch.serve.versions import now
from chaffinch.text.schemes import OUTSIDE, TokenSpan, scheme_of, tags_of

log = logging.getLogger("chaffinch.serve")

ORIGIN = "label-studio"  # the data file of corrections from Label Studio; their row: the annotation's id
MADE = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
TRAIN = "START_TRAINING"
GONE = ("ANNOTATIONS_DELETED", "ANNOTATION_DELETED")


async def predict(server: Server, body: PredictBody) -> Answer:
    """One prediction for each task."""
    tasks = body.tasks or []
    served, control = server.projects.chosen(body.project, body.label_config)
    version = served.active
    texts = []
    for n, task in enumerate(tasks):
        data = task.get("data")
        text = data.get(control.key) if isinstance(data, dict) else None
        if not isinstance(text, str):
            raise DataError(f"task {n + 1}: expected a text under {control.key!r} of its data")
        texts.append(text)
    rows = served.answering.rows(version.model, Input(texts=texts))
    found = await answer_rows(server, served, version, rows, Asked(), own=False)
    results = [_prediction(answer, control, version.name) for answer in found]
    return {"results": results, "model_version": version.name, "version": version.name}


def learn_soon(server: Server, served: ServedModel) -> None:
    """Learn after the acknowledgement; annotations that come meanwhile are learnt together."""
    if served.name not in server.projects.learning and server.learning[served.name].learns:
        server.projects.learning.add(served.name)
        server.start(_learn(server, served))


async def _learn(server: Server, served: ServedModel) -> None:
    try:
        while any(c.seq not in served.active.learnt for c in served.corrections.live()):
            before = served.active
            await correcting.learn_corrections(server, served)
            if served.active is before:
                break
    except (ChaffinchError, RequestError) as e:
        log.warning("%s: did not learn from annotations: %s", served.name, e)
    finally:
        server.projects.learning.discard(served.name)


async def setup(server: Server, call: Call) -> Answer:
    """A project introduces itself; its access token is neither kept nor logged."""
    body = server.decode(dict[str, Any], call.body)
    project, params = body.get("project"), body.get("extra_params")
    if isinstance(params, str) and params.strip():
        params = server.decode(dict[str, Any], params.encode())
    if isinstance(params, dict) and isinstance(params.get("model"), str):
        server.model(params["model"])
        server.projects.remember(project, params["model"])
    schema = body.get("schema")
    served = server.first
    if isinstance(schema, str) and schema.strip():
        served, _ = server.projects.chosen(project, schema)
    return {"model_version": served.active.name, "version": served.active.name}


async def webhook(server: Server, call: Call) -> Answer:
    """Annotations that were made, changed or deleted."""
    body = server.decode(dict[str, Any], call.body)
    action = body.get("action")
    done, left = 0, []
    if action in MADE:
        tasks = {task.get("id"): task for task in _list(body, "task", "tasks")}
        for annotation in _list(body, "annotation", "annotations"):
            try:
                done += await _record_annotation(server, body, annotation, tasks)
            except (ChaffinchError, RequestError) as e:
                left.append(str(e))
    elif action in GONE:
        for annotation in _list(body, "annotation", "annotations"):
            done += await _take_back(server, annotation.get("id"))
    elif action == TRAIN:
        project = body.get("project")
        config = project.get("label_config") if isinstance(project, dict) else None
        served, _ = server.projects.chosen(project, config if isinstance(config, str) else None)
        learn_soon(server, served)
    return {"status": "ok", "corrections": done, "left_out": left, "version": server.first.active.name}


async def _record_annotation(
    server: Server, body: dict[str, Any], annotation: dict[str, Any], tasks: dict[Any, Any]
) -> int:
    """Record an annotation as a correction; how many were recorded: 0 if it was cancelled, else 1."""
    if annotation.get("was_cancelled"):
        return 0
    task: dict[str, Any] = tasks.get(annotation.get("task")) or next(iter(tasks.values()), {})
    data, results = task.get("data"), annotation.get("result")
    if not isinstance(data, dict) or not isinstance(results, list):
        raise DataError("expected an annotation with a result, and the task with its data")
    project = body.get("project")
    served = server.projects.suited(results, project)
    config = project.get("label_config") if isinstance(project, dict) else None
    key = next((c.key for c in controls(config) if c.kind == served.answering.name), None) if config else None
    text = data.get(key or "text")
    if not isinstance(text, str):
        raise DataError(f"expected a text under {key or 'text'!r} of the task's data")
    row = served.answering.rows(served.active.model, Input(text=text))[0]
    given = _correction(served, row, results)
    answer = served.answering.correction(served.active.model, row, given)
    number = annotation.get("id")
    own = number if isinstance(number, int) else None
    await correcting.record(server, served, Correction(0, now(), row, answer, ORIGIN, own))
    learn_soon(server, served)
    return 1


async def _take_back(server: Server, number: Any) -> int:
    """Take back the corrections of an annotation."""
    done = 0
    for served in server.models.values():
        for c in list(served.corrections.listed()):
            if c.data == ORIGIN and c.number == number and number is not None and not c.undone:
                await server.write({"event": UNDO, "model": served.name, "of": c.seq, "made": now()})
                served.corrections.undo(c.seq)
                done += 1
        if done:
            learn_soon(server, served)
    return done


def _correction(served: ServedModel, row: Any, results: list[Any]) -> CorrectionBody:
    """Results as the correction of a row."""
    if served.answering.name == "documents":
        labels = [name for one in results for name in _names(one, "choices")]
        return CorrectionBody(labels=labels) if len(labels) != 1 else CorrectionBody(label=labels[0])
    found = []
    for one in results:
        for name in _names(one, "labels"):
            start, end = one["value"].get("start"), one["value"].get("end")
            inside = [
                t
                for t, (a, b) in enumerate(row.offsets)
                if isinstance(start, int) and isinstance(end, int) and a < end and b > start
            ]
            if not inside:
                raise DataError(f"the span of {name!r} covers no token of the text")
            found.append(TokenSpan(name, inside[0], inside[-1] + 1))
    labels = served.answering.labels(served.active.model)
    scheme = scheme_of(labels)
    if scheme is not None:
        return CorrectionBody(tags=tags_of(found, len(row.words), scheme))
    tags = [OUTSIDE] * len(row.words)
    for s in found:
        tags[s.start : s.end] = [s.label] * (s.end - s.start)
    if OUTSIDE in tags and OUTSIDE not in labels:
        raise DataError("this model gives every token a label: annotate all words of the text")
    return CorrectionBody(tags=tags)


def _names(one: Any, key: str) -> list[str]:
    if not isinstance(one, dict) or one.get("type") != key or not isinstance(one.get("value"), dict):
        return []
    names = one["value"].get(key)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _prediction(answer: Answer, control: Control, version: str) -> Answer:
    named = {"from_name": control.name, "to_name": control.to, "type": control.result}
    if "spans" in answer:
        results = []
        for i, s in enumerate(answer["spans"], 1):
            value = {k: s[k] for k in ("start", "end")} | {"text": answer["text"][s["start"] : s["end"]]}
            scored = {} if s["score"] is None else {"score": s["score"]}
            results.append({"id": f"span-{i}", **named, **scored, "value": {**value, "labels": [s["label"]]}})
    else:
        results = [{**named, "value": {"choices": answer.get("labels", [answer.get("label")])}}]
    scored = {} if answer["certainty"] is None else {"score": answer["certainty"]}
    return {"result": results, **scored, "model_version": version}


def _list(body: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    for name in names:
        given = body.get(name)
        if isinstance(given, dict):
            return [given]
        if isinstance(given, list):
            return [one for one in given if isinstance(one, dict)]
    return []
