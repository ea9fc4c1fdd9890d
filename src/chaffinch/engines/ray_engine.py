"""The engine of a Ray cluster: one task per shard, which Ray does again elsewhere if its node is lost.

Every process keeps the state of its last job, so that a model is loaded once per process. Files are read and written by
the nodes: the folders must be the same on all of them.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from chaffinch.engines.engine import EngineError, Job
from chaffinch.errors import missing_extra

PATIENCE = 60.0  # seconds without any worker
AHEAD = 2  # tasks in flight per core
RETRIES = 5  # of a task whose node was lost


class RayEngine:
    """The cluster that is running at ``address``, or that RAY_ADDRESS names, or one in this machine.

    workers: cores to use; 0: all of the cluster
    """

    def __init__(self, workers: int = 0, address: str | None = None, patience: float = PATIENCE) -> None:
        self.workers, self.address, self.patience = workers, address, patience

    def map(self, job: Job, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The results as they come."""
        ray = self._started()
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_work)
        sent = ray.put(job)
        waiting = list(range(len(shards)))[::-1]
        running: dict[Any, int] = {}
        self._wait_for_a_core(ray)
        alive = time.monotonic()
        while waiting or running:
            limit = self.workers or AHEAD * max(int(ray.cluster_resources().get("CPU", 0)), 1)
            while waiting and len(running) < limit:
                n = waiting.pop()
                running[task.remote(sent, shards[n])] = n
            done, _ = ray.wait(list(running), timeout=1.0)
            for reference in done:
                n = running.pop(reference)
                yield n, self._result(ray, reference)
            if ray.cluster_resources().get("CPU", 0) >= 1:
                alive = time.monotonic()
            elif time.monotonic() - alive > self.patience:
                raise self._no_core(ray)

    def _started(self) -> Any:
        try:
            import ray
        except ImportError:
            raise missing_extra("ray", "ray") from None
        if not ray.is_initialized():
            ray.init(
                address=self.address, log_to_driver=False, logging_level="ERROR", include_dashboard=False
            )
        return ray

    def _wait_for_a_core(self, ray: Any) -> None:
        """Raise if no task starts within the patience."""
        probe = ray.remote(num_cpus=1)(_ready).remote()
        if not ray.wait([probe], timeout=self.patience)[0]:
            ray.cancel(probe)
            raise self._no_core(ray)

    def _no_core(self, ray: Any) -> EngineError:
        have = {k: v for k, v in ray.cluster_resources().items() if k in ("CPU", "memory")}
        free = ray.available_resources().get("CPU", 0)
        return EngineError(
            f"no worker could start within {self.patience:g} s: a task needs 1 CPU, and the cluster has "
            f"{have or 'no resources'}, of which {free:g} CPU are free; add a node or free its cores"
        )

    def _result(self, ray: Any, reference: Any) -> Any:
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as e:
            raise e.cause from None
        except ray.exceptions.RayError as e:
            raise EngineError(f"a task was lost {RETRIES + 1} times: {str(e).splitlines()[0]}") from None


def _ready() -> None:
    """A task that shows that tasks run."""


_states: dict[str, Any] = {}  # of this process: that of the last job, by its key


def _work(job: Job, shard: Any) -> Any:
    key = repr(job)
    if key not in _states:
        _states.clear()
        _states[key] = job.open()
    return job.run(_states[key], shard)
