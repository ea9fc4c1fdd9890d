"""A small quadratic programme over a simplex, by pairs of coordinates.

    minimise  a' G a / 2 - b . a      over  a >= 0,  sum a = 1

The gradient's best coordinate takes mass from the worst one that has any; the step along a pair is in closed form. (The
pair chosen is the one that promises most: Platt 1998; Fan, Chen and Lin 2005.)
"""

import numpy as np
from numpy.typing import NDArray

MOST_STEPS = 20_000


def simplex_minimum(
    G: NDArray[np.float64], b: NDArray[np.float64], start: NDArray[np.float64], tolerance: float = 1e-9
) -> NDArray[np.float64]:
    """The minimising a [K], from a start on the simplex.

    >>> simplex_minimum(np.eye(2), np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array([1., 0.])
    >>> simplex_minimum(np.eye(3), np.zeros(3), np.array([1.0, 0.0, 0.0])).round(3)
    array([0.333, 0.333, 0.333])
    """
    a = start.copy()
    up = b - G @ a
    diagonal = np.diag(G)
    for _ in range(MOST_STEPS):
        i = int(np.argmax(up))
        lead = up[i] - up
        curvature = np.maximum(diagonal[i] + diagonal - 2 * G[i], 1e-12)
        promise = np.where((a > 0) & (lead > 0), lead * np.minimum(lead / curvature, a), 0.0)
        j = int(np.argmax(promise))
        if lead[a > 0].max() <= tolerance or promise[j] <= 0:
            break
        step = min(a[j], lead[j] / curvature[j])
        a[i] += step
        a[j] = 0.0 if step == a[j] else a[j] - step
        up -= step * (G[:, i] - G[:, j])
    return a
