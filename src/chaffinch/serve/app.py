"""The server: its models, its journal and its threads, and the routes by which they are reached."""

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from chaffinch.errors import ChaffinchError, missing_extra
from chaffinch.serve import asking, browsing, correcting
from chaffinch.serve.answers import Answer
from chaffinch.serve.batches import Batches
from chaffinch.serve.connections import Connections
from chaffinch.serve.corrections import CORRECTION, UNDO, Correction
from chaffinch.serve.doccano import doccano
from chaffinch.serve.endpoint import Call, Endpoint, Handler, Raw
from chaffinch.serve.journal import Entry, Journal
from chaffinch.serve.label_studio import LabelStudio, setup, webhook
from chaffinch.serve.learning import Learning
from chaffinch.serve.messages import (
    BodyReader,
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
from chaffinch.serve.metrics import Metrics
from chaffinch.serve.pools import DataPool
from chaffinch.serve.reload import watch
from chaffinch.serve.security import Guard
from chaffinch.serve.served import ServedModel
from chaffinch.serve.static import PAGE, page_files

MAX_BODY = 1 << 20
MOST_CONNECTIONS = 1_000
IDLE_BEFORE_RETRAINING = 30.0  # seconds after the last correction

log = logging.getLogger("chaffinch.serve")


@dataclass(frozen=True)
class Route:
    """One path: its handlers by method, the bodies they take, the queries they know, and what they are for."""

    path: str
    handlers: Mapping[str, Handler]
    bodies: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    open_to_all: bool = False
    streams: bool = False
    others_ask: bool = False  # other tools may add parameters to the query


class Server:
    """All that handlers need. ``write`` and ``model`` are for them; ``app`` is what a web server runs."""

    def __init__(
        self,
        models: Mapping[str, ServedModel],
        journal: Journal | None = None,
        *,
        token: str | None = None,
        max_body: int = MAX_BODY,
        retrain_after: float = IDLE_BEFORE_RETRAINING,
    ) -> None:
        try:
            import msgspec
        except ImportError:
            raise missing_extra("serve", "msgspec") from None
        self.models = dict(models)
        self.first = next(iter(self.models.values()))
        self.learning = {name: Learning(served) for name, served in self.models.items()}
        self.journal, self.guard, self.max_body = journal, Guard(token), max_body
        self.retrain_after = retrain_after
        self.metrics = Metrics()
        self.connections = Connections(MOST_CONNECTIONS)
        self.threads = ThreadPoolExecutor(2, "chaffinch-large")
        self.trainer = ThreadPoolExecutor(1, "chaffinch-learn")
        self.background = ThreadPoolExecutor(1, "chaffinch-retrain")
        self.batches = Batches(self.threads, self.metrics.batches.add)
        self.label_studio = LabelStudio(self)
        self.learning_tasks: set[Any] = set()
        self.audit: set[tuple[str | None, int | None]] = set()
        self.encode = msgspec.json.Encoder().encode
        self._readers: dict[type, BodyReader] = {}
        self._pending: list[tuple[Entry, asyncio.Future[int]]] = []
        self._writing = False
        self._writer = ThreadPoolExecutor(1, "chaffinch-journal")
        self._seq = 0  # without a journal
        self._looking: set[tuple[str, str]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        for entry in [] if journal is None else journal.entries:
            self._replay(entry)

    # -- for handlers

    def model(self, name: str | None) -> ServedModel:
        """The model of this name; None: the first one."""
        if name is None:
            return self.first
        if name not in self.models:
            raise RequestError(404, f"there is no model {name!r}; there are {', '.join(self.models)}")
        return self.models[name]

    def decode(self, kind: type, body: bytes) -> Any:
        """The body of a request, checked."""
        reader = self._readers.get(kind)
        if reader is None:
            reader = self._readers[kind] = BodyReader(kind)
        return reader.read(body)

    async def write(self, entry: Entry) -> int:
        """The sequence number of an event that is on the disk; events that come together are written together."""
        if self.journal is None:
            self._seq += 1
            return self._seq
        written: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pending.append((entry, written))
        if not self._writing:
            self._writing = True
            self.start(self._write_pending())
        return await written

    async def _write_pending(self) -> None:
        assert self.journal is not None
        loop = asyncio.get_running_loop()
        while self._pending:
            pending, self._pending = self._pending, []
            try:
                events = [entry for entry, _ in pending]
                numbers = await loop.run_in_executor(self._writer, self.journal.append, events)
            except OSError as e:
                fault = RequestError(
                    507, f"the journal cannot be written ({e.strerror}): nothing was changed"
                )
                for _, written in pending:
                    if not written.done():
                        written.set_exception(fault)
                continue
            for (_, written), number in zip(pending, numbers, strict=True):
                if not written.done():
                    written.set_result(number)
        self._writing = False

    def start(self, work: Any) -> None:
        """Run a coroutine beside the requests."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def look_for_suspects(self, served: ServedModel, pool: DataPool) -> None:
        """Let the doctor look for label errors in a data file, once, beside the requests."""
        key = served.name, pool.name
        if pool.suspects is None and key not in self._looking:
            self._looking.add(key)
            self.background.submit(pool.find_suspects)

    # -- the course of a run

    def _replay(self, entry: Entry) -> None:
        """An event of an earlier run; those of models that are not served now are left alone."""
        served = self.models.get(entry["model"])
        if served is None:
            return
        if entry["event"] == CORRECTION:
            served.corrections.add(Correction.of_entry(entry))
        elif entry["event"] == UNDO and served.corrections.find(entry["of"]) is not None:
            with suppress(RequestError):
                served.corrections.undo(entry["of"])

    @asynccontextmanager
    async def lifespan(self, _: Any) -> Any:
        """What runs beside the requests: learning what was corrected earlier, reloading, retraining."""
        for served in self.models.values():
            if self.learning[served.name].learns and served.corrections.pins:
                self.start(self._learn_again(served))
        self.start(watch(self))
        self.start(self._retrain_when_idle())
        yield
        for learning in self.learning.values():
            learning.stopping = True
        for task in list(self._tasks):
            task.cancel()
        for pool in (self.threads, self.trainer, self.background, self._writer):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _learn_again(self, served: ServedModel) -> None:
        try:
            await correcting.learnt(self, served)
        except (ChaffinchError, RequestError) as e:
            log.warning("%s: did not learn its earlier corrections: %s", served.name, e)

    async def _retrain_when_idle(self) -> None:
        """A full training at the start if there are training files, and when no correction came for a while."""
        loop = asyncio.get_running_loop()
        seen: dict[str, int] = {}
        quiet_since = loop.time() - self.retrain_after
        while True:
            for name, learning in self.learning.items():
                count = len(list(self.models[name].corrections.listed()))
                if seen.get(name, count) != count:
                    quiet_since = loop.time()
                seen[name] = count
                if not learning.stale or loop.time() - quiet_since < self.retrain_after:
                    continue
                await self._retrained(name)
            await asyncio.sleep(min(1.0, self.retrain_after))

    async def _retrained(self, name: str) -> None:
        learning, served = self.learning[name], self.models[name]
        before = served.active
        try:
            made = await asyncio.get_running_loop().run_in_executor(self.background, learning.retrain)
            log.info("%s: %s", name, made["note"])
            self.metrics.events["retrain"] += 1
        except Exception as e:
            learning.gave_up()
            log.warning("%s: full training failed: %s", name, e)
            self.metrics.events["retrain_failed"] += 1
        if served.active is not before:
            await correcting.note_version(self, served)

    # -- routes

    def routes(self) -> list[Route]:
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
            Route("/predict", {"POST": asking.predict}, {"POST": PredictBody}, streams=True),
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
            Route("/setup", {"POST": setup}, {"POST": dict[str, Any]}),
            Route("/webhook", {"POST": webhook}, {"POST": dict[str, Any]}),
            Route("/doccano/{model}", {"POST": doccano}, {"POST": DoccanoBody}),
        ]

    @property
    def app(self) -> Any:
        """The ASGI application."""
        try:
            from starlette.applications import Starlette
            from starlette.routing import Route as Path_
        except ImportError:
            raise missing_extra("serve", "starlette") from None
        made = [
            Path_(
                route.path,
                Endpoint(
                    self,
                    route.path,
                    route.handlers,
                    query=None if route.others_ask or not route.query else frozenset(route.query),
                    open_to_all=route.open_to_all,
                    streams=route.streams,
                ),
            )
            for route in self.routes()
        ]
        nowhere = Endpoint(
            self, "elsewhere", dict.fromkeys(METHODS, _nowhere), open_to_all=True, streams=True
        )
        app = Starlette(routes=made, lifespan=self.lifespan)
        app.router.default = nowhere
        app.router.redirect_slashes = False
        exact = {route.path: route.endpoint for route in made if "{" not in route.path}

        async def straight(scope: Any, receive: Any, send: Any) -> None:
            """Paths without a name in them need no search."""
            found = exact.get(scope["path"]) if scope["type"] == "http" else None
            await (found or app)(scope, receive, send)

        return straight


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "HEAD", "QUERY")


async def _nowhere(_: Server, __: Call) -> Any:
    raise RequestError(404, "there is nothing at this address; /openapi.json lists what there is")


async def page(_: Server, call: Call) -> Raw:
    """The page and its files."""
    found = page_files().get(call.path.get("name", PAGE))
    if found is None:
        raise RequestError(404, "the page has no such file")
    return found


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


async def openapi(server: Server, _: Call) -> Answer:
    """What this server offers."""
    from chaffinch.serve.openapi import description

    return description(server.routes())
