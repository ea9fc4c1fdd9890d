"""The application: the routes of a server with their description, the files of the page, and the background tasks."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from chaffinch.errors import ChaffinchError, missing_extra
from chaffinch.serve import asking, browsing, correcting, label_studio
from chaffinch.serve.answers import Answer
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
from chaffinch.serve.reload import watch
from chaffinch.serve.served import ServedModel
from chaffinch.serve.server import Server

log = logging.getLogger("chaffinch.serve")

PAGE = "index.html"
PAGE_FOLDER = Path(__file__).parent / "page"
PAGE_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string", "description": "one sentence that says what to do"}},
}
BINARY = ("/", "/page/{name}", "/metrics", "/export")  # paths with answers that are not JSON


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
        """The application with a direct lookup of paths without parameters."""
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
        Route("/doccano/{model}", {"POST": asking.doccano}, {"POST": DoccanoBody}),
    ]


# -- handlers of the server itself


async def _nowhere(_: Server, __: Call) -> Any:
    raise RequestError(404, "there is nothing at this address; /openapi.json lists all paths")


@cache
def page_files() -> dict[str, Raw]:
    """The files of the page by name, read once: a fixed list, so that no other path of the disk can be reached."""
    found = {}
    for path in sorted(PAGE_FOLDER.rglob("*")):
        if path.is_file() and path.suffix in PAGE_TYPES:
            cached = {"cache-control": "no-cache"}
            found[path.relative_to(PAGE_FOLDER).as_posix()] = Raw(
                path.read_bytes(), PAGE_TYPES[path.suffix], cached
            )
    return found


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
    """Whether the server is up; Label Studio reads it too."""
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
    """The OpenAPI description of this server."""
    return description(routes())


# -- beside the requests


@asynccontextmanager
async def lifespan(server: Server) -> AsyncIterator[None]:
    """The background tasks: learning earlier corrections, reloading, retraining."""
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
    """Run a full training at the start if there are training files, and whenever no correction came for a while."""
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


# -- the description of the server


def description(routes: Sequence[Route]) -> dict[str, Any]:
    """The server in OpenAPI: all paths with their bodies, queries and answers."""
    import msgspec

    from chaffinch import __version__

    bodies = {body for route in routes for body in route.bodies.values()}
    kinds = sorted((body for body in bodies if isinstance(body, type)), key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    by_kind = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        path = re.sub(r":\w+\}", "}", route.path)
        entry: dict[str, Any] = paths.setdefault(path, {})
        for method, handler in route.handlers.items():
            made: dict[str, Any] = {
                "operationId": f"{method.lower()}_{handler.__name__}",
                "summary": (handler.__doc__ or "").strip().partition("\n")[0],
                "parameters": _parameters(path, route.query if method == "GET" else {}),
                "responses": {"200": _answer(path), "default": _json(ERROR, "an error")},
            }
            if method in route.bodies:
                body = route.bodies[method]
                schema = by_kind.get(body, {"type": "object"})
                made["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
            if not route.open_to_all:
                made["security"] = [{"token": []}]
            entry[method.lower()] = made
    token = {"type": "apiKey", "in": "header", "name": "X-Chaffinch-Token"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "chaffinch serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": token}},
    }


def _parameters(path: str, query: Any) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]
    for name, kind in query.items():
        schema = {"type": "string", "enum": ["0", "1"]} if kind == "boolean" else {"type": kind}
        found.append({"name": name, "in": "query", "required": False, "schema": schema})
    return found


def _answer(path: str) -> dict[str, Any]:
    if path in BINARY:
        return {"description": "a file", "content": {"*/*": {}}}
    if path.startswith("/doccano"):
        return _json({"type": "array", "items": {"type": "object"}}, "labels")
    return _json({"type": "object"}, "the answer")


def _json(schema: Any, told: str) -> dict[str, Any]:
    return {"description": told, "content": {"application/json": {"schema": schema}}}
