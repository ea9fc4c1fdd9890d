"""Support vector machines with kernels, by sequential minimal optimisation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.knobs import check, knob
from chaffinch.learners.kernel_problem import KernelMachine, KernelProblem, MarginChoice
from chaffinch.progress import Progress
from chaffinch.scorers.dual import Dual
from chaffinch.scorers.pairwise import Pairwise

PAIRS_AT_ONCE = 64
MOST_STEPS = 10_000_000


@dataclass(frozen=True, kw_only=True)
class KernelSvm(MarginChoice):
    """A machine for each pair of labels (or each label against the rest); t = +1 for one side, -1 for the other.

        primal  P = |w|^2 / 2 + C sum_n max(0, 1 - t_n (w.phi(x_n) + b))
        dual    D = sum_n a_n - 1/2 sum_nm a_n a_m t_n t_m k(x_n, x_m),     0 <= a_n <= C,   sum_n t_n a_n = 0

    Sequential minimal optimisation (Platt 1998) with working sets by the second order (Fan, Chen and Lin 2005) and
    shrinking. At the optimum P = D; the gap P - D is reported on the way.

    >>> from chaffinch.kernels import Rbf
    >>> x, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1], np.int32)
    >>> kernel = Rbf(gamma=2.0)
    >>> machine = KernelSvm(C=10.0).fit(KernelProblem(kernel, kernel.prepared(x), y, 2, np.ones(4)))
    >>> machine.scorer.scores(x).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    C: float = knob(1.0, "how much an error counts against the size of the weights", low=1e-9, high=1e12)
    against: str = knob("one", "each label against one other, or against the rest", choices=("one", "rest"))
    tolerance: float = knob(1e-3, "stop when no optimality condition is missed by more", low=1e-12)
    gap: float = knob(0.0, "stop when the duality gap is below this share of the primal objective", low=0.0)

    def fit(self, problem: KernelProblem) -> KernelMachine:
        """The machines of all labels."""
        check(self)
        problem.two_labels("a support vector machine")
        return self._pairwise(problem) if self.against == "one" else self._rest(problem)

    def _pairwise(self, problem: KernelProblem) -> KernelMachine:
        y, Y = problem.y, problem.Y
        members = [np.flatnonzero(y == label) for label in range(Y)]
        pairs = [(a, b) for a in range(Y) for b in range(a + 1, Y)]
        full = [(a, b) for a, b in pairs if len(members[a]) and len(members[b])]
        alpha, intercepts = np.zeros((problem.N, Y), np.float32), np.zeros((Y, Y))
        for a, b in pairs:  # a label that nobody has loses every vote
            intercepts[a, b] = float(len(members[b]) == 0) - float(len(members[a]) == 0)
        history: list[Progress] = []
        totals = np.zeros(2)
        at_once = PAIRS_AT_ONCE if problem.rows.fits else 1
        for first in range(0, len(full), at_once):
            some = full[first : first + at_once]
            joined = [np.concatenate([members[a], members[b]]) for a, b in some]
            signs = [
                np.repeat(np.array([1, -1], np.float32), [len(members[a]), len(members[b])]) for a, b in some
            ]
            if problem.rows.fits and len(full) > 1:
                found, objectives = self._solved_together(problem, joined, signs)
            else:
                alone, objectives, passes = self._solved_alone(problem, joined[0], signs[0])
                found = [alone]
            for (a, b), who, t, a_n, (_, _, bias) in zip(
                some, joined, signs, found, objectives.tolist(), strict=True
            ):
                signed = (a_n * t).astype(np.float32)
                alpha[who[t > 0], b], alpha[who[t < 0], a] = signed[t > 0], signed[t < 0]
                intercepts[a, b] = bias
            if len(full) == 1:
                history = passes
                break
            totals += objectives[:, :2].sum(axis=0)
            history.append(_progress(first + len(some), len(full), *totals))
            problem.on_epoch(history[-1])
        support = np.flatnonzero(alpha.any(axis=1))
        support = support[np.argsort(y[support], kind="stable")]
        scorer = Pairwise(
            problem.kernel, problem.objects.taken(support), y[support], alpha[support], intercepts
        )
        return KernelMachine(scorer, support, "margin", history)

    def _rest(self, problem: KernelProblem) -> KernelMachine:
        alpha, intercepts = np.zeros((problem.N, problem.Y)), np.full(problem.Y, -1.0)
        history: list[Progress] = []
        everyone = np.arange(problem.N)
        totals = np.zeros(2)
        for label in range(problem.Y):
            t = np.where(problem.y == label, np.float32(1), np.float32(-1))
            if (t < 0).all():
                continue
            a, objectives, _ = self._solved_alone(problem, everyone, t)
            alpha[:, label], intercepts[label] = a * t, objectives[0, 2]
            totals += objectives[0, :2]
            history.append(_progress(label + 1, problem.Y, *totals))
            problem.on_epoch(history[-1])
        support = np.flatnonzero(alpha.any(axis=1))
        scorer = Dual(problem.kernel, problem.objects.taken(support), alpha[support], intercepts)
        return KernelMachine(scorer, support, "margin", history)

    def _solved_together(
        self, problem: KernelProblem, members: list[NDArray[np.int64]], signs: list[NDArray[np.float32]]
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
        """Many problems over one Gram matrix, shared out to threads."""
        ptr = np.zeros(len(members) + 1, np.int64)
        np.cumsum([len(who) for who in members], out=ptr[1:])
        who = np.concatenate(members)
        alpha, objectives = np.zeros(len(who)), np.zeros((len(members), 3))
        _core.solve_svms(
            problem.rows.whole(),
            ptr,
            who,
            np.concatenate(signs),
            self._penalties(problem, who),
            self.tolerance,
            self.gap,
            MOST_STEPS,
            problem.threads,
            alpha,
            objectives,
        )
        return np.split(alpha, ptr[1:-1]), objectives

    def _solved_alone(
        self, problem: KernelProblem, who: NDArray[np.int64], t: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], list[Progress]]:
        """One problem in passes of as many steps as it has examples, reported after each."""
        part = (
            problem if len(who) == problem.N and (who == np.arange(problem.N)).all() else problem.taken(who)
        )
        diagonal = part.kernel.diagonal(part.objects, threads=part.threads).astype(np.float64)
        # A part of what is too large as a whole is met once: few of its rows are ever asked for.
        row: Callable[[int], NDArray[np.float32]] = (
            part.rows.whole().__getitem__ if problem.rows.fits else part.rows.row
        )
        smo = _core.Smo(row, diagonal, t, self._penalties(problem, who))
        passes: list[Progress] = []
        while True:
            violation = smo.run(max(1000, len(who)), self.tolerance)
            primal, dual, bias = smo.objective()
            passes.append(_progress(len(passes) + 1, None, primal, dual))
            going_on = problem.on_epoch(passes[-1])
            small = self.gap > 0 and primal - dual <= self.gap * primal
            if violation <= self.tolerance or small or not going_on or smo.steps >= MOST_STEPS:
                return smo.alpha(), np.array([[primal, dual, bias]]), passes

    def _penalties(self, problem: KernelProblem, who: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.C * problem.importance[who], np.float64)


def _progress(done: int, total: int | None, primal: float, dual: float) -> Progress:
    scores = {"primal": float(primal), "dual": float(dual), "gap": float(primal - dual)}
    return Progress("training", done, total, scores)
