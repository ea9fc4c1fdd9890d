"""What an engine is: it maps a job over shards, sums over shards, and broadcasts weights.

threads     one shard after the other in this process; the core's threads work inside each
processes   a process per core, each with the job's state of its own
ray         tasks and actors of a Ray cluster (extra [ray])

A shard may be done twice if a worker is lost, so jobs are repeatable. ``map`` gives results as they come, for
prediction; ``reduce`` gives their sum in an order that depends on the shards alone, for training, and its workers keep
the shards that they have read.
"""

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ChaffinchError, ConfigError
from chaffinch.learners.shards import Reducer, Term, TreeSum, Work, summed_nodes

ENGINES = ("threads", "processes", "ray")
RESTARTS = 3  # of a pool of processes, of which one has died
SHARED_MEMORY = Path("/dev/shm")


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


class Engine(Reducer, Protocol):
    """Where a job runs: it maps, broadcasts and reduces."""

    def map(self, job: Job, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The number of each shard and its result, in the order in which they are done."""
        ...

    def close(self) -> None:
        """End the workers."""
        ...


class Holding:
    """What a worker holds of the shards of one problem: that of the last one."""

    def __init__(self) -> None:
        self._key = ""
        self._held: dict[int, Any] = {}

    def of(self, key: str) -> dict[int, Any]:
        """What it holds by the number of the shard; of another problem, nothing."""
        if key != self._key:
            self._key, self._held = key, {}
        return self._held


class InProcess:
    """One shard after the other, in this process.

    threads: of the core, in each shard; 0: all cores
    """

    def __init__(self, threads: int = 0) -> None:
        self._threads, self._holding = threads, Holding()

    def map(self, job: Job, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The results in the order of the shards."""
        state = job.open()
        for n, shard in enumerate(shards):
            yield n, job.run(state, shard)

    def broadcast(self, value: NDArray[Any]) -> Any:
        """The value itself."""
        return value

    def reduce(self, work: Work, shards: Sequence[Path], given: Sequence[Any] = ()) -> Term:
        """The sum over all shards."""
        held, K = self._holding.of(work.key), len(shards)
        return summed_nodes(work, held, range(K), shards, K, given, self._threads)[0, K]

    def close(self) -> None:
        """Forget the shards."""
        self._holding = Holding()


class Processes:
    """Several processes of this machine.

    workers: how many; 0: one per core
    """

    def __init__(self, workers: int = 0) -> None:
        self.workers = workers or os.cpu_count() or 1
        self._pools: list[ProcessPoolExecutor] = []  # of one process each, which keeps its shards

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
                    raise self._died(shards, left) from None

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

    def broadcast(self, value: NDArray[Any]) -> "SharedArray":
        """A file in memory that every process maps."""
        return SharedArray.of(value)

    def reduce(self, work: Work, shards: Sequence[Path], given: Sequence[Any] = ()) -> Term:
        """The sum over all shards, a run of neighbours by each process; one that dies begins anew."""
        K = len(shards)
        count = min(self.workers, K)
        while len(self._pools) < count:
            self._pools.append(_one_process())
        total, own = TreeSum(K), [range(n * K // count, (n + 1) * K // count) for n in range(count)]

        def sent(n: int) -> Future[Any]:
            return self._pools[n].submit(
                _sum_shards, work, list(own[n]), [shards[k] for k in own[n]], K, list(given)
            )

        running = {sent(n): n for n in range(count)}
        deaths = 0
        try:
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    n = running.pop(future)
                    try:
                        nodes = future.result()
                    except BrokenProcessPool:
                        deaths += 1
                        if deaths > RESTARTS:
                            raise self._died(shards, own[n]) from None
                        self._pools[n].shutdown(wait=False)
                        self._pools[n] = _one_process()
                        running[sent(n)] = n
                        continue
                    for (low, high), term in nodes.items():
                        total.add(low, high, term)
        except BaseException:
            self.close()
            raise
        return total.total

    def close(self) -> None:
        """End the processes."""
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)
        self._pools = []

    def _died(self, shards: Sequence[Any], left: Sequence[int]) -> EngineError:
        return EngineError(
            f"processes died {RESTARTS + 1} times; {len(left)} of {len(shards)} shards are left, the first "
            f"is {shards[left[0]]}; there may be too little memory for {self.workers} processes"
        )


class SharedArray:
    """An array in a file, in memory if the machine has such a folder; the file goes when its maker is done with it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, value: NDArray[Any]) -> "SharedArray":
        """The array as a file."""
        folder = SHARED_MEMORY if SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK) else None
        with tempfile.NamedTemporaryFile(suffix=".npy", dir=folder, delete=False) as stream:
            np.save(stream, value)
        made = cls(Path(stream.name))
        weakref.finalize(made, made.path.unlink, missing_ok=True)
        return made

    def __getstate__(self) -> Path:
        return self.path

    def __setstate__(self, path: Path) -> None:
        self.path = path

    def mapped(self) -> NDArray[Any]:
        """The array, not copied."""
        found: NDArray[Any] = np.load(self.path, mmap_mode="r")
        return found


def _one_process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, get_context("spawn"))


_job: tuple[Job, Any] | None = None  # of this process
_holding = Holding()


def _begin(job: Job) -> None:
    global _job  # noqa: PLW0603  (a process has one job)
    _job = job, job.open()


def _work(shard: Any) -> Any:
    assert _job is not None
    job, state = _job
    return job.run(state, shard)


def _sum_shards(
    work: Work, numbers: list[int], shards: list[Path], K: int, given: list[SharedArray]
) -> dict[tuple[int, int], Term]:
    values = [one.mapped() for one in given]
    return summed_nodes(work, _holding.of(work.key), numbers, shards, K, values, threads=1)


def engine_named(name: str, workers: int = 0, address: str | None = None, threads: int = 0) -> Engine:
    """The engine of this name; workers: 0 for as many as there are cores; threads: of the engine threads."""
    if name == "threads":
        return InProcess(threads)
    if name == "processes":
        return Processes(workers)
    if name == "ray":
        from chaffinch.engines.ray_engine import RayEngine

        return RayEngine(workers, address)
    raise ConfigError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")
