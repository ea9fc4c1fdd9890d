"""Micro-batches: requests that arrive in the same turn of the event loop are answered as one batch."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Protocol

from chaffinch.errors import ChaffinchError
from chaffinch.serve.answers import Answer, Answering, InputRow
from chaffinch.serve.messages import Asked, RequestError
from chaffinch.serve.versions import Version

AT_ONCE = 3_000  # units of work, about a token each, on the event loop; more goes to a thread
MOST_WAITING = 64  # large requests that wait for a thread


class Answered(Protocol):
    """The receiver of answers: a future, or an object with the same methods."""

    def done(self) -> bool:
        """Whether nobody waits any more."""

    def set_result(self, answers: list[Answer], /) -> None:
        """Give the answers."""

    def set_exception(self, fault: BaseException, /) -> None:
        """Give the error instead."""


Waiting = tuple[Sequence[InputRow], Answered]


class Batches:
    """Answers rows of requests; each request keeps the version that it began with.

    seen: called with the size of every batch
    """

    def __init__(self, threads: Executor, seen: Callable[[int], object] = lambda _: None) -> None:
        self._threads, self._seen = threads, seen
        self._waiting: dict[tuple[Answering, Version, Asked], list[Waiting]] = {}
        self._large = 0

    async def ask(
        self, answering: Answering, version: Version, rows: Sequence[InputRow], asked: Asked
    ) -> list[Answer]:
        """The answers to some rows, in order."""
        answer: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        if self.offer(answering, version, rows, asked, answer):
            return await answer
        return await self.apart(answering.answers, version.model, rows, asked)

    def offer(
        self,
        answering: Answering,
        version: Version,
        rows: Sequence[InputRow],
        asked: Asked,
        answer: Answered,
    ) -> bool:
        """Whether the rows join this turn's batch; False if they are too much work for it."""
        if sum(map(answering.cost, rows)) * (1 + asked.kbest) > AT_ONCE:
            return False
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting.setdefault((answering, version, asked), []).append((rows, answer))
        return True

    async def apart(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do large work in a thread, so that others are answered meanwhile."""
        if self._large >= MOST_WAITING:
            raise RequestError(503, "the server has too many large requests at the moment: try again later")
        self._large += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        finally:
            self._large -= 1

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for (answering, version, asked), requests in waiting.items():
            live = [(rows, answer) for rows, answer in requests if not answer.done()]
            for part in _parts(answering, live):
                self._answer(answering, version, asked, part)

    def _answer(self, answering: Answering, version: Version, asked: Asked, requests: list[Waiting]) -> None:
        rows = [row for own, _ in requests for row in own]
        self._seen(len(rows))
        try:
            found = answering.answers(version.model, rows, asked)
        except ChaffinchError as e:
            if len(requests) == 1:
                requests[0][1].set_exception(e)
                return
            for request in requests:  # one request's error must not fail the others
                self._answer(answering, version, asked, [request])
            return
        except Exception as e:
            for _, answer in requests:
                answer.set_exception(e)
            return
        at = 0
        for own, answer in requests:
            answer.set_result(found[at : at + len(own)])
            at += len(own)


def _parts(answering: Answering, requests: list[Waiting]) -> list[list[Waiting]]:
    """Requests in batches of bounded work."""
    parts: list[list[Waiting]] = []
    work = 0
    for request in requests:
        own = sum(map(answering.cost, request[0]))
        if not parts or work + own > AT_ONCE:
            parts.append([])
            work = 0
        parts[-1].append(request)
        work += own
    return parts
