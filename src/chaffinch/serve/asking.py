"""Handlers that ask models: /predict, /explain, /compare, /models, /doccano."""

from collections.abc import AsyncIterator
from typing import Any

from chaffinch.errors import ChaffinchError, ConfigError, DataError
from chaffinch.search.label_rules import Infeasible
from chaffinch.serve.answers import Answer, InputRow
from chaffinch.serve.endpoint import Call, Raw
from chaffinch.serve.messages import (
    Asked,
    CompareBody,
    DoccanoBody,
    ExplainBody,
    Input,
    PredictBody,
    RequestError,
)
from chaffinch.serve.security import LINES
from chaffinch.serve.served import ServedModel
from chaffinch.serve.server import Server
from chaffinch.serve.versions import Version

LINES_AT_ONCE = 64  # of a stream, answered as one batch


async def models(server: Server, _: Call) -> Answer:
    """All models and data files."""
    data: dict[str, int] = {}
    for served in server.models.values():
        data |= {pool.name: len(pool) for pool in served.pools.values()}
    return {
        "models": [
            served.description(server.learning[name].learns) for name, served in server.models.items()
        ],
        "data": [{"name": name, "rows": rows} for name, rows in data.items()],
        "version": server.first.active.name,
    }


def streamed(server: Server, call: Call) -> Raw:
    """The answers to a stream of lines."""
    return Raw(_stream(server, call), LINES)


async def predict(server: Server, body: PredictBody) -> Answer:
    """The answers to texts, sentences or pairs."""
    served, version, rows = _input(server, body)
    asked = Asked.of(body)
    if body.rules:
        found = await server.batches.apart(_ruled, served, version, rows, asked, body.rules)
    else:
        found = await answer_rows(server, served, version, rows, asked, own=body.version is not None)
    return {"model": served.name, "version": version.name, "results": found}


async def answer_rows(
    server: Server, served: ServedModel, version: Version, rows: list[InputRow], asked: Asked, *, own: bool
) -> list[Answer]:
    """The answers to rows; corrected inputs are answered as corrected, unless the model's own answer is asked for."""
    pins, rest = split_from_pins(served, rows, own=own)
    found = await server.batches.ask(served.answering, version, rest, asked) if rest or pins is None else []
    return found if pins is None else joined_with_pins(pins, found)


def split_from_pins(
    served: ServedModel, rows: list[InputRow], *, own: bool
) -> tuple[list[Answer | None] | None, list[InputRow]]:
    """The corrected answers to rows, None for other rows, and these others; no list at all if the model answers all."""
    if own or not served.corrections.pins:
        return None, rows
    found = [served.pinned(row) for row in rows]
    return found, [row for row, pin in zip(rows, found, strict=True) if pin is None]


def joined_with_pins(pins: list[Answer | None], found: list[Answer]) -> list[Answer]:
    """The answers to all rows, in order."""
    others = iter(found)
    return [next(others) if pin is None else pin for pin in pins]


def _ruled(
    served: ServedModel, version: Version, rows: list[InputRow], asked: Asked, rules: dict[str, list[Any]]
) -> list[Answer]:
    """The model's own answers under rules of the request."""
    try:
        return served.answering.answers(served.answering.ruled(version.model, rules), rows, asked)
    except Infeasible as e:
        raise RequestError(422, str(e)) from None


async def rules(server: Server, call: Call) -> Answer:
    """The rules that a model's answers obey."""
    served = server.model(call.query.get("model"))
    active = served.active
    return {"model": served.name, "version": active.name, "rules": served.answering.rules(active.model)}


async def explain(server: Server, call: Call) -> Answer:
    """Why a model gave its own answer, corrected or not."""
    body: ExplainBody = server.decode(ExplainBody, call.body)
    if body.row is not None:
        if body.text is not None or body.tokens is not None:
            raise DataError("expected a row of a data file, or a text; got both")
        served = server.model(body.model)
        version, rows = served.versions.find(body.version), [served.data_row(body.data, body.row)[1]]
    else:
        served, version, rows = _input(server, body)
    if len(rows) != 1:
        raise DataError("expected one text or one sentence to explain")
    made = await server.batches.apart(
        served.answering.explained, version.model, rows[0], body.position, body.instead
    )
    return {"model": served.name, "version": version.name, **made}


async def compare(server: Server, call: Call) -> Answer:
    """One input answered by several models; "name@version" names a version."""
    body: CompareBody = server.decode(CompareBody, call.body)
    if not 1 <= len(body.models) <= 8:
        raise DataError(f"expected one to eight models to compare, got {len(body.models)}")
    results, versions = [], []
    for name in body.models:
        known, _, wanted = name.partition("@")
        served = server.model(known)
        version = served.versions.find(wanted or None)
        rows = served.answering.rows(version.model, body)
        if len(rows) != 1:
            raise DataError("expected one text or one sentence to compare")
        found = await server.batches.ask(served.answering, version, rows, Asked())
        results.append({"model": served.name, "version": version.name, **found[0]})
        versions.append(version.name)
    return {"results": results, "version": ", ".join(versions)}


async def doccano(server: Server, call: Call) -> list[Answer]:
    """doccano's auto-labelling: its custom REST request sends a text and gets spans or labels in its own format."""
    body: DoccanoBody = server.decode(DoccanoBody, call.body)
    served = server.model(call.path["model"])
    rows = served.answering.rows(served.active.model, Input(text=body.text))
    (found,) = await answer_rows(server, served, served.active, rows, Asked(probabilities=False), own=False)
    if "spans" in found:
        return [
            {"label": s["label"], "start_offset": s["start"], "end_offset": s["end"]} for s in found["spans"]
        ]
    if "label" in found or "labels" in found:
        return [{"label": label} for label in found.get("labels", [found.get("label")])]
    raise ConfigError(f"doccano labels texts and spans; {served.name} gives {served.answering.name}")


def _input(server: Server, body: Input) -> tuple[ServedModel, Version, list[InputRow]]:
    served = server.model(body.model)
    version = served.versions.find(body.version)
    return served, version, served.answering.rows(version.model, body)


async def _stream(server: Server, call: Call) -> AsyncIterator[bytes]:
    """One line of output for each line of input: its answer, or its error."""
    waiting: list[bytes] = []
    fault = b""
    try:
        async for line in _lines(call, server.max_body):
            waiting.append(line)
            if len(waiting) == LINES_AT_ONCE:
                yield await _answered_lines(server, waiting)
                waiting = []
    except (RequestError, TimeoutError) as e:
        said = str(e) or "the next line did not arrive in time"
        fault = server.encode({"error": said}) + b"\n"
    if waiting:
        yield await _answered_lines(server, waiting)
    if fault:
        yield fault


async def _answered_lines(server: Server, lines: list[bytes]) -> bytes:
    """The answers to lines; consecutive lines with the same version and options are one batch."""
    made: list[Answer] = []
    group: list[InputRow] = []
    about: tuple[ServedModel, Version, Asked, bool] | None = None

    async def ask() -> None:
        nonlocal group
        if group and about is not None:
            served, version, asked, own = about
            try:
                answers = await answer_rows(server, served, version, group, asked, own=own)
                made.extend({**answer, "version": version.name} for answer in answers)
            except ChaffinchError as e:
                made.extend({"error": str(e)} for _ in group)
            group = []

    for line in lines:
        try:
            text = server.decode(str, line) if line.lstrip().startswith(b'"') else None
            body = PredictBody(text=text) if text is not None else server.decode(PredictBody, line)
            served, version, rows = _input(server, body)
            if len(rows) != 1:
                raise DataError("expected one text or one sentence on each line")
            own = served, version, Asked.of(body), body.version is not None
        except (ChaffinchError, RequestError) as e:
            await ask()
            made.append({"error": str(e)})
            continue
        if about != own:
            await ask()
            about = own
        group += rows
    await ask()
    return b"".join(server.encode(answer) + b"\n" for answer in made)


async def _lines(call: Call, most: int) -> AsyncIterator[bytes]:
    """The lines of a stream that are not empty."""
    assert call.pieces is not None
    rest = b""
    async for piece in call.pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
        if len(rest) > most:
            raise RequestError(413, f"a line is larger than {most:,} bytes")
    if rest.strip():
        yield rest
