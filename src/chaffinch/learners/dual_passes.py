"""Passes of dual coordinate descent: when they end, when the gap is looked at, and who is scored unmet."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.learners.choice import ChoiceProblem, ChoiceWeights, with_intercepts
from chaffinch.learners.held_out import cross_fitted
from chaffinch.progress import Progress

EPOCHS = 20
MOST_EPOCHS = 10_000
MOST_LATE = 1000
LATEST_LOOK = 12  # the pass after which the gap is looked at for the first time, whatever is expected of it
FIRST_MET = 2.0  # what the first pass meets, as a multiple of the objective at the optimum: 1.5 to 2 in texts
TINY = 1e-30
LONGEST_REST = 16  # passes: what rests wrongly is found out by then

Order = NDArray[np.int64]


@dataclass(frozen=True)
class Met:
    """What a pass met: the largest miss of an optimality condition, and the gap as the examples found it."""

    missed: float
    gap: float


@dataclass(frozen=True)
class Stop:
    """When passes end: after so many, when no condition is missed by more, or when the duality gap is small enough.

    certified: whether the objectives are looked at after the last pass although no gap was asked for
    """

    epochs: int | None
    tolerance: float
    gap: float | None = None
    certified: bool = True

    @property
    def most(self) -> int:
        """Most passes."""
        return self.epochs or (EPOCHS if self.gap is None else MOST_EPOCHS)


@dataclass(frozen=True)
class Unmet:
    """Which documents are scored by weights that had not met them, to learn how sure a margin is.

    folds: each of so many parts in turn, by what the other parts teach; 0: none
    late:  a tenth, which joins after half of the passes (a gap has it join after two): that costs nothing
    """

    folds: int = 0
    late: bool = False


NOBODY = Unmet()


def descended(
    problem: ChoiceProblem,
    solver: Any,
    run: Callable[[Order], Met],
    stop: Stop,
    bias: float,
    *,
    link: str = "margin",
    unmet: Unmet = NOBODY,
    resting: bool = False,
) -> ChoiceWeights:
    """Passes in ever new order until one misses optimality by less than the tolerance everywhere, or the gap is closed.

    resting: whether the solver lets variables rest; the last pass is one in which none did. A gap that is small enough
    needs no more proof. It costs about half a pass to know it, so it is looked at when it should be closed.
    """
    late = _late(problem) if unmet.late and stop.most > 1 else np.zeros(0, dtype=np.int64)
    is_late = np.zeros(problem.N, dtype=np.bool_)
    is_late[late] = True
    waiting, tolerance = len(late) > 0, stop.tolerance
    joining = stop.most // 2 if stop.gap is None else 2
    watch = GapWatch(stop.gap)
    fresh = True  # nothing rested in the pass at hand
    history: list[Progress] = []
    held: tuple[Order, NDArray[np.float32]] | None = None
    for epoch in range(1, stop.most + 1):
        order = np.asarray(_core.permutation(problem.N, problem.seed + epoch - 1), dtype=np.int64)
        met = run(np.ascontiguousarray(order[~is_late[order]]) if waiting else order)
        scores = {"missed": met.missed}
        if watch.due(epoch, met.gap) and not waiting:
            scores |= watch.seen(epoch, *solver.objective(problem.threads))
        history.append(Progress("training", epoch, stop.most, scores))
        shown = replace(history[-1], model=partial(weights_of, problem, solver, bias, link))
        if not problem.on_epoch(shown) or watch.closed:
            break
        done = met.missed <= tolerance
        proven = done and (fresh or not resting)
        fresh = False
        if waiting and (epoch >= joining or done):
            held = late, _scores(problem, solver, late)
            waiting = False
        elif proven and stop.gap is None:
            break
        elif done or epoch % LONGEST_REST == 0:
            if done and stop.gap is not None:
                tolerance /= 4  # it was too loose for this gap
            if resting:
                solver.wake()
                fresh = True
    last = history[-1]
    if stop.certified and "gap" not in last.scores:
        looked = watch.seen(last.done, *solver.objective(problem.threads))
        history[-1] = replace(last, scores={**last.scores, **looked})
    if unmet.folds:
        made = weights_of(problem, solver, bias, link)
        held = cross_fitted(problem, solver, run, unmet.folds, partial(_scores, problem, solver))
    else:
        made = with_intercepts(ChoiceWeights(solver.release(), link), bias)
    made.history = history
    if held is not None:
        made.held, made.held_scores = held
    return made


class GapWatch:
    """When to look at the gap next: where it should be closed, and never much later.

    A pass meets each example's share of the gap under the weights of that moment, in all about the gap that the pass
    before had left. So what this pass leaves is what the next one would meet: less by the factor by which this one met
    less than the one before.
    """

    def __init__(self, wanted: float | None) -> None:
        self.wanted, self.closed = wanted, False
        self._met = 0.0  # by the last pass
        self._primal = 0.0  # the objective at the last look, a guess before
        self._looked = 0  # the pass before the last look

    def due(self, epoch: int, met: float) -> bool:
        """Whether to look after this pass, which met this gap; asked once for each pass."""
        before, self._met = self._met, met
        self._primal = self._primal or met / FIRST_MET
        if self.wanted is None or epoch == 1:
            return False
        left = met * min(1.0, met / max(before, TINY))
        return epoch >= (2 * self._looked or LATEST_LOOK) or left <= self.wanted * self._primal

    def seen(self, epoch: int, primal: float, dual: float) -> dict[str, float]:
        """What was found."""
        self._primal, self._looked = abs(primal), epoch
        if self.wanted is not None:
            self.closed = primal - dual <= self.wanted * max(abs(primal), TINY)
        return {"primal": primal, "dual": dual, "gap": primal - dual}


def weights_of(problem: ChoiceProblem, solver: Any, bias: float, link: str) -> ChoiceWeights:
    """The weights as they stand."""
    w = np.empty((problem.F + 1, problem.S), dtype=np.float32)
    solver.weights(w)
    return with_intercepts(ChoiceWeights(w, link), bias)


def _scores(problem: ChoiceProblem, solver: Any, which: Order) -> NDArray[np.float32]:
    out = np.empty((len(which), problem.S), dtype=np.float32)
    solver.scores(which, out)
    return out[:, : problem.Y]


def _late(problem: ChoiceProblem) -> Order:
    """Which documents join late: a tenth, none of a few."""
    count = min(problem.N // 10, MOST_LATE) if problem.N >= 40 else 0
    return np.sort(np.asarray(_core.permutation(problem.N, problem.seed), dtype=np.int64)[:count])
