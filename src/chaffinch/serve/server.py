"""The server's state, which every handler receives: models, corrections, the journal, threads and counts."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from chaffinch.errors import missing_extra
from chaffinch.serve.batches import Batches
from chaffinch.serve.connections import Connections
from chaffinch.serve.corrections import CORRECTION, UNDO, Correction
from chaffinch.serve.journal import Entry, Journal
from chaffinch.serve.learning import Learning
from chaffinch.serve.messages import BodyReader, RequestError
from chaffinch.serve.metrics import Metrics
from chaffinch.serve.pools import DataPool
from chaffinch.serve.projects import Projects
from chaffinch.serve.security import Guard
from chaffinch.serve.served import ServedModel, find_model

MAX_BODY = 1 << 20
MOST_CONNECTIONS = 1_000
IDLE_BEFORE_RETRAINING = 30.0  # seconds after the last correction


class Server:
    """The state that handlers read and change; ``app.application`` makes an ASGI application of it."""

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
        self.projects = Projects(self.models)
        self.learning_tasks: set[Any] = set()
        self.audit: set[tuple[str | None, int | None]] = set()
        self.encode = msgspec.json.Encoder().encode
        self._readers: dict[type, BodyReader] = {}
        self._pending: list[tuple[Entry, asyncio.Future[int]]] = []
        self._writing = False
        self.writer = ThreadPoolExecutor(1, "chaffinch-journal")
        self._seq = 0  # without a journal
        self._looking: set[tuple[str, str]] = set()
        self.tasks: set[asyncio.Task[Any]] = set()
        for entry in [] if journal is None else journal.entries:
            self._replay(entry)

    # -- for handlers

    def model(self, name: str | None) -> ServedModel:
        """The model of this name; None: the first one."""
        return find_model(self.models, name)

    def decode(self, kind: type, body: bytes) -> Any:
        """The body of a request, checked."""
        reader = self._readers.get(kind)
        if reader is None:
            reader = self._readers[kind] = BodyReader(kind)
        return reader.read(body)

    async def write(self, entry: Entry) -> int:
        """Write an event to the journal; its sequence number. Events that arrive together are written together."""
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
                numbers = await loop.run_in_executor(self.writer, self.journal.append, events)
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
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def look_for_suspects(self, served: ServedModel, pool: DataPool) -> None:
        """Let the doctor look for label errors in a data file, once, in the background."""
        key = served.name, pool.name
        if pool.suspects is None and key not in self._looking:
            self._looking.add(key)
            self.background.submit(pool.find_suspects)

    # -- inside

    def _replay(self, entry: Entry) -> None:
        """Apply an event of an earlier run; events of models that are not served now are ignored."""
        served = self.models.get(entry["model"])
        if served is None:
            return
        if entry["event"] == CORRECTION:
            served.corrections.add(Correction.of_entry(entry))
        elif entry["event"] == UNDO and served.corrections.find(entry["of"]) is not None:
            with suppress(RequestError):
                served.corrections.undo(entry["of"])
