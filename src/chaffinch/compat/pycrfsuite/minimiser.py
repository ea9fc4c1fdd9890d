"""L-BFGS and OWL-QN in double precision, with the stopping criteria of CRFsuite."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Objective = Callable[[Vector], tuple[float, Vector]]

ARMIJO, WOLFE = 1e-4, 0.9


@dataclass(frozen=True)
class Step:
    """One step: where it ended, f + c1 |w|, the norm of the (pseudo-)gradient, and the line search."""

    w: Vector
    value: float
    gradient_norm: float
    trials: int
    length: float


def minimise(
    f: Objective,
    w: Vector,
    c1: float,
    *,
    memory: int,
    epsilon: float,
    period: int,
    delta: float,
    iterations: int,
    trials: int,
) -> Iterator[Step]:
    """Steps that lower f(w) + c1 |w|_1, until a criterion of CRFsuite is met or no step lowers it.

    epsilon: the gradient's norm over max(1, |w|)   delta: the relative change over ``period`` steps

    >>> steps = minimise(lambda w: (float((w - 3) @ (w - 3)), 2 * (w - 3)), np.zeros(1), 2.0, memory=6, epsilon=1e-9,
    ...                   period=0, delta=0.0, iterations=50, trials=20)
    >>> round(float(list(steps)[-1].w[0]), 6)
    2.0
    """
    value, gradient = f(w)
    value += c1 * float(np.abs(w).sum())
    slope = _pseudo_gradient(w, gradient, c1)
    if norm(slope) <= epsilon * max(1.0, norm(w)):
        return
    pairs: deque[tuple[Vector, Vector]] = deque(maxlen=max(1, memory))
    before: list[float] = []
    for _ in range(iterations):
        direction = _two_loops(slope, pairs)
        if c1 > 0:
            direction[direction * slope >= 0] = 0.0
        first = 1.0 if pairs else 1 / norm(slope)
        found = _line_search(f, w, value, slope, direction, first, c1, trials)
        if found is None:
            if not pairs:
                return
            pairs.clear()  # the stored steps give no descent direction: use the gradient
            continue
        there, new_value, new_gradient, tried, length = found
        change, turn = there - w, new_gradient - gradient
        if _dot(change, turn) > 1e-12 * _dot(turn, turn):
            pairs.append((change, turn))
        w, gradient, value = there, new_gradient, new_value
        slope = _pseudo_gradient(w, gradient, c1)
        size = norm(slope)
        yield Step(w, value, size, tried, length)
        if size <= epsilon * max(1.0, norm(w)):
            return
        before.append(value)
        if 0 < period < len(before) and before[-1 - period] - value < delta * value:
            return


def norm(w: Vector) -> float:
    """The Euclidean norm."""
    return float(np.sqrt(_dot(w, w)))


def _dot(a: Vector, b: Vector) -> float:
    """a.b in one thread: BLAS starts several for vectors of this size, which then wait for each other."""
    return float(np.einsum("i,i->", a, b))


def _two_loops(slope: Vector, pairs: deque[tuple[Vector, Vector]]) -> Vector:
    """The direction -H slope by the two loops of L-BFGS."""
    q, alphas = -slope, []
    for s, y in reversed(pairs):
        alpha = _dot(s, q) / _dot(s, y)
        q = q - alpha * y
        alphas.append(alpha)
    if pairs:
        s, y = pairs[-1]
        q = q * (_dot(s, y) / _dot(y, y))
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q = q + (alpha - _dot(y, q) / _dot(s, y)) * s
    return q


def _line_search(
    f: Objective,
    w: Vector,
    value: float,
    slope: Vector,
    direction: Vector,
    first: float,
    c1: float,
    trials: int,
) -> tuple[Vector, float, Vector, int, float] | None:
    """A point that meets the Wolfe conditions, by bisection; with c1, Armijo's within the orthant of w.

    If trials run out, the best point that lowers the value enough; None: there is none.
    """
    down = _dot(slope, direction)
    if not down < 0:
        return None
    low, high, step = 0.0, np.inf, first
    orthant = np.where(w != 0, np.sign(w), -np.sign(slope))
    kept = None
    for tried in range(1, trials + 1):
        there = w + step * direction
        if c1 > 0:
            there[there * orthant <= 0] = 0.0
        new, gradient = f(there)
        new += c1 * float(np.abs(there).sum())
        fall = _dot(slope, there - w)
        if not new <= value + ARMIJO * fall or not new < value:
            high = step
        else:
            kept = (there, new, gradient, tried, step)
            if c1 > 0 or _dot(gradient, direction) >= WOLFE * down:
                return kept
            low = step
        step = 2 * step if high == np.inf else (low + high) / 2
    return kept


def _pseudo_gradient(w: Vector, gradient: Vector, c1: float) -> Vector:
    """The gradient of f + c1 |w|; at zero, the one-sided derivative with descent, or 0."""
    if c1 == 0:
        return gradient
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - c1, 0.0)
    return np.where(w != 0, gradient + c1 * np.sign(w), at_zero)
