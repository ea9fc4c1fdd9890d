"""Support vector machines with kernels, by sequential minimal optimisation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.knobs import knob
from chaffinch.learners.kernel_choice import GramExamples, KernelMachine, MarginChoice, taken
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem
from chaffinch.scorers.dual import Dual
from chaffinch.scorers.pairwise import Pairwise

PAIRS_AT_ONCE = 64
MOST_STEPS = 10_000_000


@dataclass(frozen=True, kw_only=True)
class KernelSvm(MarginChoice, Learner):
    """A machine for each pair of labels (or each label against the rest); t = +1 for one side, -1 for the other.

        primal  P = |w|^2 / 2 + C sum_n max(0, 1 - t_n (w.phi(x_n) + b))
        dual    D = sum_n a_n - 1/2 sum_nm a_n a_m t_n t_m k(x_n, x_m),     0 <= a_n <= C,   sum_n t_n a_n = 0

    Sequential minimal optimisation (Platt 1998) with second-order working set selection (Fan, Chen and Lin 2005) and
    shrinking. At the optimum P = D; each pass reports the gap P - D.

    >>> from chaffinch.kernels import Rbf
    >>> from chaffinch.learners.kernel_choice import kernel_problem
    >>> x, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1], np.int32)
    >>> kernel = Rbf(gamma=2.0)
    >>> machine = KernelSvm(C=10.0).fit(kernel_problem(kernel, kernel.prepared(x), y, 2, np.ones(4)))
    >>> machine.scorer.scores(x).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    C: float = knob(1.0, "weight of the loss against the L2 penalty", low=1e-9, high=1e12)
    against: str = knob("one", "one-vs-one, or one-vs-rest", choices=("one", "rest"))
    tolerance: float = knob(1e-3, "stop when every optimality condition is violated by less", low=1e-12)
    gap: float = knob(0.0, "stop when the duality gap is below this share of the primal objective", low=0.0)

    def check(self, problem: Problem) -> None:
        """Refuse data with a single label."""
        problem.examples.two_labels("a support vector machine")

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Train the machines of all labels. With more than two labels only the last pass makes a model."""
        return self._pairwise(problem) if self.against == "one" else self._rest(problem)

    def _pairwise(self, problem: Problem) -> Iterator[Pass]:
        data: GramExamples = problem.examples
        y, Y = data.y, data.Y
        members = [np.flatnonzero(y == label) for label in range(Y)]
        pairs = [(a, b) for a in range(Y) for b in range(a + 1, Y)]
        full = [(a, b) for a, b in pairs if len(members[a]) and len(members[b])]
        alpha, intercepts = np.zeros((len(data), Y), np.float32), np.zeros((Y, Y))
        for a, b in pairs:  # a label without examples loses every vote
            intercepts[a, b] = float(len(members[b]) == 0) - float(len(members[a]) == 0)

        def put(pair: tuple[int, int], a_n: NDArray[np.float64], bias: float) -> None:
            a, b = pair
            alpha[members[a], b] = a_n[: len(members[a])].astype(np.float32)
            alpha[members[b], a] = (-a_n[len(members[a]) :]).astype(np.float32)
            intercepts[a, b] = bias

        def machine() -> KernelMachine:
            support = np.flatnonzero(alpha.any(axis=1))
            support = support[np.argsort(y[support], kind="stable")]
            scorer = Pairwise(
                data.kernel, data.objects.taken(support), y[support], alpha[support], intercepts.copy()
            )
            return KernelMachine(scorer, support, "margin")

        def signed(pair: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
            a, b = members[pair[0]], members[pair[1]]
            return np.concatenate([a, b]), np.repeat(np.array([1, -1], np.float32), [len(a), len(b)])

        if len(full) == 1:
            for number, (found, primal, dual, bias) in enumerate(self._solving(problem, *signed(full[0])), 1):
                put(full[0], found, bias)
                yield Pass(number, _objectives(primal, dual), machine)
            return
        totals = np.zeros(2)
        at_once = PAIRS_AT_ONCE if data.rows.fits else 1
        for first in range(0, len(full), at_once):
            some = full[first : first + at_once]
            if data.rows.fits:
                found_all, objectives = self._solve_together(problem, *zip(*map(signed, some), strict=True))
            else:
                *_, (alone, primal, dual, bias) = self._solving(problem, *signed(some[0]))
                found_all, objectives = [alone], np.array([[primal, dual, bias]])
            for pair, a_n, (_, _, bias) in zip(some, found_all, objectives.tolist(), strict=True):
                put(pair, a_n, bias)
            totals += objectives[:, :2].sum(axis=0)
            done = first + len(some)
            yield Pass(done, _objectives(*totals), machine if done == len(full) else None, len(full))

    def _rest(self, problem: Problem) -> Iterator[Pass]:
        data: GramExamples = problem.examples
        alpha, intercepts = np.zeros((len(data), data.Y)), np.full(data.Y, -1.0)
        everyone = np.arange(len(data))
        totals = np.zeros(2)
        labels = np.unique(data.y).tolist()

        def machine() -> KernelMachine:
            support = np.flatnonzero(alpha.any(axis=1))
            scorer = Dual(data.kernel, data.objects.taken(support), alpha[support], intercepts.copy())
            return KernelMachine(scorer, support, "margin")

        for label in labels:
            t = np.where(data.y == label, np.float32(1), np.float32(-1))
            *_, (a, primal, dual, bias) = self._solving(problem, everyone, t)
            alpha[:, label], intercepts[label] = a * t, bias
            totals += primal, dual
            yield Pass(label + 1, _objectives(*totals), machine if label == labels[-1] else None, data.Y)

    def _solve_together(
        self,
        problem: Problem,
        members: tuple[NDArray[np.int64], ...],
        signs: tuple[NDArray[np.float32], ...],
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
        """Solve many problems over one Gram matrix on several threads."""
        data: GramExamples = problem.examples
        ptr = np.zeros(len(members) + 1, np.int64)
        np.cumsum([len(who) for who in members], out=ptr[1:])
        who = np.concatenate(members)
        alpha, objectives = np.zeros(len(who)), np.zeros((len(members), 3))
        _core.solve_svms(
            data.rows.whole(),
            ptr,
            who,
            np.concatenate(signs),
            self._penalties(problem, who),
            self.tolerance,
            self.gap,
            MOST_STEPS,
            data.threads,
            alpha,
            objectives,
        )
        return np.split(alpha, ptr[1:-1]), objectives

    def _solving(
        self, problem: Problem, who: NDArray[np.int64], t: NDArray[np.float32]
    ) -> Iterator[tuple[NDArray[np.float64], float, float, float]]:
        """One problem in passes of as many steps as it has examples: multipliers, primal, dual and bias after each."""
        data: GramExamples = problem.examples
        whole = len(who) == len(data) and (who == np.arange(len(data))).all()
        part: GramExamples = data if whole else taken(problem, who).examples
        diagonal = part.kernel.diagonal(part.objects, threads=part.threads).astype(np.float64)
        # If the whole matrix is too large, a subset is used only once: few of its rows are ever needed.
        row: Callable[[int], NDArray[np.float32]] = (
            part.rows.whole().__getitem__ if data.rows.fits else part.rows.row
        )
        smo = _core.Smo(row, diagonal, t, self._penalties(problem, who))
        while True:
            violation = smo.run(max(1000, len(who)), self.tolerance)
            primal, dual, bias = smo.objective()
            yield smo.alpha(), primal, dual, bias
            small = self.gap > 0 and primal - dual <= self.gap * primal
            if violation <= self.tolerance or small or smo.steps >= MOST_STEPS:
                return

    def _penalties(self, problem: Problem, who: NDArray[np.int64]) -> NDArray[np.float64]:
        assert problem.weight is not None
        return np.ascontiguousarray(self.C * problem.weight[who], np.float64)


def _objectives(primal: float, dual: float) -> dict[str, float]:
    return {"primal": float(primal), "dual": float(dual), "gap": float(primal - dual)}
