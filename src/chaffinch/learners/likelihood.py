"""Learners of the chain likelihood: dual coordinate ascent, stochastic gradient descent, L-BFGS and OWL-QN.

    f(w) = sum_n k_n (log Z(x_n) - s(x_n, y_n))  +  c1 |w|_1  +  c2 |w|^2

A learner goes over a problem pass by pass and yields what each pass met; ``w`` is at every yield what a model
could be made of. Whoever iterates decides when to stop early.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import CrfBatch, CrfObjective, CrfProblem, CrfSdca, CrfSgd

SDCA_STATE = ("nodes", "pairs", "change", "loss", "smaller", "order", "counts", "mean")

# The first step size of SGD that suits features which are on or off, up to so many a token; with more, it is smaller.
RATE = 0.2
FEATURES_AT_RATE = 40
LEAST_RATE = 0.001
CALIBRATION_PASSES = 3

# Dual ascent is far off where its gap is this many times its tolerance.
FAR = 5

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


class Journal(Protocol):
    """Where a learner notes after each pass what it needs to go on from there."""

    def load(self) -> Mapping[str, NDArray[Any]] | None:
        """What was saved last, if anything was."""
        ...

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the place of what was saved before."""
        ...


class LikelihoodLearner(Protocol):
    """What the learners below have in common."""

    def passes(
        self,
        problem: CrfProblem,
        w: NDArray[np.float32],
        seed: int,
        threads: int,
        journal: Journal | None = None,
    ) -> Iterator[Pass]:
        """Move ``w`` in place, a pass at a time; with a journal that holds a state, go on from that."""
        ...


@dataclass(frozen=True)
class Sdca:
    """Dual coordinate ascent: one sentence's marginals at a time, steps in closed form, no rate to choose.

    Stops when its gap, which halves with each pass and is some five times the true one, is below ``tolerance``.
    A small c2 makes it slow: where it is still far off after its last pass, ``finish`` goes on from there.
    still: tokens whose marginals change by less are left alone.
    """

    c2: float = 1.0
    passes_at_most: int = 20
    tolerance: float = 0.02
    still: float = 0.001
    finish: "Lbfgs | None" = None

    def passes(
        self,
        problem: CrfProblem,
        w: NDArray[np.float32],
        seed: int,
        threads: int,
        journal: Journal | None = None,
    ) -> Iterator[Pass]:
        """``w`` must be zero: the duals start at the gold labels."""
        still = self.still * min(1.0, self.c2)
        learner = CrfSdca(problem, self.c2, still=still, skip_quiet=True, seed=seed)
        done, gap = 0, np.inf
        if (saved := _saved(journal, w)) is not None:
            done = int(saved["done"][0])
            if "nodes" in saved:
                nodes, pairs, change, loss, smaller, order, counts, mean = (saved[k] for k in SDCA_STATE)
                learner.restore(nodes, pairs, change, loss, smaller, order, counts, float(mean[0]))
        for number in range(done + 1, self.passes_at_most + 1):
            met = learner.run(w)
            if journal is not None:
                nodes, pairs, change, loss, smaller, order, counts, average = learner.state()
                state = (nodes, pairs, change, loss, smaller, order, counts, np.array([average]))
                noted: dict[str, NDArray[Any]] = dict(zip(SDCA_STATE, state, strict=True))
                journal.save({"w": w, "done": np.array([number]), **noted})
            done, gap = number, met.gap
            yield Pass(number, met.loss + met.penalty, gap)
            if gap < self.tolerance:
                return
        if self.finish is not None and gap > FAR * self.tolerance:
            del learner
            yield from replace(self.finish, number=done).passes(problem, w, seed, threads, journal)


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent whose rate falls linearly to zero over ``epochs``."""

    c2: float = 1.0
    epochs: int = 5
    rate: float = RATE

    def passes(
        self,
        problem: CrfProblem,
        w: NDArray[np.float32],
        seed: int,
        threads: int,
        journal: Journal | None = None,
    ) -> Iterator[Pass]:
        """``w`` may be anything: training goes on from there."""
        learner = CrfSgd(problem, self.c2, self.rate, self.epochs, seed)
        done = 0
        if (saved := _saved(journal, w)) is not None:
            learner.restore(saved["state"])
            done = int(saved["done"][0])
        for number in range(done + 1, self.epochs + 1):
            loss = learner.run(w, threads)
            if journal is not None:
                journal.save({"w": w, "done": np.array([number]), "state": learner.state()})
            yield Pass(number, loss + self.c2 * float(np.vdot(w, w)))


@dataclass(frozen=True)
class Lbfgs:
    """L-BFGS from a start that SGD made, with the Fisher diagonal there as first curvature; OWL-QN if c1 > 0.

    Stops when the relative fall of f over a step is below ``tolerance`` twice running.
    fisher: the Fisher diagonal at w as first curvature, which a start by SGD implies
    number: of the pass before
    """

    c1: float = 0.0
    c2: float = 1.0
    steps_at_most: int = 500
    tolerance: float = 1e-4
    start: Sgd | None = None
    fisher: bool = False
    number: int = 0

    def passes(
        self,
        problem: CrfProblem,
        w: NDArray[np.float32],
        seed: int,
        threads: int,
        journal: Journal | None = None,
    ) -> Iterator[Pass]:
        """``w`` may be anything: training goes on from there; so it does, with a fresh memory, from a journal."""
        started = self.number
        if (saved := _saved(journal, w)) is not None:
            started = int(saved["done"][0])
        elif self.start is not None:
            for met in self.start.passes(problem, w, seed, threads):
                started = met.number
                yield met
        fisher = self.fisher or self.start is not None
        learner = CrfBatch(problem, self.c1, self.c2, w, fisher=fisher, threads=threads)
        before, small = learner.value, 0
        for number in range(started + 1, started + self.steps_at_most + 1):
            moved = learner.run(w)
            fall = (before - learner.value) / max(abs(learner.value), 1e-300)
            before = learner.value
            if journal is not None:
                journal.save({"w": w, "done": np.array([number])})
            yield Pass(number, before, fall)
            small = small + 1 if fall < self.tolerance else 0
            if not moved or small == 2:
                return


def suited_rate(features_per_token: float) -> float:
    """The first step size of SGD: a step moves a token's scores by the rate times its features.

    >>> suited_rate(19), suited_rate(80)
    (0.2, 0.1)
    """
    return RATE * min(1.0, FEATURES_AT_RATE / max(features_per_token, 1.0))


def calibrated_rate(problem: CrfProblem, c2: float, rate: float, seed: int) -> float:
    """The first step size with which a few passes of SGD over a sample of sentences end lowest.

    It is ``rate``, or half of it for as long as halving helps: what is too large for a sample is too large for all,
    but a sample, met so much less often, would ask for more than all of the sentences can bear.
    """
    scratch = np.empty(problem.size, np.float32)

    def reached(size: float) -> float:
        w = np.zeros(problem.size, np.float32)
        sgd = CrfSgd(problem, c2, size, CALIBRATION_PASSES, seed)
        for _ in range(CALIBRATION_PASSES):
            sgd.run(w)
        value = CrfObjective(problem, c2, 1)(w, scratch)
        return value if np.isfinite(value) else np.inf

    best = reached(rate)
    while rate > LEAST_RATE and (value := reached(rate / 2)) < best:
        rate, best = rate / 2, value
    return rate


def _saved(journal: Journal | None, w: NDArray[np.float32]) -> Mapping[str, NDArray[Any]] | None:
    """What a journal holds, its weights put into ``w``."""
    saved = None if journal is None else journal.load()
    if saved is not None:
        w[:] = saved["w"]
    return saved
