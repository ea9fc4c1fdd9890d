"""Learners: frozen dataclasses of knobs. Their passes train a scorer, in the core if the table FUSED has a row."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.knobs import check
from chaffinch.learners.problem import Pass, Problem, State
from chaffinch.learners.training import train_passes
from chaffinch.progress import Listener, keep_going


@dataclass(frozen=True)
class Native:
    """Passes in the core.

    passes: run a learner on a problem with a number of threads, from the state of an earlier pass if it is not None
    fits:   whether they apply to the problem: the layout of its examples, its options
    """

    passes: Callable[[Any, Problem, int, State | None], Iterator[Pass]]
    fits: Callable[[Any, Problem], bool]


# Native passes by the types of structure, scorer and learner; ``learners/fused.py`` has the rows.
FUSED: dict[tuple[type, type, type], Native] = {}


def native(learner: "Learner", problem: Problem) -> Native | None:
    """The row for a problem, by the learner's type, or by a base class if the classes between only change knobs."""
    for kind in type(learner).__mro__:
        row = FUSED.get((type(problem.structure), type(problem.scorer), kind))
        if row is not None:
            return row if row.fits(learner, problem) else None
        if _redefines(kind):
            return None
    return None


def _redefines(kind: type) -> bool:
    """Whether a class has anything of its own besides knobs, such as a method that the core would not call."""
    own = {name for name in vars(kind) if not name.startswith("__")} - {"_abc_impl"}
    return not own <= vars(kind).get("__dataclass_fields__", {}).keys()


class Learner(ABC):
    """A frozen dataclass of knobs: the config is the learner.

    ``generic`` is its loop over the protocols, for any scorer and any structure with the oracle. If the table FUSED has
    a native epoch for the structure, the scorer and the learner, ``passes`` runs that instead: an optimisation, never
    a second definition.
    """

    def passes(self, problem: Problem, threads: int = 0, state: State | None = None) -> Iterator[Pass]:
        """Train pass by pass; the caller decides when to stop. ``state``: the state of an earlier pass, to resume."""
        check(self)
        self.check(problem)
        row = native(self, problem)
        if row is not None:
            return self.until_done(row.passes(self, problem, threads, state))
        if state is not None:
            raise ConfigError(
                f"{type(self).__name__} cannot resume from a checkpoint; remove it to train again"
            )
        return self.until_done(self.generic(problem))

    @abstractmethod
    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The passes over the protocols alone."""

    def check(self, problem: Problem) -> None:
        """Raise if this learner cannot train on the problem."""
        return

    def until_done(self, passes: Iterator[Pass]) -> Iterator[Pass]:
        """The passes up to the one at which the learner's own stopping rule holds."""
        return passes

    def fit(self, problem: Problem, on_epoch: Listener = keep_going, threads: int = 0) -> Any:
        """The model that is learnt from the problem."""
        return train_passes(self, problem, threads=threads, on_epoch=on_epoch).made


class CountLearner(Learner):
    """A learner that counts: a single pass is enough."""

    @abstractmethod
    def count(self, problem: Problem) -> Any:
        """The model that is learnt by counting."""

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The one pass."""
        made = self.count(problem)
        yield Pass(1, {}, lambda: made, 1)
