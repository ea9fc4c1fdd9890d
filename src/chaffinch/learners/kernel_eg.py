"""The multiclass margin's simplex dual by exponentiated gradient."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.knobs import check, knob
from chaffinch.learners.kernel_problem import KernelMachine, KernelProblem, MarginChoice, finite_penalty
from chaffinch.learners.online import example_order
from chaffinch.progress import Progress
from chaffinch.scorers.dual import Dual

LEAST = 1e-30  # of a probability, so that no label is lost for good
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

    C: float = knob(1.0, "how much an error counts against the size of the weights", low=1e-9)
    epochs: int = knob(50, "most passes over the training data", low=1)
    gap: float = knob(0.01, "stop when the duality gap is below this share of the primal objective", low=0.0)

    def fit(self, problem: KernelProblem) -> KernelMachine:
        """The machine."""
        finite_penalty("KernelExponentiatedGradient", self.C)
        check(self)
        problem.two_labels("the multiclass margin")
        N, Y, rows = problem.N, problem.Y, problem.rows
        C = self.C * problem.importance.astype(np.float64)
        cost = np.ones((N, Y))
        cost[np.arange(N), problem.y] = 0
        mu = np.full((N, Y), 1 / Y)
        k = np.maximum(rows.kernel.diagonal(rows.objects, threads=problem.threads), 1e-9)
        eta = 1 / (C * k)  # at which D cannot fall
        beta = C[:, None] * ((1 - cost) - mu)
        F = self._scores(problem, beta)
        history: list[Progress] = []
        for epoch in range(1, self.epochs + 1):
            for n in example_order(N, problem.seed, epoch).tolist():
                moved, rise = self._moved(mu[n], cost[n], F[n], C[n], k[n], eta[n])
                while rise < 0 and eta[n] * C[n] * k[n] > 1:
                    eta[n] /= 2
                    moved, rise = self._moved(mu[n], cost[n], F[n], C[n], k[n], eta[n])
                eta[n] *= 1.5
                change = C[n] * (mu[n] - moved)
                if np.abs(change).max() > 1e-9 * C[n]:
                    F += np.outer(rows.row(n), change)
                    mu[n] = moved
            beta = C[:, None] * ((1 - cost) - mu)
            length = float((beta * F).sum())
            margin = cost + F - F[np.arange(N), problem.y][:, None]
            primal = length / 2 + float((C * margin.max(axis=1)).sum())
            dual = float((C[:, None] * mu * cost).sum()) - length / 2
            scores = {"primal": primal, "dual": dual, "gap": primal - dual}
            history.append(Progress("training", epoch, self.epochs, scores))
            if not problem.on_epoch(history[-1]) or primal - dual <= self.gap * primal:
                break
        beta[np.abs(beta) < NOTHING * C[:, None]] = 0
        support = np.flatnonzero(beta.any(axis=1))
        scorer = Dual(problem.kernel, problem.objects.taken(support), beta[support])
        return KernelMachine(scorer, support, "margin", history)

    @staticmethod
    def _moved(
        mu: NDArray[np.float64],
        cost: NDArray[np.float64],
        F: NDArray[np.float64],
        C: float,
        k: float,
        eta: float,
    ) -> tuple[NDArray[np.float64], float]:
        """One example's distribution after a step, and by how much D rises."""
        exponent = eta * (cost + F)
        moved = np.maximum(mu, LEAST) * np.exp(exponent - exponent.max())
        moved /= moved.sum()
        step = moved - mu
        return moved, float(C * (step @ (cost + F)) - 0.5 * k * C * C * (step @ step))

    @staticmethod
    def _scores(problem: KernelProblem, beta: NDArray[np.float64]) -> NDArray[np.float64]:
        """F at the start."""
        if problem.rows.fits:
            return problem.rows.whole().astype(np.float64) @ beta
        found = problem.kernel.expansion(problem.objects, problem.objects, beta, threads=problem.threads)
        return found.astype(np.float64)
