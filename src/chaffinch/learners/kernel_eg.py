"""The multiclass margin's simplex dual by exponentiated gradient."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.knobs import knob
from chaffinch.learners.choice import padded
from chaffinch.learners.kernel_choice import GramExamples, KernelMachine, MarginChoice
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem, example_order
from chaffinch.scorers.dual import Dual

BLOCK = 256  # rows of the Gram matrix at a time
NOTHING = 1e-6  # of C: a smaller coefficient is dropped


@dataclass(frozen=True, kw_only=True)
class KernelExponentiatedGradient(MarginChoice, Learner):
    """All labels at once, with a distribution mu_n over the labels of each example as the dual.

        primal  P = |w|^2 / 2 + sum_n C_n max_y (cost_n(y) + F_n(y) - F_n(y_n)),       cost_n(y) = [y != y_n]
        dual    D = sum_n C_n mu_n.cost_n - |w|^2 / 2,       sum_y mu_n(y) = 1,   mu_n(y) >= 0
        F_n(y)    = sum_m beta_m(y) k(x_m, x_n),             beta_m(y) = C_m ([y = y_m] - mu_m(y))

        mu_n(y) := mu_n(y) exp(eta_n (cost_n(y) + F_n(y))),  normalised

    The change of D by a step is known in advance: eta_n grows while D rises and is halved if D would fall.

    Bartlett et al. 2004; Collins et al. 2008, "Exponentiated gradient algorithms for CRFs and max-margin Markov
    networks". With the linear kernel it has the optimum of the linear Crammer-Singer machine.
    """

    C: float = knob(1.0, "weight of the loss against the L2 penalty", low=1e-9, high=1e12)
    epochs: int = knob(200, "maximum number of passes over the training data", low=1)
    gap: float = knob(0.01, "stop when the duality gap is below this share of the primal objective", low=0.0)

    def check(self, problem: Problem) -> None:
        """Refuse data with a single label."""
        problem.examples.two_labels("the multiclass margin")

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """Pass by pass; the steps on an example's distribution are the core's."""
        data: GramExamples = problem.examples
        assert problem.weight is not None
        N, Y, S = len(data), data.Y, padded(data.Y)
        everyone = np.arange(N)
        C = self.C * problem.weight.astype(np.float64)
        k = np.maximum(data.kernel.diagonal(data.objects, threads=data.threads), 1e-9)
        eta = 1 / (C * k)  # small enough that D cannot fall
        gold, cost = np.zeros((N, S)), np.ones((N, Y))
        gold[everyone, data.y], cost[everyone, data.y] = 1, 0
        mu = np.zeros((N, S))
        mu[:, :Y] = 1 / Y
        beta = C[:, None] * (gold - mu)

        def machine() -> KernelMachine:
            alpha = beta[:, :Y].copy()
            alpha[np.abs(alpha) < NOTHING * C[:, None]] = 0
            support = np.flatnonzero(alpha.any(axis=1))
            scorer = Dual(data.kernel, data.objects.taken(support), alpha[support])
            return KernelMachine(scorer, support, "margin")

        for epoch in range(1, self.epochs + 1):
            for which, rows in _blocks(data, example_order(N, problem.seed, epoch)):
                _core.eg_steps(which, rows, data.y, C, k, Y, mu, beta, eta)
            F = np.empty((N, S))
            for which, rows in _blocks(data, everyone):
                _core.eg_scores(rows, beta, F[which[0] : which[-1] + 1])
            length = float((beta * F).sum())
            margin = cost + F[:, :Y] - F[everyone, data.y][:, None]
            primal = length / 2 + float((C * margin.max(axis=1)).sum())
            dual = float((C[:, None] * mu[:, :Y] * cost).sum()) - length / 2
            scores = {"primal": primal, "dual": dual, "gap": primal - dual}
            yield Pass(epoch, scores, machine, self.epochs)
            if primal - dual <= self.gap * primal:
                return


def _blocks(
    data: GramExamples, order: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Blocks of examples in this order, with their rows of the Gram matrix."""
    whole = data.rows.whole() if data.rows.fits else None
    for first in range(0, len(order), BLOCK):
        which = np.ascontiguousarray(order[first : first + BLOCK], np.int64)
        yield which, data.rows.rows(which) if whole is None else whole[which]
