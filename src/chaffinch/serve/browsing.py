"""Handlers that show data files: /rows, /report, /export."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.corpus import FORMATS, write
from chaffinch.corpus.annotations import PREDICTION
from chaffinch.errors import ConfigError
from chaffinch.evaluate.outputs import Rules
from chaffinch.evaluate.reliability import reliability
from chaffinch.serve.answers import Answer
from chaffinch.serve.correcting import queue_of
from chaffinch.serve.endpoint import Call, Raw
from chaffinch.serve.messages import Asked, RequestError
from chaffinch.serve.pools import DataPool
from chaffinch.serve.served import ServedModel
from chaffinch.serve.server import Server
from chaffinch.serve.versions import Version

MOST_ROWS = 500  # of one answer
MOST_LABELS = 40  # of a confusion matrix
SHORT_NAMES = {"conll": "columns", "spans": "jsonl-spans"}
JUDGED = 4_000  # rows whose probabilities are compared with gold


async def rows(server: Server, call: Call) -> Answer:
    """Rows of a data file with the model's own answers, sorted and filtered."""
    served = server.model(call.query.get("model"))
    pool, version = served.pool(call.query.get("data")), served.active
    first = call.number("from", 0, 0, 10**9)
    count = call.number("count", 50, 0, MOST_ROWS)
    sort = call.query.get("sort", "order")
    if sort not in ("order", "doubt", "next"):
        raise RequestError(400, f"sort must be order, doubt or next, got {sort!r}")
    if call.flag("suspect"):
        server.look_for_suspects(served, pool)
    return await server.batches.apart(_rows, server, served, pool, version, call, first, count, sort)


def _rows(
    server: Server,
    served: ServedModel,
    pool: DataPool,
    version: Version,
    call: Call,
    first: int,
    count: int,
    sort: str,
) -> Answer:
    chosen = _chosen(served, pool, version, call)
    why: dict[int, str] = {}
    if sort == "next":
        chosen = [n for n in chosen if pool.rows[n].key not in served.corrections.pins]
        queue = queue_of(server, served, pool, version, chosen, count)
        why = {row["row"]: row["why"] for row in queue}
    if sort == "doubt":
        doubts = pool.doubts(version)
        if doubts is None:
            raise ConfigError("this model has no measure of uncertainty: sort by order")
        chosen = sorted(chosen, key=lambda n: -float(doubts[n]))
    page = list(why) if sort == "next" else chosen[first : first + count]
    given = [pool.rows[n] for n in page]
    answers = served.answering.answers(version.model, given, Asked()) if given else []
    made = []
    for n, answer in zip(page, answers, strict=True):
        row = {"row": n, **answer}
        gold, held = pool.gold(n), served.corrections.pins.get(pool.rows[n].key)
        if gold is not None:
            row["gold"] = served.answering.gold(gold)
        if held is not None:
            row["correction"] = {"seq": held.seq, **held.answer}
        if n in pool.changed:
            row["changed"] = pool.changed[n]
        if pool.suspects and n in pool.suspects:
            row["suspect"] = pool.suspects[n]
        if n in why:
            row["why"] = why[n]
        made.append(row)
    looked = (
        {} if not call.flag("suspect") else {"suspects": "ready" if pool.suspects is not None else "looking"}
    )
    return {
        "model": served.name,
        "data": pool.name,
        "version": version.name,
        "total": len(chosen),
        "rows": made,
        **looked,
    }


def _chosen(served: ServedModel, pool: DataPool, version: Version, call: Call) -> list[int]:
    """The rows that pass every filter, in the order of the file."""
    chosen = list(range(len(pool)))
    if call.flag("changed"):
        chosen = [n for n in chosen if n in pool.changed]
    if call.flag("suspect"):
        chosen = [n for n in chosen if n in (pool.suspects or {})]
    if call.flag("corrected"):
        pins = served.corrections.pins
        chosen = [n for n in chosen if pool.rows[n].key in pins]
    if wanted := call.query.get("search"):
        low = wanted.casefold()
        chosen = [n for n in chosen if low in pool.rows[n].text.casefold()]
    if label := call.query.get("label"):
        answers = pool.answers(version)
        spelt = {label, *(f"{letter}-{label}" for letter in "BIESLU")}
        chosen = [n for n in chosen if not spelt.isdisjoint(_labels(answers[n]))]
    return chosen


def _labels(answer: Any) -> set[str]:
    return set(answer) if isinstance(answer, list) else set()


async def report(server: Server, call: Call) -> Answer:
    """Scores on a data file with gold: accuracy or F1, confusion matrix, calibration; and the training curve."""
    served = server.model(call.query.get("model"))
    pool, version = served.pool(call.query.get("data")), served.active
    return await server.batches.apart(_report, served, pool, version)


def _report(served: ServedModel, pool: DataPool, version: Version) -> Answer:
    made: Answer = {
        "model": served.name,
        "data": pool.name,
        "version": version.name,
        "curve": _curve(version),
    }
    if not pool.test.labelled:
        return made | {
            "confusion": None,
            "calibration": [],
            "ece": None,
            "note": "the file has no gold labels",
        }
    answers = pool.answers(version)
    right = [
        served.answering.plain(a) == served.answering.plain(g)
        for a, g in zip(answers, pool.test.gold, strict=True)
    ]
    made["accuracy"] = sum(right) / max(1, len(right))
    made |= _scores(served, pool, version)
    made["confusion"] = _confusion(answers, pool.test.gold)
    if served.probabilities:
        made |= _calibration(served, pool, version)
    else:
        made |= {"calibration": [], "ece": None}
    return made


def _scores(served: ServedModel, pool: DataPool, version: Version) -> Answer:
    """The scores of the kind."""
    outputs = pool.test.outputs(("gold", version.name), [pool.answers(version)])
    _, tallies = outputs.scored(Rules())
    found = served.kind.scores_of(tallies[0])
    f1 = next((found[name] for name in ("span.micro.f1", "micro_f1") if name in found), None)
    return {"scores": found} | ({} if f1 is None else {"f1": f1})


def _confusion(answers: list[Any], gold: list[Any]) -> Answer | None:
    """The confusion matrix: counts[gold][predicted]."""
    counts: dict[tuple[str, str], int] = {}
    for given, true in zip(answers, gold, strict=True):
        if not isinstance(given, list) or not isinstance(true, list) or len(given) != len(true):
            continue
        for g, a in zip(true, given, strict=True):
            counts[g, a] = counts.get((g, a), 0) + 1
    often: dict[str, int] = {}
    for (g, a), n in counts.items():
        often[g] = often.get(g, 0) + n
        often.setdefault(a, 0)
    labels = sorted(sorted(often), key=lambda name: -often[name])[:MOST_LABELS]
    if not labels:
        return None
    return {"labels": labels, "counts": [[counts.get((g, a), 0) for a in labels] for g in labels]}


def _calibration(served: ServedModel, pool: DataPool, version: Version) -> Answer:
    """The reliability table: accuracy by certainty, over tokens or texts."""
    p: list[float] = []
    right: list[bool] = []
    step = max(1, len(pool) // JUDGED)
    picked = list(range(0, len(pool), step))
    found = served.answering.answers(version.model, [pool.rows[n] for n in picked], Asked())
    for n, answer in zip(picked, found, strict=True):
        gold = pool.test.gold[n]
        if answer.get("token_certainty") is not None:
            p += answer["token_certainty"]
            right += [a == g for a, g in zip(answer["tags"], gold, strict=True)]
        elif answer.get("certainty") is not None and "label" in answer:
            p.append(answer["certainty"])
            right.append(answer["label"] == served.answering.plain(gold))
    if not p:
        return {"calibration": [], "ece": None}
    bins = 10
    measured = reliability(np.array(p), np.array(right), bins)
    table = [
        {"from": i / bins, "to": (i + 1) / bins, "mean": float(c), "right": float(a), "count": int(k)}
        for i, (c, a, k) in enumerate(
            zip(measured.confidence, measured.accuracy, measured.counts, strict=True)
        )
        if k
    ]
    return {"calibration": table, "ece": measured.error}


def _curve(version: Version) -> list[Answer]:
    """The training curve of the version, if it was trained here."""
    made = []
    for record in getattr(version.model, "history_", []):
        named = {name: float(value) for name, value in record.scores.items() if np.isfinite(value)}
        made.append({"pass": record.done, "objective": named.get("primal", named.get("objective")), **named})
    return made


async def export(server: Server, call: Call) -> Raw:
    """The corrections of a model, or a data file with its corrections, in any corpus format."""
    served = server.model(call.query.get("model"))
    wanted = call.query.get("format", "jsonl")
    name = SHORT_NAMES.get(wanted, wanted)
    if name not in FORMATS:
        raise RequestError(400, f"there is no format {name!r}; there are {', '.join(sorted(FORMATS))}")
    data = call.query.get("data")
    pool = None if data is None else served.pool(data)
    content, ending = await server.batches.apart(_exported, served, pool, name)
    stem = f"{served.name}-corrections" if pool is None else f"{Path(pool.name).stem}-corrected"
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in stem)
    kind = "application/octet-stream"
    return Raw(content, kind, {"content-disposition": f'attachment; filename="{safe}{ending}"'})


def _exported(served: ServedModel, pool: DataPool | None, format: str) -> tuple[bytes, str]:
    pins, model = served.corrections.pins, served.loaded
    if pool is None:
        live = served.corrections.live()
        documents = [served.answering.corrected_document(model, c.row, c.answer) for c in live]
    else:
        documents = []
        for document, row in zip(pool.test.documents, pool.rows, strict=True):
            held = pins.get(row.key)
            if held is None:
                document.fields.pop(PREDICTION, None)
                documents.append(document)
            else:
                made = served.answering.corrected_document(model, row, held.answer)
                made.id, made.group, made.fields = document.id, document.group, dict(document.fields)
                documents.append(made)
    chosen = FORMATS[format]
    if chosen.folder is not None:
        raise ConfigError(
            f"the format {format} is a folder, which a download cannot hold; choose another one"
        )
    if not documents:
        raise RequestError(404, f"the model {served.name} has no corrections to export yet")
    ending = chosen.extensions[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"export{ending}"
        write(documents, path, format=format)
        return path.read_bytes(), ending
