"""Connections: their maximum number, and which one is closed to make room."""

from collections import OrderedDict
from typing import Any


class Connections:
    """The open connections; if there would be more than ``most``, the one that has been idle longest is closed.

    Connections that wait for an answer are never closed.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.refused = self.closed = 0
        self._idle: OrderedDict[Any, None] = OrderedDict()
        self._busy: set[Any] = set()

    def __len__(self) -> int:
        return len(self._idle) + len(self._busy)

    def opened(self, one: Any) -> bool:
        """Add a connection; False if there is no room for it."""
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
        """A request arrived on it."""
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
