"""Handlers that teach models: /corrections, /learn, /versions, /next."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from chaffinch.active import choose_queue
from chaffinch.errors import DataError
from chaffinch.serve.answers import Answer, InputRow
from chaffinch.serve.corrections import UNDO, VERSION, Correction
from chaffinch.serve.endpoint import Call
from chaffinch.serve.messages import Asked, CorrectionBody, LearnBody, NextBody, RequestError, VersionBody
from chaffinch.serve.pools import DataPool
from chaffinch.serve.served import ServedModel
from chaffinch.serve.server import Server
from chaffinch.serve.versions import Version, now
from chaffinch.text.schemes import OUTSIDE

MOST_NEXT = 1_000
REASONS = {
    "doubt": "the model is uncertain about it",
    "audit": "drawn at random, for an unbiased score of the model",
    "start": "the centre of a group of similar texts",
}


async def correct(server: Server, call: Call) -> Answer:
    """Write a correction to the journal; from then on its exact input is answered as corrected."""
    body: CorrectionBody = server.decode(CorrectionBody, call.body)
    served = server.model(body.model)
    row = _corrected_row(served, body)
    answer = served.answering.correction(served.active.model, row, body)
    made = await record(server, served, Correction(0, now(), row, answer, body.data, body.row))
    said = next(iter(answer.values()))
    named = said if isinstance(said, list) else [said]
    new = sorted({*named} - {*served.answering.labels(served.active.model), OUTSIDE})
    return {"seq": made.seq, "version": served.active.name, **({"new_labels": new} if new else {})}


async def record(server: Server, served: ServedModel, correction: Correction) -> Correction:
    """Write a correction to the journal; the correction with its sequence number."""
    asked = Asked(probabilities=False)
    (before,) = await server.batches.ask(served.answering, served.active, [correction.row], asked)
    own = next((before[name] for name in correction.answer if name in before), None)
    drawn = (correction.data, correction.number) in server.audit
    right = served.answering.is_answer(before, correction.answer)
    correction = replace(correction, before=own, right=right, audit=drawn)
    seq = await server.write(correction.entry(served.name))
    made = replace(correction, seq=seq)
    served.corrections.add(made)
    server.metrics.events["correction"] += 1
    return made


async def corrections(server: Server, call: Call) -> Answer:
    """All corrections of a model."""
    served = server.model(call.query.get("model"))
    learnt = served.active.learnt
    listed = [
        {
            "seq": c.seq,
            "made": c.made,
            "text": c.row.text,
            **c.answer,
            "data": c.data,
            "row": c.number,
            "before": c.before,
            "audit": c.audit,
            "state": served.corrections.state(c, learnt),
        }
        for c in served.corrections.listed()
    ]
    return {"version": served.active.name, "corrections": listed, "audit": _audit_score(served)}


async def undo(server: Server, call: Call) -> Answer:
    """Take a correction back."""
    given = call.path["seq"]
    seq = int(given) if given.isdecimal() and len(given) < 16 else -1
    for served in server.models.values():
        found = served.corrections.find(seq)
        if found is None:
            continue
        if found.undone:
            raise RequestError(409, f"correction {seq} was taken back already")
        await server.write({"event": UNDO, "model": served.name, "of": seq, "made": now()})
        served.corrections.undo(seq)
        server.metrics.events["undo"] += 1
        return {"seq": seq, "version": served.active.name}
    raise RequestError(404, f"there is no correction {given!r}")


async def learn(server: Server, call: Call) -> Answer:
    """Teach the model its waiting corrections, and list every row that it answers differently now."""
    body: LearnBody = server.decode(LearnBody, call.body)
    return await learn_corrections(server, server.model(body.model))


async def learn_corrections(server: Server, served: ServedModel) -> Answer:
    """Teach a model its waiting corrections."""
    if len(server.learning_tasks) >= 16:
        raise RequestError(503, "the model is learning already: try again later")
    learning, before = server.learning[served.name], served.active
    task = asyncio.get_running_loop().run_in_executor(server.trainer, learning.learn)
    server.learning_tasks.add(task)
    try:
        made = await task
    finally:
        server.learning_tasks.discard(task)
    if served.active is not before:
        await note_version(server, served)
        server.metrics.events["learn"] += 1
    return {"model": served.name, **made}


async def listed_versions(server: Server, call: Call) -> Answer:
    """The names of the versions of a model, or of all models; Label Studio asks for them."""
    name = call.query.get("model")
    asked = list(server.models.values()) if name is None else [server.model(name)]
    names = [version.name for served in asked for version in served.versions.listed()]
    return {"versions": names, "version": asked[0].active.name}


async def versions(server: Server, call: Call) -> Answer:
    """Let another version answer."""
    body: VersionBody = server.decode(VersionBody, call.body)
    served = server.model(body.model)
    served.versions.find(body.version)
    loop = asyncio.get_running_loop()
    made = await loop.run_in_executor(server.trainer, server.learning[served.name].take_back, body.version)
    server.metrics.events["swap"] += 1
    return {"model": served.name, **made}


async def following(server: Server, call: Call) -> Answer:
    """The rows to label next: the most uncertain ones, and one in five at random for an unbiased score."""
    body: NextBody = server.decode(NextBody, call.body)
    if not 1 <= body.n <= MOST_NEXT:
        raise RequestError(400, f"n must be from 1 to {MOST_NEXT}, got {body.n}")
    if not 0 <= body.seed < 2**31:
        raise RequestError(400, f"seed must be from 0 to {2**31 - 1}, got {body.seed}")
    served = server.model(body.model)
    pool, version = served.pool(body.data), served.active
    rows = await server.batches.apart(
        queue_of, server, served, pool, version, range(len(pool)), body.n, body.seed
    )
    return {"model": served.name, "version": version.name, "rows": rows}


def queue_of(
    server: Server,
    served: ServedModel,
    pool: DataPool,
    version: Version,
    among: Iterable[int],
    n: int,
    seed: int = 0,
) -> list[Answer]:
    """The next n rows of a data file to label, of those that are not corrected; the audit rows are remembered."""
    pins = served.corrections.pins
    left = [row for row in among if pool.rows[row].key not in pins]
    doubts = pool.doubts(version)
    if doubts is None:
        raise RequestError(
            400,
            f"rows to label next cannot be chosen for {served.kind.plural}: they have no measure of uncertainty",
        )
    if not left or not n:
        return []
    texts = [pool.rows[row].text for row in left]
    found = choose_queue(texts, doubts[left], min(n, len(left)), served.kind.strategy, seed)
    rows: list[Answer] = [
        {
            "data": pool.name,
            "row": left[row.number],
            "text": texts[row.number],
            "score": row.doubt,
            "why": REASONS[row.chosen],
            "audit": row.chosen == "audit",
        }
        for row in found.rows
    ]
    server.audit.update((pool.name, row["row"]) for row in rows if row["audit"])
    return rows


async def note_version(server: Server, served: ServedModel) -> None:
    """Write the number of a version to the journal, so that its name is not used again after a restart."""
    number = served.active.number
    await server.write({"event": VERSION, "model": served.name, "number": number, "made": now()})


def _corrected_row(served: ServedModel, body: CorrectionBody) -> InputRow:
    if body.row is not None:
        if body.text is not None or body.tokens is not None:
            raise DataError("expected a row of a data file, or a text; got both")
        pool, row = served.data_row(body.data, body.row)
        body.data = pool.name
        return row
    rows = served.answering.rows(served.active.model, body)
    if len(rows) != 1:
        raise DataError("expected one text or one sentence to correct")
    return rows[0]


def _audit_score(served: ServedModel) -> Answer:
    """How often the model was right on rows drawn at random, before it learnt them."""
    drawn = [c for c in served.corrections.live() if c.audit]
    return {"rows": len(drawn), "right": sum(c.right for c in drawn)}
