"""Learners of the chain likelihood: dual coordinate ascent, stochastic gradient descent, L-BFGS and OWL-QN.

    f(w) = sum_n k_n (log Z(x_n) - s(x_n, y_n))  +  c1 |w|_1  +  c2 |w|^2

A learner goes over a problem pass by pass and yields what each pass met; ``w`` is at every yield what a model
could be made of. Whoever iterates decides when to stop early.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import CrfBatch, CrfProblem, CrfSdca, CrfSgd

# The duals of all sentences may take this much memory; beyond it dual coordinate ascent is not chosen.
MOST_DUAL_BYTES = 2 << 30


@dataclass(frozen=True)
class Pass:
    """One pass over the training data.

    objective: f as met on the way (online) or at the end of the pass (batch)
    gap:       the learner's own measure of how far it is from the optimum, as a share of f; None: unknown
    """

    number: int
    objective: float
    gap: float | None = None


class LikelihoodLearner(Protocol):
    """What the learners below have in common."""

    def passes(self, problem: CrfProblem, w: NDArray[np.float32], seed: int, threads: int) -> Iterator[Pass]:
        """Move ``w`` in place, a pass at a time."""
        ...


@dataclass(frozen=True)
class Sdca:
    """Dual coordinate ascent: one sentence's marginals at a time, steps in closed form, no rate to choose.

    Stops when its gap, which halves with each pass and is some five times the true one, is below ``tolerance``.
    still: tokens whose marginals change by less are left alone.
    """

    c2: float = 1.0
    passes_at_most: int = 20
    tolerance: float = 0.02
    still: float = 0.001

    def passes(self, problem: CrfProblem, w: NDArray[np.float32], seed: int, threads: int) -> Iterator[Pass]:
        """``w`` must be zero: the duals start at the gold labels."""
        still = self.still * min(1.0, self.c2)
        learner = CrfSdca(problem, self.c2, still=still, skip_quiet=True, seed=seed)
        for number in range(1, self.passes_at_most + 1):
            met = learner.run(w)
            yield Pass(number, met.loss + met.penalty, met.gap)
            if met.gap < self.tolerance:
                return


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent whose rate falls linearly to zero over ``epochs``."""

    c2: float = 1.0
    epochs: int = 5
    rate: float = 0.2

    def passes(self, problem: CrfProblem, w: NDArray[np.float32], seed: int, threads: int) -> Iterator[Pass]:
        """``w`` may be anything: training goes on from there."""
        learner = CrfSgd(problem, self.c2, self.rate, self.epochs, seed)
        for number in range(1, self.epochs + 1):
            loss = learner.run(w)
            yield Pass(number, loss + self.c2 * float(np.vdot(w, w)))


@dataclass(frozen=True)
class Lbfgs:
    """L-BFGS from a start that SGD made, with the Fisher diagonal there as first curvature; OWL-QN if c1 > 0.

    Stops when the relative fall of f over a step is below ``tolerance`` twice running.
    """

    c1: float = 0.0
    c2: float = 1.0
    steps_at_most: int = 500
    tolerance: float = 1e-4
    start: Sgd | None = None

    def passes(self, problem: CrfProblem, w: NDArray[np.float32], seed: int, threads: int) -> Iterator[Pass]:
        """``w`` may be anything: training goes on from there."""
        started = 0
        for met in self.start.passes(problem, w, seed, threads) if self.start else ():
            started = met.number
            yield met
        learner = CrfBatch(problem, self.c1, self.c2, w, fisher=self.start is not None, threads=threads)
        before, small = learner.value, 0
        for number in range(started + 1, started + self.steps_at_most + 1):
            moved = learner.run(w)
            fall = (before - learner.value) / max(abs(learner.value), 1e-300)
            before = learner.value
            yield Pass(number, before, fall)
            small = small + 1 if fall < self.tolerance else 0
            if not moved or small == 2:
                return
