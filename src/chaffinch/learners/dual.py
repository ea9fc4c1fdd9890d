"""Linear classifiers by dual coordinate descent: margins one-vs-rest, Crammer and Singer's margin, logistic."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.choice import ChoiceProblem, ChoiceWeights, with_intercepts
from chaffinch.progress import Progress

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
    C: float = knob(1.0, "how much a document's loss counts against the size of the weights", low=1e-9)
    epochs: int = knob(20, "most passes over the documents", low=1)
    tolerance: float = knob(0.1, "stop when no optimality condition is missed by more", low=0.0)
    bias: float = knob(0.0, "value of a feature that all documents have; 0: no intercepts", low=0.0)

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights, and the documents' scores without their own share."""
        if problem.soft is not None:
            raise ConfigError("margins need labels, not soft targets; a logistic recipe takes them")
        rows = problem.rows(self.bias)
        C = penalties(problem, self.C)
        solver = _core.DualRest(
            rows, problem.label_ptr, problem.labels, C, problem.Y, LOSSES[self.loss], self.loss != "squared"
        )
        w = np.zeros((problem.F + 1, problem.S), dtype=np.float32)
        violation = np.zeros(problem.Y, dtype=np.float32)

        def run(order: NDArray[np.int64]) -> float:
            solver.run(order, problem.threads, w, violation)
            return float(violation.max())

        history = passes(problem, self.epochs, self.tolerance, run, solver.wake)
        signs = 2 * problem.targets() - 1
        own = signs * solver.alpha()[:, : problem.Y]
        left_out = without_own(problem, rows, w, own, self.bias)
        return ChoiceWeights(with_intercepts(w, self.bias), "margin", history, left_out)


@dataclass(frozen=True, kw_only=True)
class DualCrammerSinger:
    """All labels at once:  |w|^2 / 2 + C sum_n (max_y (w_y.x_n + [y != y_n]) - w_{y_n}.x_n).

    Crammer and Singer 2001, by the sequential dual method of Keerthi et al. 2008.
    """

    C: float = knob(1.0, "how much a document's loss counts against the size of the weights", low=1e-9)
    epochs: int = knob(20, "most passes over the documents", low=1)
    tolerance: float = knob(0.1, "stop when no optimality condition is missed by more", low=0.0)
    bias: float = knob(0.0, "value of a feature that all documents have; 0: no intercepts", low=0.0)

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights, and the documents' scores without their own share."""
        y = problem.one_label_each("the Crammer-Singer margin")
        rows = problem.rows(self.bias)
        solver = _core.DualCrammerSinger(rows, y, penalties(problem, self.C), problem.Y, True)
        w = np.zeros((problem.F + 1, problem.S), dtype=np.float32)
        history = passes(
            problem, self.epochs, self.tolerance, lambda order: float(solver.run(order, w)), solver.wake
        )
        left_out = without_own(problem, rows, w, solver.alpha()[:, : problem.Y], self.bias)
        return ChoiceWeights(with_intercepts(w, self.bias), "margin", history, left_out)


@dataclass(frozen=True, kw_only=True)
class DualLogistic:
    """Multinomial logistic regression:  |w|^2 / 2 + C sum_n (log sum_y exp(w_y.x_n) - sum_y q_ny w_y.x_n).

    Stochastic dual coordinate ascent, Shalev-Shwartz and Zhang 2013. Takes soft targets q.
    """

    C: float = knob(10.0, "how much a document's loss counts against the size of the weights", low=1e-9)
    epochs: int = knob(20, "most passes over the documents", low=1)
    tolerance: float = knob(0.01, "stop when the duality gap is below this share of N C log Y", low=0.0)
    bias: float = knob(0.0, "value of a feature that all documents have; 0: no intercepts", low=0.0)

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        q = problem.targets()
        if not np.allclose(q.sum(axis=1), 1.0, atol=1e-3):
            raise ConfigError("logistic regression needs targets that sum to one: one label per document")
        C = penalties(problem, self.C)
        solver = _core.DualLogistic(problem.rows(self.bias), q, C)
        w = np.zeros((problem.F + 1, problem.S), dtype=np.float32)
        worst = float(C.sum()) * np.log(max(problem.Y, 2))
        history = passes(problem, self.epochs, self.tolerance, lambda order: solver.run(order, w) / worst)
        return ChoiceWeights(with_intercepts(w, self.bias), "softmax", history)


def penalties(problem: ChoiceProblem, C: float) -> NDArray[np.float32]:
    """C_n: the penalty of each document."""
    return (problem.importance * np.float32(C)).astype(np.float32)


def passes(
    problem: ChoiceProblem,
    epochs: int,
    tolerance: float,
    run: Callable[[NDArray[np.int64]], float],
    wake: Callable[[], None] | None = None,
) -> list[Progress]:
    """Passes in ever new order until one misses optimality by less than the tolerance everywhere.

    Where variables rest, they are all woken before the last word is spoken.
    """
    history: list[Progress] = []
    resting = wake is not None
    for epoch in range(epochs):
        order = np.asarray(_core.permutation(problem.N, problem.seed + epoch), dtype=np.int64)
        missed = run(order)
        history.append(Progress("training", epoch + 1, epochs, {"missed": missed}))
        if not problem.on_epoch(history[-1]):
            break
        if missed <= tolerance:
            if not resting or epoch == 0:
                break
            resting = False
            if wake is not None:
                wake()
    return history


def without_own(
    problem: ChoiceProblem,
    rows: _core.DocumentRows,
    w: NDArray[np.float32],
    own: NDArray[np.float32],
    bias: float,
) -> NDArray[np.float32]:
    """The scores of the training documents without what each added itself: s_n - a_n |x_n|^2.

    w is the sum of a_n x_n, so this is what a document's scores would be if the others stayed as they are.
    """
    s = np.zeros((problem.N, problem.Y), dtype=np.float32)
    _core.choice_scores(rows, w, problem.threads, s)
    squares = np.ones(len(problem.ids)) if problem.values is None else np.square(problem.values, dtype=np.float64)
    total = np.concatenate([[0.0], np.cumsum(squares)])
    norms = total[problem.ptr[1:]] - total[problem.ptr[:-1]] + bias**2
    return (s - own * norms[:, None]).astype(np.float32)
