"""The likelihood over shards: rounds of dual ascent (CoCoA+), then L-BFGS with gradients summed over the shards.

Ma et al. 2015, "Adding vs. averaging in distributed primal-dual optimization".
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.block_sgd import ExampleBlocks
from chaffinch.learners.choice import ChoiceWeights, importance, padded, penalties, with_bias, with_intercepts
from chaffinch.learners.choice_gradient import ChoiceBatch
from chaffinch.learners.dual import DualLogistic
from chaffinch.learners.examples import CrfExamples, SentenceExamples
from chaffinch.learners.likelihood import Lbfgs
from chaffinch.learners.native_likelihood import crf_problem
from chaffinch.learners.problem import Pass, Problem, State
from chaffinch.learners.shards import (
    ProblemFrame,
    ShardedLearner,
    Term,
    Unweighted,
)
from chaffinch.scorers import Layout
from chaffinch.structures import Chain, RuledChain

ROUNDS = 5  # of CoCoA+, at most
LOCAL_PASSES = 3  # over each shard, in a round
SMALL_GAIN = 0.02  # a round that lowers the objective by a smaller share is the last
STILL = 0.001  # tokens whose marginals change by less are not updated
LEAST_CURVATURE = 1e-3
TOLERANCE = 3e-5
BETWEEN_CHECKPOINTS = 10.0  # seconds between two checkpoints of steps, at least, unless the last is done
CHECKPOINT_SHARE = 20  # and this many times what the last one took: it may hold gigabytes

Weights = NDArray[np.float32]


class ShardedLikelihood(ShardedLearner):
    """min over w of f(w) = sum over shards of f_k(w) + the penalty.

    Rounds of CoCoA+ on the dual, if there is one:

        w_k = dual ascent on shard k from w, with its own duals, under the penalty divided by K
        w  += (1 / K) sum_k (w_k - w)

    and f(w) is evaluated after each: a round that does not lower it is undone and is the last. Then L-BFGS from there
    with the Fisher diagonal as first curvature. Every step is a pure function of the weights: a worker that is lost is
    replaced by one that reads the shard's file again and repeats the rounds with the weights that they began with.
    """

    def passes(self, problem: Problem, threads: int = 0, state: State | None = None) -> Iterator[Pass]:
        """Rounds, then steps."""
        if not isinstance(
            problem.examples, ExampleBlocks
        ):  # those of a cache were checked when it was written
            self.learner.check(problem)
        frame = self.frame(problem)
        files, K = self.files(problem, frame), self.count(problem)
        view = _view(self.learner, problem, frame, K)
        run = _ShardedRun(self.sharding.engine, view, files, threads)
        return run.passes(state, lambda w: view.made(w, problem))


class _ShardedRun:
    """The driver of a likelihood's training."""

    def __init__(self, engine: Any, view: "LikelihoodView", files: Sequence[Path], threads: int) -> None:
        self.engine, self.view, self.files, self.threads = engine, view, files, threads
        self._saved = self._took = 0.0

    def passes(self, state: State | None, made: Callable[[Weights], Any]) -> Iterator[Pass]:
        """Rounds of dual ascent, then steps of L-BFGS; each can be continued from its state."""
        history = [np.zeros(self.view.size, np.float32)]  # the weights that each round began with
        values: list[float] = []
        number = 0
        if state is None or "history" in state:
            if state is not None:
                history, values = list(state["history"]), state["values"].tolist()
                number = len(history) - 1
            for one in self._rounds(history, values, number):
                number += 1
                w, value = one
                yield Pass(
                    number,
                    {"objective": value},
                    partial(made, w),
                    state=lambda: {"history": np.stack(history), "values": np.array(values)},
                )
            w = history[int(np.argmin(values))] if values else history[0]
            diagonal, small = self._curvature(w), 0
            memory = None
        else:
            w, diagonal = np.array(state["w"]), np.array(state["diagonal"])
            number, small = (int(v) for v in state["done"])
            memory = np.array(state["memory"])
            if small == 2:  # it was finished
                yield Pass(number, {}, lambda: made(w), state=lambda: state)
                return
        yield from self._steps(w, diagonal, memory, number, small, made)

    def _rounds(
        self, history: list[Weights], values: list[float], done: int
    ) -> Iterator[tuple[Weights, float]]:
        """CoCoA+; ``history`` and ``values`` grow by one with each round."""
        if not self.view.dual:
            return
        if not values:
            values.append(self._value(history[0])[0])
        sent = [self.engine.broadcast(w) for w in history]
        for _ in range(done, ROUNDS):
            if len(values) > 1 and values[-1] > (1 - SMALL_GAIN) * values[-2]:
                return
            (change,) = self.engine.reduce(Ascent(self.view), self.files, sent)
            w = history[-1] + change / np.float32(len(self.files))
            history.append(w)
            sent.append(self.engine.broadcast(w))
            values.append(self._value(w, sent[-1])[0])
            yield w, values[-1]

    def _value(self, w: Weights, sent: Any = None) -> tuple[float, Weights]:
        """f(w) and its gradient; sent: w, if it was broadcast before."""
        given = self.engine.broadcast(w) if sent is None else sent
        value, gradient = self.engine.reduce(Gradient(self.view), self.files, (given,))
        penalised = w if self.view.trainable is None else w * self.view.trainable
        gradient = (
            gradient + np.float32(self.view.curvature) * penalised
        )  # what an engine gives may be read-only
        square = float(np.sum(np.square(penalised, dtype=np.float64)))
        return float(value) + self.view.curvature / 2 * square, gradient

    def _curvature(self, w: Weights) -> Weights | None:
        """The inverse of the Fisher diagonal at w; None: the view has none."""
        if not self.view.curved:
            return None
        (fisher,) = self.engine.reduce(Fisher(self.view), self.files, (self.engine.broadcast(w),))
        found: Weights = np.float32(1) / (np.float32(max(self.view.curvature, LEAST_CURVATURE)) + fisher)
        return found

    def _steps(
        self,
        w: Weights,
        diagonal: Weights | None,
        memory: NDArray[np.float32] | None,
        number: int,
        small: int,
        made: Callable[[Weights], Any],
    ) -> Iterator[Pass]:
        def value(at: NDArray[np.float32], g: NDArray[np.float32]) -> float:
            found, gradient = self._value(np.array(at))
            g[:] = gradient
            return found

        minimiser = _core.Minimiser(
            value,
            w,
            diagonal=diagonal if diagonal is not None and len(diagonal) else None,
            threads=self.threads,
        )
        if memory is not None and len(memory):
            minimiser.remember(memory)
        before, last = minimiser.value, number + self.view.steps
        kept = np.zeros(0, np.float32) if diagonal is None else diagonal
        while number < last and small < 2:
            moved = minimiser.iterate()
            fall = (before - minimiser.value) / max(abs(minimiser.value), 1e-300)
            before = minimiser.value
            small = 2 if not moved else small + 1 if fall < self.view.tolerance else 0
            number += 1
            at = np.empty(self.view.size, np.float32)
            minimiser.x(at)

            ended = small == 2 or number == last

            def state(
                at: Weights = at, number: int = number, small: int = small, ended: bool = ended
            ) -> State:
                if ended:
                    none = np.zeros(0, np.float32)
                    return {"w": at, "diagonal": none, "memory": none, "done": np.array([number, 2])}
                if time.monotonic() - self._saved < max(BETWEEN_CHECKPOINTS, CHECKPOINT_SHARE * self._took):
                    return {}
                self._saved = time.monotonic()
                memory = minimiser.memory()
                return {"w": at, "diagonal": kept, "memory": memory, "done": np.array([number, small])}

            begun = time.monotonic()
            yield Pass(number, {"objective": before, "gap": fall}, partial(made, at), state=state)
            if self._saved >= begun:  # the loop has just written it
                self._took = time.monotonic() - begun


@dataclass(frozen=True)
class LikelihoodView(ABC):
    """A likelihood as the driver and the workers need it.

    size:      of w, flat: ``rows`` rows of length ``stride`` for the features, then the weights that all examples share
    dual:      dual ascent applies     curved: there is a Fisher diagonal
    curvature: of the penalty
    trainable: uint8 [size], which weights move and are penalised; None: all
    """

    frame: ProblemFrame
    K: int
    size: int
    rows: int
    stride: int
    dual: bool
    curved: bool
    curvature: float
    steps: int
    tolerance: float
    trainable: NDArray[np.uint8] | None

    @abstractmethod
    def made(self, w: Weights, problem: Problem) -> Any:
        """The model of these weights."""

    @abstractmethod
    def held(self, path: Path, number: int, threads: int) -> "HeldShard":
        """A shard in memory."""


class HeldShard(ABC):
    """A shard of a likelihood in the memory of a worker, with the weights of its own features only.

    features: of its examples, in ascending order     rounds: the number of rounds that its duals have made
    """

    def __init__(self, view: LikelihoodView, features: NDArray[np.int64]) -> None:
        self.view, self.features, self.rounds = view, features, 0
        self.ascent: Any = None
        self._end = view.rows * view.stride

    def own(self, w: NDArray[Any]) -> NDArray[Any]:
        """The weights of its features, and those that all examples share."""
        rows = w[: self._end].reshape(self.view.rows, self.view.stride)
        return np.concatenate([rows[self.features].reshape(-1), w[self._end :]])

    def spread(self, own: Weights) -> Weights:
        """The values of its own weights at their positions among all weights, zero elsewhere."""
        found = np.zeros(self.view.size, np.float32)
        end = len(self.features) * self.view.stride
        rows = found[: self._end].reshape(self.view.rows, self.view.stride)
        rows[self.features] = own[:end].reshape(-1, self.view.stride)
        found[self._end :] = own[end:]
        return found

    @abstractmethod
    def value(self, w: Weights) -> tuple[float, Weights]:
        """f_k(w) and its gradient, for its own weights."""

    def fisher(self, w: Weights) -> Weights:
        """The Fisher diagonal; only shards of a curved view have one."""
        raise TypeError(f"{type(self).__name__} has no Fisher diagonal: its view is not curved")

    @abstractmethod
    def begin(self) -> None:
        """Set the duals to their start before the first round."""

    @abstractmethod
    def ascend(self, w: Weights) -> Weights:
        """The weights after dual ascent from w."""


@dataclass(frozen=True)
class _OfLikelihood:
    view: LikelihoodView

    @property
    def key(self) -> str:
        """The problem's."""
        return self.view.frame.key

    def shard(self, held: dict[int, Any], number: int, path: Path, threads: int) -> HeldShard:
        """The shard in memory, read from its file if it is not there."""
        if number not in held:
            held[number] = self.view.held(path, number, threads)
        found: HeldShard = held[number]
        return found


class Gradient(_OfLikelihood):
    """f_k(w) and its gradient."""

    def term(
        self, held: dict[int, Any], number: int, shard: Path, given: Sequence[Any], threads: int
    ) -> Term:
        """given: w"""
        here = self.shard(held, number, shard, threads)
        value, gradient = here.value(here.own(given[0]))
        return value, here.spread(gradient)


class Fisher(_OfLikelihood):
    """The Fisher diagonal, computed after the last round."""

    def term(
        self, held: dict[int, Any], number: int, shard: Path, given: Sequence[Any], threads: int
    ) -> Term:
        """given: w"""
        here = self.shard(held, number, shard, threads)
        here.ascent, here.rounds = None, 0
        return (here.spread(here.fisher(here.own(given[0]))),)


class Ascent(_OfLikelihood):
    """A round of dual ascent."""

    def term(
        self, held: dict[int, Any], number: int, shard: Path, given: Sequence[Any], threads: int
    ) -> Term:
        """given: the weights that each round so far began with; rounds that the shard has not made are repeated."""
        here = self.shard(held, number, shard, threads)
        if here.rounds == 0 or here.rounds >= len(given):
            here.begin()
            here.rounds = 0
        while here.rounds < len(given):
            w = here.own(given[here.rounds])
            change = here.ascend(w.copy()) - w
            here.rounds += 1
        return (here.spread(change),)


def _view(learner: Any, problem: Problem, frame: ProblemFrame, K: int) -> LikelihoodView:
    if isinstance(learner, (ChoiceBatch, DualLogistic)):
        batch = learner if isinstance(learner, ChoiceBatch) else None
        l2 = learner.l2 if isinstance(learner, ChoiceBatch) else 1 / learner.C
        F, Y = frame.common["F"], frame.common["Y"]
        return DocumentView(
            frame=frame,
            K=K,
            size=(F + 1) * padded(Y),
            rows=F,
            stride=padded(Y),
            trainable=None,
            dual=l2 > 0 and not (batch and batch.each),
            curved=False,
            curvature=l2,
            steps=batch.steps if batch else Lbfgs().steps,
            tolerance=min(TOLERANCE, batch.tolerance) if batch else TOLERANCE,
            learner=learner,
        )
    chain, data = problem.structure, problem.examples
    finish = getattr(learner, "finish", None) or (learner if isinstance(learner, Lbfgs) else None)
    plain = isinstance(chain, (Chain, RuledChain)) and chain.order == 1
    if isinstance(data, CrfExamples):
        plain = plain and data.allowed is None and not data.observations
    return ChainView(
        frame=frame,
        K=K,
        size=frame.layout.size,
        rows=frame.layout["unary"].rows,
        stride=frame.layout["unary"].stride,
        trainable=getattr(data, "trainable", None),
        dual=plain and learner.c2 > 0,
        curved=True,
        curvature=2 * learner.c2,
        steps=Lbfgs().steps if finish is None else finish.steps,
        tolerance=TOLERANCE if finish is None else min(TOLERANCE, finish.tolerance),
        c2=learner.c2,
    )


@dataclass(frozen=True)
class ChainView(LikelihoodView):
    """The likelihood of chains."""

    c2: float

    def layout_of(self, F: int) -> Layout:
        """The layout of the weights for fewer features."""
        blocks = self.frame.layout.blocks
        less = (self.rows - F) * self.stride
        first = replace(blocks[0], shape=(F, *blocks[0].shape[1:]))
        others = (replace(block, offset=block.offset - less) for block in blocks[1:])
        return replace(self.frame.layout, blocks=(first, *others), length=self.size - less)

    def made(self, w: Weights, problem: Problem) -> Any:
        """The scorer with these weights."""
        return problem.scorer.with_weights(w)

    def held(self, path: Path, number: int, threads: int) -> HeldShard:
        """A shard in memory."""
        return HeldChains(self, self.frame.opened(path), number, threads)


class HeldChains(HeldShard):
    """Sentences in memory, and their duals while there are rounds."""

    view: "ChainView"

    def __init__(self, view: ChainView, problem: Problem, number: int, threads: int) -> None:
        data: SentenceExamples = problem.examples
        features, ids = np.unique(data.ids, return_inverse=True)
        super().__init__(view, features.astype(np.int64))
        own: dict[str, Any] = {"ids": ids.astype(np.int32)}
        if view.trainable is not None:
            own["trainable"] = self.own(view.trainable)
        layout = view.layout_of(len(features))
        local = replace(problem, examples=replace(data, **own), scorer=Unweighted(layout))
        self.native = crf_problem(local)
        self.objective = _core.CrfObjective(self.native, 0.0, threads)
        self.seed = problem.seed + number

    def value(self, w: Weights) -> tuple[float, Weights]:
        """f_k(w) and its gradient."""
        g = np.empty_like(w)
        return self.objective(w, g), g

    def fisher(self, w: Weights) -> Weights:
        """The Fisher diagonal."""
        diagonal = np.empty_like(w)
        self.objective.fisher(w, diagonal)
        return diagonal

    def begin(self) -> None:
        """Marginals at the gold labels."""
        c2 = self.view.c2 / self.view.K
        self.ascent = _core.CrfSdca(self.native, c2, still=STILL * min(1.0, self.view.c2), seed=self.seed)

    def ascend(self, w: Weights) -> Weights:
        """Passes over the sentences."""
        for _ in range(LOCAL_PASSES):
            self.ascent.run(w)
        return w


@dataclass(frozen=True)
class DocumentView(LikelihoodView):
    """The likelihood of documents: sum_n c_n loss_n(w) + l2 |w|^2 / 2."""

    learner: Any

    def made(self, w: Weights, problem: Problem) -> Any:
        """A table of weights and intercepts."""
        table = w.reshape(self.rows + 1, self.stride).copy()
        return with_intercepts(ChoiceWeights(table, self.learner.link), self.learner.bias or 0.0)

    def held(self, path: Path, number: int, threads: int) -> HeldShard:
        """A shard in memory."""
        return HeldDocuments(self, self.frame.opened(path), number, threads)


class HeldDocuments(HeldShard):
    """Documents in memory, and their duals while there are rounds."""

    view: "DocumentView"

    def __init__(self, view: DocumentView, problem: Problem, number: int, threads: int) -> None:
        data = with_bias(problem, view.learner.bias)
        features, ids = np.unique(data.ids, return_inverse=True)
        super().__init__(view, features.astype(np.int64))
        factors = None if data.factors is None else (data.factors[0][features], data.factors[1])
        data = replace(data, ids=ids.astype(np.int32), F=len(features), factors=factors)
        self.problem, self.data, self.seed = problem, data, problem.seed + (number << 20)
        self.rows, self.targets = data.rows(), data.targets()
        each = getattr(view.learner, "each", False)
        loss = _core.ChoiceLoss.sigmoid if each else _core.ChoiceLoss.softmax
        self.objective = _core.ChoiceBatch(
            self.rows, self.targets, importance(problem), loss, 0.0, 0.0, threads=threads
        )
        self.shape = (data.F + 1, view.stride)

    def value(self, w: Weights) -> tuple[float, Weights]:
        """f_k(w) and its gradient."""
        g = np.empty(self.shape, np.float32)
        return self.objective.evaluate(w.reshape(self.shape), g), g.reshape(-1)

    def begin(self) -> None:
        """Distributions at the targets."""
        C = penalties(self.problem, self.view.K / self.view.curvature)
        self.ascent = _core.DualLogistic(self.rows, self.targets, C, whole=True)

    def ascend(self, w: Weights) -> Weights:
        """Passes over the documents."""
        self.ascent.load(w.reshape(self.shape))
        for i in range(LOCAL_PASSES):
            seed = self.seed + self.rounds * LOCAL_PASSES + i
            self.ascent.run(np.asarray(_core.permutation(len(self.data), seed), np.int64))
        moved = np.empty(self.shape, np.float32)
        self.ascent.weights(moved)
        return moved.reshape(-1)
