"""What a learner is given (a problem) and what it gives (passes): one protocol for all of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import check
from chaffinch.learners.costs import Cost, Costed
from chaffinch.progress import Listener, keep_going
from chaffinch.structures import require

State = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Problem:
    """Examples, the structure of their answers, and a scorer to move.

    structure: which answers exist
    scorer:    weights to start from; training leaves it as it is
    examples:  a sequence of pairs of x and gold y
    weight:    float [N], how much each example counts; None: all alike
    cost:      what wrong answers cost, as parts by shape and gold y; None: the structure's own loss
    seed:      decides the order of examples for learners that have no seed of their own
    """

    structure: Any
    scorer: Any
    examples: Any
    weight: NDArray[Any] | None = None
    cost: Cost | None = None
    seed: int = 0

    @property
    def costed(self) -> Any:
        """The structure, with the problem's cost in the place of its own if there is one."""
        return self.structure if self.cost is None else Costed(self.structure, self.cost)

    def importance(self) -> NDArray[np.float64]:
        """How much each example counts [N]."""
        return np.ones(len(self.examples)) if self.weight is None else self.weight.astype(np.float64)

    def weights(self) -> list[float]:
        """The same as a list."""
        found: list[float] = self.importance().tolist()
        return found


@dataclass(frozen=True)
class Pass:
    """One pass over the examples.

    number: counted from 1
    scores: what the learner can say of the pass, such as its objective
    model:  makes what has been learnt so far; later passes leave it alone. None: nothing yet that could be judged
    total:  how many passes there will be at most, if that is known
    state:  makes what a checkpoint keeps to go on from here, nothing if it is too early; None: the learner cannot go on
    finish: does what is left to do if training ends with this pass. Its argument is what an earlier pass made, if that
            is to be kept instead; it returns what was learnt and further scores of the pass. None: nothing is left
    """

    number: int
    scores: Mapping[str, float]
    model: Callable[[], Any] | None
    total: int | None = None
    state: Callable[[], State] | None = field(default=None, repr=False)
    finish: Callable[[Any], tuple[Any, Mapping[str, float]]] | None = field(default=None, repr=False)


class Learner:
    """A frozen dataclass of knobs: the config is the learner.

    ``generic`` is its loop over the protocols, for any structure that has the oracle and any scorer. If the table
    FUSED has a native epoch for the structure, the scorer and the learner, ``passes`` runs that instead: an
    optimisation, never a second definition.
    """

    def passes(self, problem: Problem, threads: int = 0, state: State | None = None) -> Iterator[Pass]:
        """Train pass by pass; whoever iterates decides when to stop. ``state`` is what a pass before made."""
        from chaffinch.learners.fused import native

        check(self)
        self.check(problem)
        row = native(self, problem)
        if row is not None:
            return self.until_done(row.passes(self, problem, threads, state))
        if state is not None:
            raise ConfigError(f"{type(self).__name__} cannot go on from a checkpoint")
        return self.until_done(self.generic(problem))

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The passes over the protocols alone."""
        raise NotImplementedError

    def check(self, problem: Problem) -> None:
        """Refuse a problem that this learner is not for."""

    def until_done(self, passes: Iterator[Pass]) -> Iterator[Pass]:
        """The passes up to the one at which the learner itself is content."""
        return passes

    def fit(self, problem: Problem, on_epoch: Listener = keep_going, threads: int = 0) -> Any:
        """What is learnt from the problem."""
        from chaffinch.learners.training import train_passes

        return train_passes(self, problem, threads=threads, on_epoch=on_epoch).made


class CountLearner(Learner):
    """A learner that counts: one pass, and there is no better one to come."""

    def counted(self, problem: Problem) -> Any:
        """What is learnt by counting."""
        raise NotImplementedError

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The one pass."""
        made = self.counted(problem)
        yield Pass(1, {}, lambda: made, 1)


def example_order(n: int, seed: int, epoch: int) -> Any:
    """The order of n examples in an epoch, counted from 1: int64 [n]."""
    return _core.permutation(n, (seed << 20) + epoch)


def constant_gap(structure: Any, answer: Any, gold: Any) -> float:
    """By how much an answer leads the gold one whatever the weights are: by transitions held at given values."""
    constant = getattr(structure, "constant", None)
    return 0.0 if constant is None else constant(answer) - constant(gold)


def requires(learner: object, oracle: str, problem: Problem, alternatives: tuple[str, ...] = ()) -> None:
    """Refuse a structure that lacks the oracle."""
    require(learner, oracle, problem.structure, alternatives)
