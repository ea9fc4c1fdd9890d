"""Linear classifiers by dual coordinate descent: margins one-vs-rest, Crammer and Singer's margin, logistic."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.choice import ChoiceProblem, ChoiceWeights
from chaffinch.learners.dual_passes import Met, Stop, Unmet, descended

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
class DualMargin(DualPasses):
    """The same of margins, which have no scale of their own."""

    folds: int = knob(
        3,
        "parts of the documents held out in turn to calibrate probabilities; 0: scores are read as log-odds",
        low=0,
        high=100,
    )


@dataclass(frozen=True, kw_only=True)
class DualRest(DualMargin):
    """Each label against the rest, t = +1 for the label, else -1.

        primal  P = |w_y|^2 / 2 + C sum_n loss(t_ny w_y.x_n)
        dual    D = sum_n (a_ny - d a_ny^2 / 2) - |w_y|^2 / 2,      w_y = sum_n a_ny t_ny x_n
                hinge: 0 <= a <= C, d = 0;   squared hinge: a >= 0, d = 1 / 2C;   squared: a free, d = 1 / 2C

    Hsieh et al. 2008. Takes several labels per document; labels are vector lanes and shared out to threads.
    """

    loss: str = knob("squared-hinge", "what a margin below one costs", choices=tuple(LOSSES))

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        problem.two_labels("a support vector machine")
        return one_vs_rest(problem, self, self.loss, Unmet(folds=self.folds))


@dataclass(frozen=True, kw_only=True)
class DualRidge(DualPasses):
    """Ridge regression of +1 and -1 on each label:  |w_y|^2 / 2 + C sum_n (t_ny - w_y.x_n)^2.

    The squared loss of :class:`DualRest`; on long documents a few passes are as good as convergence.
    """

    epochs: int | None = knob(
        None, "most passes over the documents; else 3 or 4 over text, 200 over numbers", low=1
    )

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        return one_vs_rest(problem, self, "squared", Unmet(late=True))


@dataclass(frozen=True, kw_only=True)
class DualCrammerSinger(DualMargin):
    """All labels at once.

        primal  P = |w|^2 / 2 + C sum_n (max_y (w_y.x_n + [y != y_n]) - w_{y_n}.x_n)
        dual    D = sum_n a_n(y_n) - |w|^2 / 2,     w_y = sum_n a_n(y) x_n,   sum_y a_n(y) = 0,   a_n(y) <= C [y = y_n]
                squared hinge: C times the square of what is summed;  a_n(y_n)^2 / 4C off the dual, a_n(y) <= 0 else

    Crammer and Singer 2001, by the sequential dual method of Keerthi et al. 2008.
    """

    loss: str = knob(
        "hinge", "what a margin below one costs", choices=tuple(name for name in LOSSES if name != "squared")
    )

    def fit(self, problem: ChoiceProblem) -> ChoiceWeights:
        """The weights."""
        problem.two_labels("the Crammer-Singer margin")
        y = problem.one_label_each("the Crammer-Singer margin")
        rows = problem.rows(self.bias or 0.0)
        C = penalties(problem, self.C)
        solver = _core.DualCrammerSinger(rows, y, C, problem.Y, LOSSES[self.loss], True)
        return descended(
            problem,
            solver,
            lambda order: Met(*solver.run(order)),
            Stop(self.epochs, self.tolerance, self.gap),
            self.bias or 0.0,
            unmet=Unmet(folds=self.folds),
            resting=True,
        )


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
        worst = float(C.sum()) * math.log(max(problem.Y, 2))

        def run(order: NDArray[np.int64]) -> Met:
            gap = solver.run(order)
            return Met(gap / worst, gap)

        stop = Stop(self.epochs, self.tolerance, self.gap)
        return descended(problem, solver, run, stop, self.bias or 0.0, link="softmax")


def one_vs_rest(problem: ChoiceProblem, asked: DualPasses, loss: str, unmet: Unmet) -> ChoiceWeights:
    """The weights of each label against the rest."""
    if problem.soft is not None:
        raise ConfigError("margins need labels, not soft targets; a logistic recipe takes them")
    rows = problem.rows(asked.bias or 0.0)
    C, squared = penalties(problem, asked.C), loss == "squared"
    solver = _core.DualRest(rows, problem.label_ptr, problem.labels, C, problem.Y, LOSSES[loss], not squared)
    violation = np.zeros(problem.Y, dtype=np.float32)

    def run(order: NDArray[np.int64]) -> Met:
        gap = solver.run(order, problem.threads, violation)
        return Met(float(violation.max()), gap)

    stop = Stop(asked.epochs, asked.tolerance, asked.gap, certified=not squared)
    return descended(problem, solver, run, stop, asked.bias or 0.0, unmet=unmet, resting=True)


def penalties(problem: ChoiceProblem, C: float) -> NDArray[np.float32]:
    """C_n: the penalty of each document."""
    return (problem.importance * np.float32(C)).astype(np.float32)
