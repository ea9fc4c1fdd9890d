"""Examples in shards: fixed parts of a problem, each in its own file, and sums over them in a fixed order.

A learner over shards (``learners/sharded.py``) sends its weights to an engine, which runs a job on the worker of each
shard and returns the sum of the results. The shards depend only on the data, and the sums only on the order of the
shards, so the result has the same bytes for any number of workers, even if some are lost.
"""

import hashlib
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.errors import ChaffinchError, DataError
from chaffinch.learners.block_sgd import DocumentBlocks, ExampleBlocks
from chaffinch.learners.examples import CrfExamples, DocumentExamples, SentenceExamples
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem
from chaffinch.learners.training import Checkpoint

SHARD = "shard"  # the recipe that the header of a shard's file names
FEWEST_SHARDS, MOST_SHARDS = 8, 256
UNITS_PER_SHARD = 2_000_000  # tokens, or features of documents
DEALT = 16  # examples in a row that go to the same shard

Term = tuple[Any, ...]  # arrays and numbers, summed one by one


class Work(Protocol):
    """A job over shards that can be sent to another process: a pure function of ``given``, the shard and its number.

    key: of the problem; a worker keeps a shard in memory for all jobs with the same key
    """

    @property
    def key(self) -> str:
        """The key of the problem."""
        ...

    def term(
        self, held: dict[int, Any], number: int, shard: Path, given: Sequence[Any], threads: int
    ) -> Term:
        """The term of one shard.

        held:  the worker's memory, by the number of the shard; it may be empty at any call
        given: values that the engine has broadcast
        """
        ...


class Reducer(Protocol):
    """An engine whose workers hold the shards: it broadcasts weights and sums over shards."""

    def broadcast(self, value: NDArray[Any]) -> Any:
        """Send a value to the workers; returns the handle for ``reduce``."""
        ...

    def reduce(self, work: Work, shards: Sequence[Path], given: Sequence[Any] = ()) -> Term:
        """The sum of the terms of all shards, in the order of :class:`TreeSum`."""
        ...


class TreeSum:
    """A sum of K terms in the order of a fixed binary tree, for any order of arrival.

        node(a, b) = node(a, m) + node(m, b),   m - a the largest power of two below b - a

    A worker sums the nodes of which it has all terms, and the driver sums the rest: the additions are the same for any
    division of the terms among workers.

    >>> total = TreeSum(3)
    >>> for k in (2, 0, 1):
    ...     total.add(k, k + 1, (10**k,))
    >>> total.nodes
    {(0, 3): (111,)}
    """

    def __init__(self, K: int) -> None:
        self.K = K
        self.nodes: dict[tuple[int, int], Term] = {}

    def add(self, low: int, high: int, term: Term) -> None:
        """Add the sum of the terms low .. high - 1, a node of the tree."""
        while (low, high) != (0, self.K):
            a, m, b = self._parent(low, high)
            other = self.nodes.pop((m, b) if low == a else (a, m), None)
            if other is None:
                break
            term = plus(term, other) if low == a else plus(other, term)
            low, high = a, b
        self.nodes[low, high] = term

    @property
    def total(self) -> Term:
        """The sum, once all terms are there."""
        return self.nodes[0, self.K]

    def _parent(self, low: int, high: int) -> tuple[int, int, int]:
        a, b = 0, self.K
        while True:
            m = a + (1 << (b - a - 1).bit_length() - 1)
            if (low, high) in ((a, m), (m, b)):
                return a, m, b
            a, b = (a, m) if high <= m else (m, b)


def plus(a: Term, b: Term) -> Term:
    """The sums of two terms' parts; arrays of the first are overwritten."""
    return tuple(
        np.add(x, y, out=x) if isinstance(x, np.ndarray) and x.flags.writeable else x + y
        for x, y in zip(a, b, strict=True)
    )


def summed_nodes(
    work: Work,
    held: dict[int, Any],
    numbers: Sequence[int],
    shards: Sequence[Path],
    K: int,
    given: Sequence[Any],
    threads: int,
) -> dict[tuple[int, int], Term]:
    """The result of one worker: the terms of its shards, summed as far as they are neighbours in the tree."""
    found = TreeSum(K)
    for number, shard in zip(numbers, shards, strict=True):
        found.add(number, number + 1, work.term(held, number, shard, given, threads))
    return found.nodes


@dataclass(frozen=True)
class ShardNote:
    """How a model was trained in shards, for its file.

    exact: the optimum does not depend on the number of shards
    """

    count: int
    method: str
    exact: bool

    def as_dict(self) -> dict[str, Any]:
        """For the header of a model file."""
        return {"count": self.count, "method": self.method, "exact": self.exact}


@dataclass(frozen=True)
class Sharding:
    """The engine, the folder and the number of shards of a training.

    folder: for shards and checkpoints; all workers must see it under this name
    shards: their number; None: by the size of the data
    """

    engine: Reducer
    folder: Path
    shards: int | None = None

    def count(self, examples: int, units: int) -> int:
        """The number of shards, at most one per example.

        >>> Sharding(None, Path("."), None).count(10_000, 240_000), Sharding(None, Path("."), 2).count(50, 9)
        (8, 2)
        """
        wanted = self.shards or min(MOST_SHARDS, max(FEWEST_SHARDS, units // UNITS_PER_SHARD))
        return max(1, min(wanted, examples))

    def written(self, key: str, parts: Iterator[Mapping[str, NDArray[Any]]], count: int) -> list[Path]:
        """The files of the shards of a problem; files of an interrupted run are used again."""
        folder = self._folder(key)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise DataError(f"{folder}: cannot be made: {e.strerror}") from None
        paths = [folder / f"shard{n:04d}of{count:04d}.chaff" for n in range(count)]
        if not all(path.exists() for path in paths):
            for path, arrays in zip(paths, parts, strict=True):
                modelfile.write(path, modelfile.Header(recipe=SHARD, data=key), dict(arrays), {})
        return paths

    def _folder(self, key: str) -> Path:
        return self.folder / key.rpartition(":")[2][:16]

    def checkpoint(self, key: str, dev: str = "") -> Checkpoint:
        """The checkpoint of a problem. It stays after training: a later training may be interrupted.

        dev: the fingerprint of the held-out data, on which passes are chosen
        """
        name = f"checkpoint{dev.rpartition(':')[2][:16]}.chaff"
        return _Lasting(str(self._folder(key) / name), modelfile.fingerprint([key, dev]))


class _Lasting(Checkpoint):
    def remove(self) -> None:
        """Do nothing: the caller removes the whole folder."""


def read_shard(path: Path, key: str) -> dict[str, NDArray[Any]]:
    """The arrays of a shard's file; ``key`` is that of its problem."""
    try:
        file = modelfile.read(path)
    except ChaffinchError as e:
        raise DataError(f"{e}; every worker must see the folder of the shards under this name") from None
    if file.header.recipe != SHARD or file.header.data != key:
        raise DataError(f"{path}: is not a shard of this training; remove its folder")
    return dict(file.arrays)


# -- problems -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProblemFrame:
    """A problem without its examples and weights: what all shards share.

    kind:   the class of the examples
    common: the fields of the examples that are not divided
    """

    key: str
    structure: Any
    layout: Any
    cost: Any
    seed: int
    kind: type
    common: Mapping[str, Any]

    @classmethod
    def of(cls, problem: Problem, settings: str) -> "ProblemFrame":
        """The frame of a problem. settings: everything else that the solution depends on."""
        data = problem.examples
        blocks = isinstance(data, ExampleBlocks)
        arrays = [v for v in vars(data).values() if isinstance(v, np.ndarray)]
        if problem.weight is not None:
            arrays.append(problem.weight)
        rest = (problem.structure, problem.scorer.layout, problem.cost, problem.seed, _common(data))
        told = [settings, data.key if blocks else "", hashlib.sha256(pickle.dumps(rest)).hexdigest()]
        return cls(
            key=modelfile.fingerprint(told, *arrays),
            structure=problem.structure,
            layout=problem.scorer.layout,
            cost=problem.cost,
            seed=problem.seed,
            kind=_kind(data),
            common=_common(data),
        )

    def opened(self, path: Path) -> Problem:
        """The problem of one shard."""
        arrays: dict[str, Any] = read_shard(path, self.key)
        weight = arrays.pop("weight", None)
        factors = {"factors": (arrays.pop("by_feature"), arrays.pop("by_row"))} if "by_row" in arrays else {}
        if self.kind is DocumentExamples:
            arrays = {"values": None, **arrays}
        examples = self.kind(**arrays, **self.common, **factors)
        scorer = Unweighted(self.layout)
        return Problem(self.structure, scorer, examples, weight, self.cost, self.seed)


@dataclass(frozen=True)
class Unweighted:
    """The scorer of a shard's problem: the layout of its weights without their values."""

    layout: Any


@dataclass(frozen=True)
class ProblemWork:
    """A job over the shards of a problem."""

    frame: ProblemFrame

    @property
    def key(self) -> str:
        """The problem's."""
        return self.frame.key


def _kind(data: Any) -> type:
    """The class of a shard's examples."""
    if isinstance(data, DocumentBlocks):
        return DocumentExamples
    return CrfExamples if isinstance(data, ExampleBlocks) else type(data)


def _common(data: Any) -> dict[str, Any]:
    whole = ("F", "Y", "bias", "observations", "trainable")
    return {f.name: getattr(data, f.name) for f in fields(data) if f.name in whole}


def shards_of(problem: Problem, count: int) -> Iterator[dict[str, NDArray[Any]]]:
    """The arrays of each shard: runs of examples are dealt to the shards in turn."""
    data = problem.examples
    if isinstance(data, ExampleBlocks):  # blocks are dealt, and those of one shard are in memory at a time
        for k in range(count):
            made = data.made(range(k, len(data.sizes), count))
            yield _arrays(made, np.arange(len(made)))
        return
    for which in dealt_examples(len(data), count):
        found = _arrays(data, which)
        if problem.weight is not None:
            found["weight"] = problem.weight[which]
        yield found


def _arrays(data: Any, which: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The arrays of some examples."""
    return (
        document_arrays(data, which) if isinstance(data, DocumentExamples) else sentence_arrays(data, which)
    )


def dealt_examples(N: int, count: int) -> Iterator[NDArray[np.int64]]:
    """The numbers of the examples of each shard.

    >>> [which.tolist() for which in dealt_examples(5, 2)]
    [[0, 1, 4], [2, 3]]
    """
    shard_of = np.arange(N) // max(1, min(DEALT, N // count)) % count
    for k in range(count):
        yield np.flatnonzero(shard_of == k)


def sentence_arrays(data: SentenceExamples, which: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The arrays of some sentences."""
    sentences, tokens = taken_rows(data.sentences, which)
    ptr, cells = taken_rows(data.ptr, tokens)
    found: dict[str, NDArray[Any]] = {
        "sentences": sentences,
        "ptr": ptr,
        "ids": data.ids[cells],
        "y": data.y[tokens],
    }
    if data.values is not None:
        found["values"] = data.values[cells]
    for name in ("soft", "allowed", "offset", "observed") if isinstance(data, CrfExamples) else ():
        own = getattr(data, name)
        if own is not None:
            found[name] = own[tokens]
    return found


def document_arrays(data: DocumentExamples, which: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The arrays of some documents."""
    ptr, cells = taken_rows(data.ptr, which)
    label_ptr, labels = taken_rows(data.label_ptr, which)
    found: dict[str, NDArray[Any]] = {
        "ptr": ptr,
        "ids": data.ids[cells],
        "label_ptr": label_ptr,
        "labels": data.labels[labels],
    }
    # A model file holds no None: rows of ones have their ones written out.
    if data.factors is not None:
        found |= {"by_feature": data.factors[0], "by_row": data.factors[1][which]}
    if data.values is not None or data.factors is None:
        found["values"] = data.weights()[cells]
    if data.soft is not None:
        found["soft"] = data.soft[which]
    return found


def taken_rows(
    ptr: NDArray[np.int64], which: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The bounds of some CSR rows when stored end to end, and the positions of their cells now.

    >>> taken_rows(np.array([0, 2, 3, 6]), np.array([0, 2]))
    (array([0, 2, 5]), array([0, 1, 3, 4, 5]))
    """
    sizes = np.diff(ptr)[which]
    bounds = np.zeros(len(which) + 1, np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return bounds, np.repeat(ptr[which] - bounds[:-1], sizes) + np.arange(bounds[-1])


@dataclass(frozen=True)
class ShardedLearner(Learner):
    """A learner over examples in shards.

    method: the name of the algorithm
    """

    learner: Any
    sharding: Sharding
    method: str
    exact: bool = True

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The same passes: there is no other loop over shards."""
        return self.passes(problem)

    def note(self, problem: Problem) -> ShardNote:
        """How the model was trained, for its file."""
        return ShardNote(self.count(problem), self.method, self.exact)

    def count(self, problem: Problem) -> int:
        """The number of shards."""
        data = problem.examples
        if isinstance(data, ExampleBlocks):
            return self.sharding.count(len(data.sizes), data.items)
        units = len(data.y) if isinstance(data, SentenceExamples) else len(data.ids)
        return self.sharding.count(len(data), units)

    def frame(self, problem: Problem) -> ProblemFrame:
        """The problem without its examples."""
        told = f"{self.method} {self.learner!r} {self.count(problem)}"
        return ProblemFrame.of(problem, told)

    def files(self, problem: Problem, frame: ProblemFrame) -> list[Path]:
        """The shards' files."""
        K = self.count(problem)
        return self.sharding.written(frame.key, shards_of(problem, K), K)
