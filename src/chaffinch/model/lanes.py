"""Tables of weights as the native code reads them: rows of whole vectors."""

import numpy as np
from numpy.typing import NDArray


def with_lanes(w: NDArray[np.float32]) -> NDArray[np.float32]:
    """A table [F+1, Y] with columns of zeros up to whole vectors."""
    F, Y = w.shape
    wide = np.zeros((F, -(-Y // 8) * 8), dtype=np.float32)
    wide[:, :Y] = w
    return wide
