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
MOST_LATE = 1000

LOSSES = {
    "hinge": _core.MarginLoss.hinge,
    "squared-hinge": _core.MarginLoss.squared_hinge,
    "squared": _core.MarginLoss.squared,
}


@dataclass(frozen=True, kw_only=True)
class DualRest:
    """Each label against the rest:  |w_y|^2 / 2 + C sum_n loss(t_ny w_y.x_n),  t = +1 for the label, else -1.

    Hsieh et al. 2008. Takes several labels per document; labels are vector lanes and shared out to threads.
    """

    loss: str = knob("squared-hinge", "what a margin below one costs", choices=tuple(LOSSES))
    C: float = knob(
        1.0, "how much a document's loss counts against the size of the weights", low=1e-9, high=1e12
    )
    epochs: int | None = knob(
        None, "most passes over the documents; else 4 over text, 200 over numbers", low=1
    )
    tolerance: float = knob(0.01, "stop when no optimality condition is missed by more", low=0.0)
    bias: float | None = knob(
        None, "value of a feature that all documents have; else 1 for numbers, 0 for text", low=0.0
    )

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
        passes(problem, self.epochs, self.tolerance, made, self.bias or 0.0, run, solver.wake)
        return with_intercepts(made, self.bias or 0.0)


@dataclass(frozen=True, kw_only=True)
class DualRidge:
    """Ridge regression of +1 and -1 on each label:  |w_y|^2 / 2 + C sum_n (t_ny - w_y.x_n)^2.

    The squared loss of :class:`DualRest`; on long documents a few passes are as good as convergence.
    """

    C: float = knob(
        1.0, "how much a document's loss counts against the size of the weights", low=1e-9, high=1e12
    )
    epochs: int | None = knob(
        None, "most passes over the documents; else 4 over text, 200 over numbers", low=1
    )
    tolerance: float = knob(0.01, "stop when no optimality condition is missed by more", low=0.0)
    bias: float | None = knob(
        None, "value of a feature that all documents have; else 1 for numbers, 0 for text", low=0.0
    )

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        return DualRest(loss="squared", **vars(self)).fit(problem)


@dataclass(frozen=True, kw_only=True)
class DualCrammerSinger:
    """All labels at once:  |w|^2 / 2 + C sum_n (max_y (w_y.x_n + [y != y_n]) - w_{y_n}.x_n).

    Crammer and Singer 2001, by the sequential dual method of Keerthi et al. 2008.
    """

    C: float = knob(
        1.0, "how much a document's loss counts against the size of the weights", low=1e-9, high=1e12
    )
    epochs: int | None = knob(
        None, "most passes over the documents; else 4 over text, 200 over numbers", low=1
    )
    tolerance: float = knob(0.01, "stop when no optimality condition is missed by more", low=0.0)
    bias: float | None = knob(
        None, "value of a feature that all documents have; else 1 for numbers, 0 for text", low=0.0
    )

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        y = problem.one_label_each("the Crammer-Singer margin")
        rows = problem.rows(self.bias or 0.0)
        solver = _core.DualCrammerSinger(rows, y, penalties(problem, self.C), problem.Y, True)
        w = np.zeros((problem.F + 1, problem.S), dtype=np.float32)
        made = ChoiceWeights(w, "margin")
        bias = self.bias or 0.0
        passes(
            problem,
            self.epochs,
            self.tolerance,
            made,
            bias,
            lambda order: float(solver.run(order, w)),
            solver.wake,
        )
        return with_intercepts(made, bias)


@dataclass(frozen=True, kw_only=True)
class DualLogistic:
    """Multinomial logistic regression:  |w|^2 / 2 + C sum_n (log sum_y exp(w_y.x_n) - sum_y q_ny w_y.x_n).

    Stochastic dual coordinate ascent, Shalev-Shwartz and Zhang 2013. Takes soft targets q.
    """

    C: float = knob(
        10.0, "how much a document's loss counts against the size of the weights", low=1e-9, high=1e12
    )
    epochs: int | None = knob(
        None, "most passes over the documents; else 4 over text, 200 over numbers", low=1
    )
    tolerance: float = knob(0.01, "stop when the duality gap is below this share of N C log Y", low=0.0)
    bias: float | None = knob(
        None, "value of a feature that all documents have; else 1 for numbers, 0 for text", low=0.0
    )

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
        passes(problem, self.epochs, self.tolerance, made, bias, lambda order: solver.run(order, w) / worst)
        return with_intercepts(made, bias)


def penalties(problem: ChoiceProblem, C: float) -> NDArray[np.float32]:
    """C_n: the penalty of each document."""
    return (problem.importance * np.float32(C)).astype(np.float32)


def passes(
    problem: ChoiceProblem,
    epochs: int | None,
    tolerance: float,
    made: ChoiceWeights,
    bias: float,
    run: Callable[[NDArray[np.int64]], float],
    wake: Callable[[], None] | None = None,
) -> None:
    """Passes in ever new order until one misses optimality by less than the tolerance everywhere.

    Margins have no scale of their own, so a tenth of the documents joins only after half of the passes: until then
    they are unseen, and their scores tell how sure a margin is. Where variables rest, all are woken before the end.
    """
    epochs = epochs or EPOCHS
    late = _late(problem) if made.link == "margin" and epochs > 1 else np.zeros(0, dtype=np.int64)
    is_late = np.zeros(problem.N, dtype=np.bool_)
    is_late[late] = True
    waiting, resting = len(late) > 0, wake is not None
    for epoch in range(epochs):
        order = np.asarray(_core.permutation(problem.N, problem.seed + epoch), dtype=np.int64)
        missed = run(np.ascontiguousarray(order[~is_late[order]]) if waiting else order)
        made.history.append(Progress("training", epoch + 1, epochs, {"missed": missed}))
        if not problem.on_epoch(replace(made.history[-1], model=partial(as_they_stand, made, bias))):
            break
        if waiting and (epoch + 1 >= epochs // 2 or missed <= tolerance):
            made.late, made.late_scores = late, problem.scores(late, made.w, bias)
            waiting = False
        elif missed <= tolerance:
            if not resting or wake is None or epoch == 0:
                break
            resting = False
            wake()


def as_they_stand(made: ChoiceWeights, bias: float) -> ChoiceWeights:
    """A copy of weights that are still being moved."""
    return with_intercepts(replace(made, w=made.w.copy()), bias)


def _late(problem: ChoiceProblem) -> NDArray[np.int64]:
    """Which documents join late: a tenth, none of a few."""
    count = min(problem.N // 10, MOST_LATE) if problem.N >= 40 else 0
    return np.sort(np.asarray(_core.permutation(problem.N, problem.seed), dtype=np.int64)[:count])
