"""The direction along which weights can move for one example while the scores of learnt examples change least.

    min over d of  sum_n (x_n . d)^2 + r |d|^2     subject to  x . d = |x|^2          r: the mean of x_f^2

x are the features of the example, x_n those of learnt examples, confined to the features of x; r stands for one learnt
example with one of the features, so that features that no learnt example has are not infinitely cheap. The solution is
a multiple of  (X'X + r I)^-1 x:  frequent features move little, and so do those that occur together with others of x in
learnt examples. The second-order perceptron (Cesa-Bianchi et al. 2005) has the same metric.
"""

import numpy as np
from numpy.typing import NDArray


def quiet_direction(x: NDArray[np.floating], learnt: NDArray[np.floating]) -> NDArray[np.float64]:
    """d: float64 [k].

    x: [k]   learnt: [N, k], learnt examples by the features of x

    >>> quiet_direction(np.ones(2), np.array([[1.0, 0.0]] * 9)).round(2).tolist()
    [0.18, 1.82]
    """
    x, X = np.asarray(x, np.float64), np.asarray(learnt, np.float64)
    square = float(x @ x)
    if square == 0:
        return np.zeros(len(x))
    r = square / len(x)
    if len(x) <= len(X):
        d = np.linalg.solve(X.T @ X + r * np.eye(len(x)), x)
    else:  # the same by the smaller matrix X X'
        d = (x - X.T @ np.linalg.solve(X @ X.T + r * np.eye(len(X)), X @ x)) / r
    return np.asarray(square * d / float(x @ d), np.float64)


def shared_features(
    ids: NDArray[np.int32], ptr: NDArray[np.int64], learnt: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where learnt examples have some features: places in ``learnt``, examples, places in ``ids``.

    ids: int32 [k], rising   ptr, learnt: the features of learnt examples, those of n are learnt[ptr[n]:ptr[n+1]]
    """
    place = np.searchsorted(ids, learnt)
    at = np.flatnonzero(ids[np.minimum(place, len(ids) - 1)] == learnt)
    return at, np.searchsorted(ptr, at, side="right") - 1, place[at]
