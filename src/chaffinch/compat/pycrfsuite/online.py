"""The online algorithms of CRFsuite: averaged perceptron, passive-aggressive, AROW.

For the gold labels y and the best labels y' of a sequence, d = f(x, y) - f(x, y') over the features of the model.
Sequences are visited in a new random order for each iteration; CRFsuite's orders differ.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.compat.pycrfsuite.problem import FeatureCells, LabelledItems
from chaffinch.structures import Chain, Parts

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class CellMistake:
    """The cells with d != 0 and their d, the score of y' minus that of y, and the wrong labels out of ``length``."""

    cells: NDArray[np.int64]
    d: Vector
    excess: float
    wrong: int
    length: int


# For a mistake: the step of each cell, and the loss.
Rule = Callable[[CellMistake], tuple[Vector, float]]


def perceptron() -> Rule:
    """w += d; the loss is the share of wrong labels."""
    return lambda m: (m.d, m.wrong / m.length)


def passive_aggressive(kind: int, c: float, error_sensitive: bool) -> Rule:
    """w += tau d, tau = loss / |d|^2, at most c (type 1), or loss / (|d|^2 + 1 / 2c) (type 2).

    The loss is w.f(x, y') - w.f(x, y) plus the square root of the number of wrong labels, or plus 1.
    """

    def step(m: CellMistake) -> tuple[Vector, float]:
        loss = m.excess + (np.sqrt(m.wrong) if error_sensitive else 1.0)
        square = float(m.d @ m.d)
        if kind == 2:
            square += 0.5 / c
        tau = loss / square if square else 0.0
        return (min(c, tau) if kind == 1 else tau) * m.d, float(loss)

    return step


def arow(variance: float, gamma: float, size: int) -> Rule:
    """w += alpha sigma d, alpha = loss / (sum of sigma d^2 + gamma), and 1 / sigma += d^2 / gamma.

    The loss is w.f(x, y') - w.f(x, y) plus the number of wrong labels.
    """
    sigma = np.full(size, variance)

    def step(m: CellMistake) -> tuple[Vector, float]:
        loss = m.excess + m.wrong
        here = sigma[m.cells]
        moved = loss / (float(here @ (m.d * m.d)) + gamma) * here * m.d
        sigma[m.cells] = 1 / (1 / here + m.d * m.d / gamma)
        return moved, float(loss)

    return step


def iterations(
    data: LabelledItems,
    features: FeatureCells,
    rule: Rule,
    *,
    most: int,
    average: bool,
    stops: Callable[[float], bool],
) -> Iterator[tuple[Vector, float]]:
    """The weights of the features after each iteration, and the sum of the losses.

    stops: whether training ends at this mean loss
    """
    A, Y = features.A, features.Y
    w, late = np.zeros(A * Y + Y * Y), np.zeros(A * Y + Y * Y)  # late: steps times their number
    has = np.zeros(len(w), bool)
    has[features.cells] = True
    chain: Any = Chain(Y)
    every = data.each()
    chance, number = np.random.default_rng(0), 1
    for _ in range(most):
        total = 0.0
        for n in chance.permutation(len(every)).tolist():
            mistake = _mistake(every[n], chain, w, has, A, Y)
            if mistake is not None:
                step, loss = rule(mistake)
                w[mistake.cells] += step
                late[mistake.cells] += number * step
                total += loss
            number += 1
        yield (w - late / number if average else w)[features.cells], total
        if stops(total / max(1, len(every))):
            return


def _mistake(
    x: LabelledItems, chain: Any, w: Vector, has: NDArray[np.bool_], A: int, Y: int
) -> CellMistake | None:
    T = len(x.y)
    unary = np.zeros((T, Y))
    np.add.at(unary, x.items, w[: A * Y].reshape(A, Y)[x.ids] * x.values[:, None])
    best = chain.argmax(Parts(unary=unary, pair=w[A * Y :].reshape(Y, Y)))
    wrong = int((best != x.y).sum())
    if not wrong:
        return None
    cells, values = [], []
    for labels, sign in ((x.y.astype(np.int64), 1.0), (best.astype(np.int64), -1.0)):
        cells += [x.ids * np.int64(Y) + labels[x.items], A * Y + labels[:-1] * Y + labels[1:]]
        values += [sign * x.values.astype(np.float64), np.full(T - 1, sign)]
    found, place = np.unique(np.concatenate(cells), return_inverse=True)
    d = np.bincount(place, np.concatenate(values), minlength=len(found))
    kept = has[found] & (d != 0)
    found, d = found[kept], d[kept]
    return CellMistake(found, d, -float(w[found] @ d), wrong, T)
