"""Linear classifiers by dual coordinate descent: margins one-vs-rest, Crammer and Singer's margin, logistic."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.choice import ChoiceProblem, ChoiceWeights, with_intercepts
from chaffinch.progress import Progress

EPOCHS = 20
MOST_EPOCHS = 10_000
MOST_LATE = 1000

LOSSES = {
    "hinge": _core.MarginLoss.hinge,
    "squared-hinge": _core.MarginLoss.squared_hinge,
    "squared": _core.MarginLoss.squared,
}


@dataclass(frozen=True, kw_only=True)
class DualPasses:
    """What every learner by dual coordinates lets one set: the penalty, when to stop, the bias."""

    C: float = knob(
        1.0, "how much a document's loss counts against the size of the weights", low=1e-9, high=1e12
    )
    epochs: int | None = knob(
        None, "most passes over the documents; else 4 over text, 200 over numbers", low=1
    )
    tolerance: float = knob(0.01, "stop when no optimality condition is missed by more", low=0.0)
    gap: float | None = knob(
        None,
        "stop when the duality gap is below this share of the primal objective, however long it takes",
        low=1e-9,
    )
    bias: float | None = knob(
        None, "value of a feature that all documents have; else 1 for numbers, 0 for text", low=0.0
    )


@dataclass(frozen=True, kw_only=True)
class DualRest(DualPasses):
    """Each label against the rest, t = +1 for the label, else -1.

        primal  P = |w_y|^2 / 2 + C sum_n loss(t_ny w_y.x_n)
        dual    D = sum_n (a_ny - d a_ny^2 / 2) - |w_y|^2 / 2,      w_y = sum_n a_ny t_ny x_n
                hinge: 0 <= a <= C, d = 0;   squared hinge: a >= 0, d = 1 / 2C;   squared: a free, d = 1 / 2C

    Hsieh et al. 2008. Takes several labels per document; labels are vector lanes and shared out to threads.
    """

    loss: str = knob("squared-hinge", "what a margin below one costs", choices=tuple(LOSSES))

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        if problem.soft is not None:
            raise ConfigError("margins need labels, not soft targets; a logistic recipe takes them")
        rows = problem.rows(self.bias or 0.0)
        C = penalties(problem, self.C)
        solver = _core.DualRest(
            rows, problem.label_ptr, problem.labels, C, problem.Y, LOSSES[self.loss], self.loss != "squared"
        )
        w = np.zeros((problem.F + 1, problem.S), dtype=np.float32)
        violation = np.zeros(problem.Y, dtype=np.float32)

        def run(order: NDArray[np.int64]) -> float:
            solver.run(order, problem.threads, w, violation)
            return float(violation.max())

        made = ChoiceWeights(w, "margin")
        stop = Stop(self.epochs, self.tolerance, self.gap, certified=self.loss != "squared")
        passes(
            problem,
            stop,
            made,
            self.bias or 0.0,
            run,
            partial(solver.objective, w, problem.threads),
            solver.wake,
        )
        return with_intercepts(made, self.bias or 0.0)


@dataclass(frozen=True, kw_only=True)
class DualRidge(DualPasses):
    """Ridge regression of +1 and -1 on each label:  |w_y|^2 / 2 + C sum_n (t_ny - w_y.x_n)^2.

    The squared loss of :class:`DualRest`; on long documents a few passes are as good as convergence.
    """

    C: float = knob(
        1.0, "how much a document's loss counts against the size of the weights", low=1e-9, high=1e12
    )
    epochs: int | None = knob(
        None, "most passes over the documents; else 3 or 4 over text, 200 over numbers", low=1
    )
    tolerance: float = knob(0.01, "stop when no optimality condition is missed by more", low=0.0)
    gap: float | None = knob(
        None,
        "stop when the duality gap is below this share of the primal objective, however long it takes",
        low=1e-9,
    )
    bias: float | None = knob(
        None, "value of a feature that all documents have; else 1 for numbers, 0 for text", low=0.0
    )

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        return DualRest(loss="squared", **vars(self)).fit(problem)


@dataclass(frozen=True, kw_only=True)
class DualCrammerSinger(DualPasses):
    """All labels at once.

        primal  P = |w|^2 / 2 + C sum_n (max_y (w_y.x_n + [y != y_n]) - w_{y_n}.x_n)
        dual    D = sum_n a_n(y_n) - |w|^2 / 2,     w_y = sum_n a_n(y) x_n,   sum_y a_n(y) = 0,   a_n(y) <= C [y = y_n]

    Crammer and Singer 2001, by the sequential dual method of Keerthi et al. 2008.
    """

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        y = problem.one_label_each("the Crammer-Singer margin")
        rows = problem.rows(self.bias or 0.0)
        solver = _core.DualCrammerSinger(rows, y, penalties(problem, self.C), problem.Y, True)
        w = np.zeros((problem.F + 1, problem.S), dtype=np.float32)
        made = ChoiceWeights(w, "margin")
        bias = self.bias or 0.0
        stop = Stop(self.epochs, self.tolerance, self.gap)
        objective = partial(solver.objective, w, problem.threads)
        passes(problem, stop, made, bias, lambda order: float(solver.run(order, w)), objective, solver.wake)
        return with_intercepts(made, bias)


@dataclass(frozen=True, kw_only=True)
class DualLogistic(DualPasses):
    """Multinomial logistic regression.

        primal  P = |w|^2 / 2 + C sum_n (log sum_y exp(w_y.x_n) - sum_y q_ny w_y.x_n)
        dual    D = C sum_n entropy(m_n) - |w|^2 / 2,      w_y = C sum_n (q_ny - m_ny) x_n,   m_n a distribution

    Stochastic dual coordinate ascent, Shalev-Shwartz and Zhang 2013. Takes soft targets q.
    """

    C: float = knob(
        10.0, "how much a document's loss counts against the size of the weights", low=1e-9, high=1e12
    )
    tolerance: float = knob(0.01, "stop when the duality gap is below this share of N C log Y", low=0.0)

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        q = problem.targets()
        if not np.allclose(q.sum(axis=1), 1.0, atol=1e-3):
            raise ConfigError("logistic regression needs targets that sum to one: one label per document")
        C = penalties(problem, self.C)
        solver = _core.DualLogistic(problem.rows(self.bias or 0.0), q, C)
        w = np.zeros((problem.F + 1, problem.S), dtype=np.float32)
        worst = float(C.sum()) * np.log(max(problem.Y, 2))
        made = ChoiceWeights(w, "softmax")
        bias = self.bias or 0.0
        stop = Stop(self.epochs, self.tolerance, self.gap)
        objective = partial(solver.objective, w, problem.threads)
        passes(problem, stop, made, bias, lambda order: solver.run(order, w) / worst, objective)
        return with_intercepts(made, bias)


def penalties(problem: ChoiceProblem, C: float) -> NDArray[np.float32]:
    """C_n: the penalty of each document."""
    return (problem.importance * np.float32(C)).astype(np.float32)


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


def passes(
    problem: ChoiceProblem,
    stop: Stop,
    made: ChoiceWeights,
    bias: float,
    run: Callable[[NDArray[np.int64]], float],
    objective: Callable[[], tuple[float, float]],
    wake: Callable[[], None] | None = None,
) -> None:
    """Passes in ever new order until one misses optimality by less than the tolerance everywhere, or the gap is closed.

    Margins have no scale of their own, so a tenth of the documents joins only after half of the passes (a gap has it
    join after two): until then they are unseen, and their scores tell how sure a margin is. Where variables rest, all
    are woken before the end; a gap that is small enough needs no more proof. It costs about half a pass to know, so
    it is looked at when it should be about to close.
    """
    late = _late(problem) if made.link == "margin" and stop.most > 1 else np.zeros(0, dtype=np.int64)
    is_late = np.zeros(problem.N, dtype=np.bool_)
    is_late[late] = True
    waiting, resting = len(late) > 0, wake is not None
    joining = stop.most // 2 if stop.gap is None else 2
    watch = GapWatch(stop.gap)
    tolerance = stop.tolerance
    for epoch in range(1, stop.most + 1):
        order = np.asarray(_core.permutation(problem.N, problem.seed + epoch - 1), dtype=np.int64)
        missed = run(np.ascontiguousarray(order[~is_late[order]]) if waiting else order)
        scores = {"missed": missed}
        if not waiting and watch.due(epoch):
            scores |= watch.seen(epoch, *objective())
        made.history.append(Progress("training", epoch, stop.most, scores))
        shown = replace(made.history[-1], model=partial(as_they_stand, made, bias))
        if not problem.on_epoch(shown) or watch.closed:
            break
        if waiting and (epoch >= joining or missed <= tolerance):
            made.late, made.late_scores = late, problem.scores(late, made.w, bias)
            waiting = False
        elif missed <= tolerance and stop.gap is not None:
            tolerance /= 4  # it was too loose for this gap
            if wake is not None:
                wake()
        elif missed <= tolerance:
            if not resting or wake is None or epoch == 1:
                break
            resting = False
            wake()
    last = made.history[-1]
    if stop.certified and "gap" not in last.scores:
        made.history[-1] = replace(last, scores={**last.scores, **watch.seen(last.done, *objective())})


class GapWatch:
    """When to look at the gap next: where its fall so far says that it will be closed, and never much later."""

    def __init__(self, wanted: float | None) -> None:
        self.wanted, self.closed, self.next = wanted, False, 1
        self._last: tuple[int, float] | None = None

    def due(self, epoch: int) -> bool:
        """Whether to look after this pass."""
        return self.wanted is not None and epoch >= self.next

    def seen(self, epoch: int, primal: float, dual: float) -> dict[str, float]:
        """What was found; the next look is settled by it."""
        share = max(primal - dual, 0.0) / max(abs(primal), 1e-30)
        if self.wanted is not None:
            self.closed = share <= self.wanted
            ahead = 1
            if self._last is not None and 0 < share < self._last[1] and not self.closed:
                rate = np.log(self._last[1] / share) / (epoch - self._last[0])
                ahead = int(np.ceil(0.7 * np.log(share / self.wanted) / rate))
            self.next = epoch + min(max(1, ahead), max(1, epoch))
            self._last = (epoch, share)
        return {"primal": primal, "dual": dual, "gap": primal - dual}


def as_they_stand(made: ChoiceWeights, bias: float) -> ChoiceWeights:
    """A copy of weights that are still being moved."""
    return with_intercepts(replace(made, w=made.w.copy()), bias)


def _late(problem: ChoiceProblem) -> NDArray[np.int64]:
    """Which documents join late: a tenth, none of a few."""
    count = min(problem.N // 10, MOST_LATE) if problem.N >= 40 else 0
    return np.sort(np.asarray(_core.permutation(problem.N, problem.seed), dtype=np.int64)[:count])
