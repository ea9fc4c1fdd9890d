"""The multiclass margin's simplex dual by exponentiated gradient."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.knobs import check, knob
from chaffinch.learners.choice import padded
from chaffinch.learners.kernel_problem import KernelMachine, KernelProblem, MarginChoice
from chaffinch.learners.online import example_order
from chaffinch.progress import Progress
from chaffinch.scorers.dual import Dual

BLOCK = 256  # rows of the Gram matrix at a time
NOTHING = 1e-6  # of C: a smaller coefficient is dropped


@dataclass(frozen=True, kw_only=True)
class KernelExponentiatedGradient(MarginChoice):
    """All labels at once, with a distribution mu_n over the labels of each example as the dual.

        primal  P = |w|^2 / 2 + sum_n C_n max_y (cost_n(y) + F_n(y) - F_n(y_n)),       cost_n(y) = [y != y_n]
        dual    D = sum_n C_n mu_n.cost_n - |w|^2 / 2,       sum_y mu_n(y) = 1,   mu_n(y) >= 0
        F_n(y)    = sum_m beta_m(y) k(x_m, x_n),             beta_m(y) = C_m ([y = y_m] - mu_m(y))

        mu_n(y) := mu_n(y) exp(eta_n (cost_n(y) + F_n(y))),  normalised

    The change of D by one step is known before it is taken: eta_n grows while D rises and is halved where D would fall.

    Bartlett et al. 2004; Collins et al. 2008, "Exponentiated gradient algorithms for CRFs and max-margin Markov
    networks". The same optimum as the linear Crammer-Singer machine where the kernel is linear.
    """

    C: float = knob(1.0, "how much an error counts against the size of the weights", low=1e-9, high=1e12)
    epochs: int = knob(200, "most passes over the training data", low=1)
    gap: float = knob(0.01, "stop when the duality gap is below this share of the primal objective", low=0.0)

    def fit(self, problem: KernelProblem) -> KernelMachine:
        """The machine."""
        check(self)
        problem.two_labels("the multiclass margin")
        N, Y, S = problem.N, problem.Y, padded(problem.Y)
        everyone = np.arange(N)
        C = self.C * problem.importance.astype(np.float64)
        k = np.maximum(problem.kernel.diagonal(problem.objects, threads=problem.threads), 1e-9)
        eta = 1 / (C * k)  # at which D cannot fall
        gold, cost = np.zeros((N, S)), np.ones((N, Y))
        gold[everyone, problem.y], cost[everyone, problem.y] = 1, 0
        mu = np.zeros((N, S))
        mu[:, :Y] = 1 / Y
        beta = C[:, None] * (gold - mu)
        history: list[Progress] = []
        for epoch in range(1, self.epochs + 1):
            for which, rows in _blocks(problem, example_order(N, problem.seed, epoch)):
                _core.eg_steps(which, rows, problem.y, C, k, Y, mu, beta, eta)
            F = np.empty((N, S))
            for which, rows in _blocks(problem, everyone):
                _core.eg_scores(rows, beta, F[which[0] : which[-1] + 1])
            length = float((beta * F).sum())
            margin = cost + F[:, :Y] - F[everyone, problem.y][:, None]
            primal = length / 2 + float((C * margin.max(axis=1)).sum())
            dual = float((C[:, None] * mu[:, :Y] * cost).sum()) - length / 2
            scores = {"primal": primal, "dual": dual, "gap": primal - dual}
            history.append(Progress("training", epoch, self.epochs, scores))
            if not problem.on_epoch(history[-1]) or primal - dual <= self.gap * primal:
                break
        alpha = beta[:, :Y].copy()
        alpha[np.abs(alpha) < NOTHING * C[:, None]] = 0
        support = np.flatnonzero(alpha.any(axis=1))
        scorer = Dual(problem.kernel, problem.objects.taken(support), alpha[support])
        return KernelMachine(scorer, support, "margin", history)


def _blocks(
    problem: KernelProblem, order: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Examples in this order, some at a time, and their rows of the Gram matrix."""
    whole = problem.rows.whole() if problem.rows.fits else None
    for first in range(0, len(order), BLOCK):
        which = np.ascontiguousarray(order[first : first + BLOCK], np.int64)
        yield which, problem.rows.rows(which) if whole is None else whole[which]
