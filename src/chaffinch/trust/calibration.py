"""Calibration: temperatures and monotone maps, so that answers of confidence 90 % are correct in 90 % of cases."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log, log1p

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.confidence import Calibration, sigmoid, top_odds

LOWEST, HIGHEST = 1e-3, 1e6
GOLDEN = (np.sqrt(5.0) - 1) / 2


def fitted_temperature(scores: NDArray[np.floating], y: NDArray[np.integer], smoothing: float = 0.0) -> float:
    """The temperature that maximises the likelihood of held-out labels.

        tau = argmin of - sum_t log softmax(scores[t] / tau)[y_t]

    smoothing: label smoothing, the probability mass that is spread over all labels, so that a few decisions, all
               correct, do not make the model certain

    Guo et al. 2017, "On calibration of modern neural networks". The sum is convex in 1 / tau, so a one-dimensional
    search finds the minimum. Decisions whose gold label was forbidden (-inf) carry no information and are left out.
    If every gold label already has the highest score, the likelihood rises without bound as tau falls. In that case
    one mistake among N + 2 decisions is assumed, so that a few correct answers do not make the model certain.

    scores: [T, Y], -inf if a label was forbidden   y: [T]

    >>> scores = np.log(np.array([[0.9, 0.1]] * 9 + [[0.9, 0.1]])) * 5.0
    >>> round(fitted_temperature(scores, np.array([0] * 9 + [1])), 3)
    5.0
    >>> sure = np.array([[3.0, 0.0]] * 6)
    >>> bool(0.8 < 1 / (1 + np.exp(-3.0 / fitted_temperature(sure, np.zeros(6, int)))) < 0.9)
    True
    """
    reachable = np.isfinite(scores[np.arange(len(y)), y])
    scores, y = scores[reachable].astype(np.float64), np.asarray(y)[reachable]
    if len(y) == 0:
        raise DataError("there is no held-out decision to calibrate on")
    top = scores.max(axis=1, keepdims=True)
    below = scores - top
    gold = below[np.arange(len(y)), y]
    if (gold == 0).all():
        others = np.where(np.isfinite(below), below, 0.0).sum(axis=1)
        possible = np.maximum(np.isfinite(below).sum(axis=1) - 1, 1)
        gold = others / possible / (len(y) + 2)
    if smoothing > 0:
        gold = (1 - smoothing) * gold + smoothing * below.mean(axis=1)

    def surprise(log_tau: float) -> float:
        tau = np.exp(log_tau)
        return float(np.mean(np.log(np.exp(below / tau).sum(axis=1)) - gold / tau))

    return float(np.exp(golden_minimum(surprise, np.log(LOWEST), np.log(HIGHEST), 1e-6)))


def golden_minimum(f: Callable[[float], float], low: float, high: float, width: float) -> float:
    """The minimum of a unimodal f between low and high, to within ``width``: golden-section search.

    >>> round(golden_minimum(lambda x: (x - 2.0) ** 2, 0.0, 10.0, 1e-6), 4)
    2.0
    """
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = f(a), f(b)
    while high - low > width:
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = f(b)
    return float((low + high) / 2)


def fitted_calibration(scores: NDArray[np.floating], y: NDArray[np.integer]) -> Calibration:
    """The calibration of decisions between labels, from held-out scores [T, Y] and labels [T].

    The temperature maximises the likelihood of the labels. Then slope and offset maximise the likelihood of whether
    each top label is correct (Platt 1999), with a prior towards unchanged probabilities. Of several weights of
    the prior, the one with the best leave-one-out likelihood is used: a line that only fits noise is not kept.

    No line fits if the accuracy stops rising with the score, as under wrong labels: then isotonic regression gives a
    curve, if there are many decisions and its likelihood on those it was not fitted on is clearly better.

    >>> scores = np.tile([[1.0, 0.0, 0.0]], (100, 1))
    >>> p = fitted_calibration(scores, np.array([0] * 70 + [1] * 20 + [2] * 10)).softmax(scores[:1])
    >>> round(float(p[0, 0]), 2)
    0.7
    """
    temperature = float(f"{fitted_temperature(scores, y, 1.0 / (len(y) + 2)):.6g}")
    s = np.asarray(scores, np.float64) / temperature
    if s.shape[1] < 2:
        return Calibration(temperature)
    odds, right = top_odds(s), s.argmax(axis=1) == y
    return Calibration(temperature, *_shrunk_line(odds, right), _curve(odds, right))


def fitted_label_calibration(scores: NDArray[np.floating], given: NDArray[np.bool_]) -> Calibration:
    """The calibration of independent labels, from held-out scores and truth [T, Y]."""
    s = np.asarray(scores, np.float64).ravel()
    spread = float(f"{np.sqrt(np.mean(s**2)):.6g}") or 1.0
    return Calibration(spread, *_logistic_line(s / spread, given.ravel()))


PULL = 1.0  # weight of the prior on slope 1 and offset 0, in decisions: a few decisions change little
PULLS = (PULL, 10.0, 100.0, 1e3, 1e6)  # candidates for this weight; the last changes nothing
FEW_DECISIONS = 100  # with fewer, the weight is PULL
CLEARLY = 2.0  # standard errors by which a curve must be better than a line
HIGHEST_ODDS = 50.0


def _shrunk_line(x: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, float]:
    """The logistic line under the weight of the prior with the smallest leave-one-out loss."""
    if len(x) < FEW_DECISIONS:
        return _logistic_line(x, right)
    lines = [(_logistic_line(x, right, pull), pull) for pull in PULLS]
    return min(lines, key=lambda one: _left_out_loss(x, right, *one))[0]


def _curve(odds: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """The knots of an isotonic curve; none if a line does as well on the half of the decisions it was not fitted on."""
    if len(odds) < MANY_DECISIONS:
        return ()
    odds = np.clip(odds, -HIGHEST_ODDS, HIGHEST_ODDS)
    gain, half = np.empty(len(odds)), np.arange(len(odds)) % 2 == 0
    for part in (half, ~half):
        a, b = _shrunk_line(odds[~part], right[~part])
        z = np.interp(odds[part], *_knots(odds[~part], right[~part]))
        gain[part] = _losses(a * odds[part] + b, right[part]) - _losses(z, right[part])
    if gain.mean() <= CLEARLY * gain.std() / np.sqrt(len(gain)):
        return ()
    return tuple(zip(*(one.tolist() for one in _knots(odds, right)), strict=True))


def _knots(
    odds: NDArray[np.float64], right: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The knots of isotonic regression, in six decimals."""
    found = _isotonic(odds, right)
    x, first = np.unique(found.x.round(6), return_index=True)
    return x, found.y[first].round(6)


def _losses(z: NDArray[np.float64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """- log p(right or not) at log-odds z: [N]."""
    return np.asarray(np.logaddexp(0.0, np.where(right, -z, z)))


def _left_out_loss(
    x: NDArray[np.float64], right: NDArray[np.bool_], line: tuple[float, float], pull: float
) -> float:
    """The mean loss of each decision under the line of all others, by one Newton step back from the line of all.

    z_n' = z_n + q_n (p_n - t_n) / (1 - q_n p_n (1 - p_n)),   q_n = (x_n, 1) H^-1 (x_n, 1)',   H with the prior
    """
    x, t = np.clip(x, -50.0, 50.0), right.astype(np.float64)
    z = line[0] * x + line[1]
    p = sigmoid(z)
    H = np.linalg.inv(_curvature(x, p) + pull * np.eye(2))
    q = H[0, 0] * x * x + 2 * H[0, 1] * x + H[1, 1]
    z = z + q * (p - t) / (1 - q * p * (1 - p))
    return float(np.mean(np.logaddexp(0.0, z) - t * z))


def _curvature(x: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The second derivatives of the logistic loss in slope and offset: [2, 2]."""
    slack = p * (1 - p)
    once = slack * x
    mixed = once.sum()
    return np.array([[(once * x).sum(), mixed], [mixed, slack.sum()]])


def _logistic_line(
    x: NDArray[np.float64], right: NDArray[np.bool_], pull: float = PULL
) -> tuple[float, float]:
    """(a, b) that maximise the likelihood of ``right`` under sigmoid(a x + b), by Newton's method; a > 0."""
    x = np.clip(x, -50.0, 50.0)
    t, v, start = right.astype(np.float64), np.array([1.0, 0.0]), np.array([1.0, 0.0])

    def at(v: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The loss, and the probabilities of ``right``."""
        z = v[0] * x + v[1]
        e = np.exp(-np.abs(z))  # does not overflow
        loss = np.maximum(z, 0.0) + np.log1p(e) - t * z
        p = np.where(z < 0, e, 1.0) / (1.0 + e)
        return float(loss.sum() + pull / 2 * np.sum((v - start) ** 2)), p

    here, p = at(v)
    for _ in range(50):
        wrong = p - t
        g = np.array([(wrong * x).sum(), wrong.sum()]) + pull * (v - start)
        step, size = np.linalg.solve(_curvature(x, p) + pull * np.eye(2), g), 1.0
        after, p = at(v - step)
        while size > 1e-6 and after > here:
            size /= 2
            after, p = at(v - size * step)
        v = v - size * step
        before, here = here, after
        if before - here <= 1e-10 * max(1.0, abs(here)):
            break
    return max(round(float(v[0]), 6), 1e-3), round(float(v[1]), 6)


RISE = 1e-9


CLIP = 1e-9  # probabilities nearer to 0 or 1 count as this far from it


@dataclass(frozen=True)
class LogitMap:
    """An increasing map of probabilities: piecewise linear in logits, almost constant outside the knots.

        logit q = interpolation of (x, y) at logit p + RISE logit p

    RISE makes the map strictly increasing, so that a threshold on q selects the same answers as the threshold on p
    from which it was computed.

    x: float64 [K], increasing   y: float64 [K], not decreasing

    >>> LogitMap.line(1.0, 0.0)(np.array([0.25, 0.75])).round(6).tolist()
    [0.25, 0.75]
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]

    @classmethod
    def line(cls, a: float, b: float) -> "LogitMap":
        """logit q = a logit p + b."""
        ends = logits(np.array([0.0, 1.0]))
        return cls(ends, a * ends + b)

    def __call__(self, p: NDArray[np.floating]) -> NDArray[np.float64]:
        """The calibrated probabilities."""
        z = logits(p)
        return np.asarray(1.0 / (1.0 + np.exp(-np.interp(z, self.x, self.y) - RISE * z)), np.float64)

    def few(self, p: Sequence[float]) -> list[float]:
        """The same for a few probabilities, for which arrays would cost more than they save.

        >>> curve = LogitMap(np.array([-2.0, 0.0, 1.0]), np.array([-1.0, 0.5, 0.6]))
        >>> p = [0.0, 0.01, 0.3, 0.5, 0.6, 0.9, 1.0]
        >>> bool(np.abs(curve.few(p) - curve(np.array(p))).max() < 1e-12)
        True
        """
        x, y = self._knots
        found = []
        for one in p:
            held = min(max(one, CLIP), 1.0 - CLIP)
            z = log(held) - log1p(-held)
            k = bisect_right(x, z)
            if k == 0 or k == len(x):
                level = y[0] if k == 0 else y[-1]
            else:
                level = y[k - 1] + (y[k] - y[k - 1]) * (z - x[k - 1]) / (x[k] - x[k - 1])
            found.append(1.0 / (1.0 + exp(-level - RISE * z)))
        return found

    @cached_property
    def _knots(self) -> tuple[list[float], list[float]]:
        return self.x.tolist(), self.y.tolist()


# Fewer decisions than this are fitted by a line of two parameters, more by isotonic regression.
MANY_DECISIONS = 1000
# Number of decisions per knot of the curve, approximately.
PER_KNOT = 100
MOST_KNOTS = 50


def fitted_map(p: NDArray[np.floating], right: NDArray[np.bool_]) -> LogitMap:
    """The monotone map that makes confidences agree with the accuracy of out-of-fold decisions.

    Few decisions: Platt's line  logit q = a logit p + b  by penalised likelihood, shrunk towards a = 1, b = 0.
    Many: isotonic regression (pool adjacent violators) over bins of equal mass. Platt 1999; Zadrozny and Elkan 2002.

    p: [N], the model's probabilities of its own answers   right: bool [N]
    """
    right = np.asarray(right, bool)
    if len(right) == 0:
        return LogitMap.line(1.0, 0.0)
    if len(right) < MANY_DECISIONS:
        return LogitMap.line(*_platt(logits(p), right))
    return _isotonic(logits(p), right)


def logits(p: NDArray[np.floating]) -> NDArray[np.float64]:
    """log(p / (1 - p)), kept finite."""
    clipped = np.clip(np.asarray(p, np.float64), CLIP, 1 - CLIP)
    return np.asarray(np.log(clipped) - np.log1p(-clipped), np.float64)


def _platt(z: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, float]:
    """Newton's method on  sum log(1 + exp(-s (a z + b))) + ((a - 1)^2 + b^2) / 2,  s = +1 if right."""
    X = np.stack([z, np.ones_like(z)], axis=1)
    w = np.array([1.0, 0.0])

    def loss(w: NDArray[np.float64]) -> float:
        t = X @ w
        return float(np.logaddexp(0, np.where(right, -t, t)).sum() + ((w - [1.0, 0.0]) ** 2).sum() / 2)

    for _ in range(100):
        q = 1.0 / (1.0 + np.exp(-X @ w))
        gradient = X.T @ (q - right) + (w - [1.0, 0.0])
        curvature = (X * (q * (1 - q))[:, None]).T @ X + np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        rate, before = 1.0, loss(w)
        while loss(w - rate * step) > before and rate > 1e-6:
            rate /= 2
        w = w - rate * step
        if np.abs(rate * step).max() < 1e-9:
            break
    # A decreasing line would reverse the order of answers, so the base rate alone is used instead.
    return (float(w[0]), float(w[1])) if w[0] > 0 else (0.0, float(logits(np.array([right.mean()]))[0]))


def _isotonic(z: NDArray[np.float64], right: NDArray[np.bool_]) -> LogitMap:
    """Pool adjacent bins of equal mass until their rates increase; a knot at each block's mean."""
    order = np.argsort(z, kind="stable")
    blocks: list[list[float]] = []  # decisions, sum of logits, number correct
    for bin in np.array_split(order, min(MOST_KNOTS, len(z) // PER_KNOT)):
        blocks.append([len(bin), float(z[bin].sum()), float(right[bin].sum())])
        while len(blocks) > 1 and (
            blocks[-2][2] / blocks[-2][0] >= blocks[-1][2] / blocks[-1][0]
            or blocks[-2][1] / blocks[-2][0] >= blocks[-1][1] / blocks[-1][0] - 1e-9
        ):
            n, s, r = blocks.pop()
            blocks[-1] = [blocks[-1][0] + n, blocks[-1][1] + s, blocks[-1][2] + r]
    n, s, r = np.array(blocks).T
    x, y = s / n, logits((r + 0.5) / (n + 1.0))
    if len(x) == 1:
        return LogitMap(np.array([x[0] - 1.0, x[0] + 1.0]), np.array([y[0], y[0]]))
    return LogitMap(x, np.maximum.accumulate(y))
