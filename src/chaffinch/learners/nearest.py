"""Nearest neighbours: the contrast to learning, for any kernel."""

from dataclasses import dataclass

import numpy as np

from chaffinch.knobs import check, knob
from chaffinch.learners.kernel_problem import KernelChoice, KernelMachine, KernelProblem
from chaffinch.scorers.neighbours import Neighbours


@dataclass(frozen=True, kw_only=True)
class NearestNeighbours(KernelChoice):
    """The label that most of the k nearest training objects have.

    d(x, x_i)^2 = k(x, x) + k(x_i, x_i) - 2 k(x, x_i):  the distance of phi(x) and phi(x_i)

    >>> from chaffinch.kernels import LinearKernel
    >>> x, y = np.array([[0.0], [1.0], [9.0]]), np.array([0, 0, 1], np.int32)
    >>> kernel = LinearKernel()
    >>> machine = NearestNeighbours(k=1).fit(KernelProblem(kernel, kernel.prepared(x), y, 2, np.ones(3)))
    >>> machine.scorer.scores([[7.0], [0.4]]).argmax(axis=1)
    array([1, 0])
    """

    k: int = knob(5, "how many neighbours vote", low=1)
    weighted: bool = knob(False, "near neighbours count more: by one over the squared distance")

    def fit(self, problem: KernelProblem) -> KernelMachine:
        """All objects, kept."""
        check(self)
        problem.two_labels("a vote of neighbours")
        scorer = Neighbours(
            problem.kernel,
            problem.objects,
            problem.y,
            problem.Y,
            k=self.k,
            weighted=self.weighted,
            importance=problem.importance.astype(np.float64),
        )
        return KernelMachine(scorer, np.arange(problem.N), "shares")
