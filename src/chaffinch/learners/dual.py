"""Linear classifiers by dual coordinate descent: margins one-vs-rest, Crammer and Singer's margin, logistic."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.choice import penalties, weights_of_scorer, with_bias
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.learner import Learner
from chaffinch.learners.likelihood import Sdca
from chaffinch.learners.problem import Pass, Problem
from chaffinch.structures import Parts

LOSSES = {
    "hinge": _core.MarginLoss.hinge,
    "squared-hinge": _core.MarginLoss.squared_hinge,
    "squared": _core.MarginLoss.squared,
}
EPOCHS = 20
MOST_EPOCHS = 10_000
LATEST_LOOK = 12  # the gap is evaluated after this pass at the latest
FIRST_MET = 2.0  # the gap summed over the first pass, as a multiple of the optimum: 1.5 to 2 for texts
TINY = 1e-30
HALVINGS = 100  # of the interval in which a multiplier lies
NEWTON_STEPS, NEWTON_GOAL = 50, 1e-9  # of the duals of one document


@dataclass(frozen=True, kw_only=True)
class DualLearner(Learner):
    """The knobs of all dual coordinate learners: penalty, stopping rule, bias."""

    C: float = knob(1.0, "weight of a document's loss against the L2 penalty", low=1e-9, high=1e12)
    epochs: int | None = knob(
        None,
        "maximum number of passes over the documents; by default 8 for text, 4 from 10,000 texts on; 200 for numbers",
        low=1,
    )
    tolerance: float = knob(0.01, "stop when every optimality condition is violated by less", low=0.0)
    gap: float | None = knob(
        None,
        "stop when the duality gap is below this share of the primal objective, however long it takes",
        low=1e-9,
    )
    bias: float | None = knob(
        None, "value of the intercept feature; by default 1 for numbers, 0 for text", low=0.0
    )

    link: ClassVar[str] = "margin"
    certified: ClassVar[bool] = True  # whether the gap is evaluated after the last pass even if no gap is set
    late: ClassVar[bool] = (
        False  # a tenth of the documents joins after half of the passes and is scored before it joins
    )

    @property
    def most(self) -> int:
        """The maximum number of passes."""
        return self.epochs or (EPOCHS if self.gap is None else MOST_EPOCHS)


@dataclass(frozen=True, kw_only=True)
class CoordinateDual(DualLearner):
    """A dual learner that solves for the dual variables of one document at a time."""

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols; stops when every optimality condition is violated by less than the tolerance."""
        data = with_bias(problem, self.bias)
        scorer = problem.scorer.with_weights(problem.scorer.w)
        C, alpha = penalties(problem, self.C).astype(np.float64), np.zeros((len(data), data.Y))
        examples = list(data)
        squares = [scorer.sq_norm(x, _unit(data.Y, 0)) for x, _ in examples]
        for number in range(1, self.most + 1):
            missed = 0.0
            for n in np.asarray(_core.permutation(len(data), problem.seed + number - 1)).tolist():
                x, _ = examples[n]
                scores = scorer.potentials(x)["choice"].astype(np.float64)
                then, miss = self.solve(data, n, scores, alpha[n], squares[n], float(C[n]))
                missed = max(missed, miss)
                scorer.update(x, Parts(choice=self.as_weights(data, n, then - alpha[n])))
                alpha[n] = then
            yield Pass(
                number,
                {"missed": missed},
                lambda: weights_of_scorer(scorer, self.link, self.bias or 0.0),
                self.most,
            )
            if missed <= self.tolerance:
                return

    @abstractmethod
    def solve(
        self,
        data: DocumentExamples,
        n: int,
        scores: NDArray[np.float64],
        alpha: NDArray[np.float64],
        square: float,
        C: float,
    ) -> tuple[NDArray[np.float64], float]:
        """The optimal dual variables [Y] of document n given all others, and the violation of the old ones."""

    def as_weights(self, data: DocumentExamples, n: int, change: NDArray[np.float64]) -> NDArray[np.float64]:
        """The factors [Y] of the document in the change of each label's weights."""
        return change


def _unit(Y: int, y: int) -> Parts:
    choice = np.zeros(Y, np.float32)
    choice[y] = 1
    return Parts(choice=choice)


@dataclass(frozen=True, kw_only=True)
class DualMargin(CoordinateDual):
    """A dual learner of margins: its scores have no natural scale, so folds calibrate them."""

    folds: int = knob(
        3,
        "folds for out-of-fold calibration of probabilities; 0: scores are used as log-odds",
        low=0,
        high=100,
    )


class _OneVsRest:
    """A dual variable for each document and label, t a times the document in the label's weights."""

    @abstractmethod
    def margin_loss(self) -> str:
        """The loss, one of LOSSES."""

    def solve(
        self,
        data: DocumentExamples,
        n: int,
        scores: NDArray[np.float64],
        alpha: NDArray[np.float64],
        square: float,
        C: float,
    ) -> tuple[NDArray[np.float64], float]:
        """A step on each label's own dual, in closed form."""
        loss = self.margin_loss()
        flat = 0.0 if loss == "hinge" else 1 / (2 * C)
        low, high = -np.inf if loss == "squared" else 0.0, C if loss == "hinge" else np.inf
        slope = _signs(data, n) * scores - 1 + flat * alpha
        then = np.clip(alpha - slope / max(square + flat, TINY), low, high)
        missed = np.where(
            alpha <= low, np.minimum(slope, 0), np.where(alpha >= high, np.maximum(slope, 0), slope)
        )
        return then, float(np.abs(missed).max(initial=0.0))

    def as_weights(self, data: DocumentExamples, n: int, change: NDArray[np.float64]) -> NDArray[np.float64]:
        """t times the change."""
        return _signs(data, n) * change


def _signs(data: DocumentExamples, n: int) -> NDArray[np.float64]:
    """t: +1 for the labels of a document, else -1."""
    t = np.full(data.Y, -1.0)
    t[data.labels[data.label_ptr[n] : data.label_ptr[n + 1]]] = 1
    return t


@dataclass(frozen=True, kw_only=True)
class DualRest(_OneVsRest, DualMargin):
    """Each label against the rest, t = +1 for the label, else -1.

        primal  P = |w_y|^2 / 2 + C sum_n loss(t_ny w_y.x_n)
        dual    D = sum_n (a_ny - d a_ny^2 / 2) - |w_y|^2 / 2,      w_y = sum_n a_ny t_ny x_n
                hinge: 0 <= a <= C, d = 0;   squared hinge: a >= 0, d = 1 / 2C;   squared: a free, d = 1 / 2C

    Hsieh et al. 2008. Takes several labels per document; labels are vector lanes and shared out to threads.
    """

    loss: str = knob("squared-hinge", "loss of a margin below one", choices=tuple(LOSSES))

    def margin_loss(self) -> str:
        """The knob ``loss``."""
        return self.loss

    @property
    def certified(self) -> bool:  # type: ignore[override]
        """Whether the gap is evaluated after the last pass: not for a regression, unless ``gap`` is set."""
        return self.loss != "squared"

    def check(self, problem: Problem) -> None:
        """Refuse soft targets, and data with a single label."""
        if problem.examples.soft is not None:
            raise ConfigError("margins need labels, not soft targets; use recipe logistic for soft targets")
        problem.examples.two_labels("a support vector machine")


@dataclass(frozen=True, kw_only=True)
class DualRidge(_OneVsRest, CoordinateDual):
    """Ridge regression of +1 and -1 on each label:  |w_y|^2 / 2 + C sum_n (t_ny - w_y.x_n)^2.

    The squared loss of :class:`DualRest`; on long documents a few passes are as good as convergence.
    """

    epochs: int | None = knob(
        None,
        "maximum number of passes over the documents; by default 8 for text, 3 from 10,000 texts on; 200 for numbers",
        low=1,
    )

    late = True
    certified = False

    def margin_loss(self) -> str:
        """The squared loss."""
        return "squared"

    def check(self, problem: Problem) -> None:
        """Refuse soft targets."""
        if problem.examples.soft is not None:
            raise ConfigError("margins need labels, not soft targets; use recipe logistic for soft targets")


@dataclass(frozen=True, kw_only=True)
class DualCrammerSinger(DualMargin):
    """All labels at once.

        primal  P = |w|^2 / 2 + C sum_n (max_y (w_y.x_n + [y != y_n]) - w_{y_n}.x_n)
        dual    D = sum_n a_n(y_n) - |w|^2 / 2,     w_y = sum_n a_n(y) x_n,   sum_y a_n(y) = 0,   a_n(y) <= C [y = y_n]
                squared hinge: C times the square of each summand;  a_n(y_n)^2 / 4C off the dual, a_n(y) <= 0 else

    Crammer and Singer 2001, by the sequential dual method of Keerthi et al. 2008.
    """

    loss: str = knob(
        "hinge", "loss of a margin below one", choices=tuple(name for name in LOSSES if name != "squared")
    )

    def check(self, problem: Problem) -> None:
        """Refuse documents with several labels, and data with a single label."""
        problem.examples.two_labels("the Crammer-Singer margin")
        problem.examples.one_label_each("the Crammer-Singer margin")

    def solve(
        self,
        data: DocumentExamples,
        n: int,
        scores: NDArray[np.float64],
        alpha: NDArray[np.float64],
        square: float,
        C: float,
    ) -> tuple[NDArray[np.float64], float]:
        """a(y) + ([y = y_n] - s(y) - theta) / |x|^2, clipped to its bound; theta makes them sum to zero."""
        gold = np.zeros(data.Y)
        gold[data.labels[n]] = 1
        flat = gold / (2 * C) if self.loss == "squared-hinge" else np.zeros(data.Y)
        high = np.where(gold > 0, np.inf if self.loss == "squared-hinge" else C, 0.0)
        up = gold - scores - flat * alpha
        free = alpha < high
        missed = float(up[free].max() - up.min()) if free.any() else 0.0

        def at(theta: float) -> NDArray[np.float64]:
            return np.minimum(alpha + (up - theta) / np.maximum(square + flat, TINY), high)

        low, top = float(up.min()) - 1 - C * square, float(up.max()) + 1 + C * square
        for _ in range(HALVINGS):
            middle = (low + top) / 2
            low, top = (middle, top) if at(middle).sum() > 0 else (low, middle)
        return at((low + top) / 2), missed


@dataclass(frozen=True, kw_only=True)
class DualLogistic(CoordinateDual):
    """Multinomial logistic regression.

        primal  P = |w|^2 / 2 + C sum_n (log sum_y exp(w_y.x_n) - sum_y q_ny w_y.x_n)
        dual    D = C sum_n entropy(m_n) - |w|^2 / 2,      w_y = C sum_n (q_ny - m_ny) x_n,   m_n a distribution

    Stochastic dual coordinate ascent, Shalev-Shwartz and Zhang 2013. Takes soft targets q.
    """

    C: float = knob(10.0, "weight of a document's loss against the L2 penalty", low=1e-9, high=1e12)
    tolerance: float = knob(0.01, "stop when the duality gap is below this share of N C log Y", low=0.0)

    link = "softmax"

    def check(self, problem: Problem) -> None:
        """Refuse targets that are not distributions."""
        if not np.allclose(problem.examples.targets().sum(axis=1), 1.0, atol=1e-3):
            raise ConfigError("logistic regression needs targets that sum to one: one label per document")

    def solve(
        self,
        data: DocumentExamples,
        n: int,
        scores: NDArray[np.float64],
        alpha: NDArray[np.float64],
        square: float,
        C: float,
    ) -> tuple[NDArray[np.float64], float]:
        """a = C (q - softmax(s + (a - a_before) |x|^2)), by Newton's method; q: the document's label."""
        q = np.zeros(data.Y)
        q[data.labels[n]] = 1
        others = scores - alpha * square

        def residual(a: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
            s = others + square * a
            top = s.max()
            p = np.exp(s - top)
            total = p.sum()
            loss = top + float(np.log(total)) - float(q @ s)
            return a - C * (q - p / total), p / total, square * float(a @ a) / 2 + C * loss

        a = alpha.copy()
        off, p, value = residual(a)
        missed = float(np.abs(off).max())
        for _ in range(NEWTON_STEPS):
            if np.abs(off).max() <= NEWTON_GOAL * max(1.0, C):
                break
            curve = np.eye(data.Y) + C * square * (np.diag(p) - np.outer(p, p))
            step, size = np.linalg.solve(curve, off), 1.0
            while size > TINY and residual(a - size * step)[2] > value:
                size /= 2
            a = a - size * step
            off, p, value = residual(a)
        return a, missed

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Dual ascent on the likelihood with penalty 1 / 2C; takes labels, not soft targets."""
        problem.examples.one_label_each("this loop")
        ascent = Sdca(c2=1 / (2 * self.C), epochs=self.most, tolerance=self.tolerance / 10)
        for one in ascent.generic(replace(problem, examples=with_bias(problem, self.bias))):
            made: Any = one.model
            yield Pass(
                one.number,
                {"missed": one.scores["gap"]},
                lambda made=made: weights_of_scorer(made(), self.link, self.bias or 0.0),  # type: ignore[misc]
                self.most,
            )


class GapWatch:
    """Decides when to evaluate the gap: at the pass that should close it, and never much later.

    A pass sums each example's share of the gap at the weights of its visit, together about the gap that the previous
    pass left. So the gap after this pass is estimated as the sum of the next pass: smaller than this one by the
    factor between this pass and the previous one.
    """

    def __init__(self, wanted: float | None) -> None:
        self.wanted, self.closed = wanted, False
        self._met = 0.0  # the gap summed over the last pass
        self._primal = 0.0  # the objective at the last evaluation, an estimate before the first
        self._looked = 0  # the pass of the last evaluation

    def due(self, epoch: int, met: float) -> bool:
        """Whether to evaluate the gap after this pass; met: the gap that it summed. Called once for each pass."""
        before, self._met = self._met, met
        self._primal = self._primal or met / FIRST_MET
        if self.wanted is None or epoch == 1:
            return False
        left = met * min(1.0, met / max(before, TINY))
        return epoch >= (2 * self._looked or LATEST_LOOK) or left <= self.wanted * self._primal

    def seen(self, epoch: int, primal: float, dual: float) -> dict[str, float]:
        """Record an evaluation."""
        self._primal, self._looked = abs(primal), epoch
        if self.wanted is not None:
            self.closed = primal - dual <= self.wanted * max(abs(primal), TINY)
        return {"primal": primal, "dual": dual, "gap": primal - dual}
