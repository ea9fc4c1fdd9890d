"""The engine of a Ray cluster: tasks for prediction, actors that keep their shards for training.

``map`` makes a task of each shard; Ray repeats it elsewhere if its node is lost. Ray notices that late, so a task that
takes much longer than all others is also given to a second worker, and the first result counts. Every
process keeps the state of its last job, so a model is loaded once per process. ``reduce`` calls one actor per core;
the shards of an actor that is lost go to the others, which read them from their files. If the head node is lost, the
work ends with an error. Files are read and written by the nodes: the folders must be the same on all of them.
"""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.engines.engine import EngineError, Holding, Job
from chaffinch.engines.ray_head import Head, refuse_unreachable, remembers_dead_cluster
from chaffinch.errors import missing_extra
from chaffinch.learners.shards import Term, TreeSum, Work, summed_nodes

PATIENCE = (
    45.0  # seconds without any worker; with the time in which Ray notices lost nodes, less than a minute
)
PAUSE = 1.0  # seconds between two attempts to start a worker, or two counts of the cores
AHEAD = 2  # tasks in flight per core
RETRIES = 5  # of a task whose node was lost
LATE = 5.0  # an actor is given up if its answer takes this many seconds and LATE_TIMES the time of all others
LATE_TIMES = 3.0
AGAIN, AGAIN_TIMES = (
    2.0,
    2.0,
)  # the same for a task, which is given to a second worker when all others are given out


class RayEngine:
    """The cluster that is running at ``address``, or that RAY_ADDRESS names, or one in this machine.

    workers: cores to use; 0: all of the cluster
    """

    def __init__(self, workers: int = 0, address: str | None = None, patience: float = PATIENCE) -> None:
        self.workers, self.address, self.patience = workers, address, patience
        self._actors: list[Any] = []
        self._owner: dict[int, Any] = {}  # by the number of a shard
        self._key = ""
        self._joined = True  # the cluster runs elsewhere, or was started before
        self._checked = False  # it has as many cores as there are workers
        self._head = Head(None)
        self._known, self._counted = 0, 0.0  # its cores, and when they were counted

    def map(self, job: Job, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The results as they come."""
        ray = self._started()
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_work)
        sent = ray.put(job)
        waiting = list(range(len(shards)))[::-1]
        running: dict[Any, tuple[int, float]] = {}  # the shard, and when it was given out
        again: set[int] = set()  # shards that a second worker has
        longest: float | None = None  # time from giving out a shard to its result
        failure: Exception | None = None  # the first

        def give(n: int) -> None:
            running[task.remote(sent, shards[n])] = n, time.monotonic()

        self._wait_for_a_core(ray)
        alive = time.monotonic()
        while waiting or running:
            limit = self.workers or AHEAD * max(self._cores(ray), 1)
            while waiting and len(running) < limit:
                give(waiting.pop())
            done, _ = ray.wait(list(running), timeout=1.0)
            self._head.check()
            for reference in done:
                if reference not in running:  # its twin is in the same batch
                    continue
                n, begun = running.pop(reference)
                longest = max(longest or 0.0, time.monotonic() - begun)
                for twin in [ref for ref, (m, _) in running.items() if m == n]:
                    running.pop(twin)
                    ray.cancel(twin)
                try:
                    result = self._result(ray, reference)
                except Exception as e:  # shards that others have begun are finished
                    failure = failure or e
                    waiting.clear()
                    continue
                yield n, result
            if longest is not None and not waiting:
                now = time.monotonic()
                for n in {
                    n for n, begun in running.values() if now - begun > AGAIN + AGAIN_TIMES * longest
                } - again:
                    again.add(n)
                    give(n)
            if self._cores(ray) >= 1:
                alive = time.monotonic()
            elif time.monotonic() - alive > self.patience:
                raise failure or self._no_core(ray)
        if failure is not None:
            raise failure

    def broadcast(self, value: NDArray[Any]) -> Any:
        """An object of the cluster, which each node fetches once."""
        return self._started().put(np.ascontiguousarray(value))

    def reduce(self, work: Work, shards: Sequence[Path], given: Sequence[Any] = ()) -> Term:
        """The sum over all shards; those of an actor that is lost or late go to the others."""
        ray, K = self._started(), len(shards)
        self._assign(ray, work.key, K)
        job, total, left = ray.put(work), TreeSum(K), set(range(K))
        running: dict[Any, tuple[Any, list[int]]] = {}

        def call(numbers: Sequence[int]) -> None:
            by_actor: dict[Any, list[int]] = {}
            for k in numbers:
                by_actor.setdefault(self._owner[k], []).append(k)
            for actor, own in by_actor.items():
                reference = actor.sum_shards.remote(job, own, [shards[k] for k in own], K, *given)
                running[reference] = actor, own

        call(range(K))
        begun = latest = time.monotonic()
        while left:
            done, _ = ray.wait(list(running), timeout=0.5)
            self._head.check()
            lost = []
            for reference in done:
                actor, own = running.pop(reference)
                try:
                    nodes = ray.get(reference)
                except ray.exceptions.RayTaskError as e:
                    self.close()
                    raise e.cause from None
                except ray.exceptions.RayError:
                    lost.append(actor)
                    continue
                latest = time.monotonic()
                left -= set(own)
                for (low, high), term in nodes.items():
                    total.add(low, high, term)
            others = len(running) < len(self._actors)
            if not done and others and _is_late(latest - begun, time.monotonic() - begun):
                lost = [actor for actor, _ in running.values()]
            if lost:
                running = {ref: entry for ref, entry in running.items() if entry[0] not in lost}
                orphans = self._replace(ray, lost) & left
                call(sorted(orphans))
                begun = latest = time.monotonic()
        return total.total

    def close(self) -> None:
        """End the actors; the cluster stays. With a lost head they end by themselves, and a call would wait for it."""
        if not self._head.lost:
            for actor in self._actors:
                _end(actor)
        self._actors, self._owner, self._key = [], {}, ""

    def _assign(self, ray: Any, key: str, K: int) -> None:
        """Give every shard an actor, adjacent shards the same one, as long as the actors live."""
        if self._key == key and len(self._owner) == K and self._actors:
            return
        self._gather(ray, K)
        W = min(len(self._actors), K)
        self._key, self._owner = key, {k: self._actors[k * W // K] for k in range(K)}

    def _gather(self, ray: Any, most: int) -> None:
        """Start the actors that are missing, on free cores; EngineError if none starts within the patience."""
        missing = min(self.workers or most, most) - len(self._actors)
        free = int(self._head.asked(ray.available_resources).get("CPU", 0))
        wanted = min(missing, free if self._actors else max(free, 1))
        if wanted <= 0:
            return
        kind = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(_Actor)
        fresh: dict[Any, Any] = {}

        def start() -> None:
            actor = kind.remote()
            fresh[actor.ready.remote()] = actor

        for _ in range(wanted):
            start()
        begun = time.monotonic()
        while fresh:
            done, _ = ray.wait(list(fresh), timeout=1.0)
            self._head.check()
            for reference in done:
                actor = fresh.pop(reference)
                try:
                    ray.get(reference)
                    self._actors.append(actor)
                except ray.exceptions.RayError:
                    continue
            if time.monotonic() - begun > self.patience:
                break
            if (
                not fresh and not self._actors
            ):  # their node is lost, which Ray notices late; another one may join
                time.sleep(PAUSE)
                start()
        for actor in fresh.values():  # their cores went to others
            _end(actor)
        if not self._actors:
            raise self._no_core(ray)

    def _replace(self, ray: Any, lost: list[Any]) -> set[int]:
        """Give the shards of lost actors to others; returns the numbers of these shards."""
        for actor in lost:
            _end(actor)
        self._actors = [actor for actor in self._actors if actor not in lost]
        orphans = {k for k, actor in self._owner.items() if actor in lost}
        if not self._actors:
            self._gather(ray, len(self._owner))
        for i, k in enumerate(sorted(orphans)):
            self._owner[k] = self._actors[i * len(self._actors) // len(orphans)]
        return orphans

    def _started(self) -> Any:
        try:
            import ray
        except ImportError:
            raise missing_extra("ray", "ray") from None
        if not ray.is_initialized():
            address = self.address or os.environ.get("RAY_ADDRESS")
            refuse_unreachable(address)
            own = address is None and remembers_dead_cluster()
            try:
                ray.init(
                    address="local" if own else self.address,
                    log_to_driver=False,
                    logging_level="ERROR",
                    include_dashboard=False,
                )
            except Exception as e:  # Ray raises no narrower one if a node does not start in time
                told = (str(e).splitlines() or [type(e).__name__])[0]
                raise EngineError(f"Ray could not be started or reached: {told}") from None
            self._joined, self._checked = address is not None, False
        if not self._checked:
            self._head = Head.of(ray)
            self._refuse_more_workers_than_cores(ray)
            self._checked = True
        return ray

    def _refuse_more_workers_than_cores(self, ray: Any) -> None:
        """Raise if the cluster has fewer cores than workers were asked for; nodes may join within the patience."""
        end = time.monotonic() + (self.patience if self._joined else 0.0)
        while (cores := self._cores(ray)) < self.workers:
            if time.monotonic() >= end:
                raise EngineError(
                    f"{self.workers} workers need {self.workers} CPU, and the cluster has {cores}; add nodes, or ask "
                    f"for at most {cores} workers (0: all cores)"
                )
            time.sleep(0.2)

    def _wait_for_a_core(self, ray: Any) -> None:
        """Raise if no task starts within the patience."""
        probe = ray.remote(num_cpus=1)(_ready).remote()
        end = time.monotonic() + self.patience
        while not ray.wait([probe], timeout=min(1.0, self.patience))[0]:
            self._head.check()
            if time.monotonic() >= end:
                ray.cancel(probe)
                raise self._no_core(ray)

    def _no_core(self, ray: Any) -> EngineError:
        all_of_it = self._head.asked(ray.cluster_resources)
        have = {k: v for k, v in all_of_it.items() if k in ("CPU", "memory")}
        free = self._head.asked(ray.available_resources).get("CPU", 0)
        return EngineError(
            f"no worker could start within {self.patience:g} s: a task needs 1 CPU, and the cluster has "
            f"{have or 'no resources'}, of which {free:g} CPU are free; add a node or free its cores"
        )

    def _cores(self, ray: Any) -> int:
        """The cores of the cluster, at most a second ago; those known last if the head does not answer."""
        if time.monotonic() - self._counted > PAUSE and (self._counted == 0.0 or self._head.answers()):
            self._known = int(self._head.asked(ray.cluster_resources).get("CPU", 0))
            self._counted = time.monotonic()
        return self._known

    def _result(self, ray: Any, reference: Any) -> Any:
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as e:
            raise e.cause from None
        except ray.exceptions.RayError as e:
            raise EngineError(f"a task was lost {RETRIES + 1} times: {str(e).splitlines()[0]}") from None


class _Actor:
    """A worker that keeps the shards that it has read."""

    def __init__(self) -> None:
        self._holding = Holding()

    def ready(self) -> None:
        """An answer that shows that it runs."""

    def sum_shards(
        self, work: Work, numbers: list[int], shards: list[Path], K: int, *given: NDArray[Any]
    ) -> dict[tuple[int, int], Term]:
        """The sum of its own shards, as far as they are neighbours."""
        return summed_nodes(work, self._holding.of(work.key), numbers, shards, K, given, threads=1)


def _is_late(others: float, waited: float) -> bool:
    """Whether an answer has taken much longer than those of all other actors took."""
    return waited > LATE + LATE_TIMES * others


def _end(actor: Any) -> None:
    import ray

    try:
        ray.kill(actor)
    except (ray.exceptions.RayError, ValueError):
        return


def _ready() -> None:
    """A task that shows that tasks run."""


_states: dict[str, Any] = {}  # of this process: that of the last job, by its key


def _work(job: Job, shard: Any) -> Any:
    key = repr(job)
    if key not in _states:
        _states.clear()
        _states[key] = job.open()
    return job.run(_states[key], shard)
