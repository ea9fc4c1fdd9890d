"""What an engine is: it maps a job over shards. A shard may be done twice if a worker is lost, so a job is repeatable.

threads     one shard after the other in this process; the core's threads work inside each
processes   a process per core, each with the job's state of its own
ray         tasks of a Ray cluster (extra [ray])
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Protocol

from chaffinch.errors import ChaffinchError, ConfigError

ENGINES = ("threads", "processes", "ray")
RESTARTS = 3  # of a pool of processes, of which one has died


class EngineError(ChaffinchError):
    """The engine could not do the work: workers died again and again, or there are none."""


class Job(Protocol):
    """Work on shards, which can be sent to another process."""

    def open(self) -> Any:
        """What all shards of a process need: a loaded model."""
        ...

    def run(self, state: Any, shard: Any) -> Any:
        """The work on one shard. Called twice, it does the same again."""
        ...


class Engine(Protocol):
    """Where a job runs."""

    def map(self, job: Job, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The number of each shard and its result, in the order in which they are done."""
        ...


class InProcess:
    """One shard after the other, in this process."""

    def map(self, job: Job, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The results in the order of the shards."""
        state = job.open()
        for n, shard in enumerate(shards):
            yield n, job.run(state, shard)


class Processes:
    """Several processes of this machine.

    workers: how many; 0: one per core
    """

    def __init__(self, workers: int = 0) -> None:
        self.workers = workers or os.cpu_count() or 1

    def map(self, job: Job, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The results as they come; if a process dies, its shards are done again by others."""
        left = list(range(len(shards)))
        for attempt in range(RESTARTS + 1):
            try:
                for n, result in self._run(job, shards, left):
                    left.remove(n)
                    yield n, result
                return
            except BrokenProcessPool:
                if attempt == RESTARTS:
                    raise EngineError(
                        f"processes died {RESTARTS + 1} times; {len(left)} of {len(shards)} shards are left, the first "
                        f"is {shards[left[0]]}; there may be too little memory for {self.workers} processes"
                    ) from None

    def _run(self, job: Job, shards: Sequence[Any], left: Sequence[int]) -> Iterator[tuple[int, Any]]:
        workers = min(self.workers, max(len(left), 1))
        with ProcessPoolExecutor(workers, get_context("spawn"), _begin, (job,)) as pool:
            running: dict[Future[Any], int] = {pool.submit(_work, shards[n]): n for n in left}
            try:
                while running:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in sorted(done, key=running.__getitem__):
                        n = running.pop(future)
                        yield n, future.result()
            finally:
                for future in running:
                    future.cancel()


_job: tuple[Job, Any] | None = None  # of this process


def _begin(job: Job) -> None:
    global _job  # noqa: PLW0603  (a process has one job)
    _job = job, job.open()


def _work(shard: Any) -> Any:
    assert _job is not None
    job, state = _job
    return job.run(state, shard)


def engine_named(name: str, workers: int = 0, address: str | None = None) -> Engine:
    """The engine of this name; workers: 0 for as many as there are cores."""
    if name == "threads":
        return InProcess()
    if name == "processes":
        return Processes(workers)
    if name == "ray":
        from chaffinch.engines.ray_engine import RayEngine

        return RayEngine(workers, address)
    raise ConfigError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")
