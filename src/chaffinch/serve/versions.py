"""Versions of a model: none ever changes, one of them answers, and one assignment switches to another."""

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from chaffinch.serve.messages import RequestError

MOST_KEPT = 60  # versions that can still be asked; the oldest are dropped, but not the first one


def now() -> str:
    """The time in ISO format, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, eq=False)
class Version:
    """A model that never changes, and the corrections that it learnt.

    name:   unique over restarts, if a journal is kept: recipe and number
    learnt: the sequence numbers of these corrections
    """

    number: int
    name: str
    model: Any
    note: str
    learnt: frozenset[int] = frozenset()
    made: str = field(default_factory=now)


class Versions:
    """The versions of one model; ``active`` answers unless a request names another one.

    >>> versions = Versions("crf")
    >>> first, second = versions.publish("a", "loaded"), versions.publish("b", "learnt")
    >>> versions.active.name, versions.take_back(first.name).model
    ('crf-2', 'a')
    """

    def __init__(self, recipe: str, numbered_from: int = 1) -> None:
        self.recipe = recipe
        self._next = numbered_from
        self._lock = threading.Lock()
        self._all: list[Version] = []
        self.active: Version = None  # type: ignore[assignment]  # until the first is published

    def publish(self, model: Any, note: str, learnt: frozenset[int] = frozenset()) -> Version:
        """A new version, which answers from now on."""
        with self._lock:
            made = Version(self._next, f"{self.recipe}-{self._next}", model, note, learnt)
            self._next += 1
            kept = [*self._all, made]
            while len(kept) > MOST_KEPT:
                oldest = next(v for v in kept[1:] if v is not self.active)
                kept.remove(oldest)
            self._all = kept
            self.active = made
            return made

    def take_back(self, name: str) -> Version:
        """An earlier version answers again."""
        with self._lock:
            self.active = self.find(name)
            return self.active

    def find(self, name: str | None) -> Version:
        """The version of this name; None: the active one."""
        if name is None:
            return self.active
        for version in self._all:
            if version.name == name:
                return version
        known = ", ".join(v.name for v in self._all[-5:])
        raise RequestError(404, f"there is no version {name!r}; the latest are {known}")

    def listed(self) -> list[Version]:
        """All versions that can be asked, in order."""
        return list(self._all)
