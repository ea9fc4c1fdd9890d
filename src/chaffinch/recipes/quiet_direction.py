"""The direction in which weights can move for one example so that the scores of learnt examples change least.

    min over d of  sum_n (x_n . d)^2 + sum_f (r + c_f) d_f^2     subject to  x . d = |x|^2

x are the features of the example, x_n those of learnt examples, restricted to the features of x; r is the mean of x_f^2
and acts as one learnt example with one of the features, so that features without learnt examples have a cost too;
c_f = k_f x_f^2 stands for k_f further examples that have the feature f alone. The solution is a multiple of
(X'X + r I + diag c)^-1 x:  frequent features move little, and so do those that co-occur with others of x in learnt
examples. The second-order perceptron (Cesa-Bianchi et al. 2005) has the same metric.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# Occurrences of an example's features in learnt examples: learnt examples, positions among the features, values.
Shared: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

TOLERANCE = 1e-8  # of the residual, as a share of |x|
STEPS = 100


NOTHING: Shared = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)


def quiet_direction(
    x: NDArray[np.float64], shared: Shared, further: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """d: float64 [k], by conjugate gradients.

    x: float64 [k]   further: float64 [k], the numbers k_f of further examples with each feature; None: none

    >>> nine = np.arange(9), np.zeros(9, np.int64), np.ones(9)
    >>> quiet_direction(np.ones(2), nine).round(2).tolist()
    [0.18, 1.82]
    >>> quiet_direction(np.ones(2), NOTHING, np.array([9.0, 0.0])).round(2).tolist()
    [0.18, 1.82]
    """
    square, k = float(x @ x), len(x)
    if square == 0:
        return np.zeros(k)
    examples, features, values = shared
    own = square / k + (0.0 if further is None else further * x * x)
    diagonal = np.bincount(features, values * values, k) + own
    d, residual = np.zeros(k), x.copy()
    z = residual / diagonal
    along, size = z.copy(), float(residual @ z)
    for _ in range(STEPS):
        scores = np.bincount(examples, values * along[features])
        image = np.bincount(features, values * scores[examples], k) + own * along
        step = size / float(along @ image)
        d += step * along
        residual -= step * image
        if float(residual @ residual) < TOLERANCE**2 * square:
            break
        z = residual / diagonal
        before, size = size, float(residual @ z)
        along = z + size / before * along
    return np.asarray(square * d / float(x @ d), np.float64)


def shared_features(
    ids: NDArray[np.int32], ptr: NDArray[np.int64], learnt: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The occurrences of some features in learnt examples: positions in ``learnt``, examples, positions in ``ids``.

    ids: int32 [k]   ptr, learnt: the features of learnt examples, those of n are learnt[ptr[n]:ptr[n+1]]
    """
    place = np.full(1 + max(int(ids.max(initial=0)), int(learnt.max(initial=0))), -1, np.int64)
    place[ids] = np.arange(len(ids))
    at = np.flatnonzero(place[learnt] >= 0)
    return at, np.searchsorted(ptr, at, side="right") - 1, place[learnt[at]]
