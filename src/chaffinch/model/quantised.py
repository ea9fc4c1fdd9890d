"""Tables of weights: in eight bits with one scale per row, and padded to whole vectors for the core.

q[f][y] = round(w[f][y] / s[f]),   s[f] = max over y of |w[f][y]| / 127, rounded up to 16 bits
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import round_rows


def quantised(
    w: NDArray[np.float32], Y: int, threads: int = 0
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """q int8 [F, Y] and s float32 [F] of the first Y columns; w is rounded in place to the values of the codes.

    >>> w = np.array([[127.0, -63.6], [0.0, 0.0]], np.float32)
    >>> q, s = quantised(w, 2)
    >>> q.tolist(), s.tolist(), w[0].tolist()
    ([[127, -64], [0, 0]], [1.0, 0.0], [127.0, -64.0])
    """
    q, s = np.empty((len(w), Y), dtype=np.int8), np.empty(len(w), dtype=np.float32)
    round_rows(w, threads, q, s)
    return q, s


def short_scales(s: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The scales of rows in 16 bits each, as a file keeps them: the upper half of a float."""
    return (s.view(np.uint32) >> 16).astype(np.uint16)


def full_scales(s: NDArray[Any]) -> NDArray[np.float32]:
    """The inverse of ``short_scales``; scales that are float32 are returned unchanged.

    >>> full_scales(short_scales(np.array([1.5, 0.0], np.float32))).tolist()
    [1.5, 0.0]
    """
    return (s.astype(np.uint32) << 16).view(np.float32) if s.dtype == np.uint16 else s


def restored(q: NDArray[np.int8], s: NDArray[np.float32]) -> NDArray[np.float32]:
    """The weights of eight-bit codes."""
    return np.asarray(q.astype(np.float32) * s[:, None])


def with_lanes(w: NDArray[np.float32]) -> NDArray[np.float32]:
    """A table [F+1, Y] with columns of zeros up to whole vectors."""
    F, Y = w.shape
    wide = np.zeros((F, -(-Y // 8) * 8), dtype=np.float32)
    wide[:, :Y] = w
    return wide
