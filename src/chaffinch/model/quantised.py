"""Tables of weights in eight bits: one scale per row, 127 steps to either side of zero.

q[f][y] = round(w[f][y] / s[f]),   s[f] = max over y of |w[f][y]| / 127
"""

import numpy as np
from numpy.typing import NDArray


def quantised(w: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """q int8 [F, Y] and s float32 [F].

    >>> q, s = quantised(np.array([[127.0, -63.5], [0.0, 0.0]], np.float32))
    >>> q.tolist(), s.tolist()
    ([[127, -64], [0, 0]], [1.0, 0.0])
    """
    s = (np.abs(w).max(axis=1, initial=0.0) / np.float32(127)).astype(np.float32)
    inverse = np.divide(np.float32(1), s, out=np.zeros_like(s), where=s > np.finfo(np.float32).tiny)
    return np.rint(w * inverse[:, None]).astype(np.int8), s


def restored(q: NDArray[np.int8], s: NDArray[np.float32]) -> NDArray[np.float32]:
    """The weights that eight bits stand for."""
    return np.asarray(q.astype(np.float32) * s[:, None])
