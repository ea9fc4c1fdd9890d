"""From an HTTP request to a handler and back: limits of size and time, access checks, errors as one sentence."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from chaffinch.errors import ChaffinchError
from chaffinch.serve.messages import RequestError, known_parameters
from chaffinch.serve.security import HEADERS, LINES

BODY_WITHIN = 20.0  # seconds to receive a body, or the next piece of a stream
ANSWER_WITHIN = 60.0  # seconds in which a client must take a piece of an answer
LARGE_ANSWER = 1 << 16  # bytes that may not fit the socket's buffer

log = logging.getLogger("chaffinch.serve")
FIXED_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


@dataclass(slots=True)
class Call:
    """A request: its query, the names in its path, its body."""

    method: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""
    pieces: AsyncIterator[bytes] | None = None  # of a stream of lines, instead of a body

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number of the query, within bounds."""
        given = self.query.get(name)
        if given is None:
            return default
        try:
            value = int(given)
        except ValueError:
            raise RequestError(400, f"{name} must be a whole number, got {given!r}") from None
        if not low <= value <= high:
            raise RequestError(400, f"{name} must be from {low} to {high}, got {value}")
        return value

    def flag(self, name: str) -> bool:
        """Whether a switch of the query is on."""
        given = self.query.get(name, "0")
        if given not in ("0", "1", "", "true", "false"):
            raise RequestError(400, f"{name} must be 0 or 1, got {given!r}")
        return given in ("1", "true")


@dataclass(slots=True)
class Raw:
    """An answer that is not JSON: bytes, or pieces of them as they are made."""

    content: bytes | AsyncIterator[bytes]
    kind: str
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


Handler = Callable[[Any, Call], Awaitable[Any]]


@dataclass(frozen=True)
class Route:
    """One path: its handlers by method, their bodies and query parameters, and their purpose."""

    path: str
    handlers: Mapping[str, Handler]
    bodies: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    open_to_all: bool = False
    streams: bool = False
    others_ask: bool = False  # other tools may add parameters to the query


class Endpoint:
    """One route as an ASGI application.

    server: passed to handlers; it has ``guard``, ``metrics``, ``max_body`` and ``encode``
    query:  the known parameters; None: any
    """

    def __init__(
        self,
        server: Any,
        route: str,
        handlers: Mapping[str, Handler],
        *,
        open_to_all: bool,
        streams: bool,
        query: frozenset[str] | None = None,
    ) -> None:
        self.server, self.route, self.handlers, self.query = server, route, dict(handlers), query
        self.open_to_all, self.streams = open_to_all, streams
        if "GET" in self.handlers:
            self.handlers["HEAD"] = self.handlers["GET"]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        start = time.perf_counter()
        method = scope["method"]
        status, made = 200, None
        try:
            made = await self._made(method, scope, receive)
            if isinstance(made, Raw):
                status = made.status
        except Exception as e:
            status, made = fault(e, method, self.route)
        self.server.metrics.request(self.route, status, time.perf_counter() - start)
        await self._send(send, status, made, method)

    async def _made(self, method: str, scope: Any, receive: Any) -> Any:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self.server.guard.check(method, headers, open_to_all=self.open_to_all)
        handler = self.handlers.get(method)
        if handler is None:
            raise RequestError(405, f"{self.route} takes {', '.join(self.handlers)}, not {method}")
        asked = scope["query_string"]
        query = dict(parse_qsl(asked.decode("latin-1"), keep_blank_values=True)) if asked else {}
        if self.query is not None:
            known_parameters(query, sorted(self.query))
        call = Call(method, scope.get("path_params", {}), query, headers)
        if method == "POST":
            if headers["content-type"].startswith(LINES):
                if not self.streams:
                    raise RequestError(415, f"{self.route} takes application/json")
                call.pieces = _pieces(receive)
            else:
                call.body = await _body(receive, headers, self.server.max_body)
        return await handler(self.server, call)

    async def _send(self, send: Any, status: int, made: Any, method: str) -> None:
        kind, content = b"application/json", made
        further: list[tuple[bytes, bytes]] = []
        if isinstance(made, Raw):
            kind, content = made.kind.encode(), made.content
            further = [(name.lower().encode(), value.encode()) for name, value in made.headers.items()]
        else:
            content = self.server.encode(made)
        given = {name for name, _ in further}
        fixed = [pair for pair in FIXED_HEADERS if pair[0] not in given] if given else FIXED_HEADERS
        headers = [(b"content-type", kind), *fixed, *further]
        if isinstance(content, bytes):
            headers.append((b"content-length", b"%d" % len(content)))
            await send({"type": "http.response.start", "status": status, "headers": headers})
            last = {"type": "http.response.body", "body": b"" if method == "HEAD" else content}
            if len(content) <= LARGE_ANSWER:
                await send(last)
            else:
                async with asyncio.timeout(ANSWER_WITHIN):
                    await send(last)
            return
        await send({"type": "http.response.start", "status": status, "headers": headers})
        async for piece in content:
            async with asyncio.timeout(ANSWER_WITHIN):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def fault(error: BaseException, method: str, route: str) -> tuple[int, dict[str, str]]:
    """The status and the answer of an error; errors of the server itself are logged."""
    if isinstance(error, RequestError):
        return error.status, {"error": str(error)}
    if isinstance(error, ChaffinchError):
        return 400, {"error": str(error)}
    if isinstance(error, TimeoutError):
        return 408, {"error": "the request did not arrive in time: send it faster, or in parts"}
    log.error("%s %s failed", method, route, exc_info=error)
    return 500, {"error": "the server failed at this request; its log says why"}


async def _body(receive: Any, headers: Mapping[str, str], most: int) -> bytes:
    """The whole body; RequestError if it is too large, TimeoutError if it does not arrive in time."""
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    first = _Begun(receive())
    if first.ended and not first.value.get("more_body", False):
        return await _joined(first.value, receive, most)  # all of it is here: no timer is needed
    async with asyncio.timeout(BODY_WITHIN):
        return await _joined(first.value if first.ended else await first, receive, most)


async def _joined(message: Any, receive: Any, most: int) -> bytes:
    """The pieces of a body, from its first message on."""
    pieces, size = [], 0
    while True:
        if message["type"] == "http.disconnect":
            raise RequestError(400, "the connection was closed before the whole request arrived")
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        message = await receive()


class _Begun:
    """A coroutine that has run until it waits for something, or to its end; awaiting it runs the rest.

    ended: whether it needed no wait   value: its result, if so
    """

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work
        self._waits_for: Any = None
        self.value: Any = None
        self.ended = False
        try:
            self._waits_for = work.send(None)
        except StopIteration as e:
            self.ended, self.value = True, e.value

    def __await__(self) -> Generator[Any, Any, Any]:
        waits_for = self._waits_for
        try:
            while True:
                try:
                    given = yield waits_for
                except (Exception, asyncio.CancelledError) as e:
                    waits_for = self._work.throw(e)
                else:
                    waits_for = self._work.send(given)
        except StopIteration as e:
            return e.value
        finally:
            self._work.close()


async def _pieces(receive: Any) -> AsyncIterator[bytes]:
    """The pieces of a body as they arrive."""
    while True:
        async with asyncio.timeout(BODY_WITHIN):
            message = await receive()
        if message["type"] == "http.disconnect":
            return
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def _too_large(most: int) -> RequestError:
    return RequestError(
        413, f"the request is larger than {most:,} bytes: send it in parts, or raise --max-body"
    )
