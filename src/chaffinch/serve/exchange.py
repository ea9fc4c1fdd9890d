"""The fast path of /predict: no task, no ASGI, and head and body of the answer in one write.

A request takes it if it arrives in one piece and can be answered in a micro-batch. All other requests, and
errors, go to the handlers.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, ClassVar

from chaffinch.errors import ChaffinchError
from chaffinch.serve.answers import Answer
from chaffinch.serve.asking import joined_with_pins, split_from_pins
from chaffinch.serve.connections import Connections
from chaffinch.serve.endpoint import FIXED_HEADERS, fault
from chaffinch.serve.messages import Asked, PredictBody, RequestError
from chaffinch.serve.security import LINES
from chaffinch.serve.server import Server

ROUTE = "/predict"
MOST_HEADER_BYTES = 1 << 16
HEADERS_WITHIN = 10.0  # seconds from the opening of a connection, or from its last answer, to a whole request
MOST_BODY = 1 << 16  # bytes that are decoded on the event loop
_HEAD = b"".join(b"%s: %s\r\n" % pair for pair in [(b"content-type", b"application/json"), *FIXED_HEADERS])
_OK = b"HTTP/1.1 200 OK\r\n" + _HEAD + b"content-length: "

log = logging.getLogger("chaffinch.serve")


class Exchange:
    """A request that waits for its answers in a micro-batch, and its connection; it acts as a uvicorn cycle.

    finish: makes the status and the content of the answer from the result or the error
    """

    message_event: ClassVar[asyncio.Event] = asyncio.Event()  # the client is gone

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.response_complete = self.disconnected = False
        self.keep_alive = True
        self.finish: Callable[[Any], tuple[int, bytes]]

    def done(self) -> bool:
        """Whether nobody waits for the answer."""
        return self.disconnected or self.response_complete

    def set_result(self, answers: list[Answer]) -> None:
        """Send the answers."""
        self._send(answers)

    def set_exception(self, fault: BaseException) -> None:
        """Send the error."""
        self._send(fault)

    def _send(self, found: Any) -> None:
        self.response_complete = True
        connection = self.connection
        if connection.transport.is_closing():
            return
        try:
            status, content = self.finish(found)
        except Exception:  # the others of the batch still get answers
            log.exception("an answer could not be sent")
            connection.transport.abort()
            return
        head = _OK if status == 200 else _head(status)
        connection.transport.write(b"%s%d\r\n\r\n%s" % (head, len(content), content))
        if not self.keep_alive:
            connection.transport.close()
        connection.on_response_complete()


class Quick:
    """Takes requests to /predict for a server."""

    path = ROUTE.encode()

    def __init__(self, server: Server) -> None:
        self._server = server

    def take(self, exchange: Exchange, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Take the request and return True, or return False and do nothing."""
        start, server = time.perf_counter(), self._server
        if len(body) > min(MOST_BODY, server.max_body) or not self._admitted(exchange.connection, headers):
            return False
        try:
            asked_for: PredictBody = server.decode(PredictBody, body)
            if asked_for.tasks is not None or asked_for.rules:
                return False
            served = server.model(asked_for.model)
            version = served.versions.find(asked_for.version)
            rows = served.answering.rows(version.model, asked_for)
            asked = Asked.of(asked_for)
            pins, rest = split_from_pins(served, rows, own=asked_for.version is not None)
        except (ChaffinchError, RequestError):
            return False

        def finish(found: Any) -> tuple[int, bytes]:
            status = 200
            made: Answer
            if isinstance(found, BaseException):
                status, made = fault(found, "POST", ROUTE)
            else:
                results = found if pins is None else joined_with_pins(pins, found)
                made = {"model": served.name, "version": version.name, "results": results}
            content: bytes = server.encode(made)
            server.metrics.request(ROUTE, status, time.perf_counter() - start)
            return status, content

        exchange.finish = finish
        return bool(rest) and server.batches.offer(served.answering, version, rest, asked, exchange)

    def _admitted(self, connection: Any, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether the guard lets it through; headers already checked on this connection are not checked again."""
        told = [pair for pair in headers if pair[0] != b"content-length"]
        if told == getattr(connection, "admitted", None):
            return True
        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in told}
        try:
            self._server.guard.check("POST", named)
        except RequestError:
            return False
        if named["content-type"].startswith(LINES):
            return False
        connection.admitted = told
        return True


def _head(status: int) -> bytes:
    """The head of an answer with an error."""
    return b"HTTP/1.1 %d %s\r\n%scontent-length: " % (status, HTTPStatus(status).phrase.encode(), _HEAD)


def bounded_protocol(connections: Connections, quick: Quick) -> Any:
    """uvicorn's protocol for HTTP, within these bounds.

    quick: is offered every request that comes in one piece; those that it refuses go through ASGI
    """
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Bounded(HttpToolsProtocol):  # type: ignore[misc]
        """A connection that is counted, and closed if a whole request does not arrive in time."""

        deadline: Any = None
        header_bytes = 0
        begun = False  # a request whose headers have not all arrived
        held: list[bytes] | None = None  # the body so far of a request that quick may take

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if not connections.opened(self):
                transport.abort()
                return
            self._set_deadline()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel_deadline()
            connections.gone(self)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.begun:
                self._set_deadline()
            if self.held is not None:  # the rest of the body is still to come
                self._release()

        def on_message_begin(self) -> None:
            self.header_bytes, self.begun = 0, True
            super().on_message_begin()

        def on_header(self, name: bytes, value: bytes) -> None:
            self.header_bytes += len(name) + len(value)
            if self.header_bytes > MOST_HEADER_BYTES:
                connections.refused += 1
                self.transport.abort()
                return
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self.begun = False
            self._cancel_deadline()
            connections.busy(self)
            if quick.path == self.url and not self._waits():
                self.held = []
            else:
                super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            if self.held is None:
                super().on_body(body)
            else:
                self.held.append(body)

        def on_message_complete(self) -> None:
            if self.held is not None:
                asked = Exchange(self)
                if self._plain() and quick.take(asked, self.headers, b"".join(self.held)):
                    self.held, self.cycle = None, asked
                    return
                self._release()
            super().on_message_complete()

        def on_response_complete(self) -> None:
            connections.idle(self)
            super().on_response_complete()

        def timeout_keep_alive_handler(self) -> None:
            self._shut()

        def _plain(self) -> bool:
            """Whether the request has no special connection headers and the client reads its answers."""
            parser = self.parser
            return (
                parser.get_method() == b"POST"
                and parser.get_http_version() == "1.1"
                and parser.should_keep_alive()
                and not parser.should_upgrade()
                and not self.expect_100_continue
                and not self.flow.write_paused
            )

        def _waits(self) -> bool:
            """Whether an earlier request of this connection has no answer yet."""
            last: Any = self.cycle
            return last is not None and not last.response_complete

        def _release(self) -> None:
            """Pass a held request on to ASGI."""
            held, self.held = self.held or [], None
            if not self.transport.is_closing():
                super().on_headers_complete()
                for body in held:
                    super().on_body(body)

        def _set_deadline(self) -> None:
            if self.deadline is None:
                self.deadline = self.loop.call_later(HEADERS_WITHIN, self._too_late)

        def _cancel_deadline(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

        def _too_late(self) -> None:
            self.deadline = None
            connections.closed += 1
            self._shut()

        def _shut(self) -> None:
            """Close the connection; abort it if the client does not read its answer."""
            if self.transport.get_write_buffer_size():
                self.transport.abort()
            else:
                self.transport.close()

    return Bounded
