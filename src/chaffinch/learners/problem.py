"""The input of a learner (a problem) and its output (passes): one protocol for all learners."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.costs import Cost, Costed
from chaffinch.structures import require

State = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Problem:
    """Examples, the structure of their answers, and a scorer to train.

    structure: which answers exist
    scorer:    weights to start from; training leaves it as it is
    examples:  a sequence of pairs of x and gold y
    weight:    float [N], the weight of each example; None: all are equal
    cost:      the cost of wrong answers, as parts by shape and gold y; None: the structure's own loss
    seed:      seed of the order of examples, for learners without a seed of their own
    """

    structure: Any
    scorer: Any
    examples: Any
    weight: NDArray[Any] | None = None
    cost: Cost | None = None
    seed: int = 0

    @property
    def costed(self) -> Any:
        """The structure, with the problem's cost instead of its own if there is one."""
        return self.structure if self.cost is None else Costed(self.structure, self.cost)

    def importance(self) -> NDArray[np.float64]:
        """The weight of each example [N]."""
        return np.ones(len(self.examples)) if self.weight is None else self.weight.astype(np.float64)

    def weights(self) -> list[float]:
        """The same as a list."""
        found: list[float] = self.importance().tolist()
        return found


@dataclass(frozen=True)
class Pass:
    """One pass over the examples.

    number: counted from 1
    scores: the learner's own figures for the pass, such as its objective
    model:  makes the model learnt so far; later passes do not change it. None: there is no model to score yet
    here:   the same model without a copy of its weights: the next pass changes it. None: ``model`` is as good
    total:  the maximum number of passes, if it is known
    state:  makes the state that a checkpoint stores to resume from here, or nothing if it is too early; None: the
            learner cannot resume
    finish: completes the training if it ends with this pass. Its argument is the model of an earlier pass, if that one
            is to be kept instead; it returns the final model and further scores of the pass. None: nothing to complete
    part:   the number of parts of the pass that are done, and of all its parts; None: the pass is complete
    """

    number: int
    scores: Mapping[str, float]
    model: Callable[[], Any] | None
    total: int | None = None
    state: Callable[[], State] | None = field(default=None, repr=False)
    finish: Callable[[Any], tuple[Any, Mapping[str, float]]] | None = field(default=None, repr=False)
    part: tuple[int, int] | None = None
    here: Callable[[], Any] | None = field(default=None, repr=False)


class Trains(Protocol):
    """A learner, as the training loop runs it."""

    def passes(self, problem: Problem, threads: int = 0, state: State | None = None) -> Iterator[Pass]:
        """Train pass by pass; ``state``: the state of an earlier pass, to resume."""
        ...


def example_order(n: int, seed: int, epoch: int) -> Any:
    """The order of n examples in an epoch, counted from 1: int64 [n]."""
    return _core.permutation(n, (seed << 20) + epoch)


def constant_gap(structure: Any, answer: Any, gold: Any) -> float:
    """The constant part of the score difference between an answer and gold: the values of held transitions."""
    constant = getattr(structure, "constant", None)
    return 0.0 if constant is None else constant(answer) - constant(gold)


def requires(learner: object, oracle: str, problem: Problem, alternatives: tuple[str, ...] = ()) -> None:
    """Raise if the structure lacks the oracle."""
    require(learner, oracle, problem.structure, alternatives)
