"""The engine that runs several processes on this machine.

On Linux, a server process forks the workers. It has imported the job's modules and runs a single thread, so a worker
starts in milliseconds; the user's process is never forked. On other systems every worker is a new interpreter.
"""

import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection, forkserver, get_context, parent_process
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.engines.engine import EngineError, Holding, Job
from chaffinch.learners.shards import Term, TreeSum, Work, summed_nodes

RESTARTS = 3  # maximum restarts of a pool after one of its processes died
SHARED_MEMORY = Path("/dev/shm")
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # read when NumPy is imported


class Processes:
    """An engine of several processes on this machine.

    workers: how many; 0: one per core
    """

    def __init__(self, workers: int = 0) -> None:
        self.workers = workers or os.cpu_count() or 1
        self._pools: list[ProcessPoolExecutor] = []  # one process each, which keeps its shards

    def map(self, job: Job, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the results as they arrive; if a process dies, others redo its shards."""
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
        with ProcessPoolExecutor(workers, _context(job), _begin, (job,)) as pool:
            running: dict[Future[Any], int] = {pool.submit(_work, shards[n]): n for n in left}
            failure: Exception | None = None
            try:
                while running:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in sorted(done, key=running.__getitem__):
                        n = running.pop(future)
                        try:
                            result = future.result()
                        except BrokenProcessPool:
                            raise failure or BrokenProcessPool from None
                        except Exception as e:
                            failure = failure or e
                            continue
                        yield n, result
                    if failure is not None:  # shards that others have begun are finished
                        running = {future: n for future, n in running.items() if not future.cancel()}
                if failure is not None:
                    raise failure
            finally:
                for future in running:
                    future.cancel()

    def broadcast(self, value: NDArray[Any]) -> "SharedArray":
        """A file in memory that every process maps."""
        return SharedArray.of(value)

    def reduce(self, work: Work, shards: Sequence[Path], given: Sequence[Any] = ()) -> Term:
        """The sum over all shards; each process sums a run of neighbouring shards and is restarted if it dies."""
        K = len(shards)
        count = min(self.workers, K)
        while len(self._pools) < count:
            self._pools.append(_one_process(work))
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
                        self._pools[n] = _one_process(work)
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
            f"is {shards[left[0]]}; there may be too little memory for {self.workers} processes, or they were started "
            'by a script without `if __name__ == "__main__":` around its work'
        )


class SharedArray:
    """An array in a file, in /dev/shm if that is writable; the file is deleted with the object that made it."""

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


def _one_process(work: Work) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, _context(work), _end_with_the_driver)


def _context(job: Any) -> BaseContext:
    """The start method of the processes of a job."""
    if sys.platform != "linux":
        return get_context("spawn")
    context = get_context("forkserver")
    home = type(job).__module__
    # A server that is running already keeps what it has imported; its workers import the rest.
    context.set_forkserver_preload([home] if home.startswith("chaffinch.") else [__name__])
    before = {name: os.environ.get(name) for name in BLAS_THREADS}
    os.environ.update(
        dict.fromkeys(BLAS_THREADS, "1")
    )  # the server forks, so its BLAS must not start threads
    try:
        forkserver.ensure_running()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return context


def _end_with_the_driver() -> None:
    """End this worker if its driver is killed; otherwise it would wait forever."""
    driver = parent_process()
    assert driver is not None

    def watch() -> None:
        connection.wait([driver.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_job: tuple[Job, Any] | None = None  # of this process
_holding = Holding()


def _begin(job: Job) -> None:
    global _job  # noqa: PLW0603  (a process has one job)
    _end_with_the_driver()
    try:
        _job = job, job.open()
    except Exception as e:  # the pool would hide it
        _job = job, _Unopened(e)


def _work(shard: Any) -> Any:
    assert _job is not None
    job, state = _job
    if isinstance(state, _Unopened):
        raise state.error
    return job.run(state, shard)


@dataclass(frozen=True)
class _Unopened:
    """The state of a job that could not be opened."""

    error: Exception


def _sum_shards(
    work: Work, numbers: list[int], shards: list[Path], K: int, given: list[SharedArray]
) -> dict[tuple[int, int], Term]:
    values = [one.mapped() for one in given]
    return summed_nodes(work, _holding.of(work.key), numbers, shards, K, values, threads=1)
