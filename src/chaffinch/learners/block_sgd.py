"""Stochastic gradient descent over examples in blocks, for training sets that are not in memory.

In each pass the blocks are shuffled and read a few at a time; the examples of these few are shuffled together, so that
a corpus sorted by topic is mixed. The order depends only on the seed and the sizes of the blocks: examples in memory,
given in this order, make the same model, bit by bit.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.knobs import knob
from chaffinch.learners.examples import CrfExamples, SentenceExamples
from chaffinch.learners.likelihood import Sgd, summed
from chaffinch.learners.native_likelihood import crf_problem
from chaffinch.learners.problem import Pass, Problem, State
from chaffinch.scorers import Linear

_PASS_SEED = 20  # bits below the seed that number the passes
_MIXTURE_SEED = 40


@dataclass(frozen=True)
class ExampleBlocks:
    """Examples that are made on demand.

    sizes: int64 [blocks], the number of examples of each block
    made:  returns the examples of some blocks, end to end
    items: the number of tokens, or of features of documents, of all blocks; for training in shards
    key:   the fingerprint of all blocks; for training in shards
    """

    sizes: NDArray[np.int64]
    made: Callable[[Sequence[int]], Any]
    items: int = 0
    key: str = ""

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @classmethod
    def of(cls, examples: SentenceExamples, sizes: NDArray[np.int64]) -> "ExampleBlocks":
        """Examples in memory as blocks of these sizes."""
        ends = np.cumsum(sizes)

        def made(numbers: Sequence[int]) -> CrfExamples:
            which = np.concatenate([np.arange(ends[k] - sizes[k], ends[k]) for k in numbers])
            lengths = np.diff(examples.sentences)[which]
            tokens = ranges(examples.sentences[which], lengths)
            counts = np.diff(examples.ptr)[tokens]
            return CrfExamples(
                bounds(lengths),
                bounds(counts),
                examples.ids[ranges(examples.ptr[tokens], counts)],
                examples.y[tokens],
            )

        return cls(sizes, made)


@dataclass(frozen=True)
class DocumentBlocks(ExampleBlocks):
    """Documents over F features with one of Y labels each."""

    F: int = 0
    Y: int = 0


@dataclass(frozen=True)
class Mixture:
    """Blocks that are in memory together. order: their examples in the order of training, int64."""

    blocks: list[int]
    order: NDArray[np.int64]


def mixtures(sizes: NDArray[np.int64], mixed: int, seed: int, epoch: int) -> list[Mixture]:
    """The order of an epoch, counted from 1.

    >>> for mixture in mixtures(np.array([2, 1, 2]), 2, 0, 1):
    ...     print(mixture.blocks, mixture.order.tolist())
    [0, 2] [1, 2, 3, 0]
    [1] [0]
    """
    blocks = np.asarray(_core.permutation(len(sizes), (seed << _PASS_SEED) + epoch)).tolist()
    found = []
    for at in range(0, len(blocks), mixed):
        together = blocks[at : at + mixed]
        count = int(sizes[together].sum())
        own = ((seed + 1) << _MIXTURE_SEED) + (epoch << _PASS_SEED) + at
        found.append(Mixture(together, np.asarray(_core.permutation(count, own % (1 << 63)), np.int64)))
    return found


@dataclass(frozen=True, kw_only=True)
class BlockSgd(Sgd):
    """The steps of :class:`Sgd`, in an order that needs a few blocks in memory at a time.

    sizes: int64 [blocks], the sizes of blocks of examples in memory; None: the examples are :class:`ExampleBlocks`
    """

    mixed: int = knob(8, "blocks in memory at a time; their examples are shuffled together", low=1)
    sizes: Any = None

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols, for examples in memory."""
        N, sizes = len(problem.examples), np.asarray(self.sizes)
        starts = np.cumsum(sizes) - sizes
        scorer, t = problem.scorer.with_weights(problem.scorer.w), 0
        for number in range(1, self.epochs + 1):
            loss = 0.0
            for mixture in mixtures(sizes, self.mixed, problem.seed, number):
                which = ranges(starts[mixture.blocks], sizes[mixture.blocks])
                for n in which[mixture.order].tolist():
                    x, y = problem.examples[n]
                    eta = self.rate_or_default * (1 - t / (self.epochs * N))
                    potentials = scorer.potentials(x)
                    gold = problem.structure.parts(potentials.shape, y)
                    log_z, p = summed(problem, potentials, y)
                    loss += log_z - potentials.dot(gold)
                    scorer.w *= np.asarray(1 - 2 * eta * self.c2 / N, scorer.w.dtype)
                    scorer.update(x, gold - p, eta)
                    t += 1
            objective = loss + self.c2 * float(np.vdot(scorer.w, scorer.w))
            yield Pass(number, {"objective": objective}, lambda: scorer.with_weights(scorer.w))


class Pace:
    """The speed of training, shown while a pass runs; it is not part of the history.

    >>> list(Pace("sentences")(100))
    ['sentences/s']
    """

    def __init__(self, unit: str) -> None:
        self._unit, self._began, self._met = unit, monotonic(), 0

    def __call__(self, more: int) -> dict[str, float]:
        """The mean speed after this many more examples."""
        self._met += more
        return {f"{self._unit}/s": self._met / max(monotonic() - self._began, 1e-9)}


def fits_blocks(learner: BlockSgd, problem: Problem) -> bool:
    """Whether there are blocks of sentences, or sentences in memory with the sizes of blocks, with equal weights."""
    there = isinstance(problem.examples, ExampleBlocks) or (
        isinstance(problem.examples, SentenceExamples) and learner.sizes is not None
    )
    return there and problem.weight is None and problem.scorer.layout.packed


def block_passes(learner: BlockSgd, problem: Problem, threads: int, state: State | None) -> Iterator[Pass]:
    """The core's steps. A checkpoint may be written after any mixture; it holds weights, scale and position."""
    blocks = isinstance(problem.examples, ExampleBlocks)
    sizes = problem.examples.sizes if blocks else np.asarray(learner.sizes)
    N = len(problem.examples)
    w: NDArray[np.float32] = np.array(problem.scorer.w)
    first, done, scale, loss = 1, 0, 1.0, 0.0
    if state is not None:
        w[:] = state["w"]
        first, done = (int(n) for n in state["place"])
        scale, loss = (float(n) for n in state["scale"])
    del state  # as large as the weights
    whole = None if blocks else _native(learner, problem, N)
    pace = Pace("sentences")
    starts = np.cumsum(sizes) - sizes

    def kept(epoch: int, done: int) -> State:
        return {"w": w, "place": np.array([epoch, done]), "scale": np.array([scale, loss])}

    def here() -> Linear:
        return Linear(problem.scorer.layout, w)  # not a copy: weights are the largest object in memory

    def finished(best: Linear | None) -> tuple[Linear, dict[str, float]]:
        return best or here(), {}

    for epoch in range(first, learner.epochs + 1):
        order = mixtures(sizes, learner.mixed, problem.seed, epoch)
        met = (epoch - 1) * N + sum(len(m.order) for m in order[:done])
        made = ahead(problem, order[done:], threads) if blocks else iter(order[done:])
        for number, mixture in enumerate(order[done:], done + 1):
            examples = next(made)  # ``zip`` would hold these while the next ones are made
            if whole is not None:
                which = ranges(starts[mixture.blocks], sizes[mixture.blocks])[mixture.order]
                more, scale = whole.part(w, which, met, scale, threads)
            else:
                native = _native(learner, replace(problem, examples=examples), N)
                more, scale = native.part(w, mixture.order, met, scale, threads)
                del native
            del examples
            loss += more
            met += len(mixture.order)
            rate = pace(len(mixture.order))
            if number < len(order):
                yield Pass(
                    epoch,
                    rate,
                    None,
                    learner.epochs,
                    state=partial(kept, epoch, number),
                    part=(number, len(order)),
                )
        w *= np.float32(scale)
        objective = loss + learner.c2 * float(np.vdot(w, w))
        done, scale, loss = 0, 1.0, 0.0
        yield Pass(
            epoch,
            {"objective": objective},
            partial(problem.scorer.with_weights, w),
            learner.epochs,
            state=partial(kept, epoch + 1, 0),
            finish=finished,
            here=here,
        )
    if first > learner.epochs:
        yield Pass(
            learner.epochs,
            {},
            partial(problem.scorer.with_weights, w),
            learner.epochs,
            state=dict,
            finish=finished,
            here=here,
        )


def _native(learner: BlockSgd, problem: Problem, N: int) -> _core.CrfSgd:
    return _core.CrfSgd(
        crf_problem(problem),
        learner.c2,
        learner.rate_or_default,
        learner.epochs,
        problem.seed,
        sentences=N,
    )


def ahead(problem: Problem, order: Sequence[Mixture], threads: int) -> Iterator[Any]:
    """The examples of each mixture; with several threads, the next mixture is made while one is learnt."""
    made = problem.examples.made
    if threads == 1 or not order:
        yield from (made(mixture.blocks) for mixture in order)
        return
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(made, order[0].blocks)
        for later in order[1:]:
            here, coming = coming.result(), pool.submit(made, later.blocks)
            yield here
            del here
        yield coming.result()


def bounds(sizes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Bounds of rows of these sizes, end to end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The numbers of all ranges, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(total)
