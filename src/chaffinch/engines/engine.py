"""The protocol of engines: an engine maps a job over shards, sums over shards, and broadcasts weights.

threads     one shard after the other in this process; the core's threads work inside each
processes   a process per core, each with the job's state of its own
ray         tasks and actors of a Ray cluster (extra [ray])

A shard may be processed twice if a worker is lost, so jobs must be repeatable. ``map`` gives results as they come, for
prediction; ``reduce`` gives their sum in an order that depends on the shards alone, for training, and its workers keep
the shards that they have read.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from chaffinch.errors import ChaffinchError
from chaffinch.learners.shards import Reducer, Term, Work, summed_nodes


class EngineError(ChaffinchError):
    """The engine could not do the work: workers died repeatedly, or there are none.

    stuck: threads of the engine wait for a machine that does not answer; they would crash a process that ends in order
    """

    def __init__(self, message: str, stuck: bool = False) -> None:
        super().__init__(message)
        self.stuck = stuck


class Job(Protocol):
    """Work on shards, which can be sent to another process."""

    def open(self) -> Any:
        """The state that all shards of a process share, such as a loaded model."""
        ...

    def run(self, state: Any, shard: Any) -> Any:
        """The work on one shard. Called twice, it does the same again."""
        ...


class Engine(Reducer, Protocol):
    """Runs jobs: it maps, broadcasts and reduces."""

    def map(self, job: Job, shards: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The number of each shard and its result, in the order in which they are done."""
        ...

    def close(self) -> None:
        """End the workers."""
        ...


class Holding:
    """The shards of the last problem that a worker has read."""

    def __init__(self) -> None:
        self._key = ""
        self._held: dict[int, Any] = {}

    def of(self, key: str) -> dict[int, Any]:
        """The shards of a problem by number; those of another problem are dropped."""
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
