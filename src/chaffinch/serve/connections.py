"""Connections: how many there are at most, how long they may be idle, and which requests take the quick way."""

from collections import OrderedDict
from typing import Any

from chaffinch.serve.exchange import Exchange, Quick

MOST_HEADER_BYTES = 1 << 16
HEADERS_WITHIN = 10.0  # seconds from the opening of a connection, or from its last answer, to a whole request


class Connections:
    """The open connections, the one that has waited longest first; beyond ``most`` it makes room for a new one.

    Clients that are being answered are never closed.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.refused = self.closed = 0
        self._idle: OrderedDict[Any, None] = OrderedDict()
        self._busy: set[Any] = set()

    def __len__(self) -> int:
        return len(self._idle) + len(self._busy)

    def opened(self, one: Any) -> bool:
        """A connection came; False if there is no room for it."""
        if len(self) >= self.most:
            if not self._idle:
                self.refused += 1
                return False
            oldest, _ = self._idle.popitem(last=False)
            self.closed += 1
            oldest.transport.abort()
        self._idle[one] = None
        return True

    def busy(self, one: Any) -> None:
        """A request came on it."""
        if self._idle.pop(one, self) is None:
            self._busy.add(one)

    def idle(self, one: Any) -> None:
        """Its request was answered."""
        if one in self._busy:
            self._busy.discard(one)
            self._idle[one] = None

    def gone(self, one: Any) -> None:
        """It was closed."""
        self._idle.pop(one, None)
        self._busy.discard(one)


def bounded_protocol(connections: Connections, quick: Quick) -> Any:
    """uvicorn's protocol for HTTP, within these bounds.

    quick: is offered every request that comes in one piece; those that it does not take go the way of ASGI
    """
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Bounded(HttpToolsProtocol):  # type: ignore[misc]
        """A connection that is counted, and closed if a whole request does not come in time."""

        deadline: Any = None
        header_bytes = 0
        begun = False  # a request, of which not all headers have come
        held: list[bytes] | None = None  # the body so far of a request that quick may take

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if not connections.opened(self):
                transport.abort()
                return
            self._expect()

        def connection_lost(self, exc: Exception | None) -> None:
            self._met()
            connections.gone(self)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.begun:
                self._expect()
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
            self._met()
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
            """Whether the request wants nothing special of the connection, and the client reads its answers."""
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
            """Let a request that was held go the way of ASGI."""
            held, self.held = self.held or [], None
            if not self.transport.is_closing():
                super().on_headers_complete()
                for body in held:
                    super().on_body(body)

        def _expect(self) -> None:
            if self.deadline is None:
                self.deadline = self.loop.call_later(HEADERS_WITHIN, self._too_late)

        def _met(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

        def _too_late(self) -> None:
            self.deadline = None
            connections.closed += 1
            self._shut()

        def _shut(self) -> None:
            """Close; a client that does not read its answer is not waited for."""
            if self.transport.get_write_buffer_size():
                self.transport.abort()
            else:
                self.transport.close()

    return Bounded
