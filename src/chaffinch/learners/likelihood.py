"""Learners of the penalised likelihood: dual coordinate ascent, stochastic gradient descent, L-BFGS and OWL-QN.

    f(w) = sum_n k_n (log Z(x_n) - s(x_n, y_n))  +  c1 |w|_1  +  c2 |w|^2

With a cost of the problem's, Z sums exp(s + cost): the softmax margin. On chains all of them run in the core; the
loops here are over the protocols, for any structure that can be summed over.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.learner import Learner
from chaffinch.learners.problem import Pass, Problem, example_order, requires
from chaffinch.structures import Parts

# Initial step size of SGD for binary features, up to this many per token; with more features it is smaller.
RATE = 0.2
FEATURES_AT_RATE = 40

# Dual ascent is far from the optimum if its gap is this many times its tolerance.
FAR = 5
HOLD = 0.2  # with an L1 penalty a smaller c2 is raised to this by holding the weights near those of the last pass
FIRST_MOVE = 0.5  # of the way from the gold answer to the marginals, at an example's first visit

# OWL-QN follows a path of falling L1 penalties, these multiples of its own; each ends when a step lowers f by less than
# the share ROUGH.
PATH = (64.0, 16.0, 4.0)
ROUGH = 0.03

# Dual coordinate ascent is not chosen if the duals of all sentences need more memory than this.
MOST_DUAL_BYTES = 2 << 30


@dataclass(frozen=True, kw_only=True)
class LikelihoodLearner(Learner):
    """The knobs that all learners of the likelihood share. A recipe with its own penalty sets c1 and c2."""

    c2: float = 1.0

    def check(self, problem: Problem) -> None:
        """Refuse structures without a SumOracle."""
        if not hasattr(problem.structure, "logsum_given"):
            requires(self, "logsum", problem, ("Perceptron", "Mira", "FrankWolfe"))


class KeptDuals:
    """Holds the state of dual ascent's last pass and its weights, for incremental learning."""

    state: Any = None
    w: NDArray[np.float32] | None = None


@dataclass(frozen=True, kw_only=True)
class Sdca(LikelihoodLearner):
    """Dual coordinate ascent: one example's marginals at a time, steps in closed form, no rate to choose.

        w    = -(1 / 2 c2) sum_n k_n F_n(m_n - gold_n)           m_n: marginals, gold at first
        d    = p - m_n,   m_n += g d,   w -= (g k_n / 2 c2) F_n d        p: marginals under w
        g    = K / (K + k_n |F_n d|^2 / 2 c2)                    K: the symmetric divergence of p and m_n

    Stops when its estimated gap, about five times the true one, is below ``tolerance``; it halves with each pass.
    A small c2 makes it slow: if it is still far from the optimum after its last pass, ``finish`` continues.

    With an L1 penalty w is read off sums u, and held near the weights z of the last pass if c2 is small:

        u    = -(1 / 2 c) sum_n k_n F_n(m_n - gold_n) + (hold / c) z,      c = c2 + hold
        w    = sign(u) max(0, |u| - c1 / 2 c)

    Shalev-Shwartz and Zhang 2013 and 2014; Le Priol et al. 2018.
    """

    epochs: int = knob(20, "maximum number of passes over the training data", low=1)
    tolerance: float = knob(0.02, "stop when the estimated gap is below this share of the objective", low=0.0)
    still: float = knob(0.001, "tokens whose marginals change by less are not updated", low=0.0)
    c1: float = 0.0
    finish: "Lbfgs | None" = None
    kept: "KeptDuals | None" = field(default=None, compare=False, repr=False)

    @property
    def hold(self) -> float:
        """The strength with which weights are held near those of the last pass."""
        return max(0.0, HOLD - self.c2) if self.c1 > 0 else 0.0

    def check(self, problem: Problem) -> None:
        """Refuse initial weights: the duals start at the gold answers, which means weights of zero."""
        super().check(problem)
        if self.c2 <= 0 or np.any(problem.scorer.w):
            raise ConfigError("Sdca needs c2 > 0 and starts from weights of zero; use Sgd or Lbfgs")

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols, without ``finish``: passes can be repeated as often as needed."""
        structure, k = problem.structure, problem.weights()
        scorer = problem.scorer.with_weights(problem.scorer.w)
        c, shrink = self.c2 + self.hold, self.c1 / (2 * (self.c2 + self.hold))
        sums, z = problem.scorer.with_weights(problem.scorer.w), np.array(problem.scorer.w)
        N = len(problem.examples)
        gold = [structure.parts(scorer.shape(x), y) for x, y in problem.examples]
        duals = [parts * 1.0 for parts in gold]
        met = np.zeros(N, bool)
        losses, apart = np.zeros(N), np.zeros(N)
        for number in range(1, self.epochs + 1):
            for n in example_order(N, problem.seed, number).tolist():
                x, y = problem.examples[n]
                potentials = scorer.potentials(x)
                log_z, p = summed(problem, potentials, y)
                losses[n] = k[n] * (log_z - potentials.dot(gold[n]))
                d = p - duals[n]
                first = next(iter(p))
                K = float(np.sum(d[first] * (_log(p[first]) - _log(duals[n][first]))))
                apart[n] = max(0.0, K * k[n])
                if not K > 0:
                    continue
                g = K / (K + k[n] * scorer.sq_norm(x, d) / (2 * c)) if met[n] else FIRST_MOVE
                met[n] = True
                duals[n] = duals[n] + d * g
                sums.update(x, d, -g * k[n] / (2 * c))
                scorer.w[:] = _soft(sums.w, shrink)
            w = scorer.w
            objective = (
                float(losses.sum()) + self.c2 * float(np.vdot(w, w)) + self.c1 * float(np.abs(w).sum())
            )
            held = self._apart(w, 2 * c * sums.w - 2 * self.hold * z)
            gap = (float(apart.sum()) / 2 + held) / max(objective, 1e-300)
            sums.w[:] += np.asarray(self.hold / c * (w - z), sums.w.dtype)
            z[:] = w
            yield Pass(number, {"objective": objective, "gap": gap}, lambda: scorer.with_weights(scorer.w))
            if gap < self.tolerance:
                return

    def _apart(self, w: NDArray[Any], g: NDArray[Any]) -> float:
        """R(w) + R*(g) - g.w for the penalty R: zero if w minimises R(w) - g.w."""
        rest = np.clip(g, -self.c1, self.c1)
        off = 2 * self.c2 * w - (g - rest)
        return float(np.sum(self.c1 * np.abs(w) - rest * w + off * off / (4 * self.c2), dtype=np.float64))


@dataclass(frozen=True, kw_only=True)
class Sgd(LikelihoodLearner):
    """Stochastic gradient descent with a rate that falls linearly to zero over ``epochs``.

        w := (1 - 2 eta c2 / N) w - eta k_n F_n(p - gold_n),     eta = rate (1 - t / (epochs N))

    Starts from any weights.
    """

    epochs: int = knob(5, "passes over the training data", low=1)
    rate: float | None = knob(
        None, "initial step size; auto: 0.2, less if tokens have more than 40 features", low=0.0
    )
    calibrate: bool = knob(
        False, "halve the step size as long as that improves the fit of a sample of sentences"
    )

    @property
    def rate_or_default(self) -> float:
        """The initial step size."""
        return RATE if self.rate is None else self.rate

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols."""
        k, N = problem.weights(), len(problem.examples)
        scorer = problem.scorer.with_weights(problem.scorer.w)
        for number in range(1, self.epochs + 1):
            loss = 0.0
            for t, n in enumerate(example_order(N, problem.seed, number).tolist(), (number - 1) * N):
                x, y = problem.examples[n]
                eta = self.rate_or_default * (1 - t / (self.epochs * N))
                potentials = scorer.potentials(x)
                gold = problem.structure.parts(potentials.shape, y)
                log_z, p = summed(problem, potentials, y)
                loss += k[n] * (log_z - potentials.dot(gold))
                scorer.w *= np.asarray(1 - 2 * eta * self.c2 / N, scorer.w.dtype)
                scorer.update(x, gold - p, eta * k[n])
            objective = loss + self.c2 * float(np.vdot(scorer.w, scorer.w))
            yield Pass(number, {"objective": objective}, lambda: scorer.with_weights(scorer.w))


@dataclass(frozen=True, kw_only=True)
class PrunedSgd(Sgd):
    """SGD over lattices of the labels that each token's own features make likely, for hundreds of labels.

    all_pairs: after the first pass features get weights for labels found likely at their tokens, besides the labels
               that they occur with
    """

    threshold: float = 0.001
    most: int = 16
    all_pairs: bool = True


@dataclass(frozen=True, kw_only=True)
class Lbfgs(LikelihoodLearner):
    """L-BFGS from weights found by SGD, with the Fisher diagonal there as first curvature; OWL-QN if c1 > 0.

    Stops when two steps in a row lower f by a relative amount below ``tolerance``.

    With c1 > 0 weights of zero are a better start than those of SGD, which spreads over all features what a few of
    them can express. The penalties ``PATH`` times c1 get a few rough steps each, then c1 itself. Only weights that are
    not zero or would leave zero are moved.

    fisher: the Fisher diagonal at w as first curvature, which a start by SGD implies
    """

    steps: int = knob(500, "maximum number of steps", low=1)
    tolerance: float = knob(
        1e-4, "stop when two successive steps lower the objective by a smaller fraction", low=0.0
    )
    c1: float = 0.0
    start: Sgd | None = None
    fisher: bool = False

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols, for the L2 penalty only."""
        if self.c1 > 0:
            raise ConfigError("Lbfgs.c1 > 0 needs OWL-QN, which the core has only for chains; set c1 to 0")
        k = problem.weights()

        def value(w: NDArray[np.float32], g: NDArray[np.float32]) -> float:
            scorer = problem.scorer.with_weights(w)
            gradient = problem.scorer.with_weights(2 * self.c2 * w)
            total = self.c2 * float(np.vdot(w, w))
            for (x, y), weight in zip(problem.examples, k, strict=True):
                potentials = scorer.potentials(x)
                gold = problem.structure.parts(potentials.shape, y)
                log_z, p = summed(problem, potentials, y)
                total += weight * (log_z - potentials.dot(gold))
                gradient.update(x, p - gold, weight)
            g[:] = gradient.w
            return total

        w = np.array(problem.scorer.w, np.float32)
        minimiser = _core.Minimiser(value, w)
        before, small = minimiser.value, 0
        for number in range(1, self.steps + 1):
            moved = minimiser.iterate()
            fall = (before - minimiser.value) / max(abs(minimiser.value), 1e-300)
            before = minimiser.value
            minimiser.x(w)
            yield Pass(
                number, {"objective": before, "gap": fall}, lambda: problem.scorer.with_weights(w), self.steps
            )
            small = small + 1 if fall < self.tolerance else 0
            if not moved or small == 2:
                return


def summed(problem: Problem, potentials: Parts, y: Any) -> tuple[float, Parts]:
    """log Z and the marginals, with the problem's cost added to the potentials; given y, for local models.

    The constant part of the score of y, beside its potentials, is subtracted from log Z.
    """
    if problem.cost is not None:
        potentials = potentials + problem.cost(potentials.shape, y)
    given = getattr(problem.structure, "logsum_given", None)
    found: tuple[float, Parts] = (
        problem.structure.logsum(potentials) if given is None else given(potentials, y)
    )
    if hasattr(problem.structure, "constant"):
        return found[0] - problem.structure.constant(y), found[1]
    return found


def suited_rate(features_per_token: float) -> float:
    """The initial step size of SGD: a step moves a token's scores by the rate times its number of features.

    >>> suited_rate(19), suited_rate(80)
    (0.2, 0.1)
    """
    return RATE * min(1.0, FEATURES_AT_RATE / max(features_per_token, 1.0))


def _soft(u: NDArray[Any], shrink: float) -> NDArray[Any]:
    """sign(u) max(0, |u| - shrink)."""
    return u - np.clip(u, -shrink, shrink)


def _log(p: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.log(np.maximum(p.astype(np.float64), math.exp(-60)))
