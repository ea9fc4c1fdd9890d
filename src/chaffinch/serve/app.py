"""The application: the routes of a server, and what runs beside its requests."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from chaffinch.errors import ChaffinchError, missing_extra
from chaffinch.serve import asking, browsing, correcting, label_studio
from chaffinch.serve.answers import Answer
from chaffinch.serve.doccano import doccano
from chaffinch.serve.endpoint import Call, Endpoint, Raw, Route
from chaffinch.serve.messages import (
    CompareBody,
    CorrectionBody,
    DoccanoBody,
    ExplainBody,
    LearnBody,
    NextBody,
    PredictBody,
    RequestError,
    VersionBody,
)
from chaffinch.serve.openapi import description
from chaffinch.serve.reload import watch
from chaffinch.serve.served import ServedModel
from chaffinch.serve.server import Server
from chaffinch.serve.static import PAGE, page_files

log = logging.getLogger("chaffinch.serve")


def application(server: Server) -> Any:
    """The ASGI application of a server."""
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route as Path_
    except ImportError:
        raise missing_extra("serve", "starlette") from None
    made = [
        Path_(
            route.path,
            Endpoint(
                server,
                route.path,
                route.handlers,
                query=None if route.others_ask or not route.query else frozenset(route.query),
                open_to_all=route.open_to_all,
                streams=route.streams,
            ),
        )
        for route in routes()
    ]
    nowhere = Endpoint(server, "elsewhere", dict.fromkeys(METHODS, _nowhere), open_to_all=True, streams=True)
    app = Starlette(routes=made, lifespan=lambda _: lifespan(server))
    app.router.default = nowhere
    app.router.redirect_slashes = False
    exact = {route.path: route.endpoint for route in made if "{" not in route.path}

    async def straight(scope: Any, receive: Any, send: Any) -> None:
        """Paths without a name in them need no search."""
        found = exact.get(scope["path"]) if scope["type"] == "http" else None
        await (found or app)(scope, receive, send)

    return straight


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "HEAD", "QUERY")


def routes() -> list[Route]:
    """All paths."""
    query_rows = {
        "model": "string", "data": "string", "from": "integer", "count": "integer", "sort": "string",
        "label": "string", "changed": "boolean", "suspect": "boolean", "corrected": "boolean", "search": "string",
    }  # fmt: skip
    about = {"model": "string", "data": "string"}
    return [
        Route("/", {"GET": page}, open_to_all=True),
        Route("/page/{name:path}", {"GET": page}, open_to_all=True),
        Route("/health", {"GET": health}, open_to_all=True),
        Route("/metrics", {"GET": metrics}),
        Route("/openapi.json", {"GET": openapi}),
        Route("/models", {"GET": asking.models}),
        Route("/predict", {"POST": predict}, {"POST": PredictBody}, streams=True),
        Route("/rules", {"GET": asking.rules}, query={"model": "string"}),
        Route("/explain", {"POST": asking.explain}, {"POST": ExplainBody}),
        Route("/compare", {"POST": asking.compare}, {"POST": CompareBody}),
        Route("/rows", {"GET": browsing.rows}, query=query_rows),
        Route("/report", {"GET": browsing.report}, query=about),
        Route("/export", {"GET": browsing.export}, query={**about, "format": "string"}),
        Route(
            "/corrections",
            {"POST": correcting.correct, "GET": correcting.corrections},
            {"POST": CorrectionBody},
            {"model": "string"},
        ),
        Route("/corrections/{seq}", {"DELETE": correcting.undo}),
        Route("/learn", {"POST": correcting.learn}, {"POST": LearnBody}),
        Route(
            "/versions",
            {"POST": correcting.versions, "GET": correcting.listed_versions},
            {"POST": VersionBody},
            {"model": "string"},
            others_ask=True,
        ),
        Route("/next", {"POST": correcting.following}, {"POST": NextBody}),
        Route("/setup", {"POST": label_studio.setup}, {"POST": dict[str, Any]}),
        Route("/webhook", {"POST": label_studio.webhook}, {"POST": dict[str, Any]}),
        Route("/doccano/{model}", {"POST": doccano}, {"POST": DoccanoBody}),
    ]


# -- handlers of the server itself


async def _nowhere(_: Server, __: Call) -> Any:
    raise RequestError(404, "there is nothing at this address; /openapi.json lists what there is")


async def page(_: Server, call: Call) -> Raw:
    """The page and its files."""
    found = page_files().get(call.path.get("name", PAGE))
    if found is None:
        raise RequestError(404, "the page has no such file")
    return found


async def predict(server: Server, call: Call) -> Any:
    """The answers to texts, sentences or pairs; a stream of lines; or Label Studio's tasks."""
    if call.pieces is not None:
        return asking.streamed(server, call)
    body: PredictBody = server.decode(PredictBody, call.body)
    if body.tasks is not None:
        return await label_studio.predict(server, body)
    return await asking.predict(server, body)


async def health(server: Server, _: Call) -> Answer:
    """That the server is up; Label Studio reads it too."""
    served = server.first
    return {"status": "UP", "model_class": served.recipe, "version": served.active.name}


async def metrics(server: Server, _: Call) -> Raw:
    """Counts for Prometheus."""
    gauges: dict[str, float] = {
        "chaffinch_connections": len(server.connections),
        "chaffinch_connections_refused": server.connections.refused,
        "chaffinch_connections_closed": server.connections.closed,
    }
    for name, served in server.models.items():
        told = name.replace("\\", "\\\\").replace('"', '\\"')
        gauges[f'chaffinch_version{{model="{told}"}}'] = served.active.number
    for name, served in server.models.items():
        told = name.replace("\\", "\\\\").replace('"', '\\"')
        gauges[f'chaffinch_corrections{{model="{told}"}}'] = len(served.corrections.pins)
    return Raw(server.metrics.text(gauges).encode(), "text/plain; version=0.0.4; charset=utf-8")


async def openapi(_: Server, __: Call) -> Answer:
    """What this server offers."""
    return description(routes())


# -- beside the requests


@asynccontextmanager
async def lifespan(server: Server) -> AsyncIterator[None]:
    """What runs beside the requests: learning what was corrected earlier, reloading, retraining."""
    for served in server.models.values():
        if server.learning[served.name].learns and served.corrections.pins:
            server.start(_learn_again(server, served))
    server.start(watch(server))
    server.start(_retrain_when_idle(server))
    yield
    for learning in server.learning.values():
        learning.stopping = True
    for task in list(server.tasks):
        task.cancel()
    for pool in (server.threads, server.trainer, server.background, server.writer):
        pool.shutdown(wait=False, cancel_futures=True)


async def _learn_again(server: Server, served: ServedModel) -> None:
    try:
        await correcting.learn_corrections(server, served)
    except (ChaffinchError, RequestError) as e:
        log.warning("%s: did not learn its earlier corrections: %s", served.name, e)


async def _retrain_when_idle(server: Server) -> None:
    """A full training at the start if there are training files, and when no correction came for a while."""
    loop = asyncio.get_running_loop()
    seen: dict[str, int] = {}
    quiet_since = loop.time() - server.retrain_after
    while True:
        for name, learning in server.learning.items():
            count = len(list(server.models[name].corrections.listed()))
            if seen.get(name, count) != count:
                quiet_since = loop.time()
            seen[name] = count
            if not learning.stale or loop.time() - quiet_since < server.retrain_after:
                continue
            await _retrain(server, name)
        await asyncio.sleep(min(1.0, server.retrain_after))


async def _retrain(server: Server, name: str) -> None:
    learning, served = server.learning[name], server.models[name]
    before = served.active
    try:
        made = await asyncio.get_running_loop().run_in_executor(server.background, learning.retrain)
        log.info("%s: %s", name, made["note"])
        server.metrics.events["retrain"] += 1
    except Exception as e:
        learning.gave_up()
        log.warning("%s: full training failed: %s", name, e)
        server.metrics.events["retrain_failed"] += 1
    if served.active is not before:
        await correcting.note_version(server, served)
