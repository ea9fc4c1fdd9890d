"""Best beginnings and best ends of a long chain, so that questions about a few of its tokens need not read it all.

before[t, y] = the best of all labels before t, the pair that leads to y included
after[t, y]  = the best of all labels after t, the pair that leaves y included
"""

import numpy as np
from numpy.typing import NDArray

from chaffinch.structures import Parts


class ChainMessages:
    """Those of a chain of order 1.

    >>> chain = ChainMessages(Parts(unary=np.array([[1.0, 0.0], [0.0, 3.0], [0.0, 0.0]]), pair=np.eye(2)))
    >>> chain.with_label(np.array([1, 1, 1], np.int32), 1, np.array([True, False]))
    array([0, 0, 0], dtype=int32)
    """

    def __init__(self, potentials: Parts) -> None:
        self.unary = potentials["unary"]
        T, Y = self.unary.shape
        self.pair = _pair(potentials, T, Y)
        self.before, self.after = np.zeros((T, Y)), np.zeros((T, Y))
        if "start" in potentials:
            self.before[0] = potentials["start"]
        if "end" in potentials:
            self.after[-1] = potentials["end"]
        for t in range(1, T):
            ends = self.before[t - 1] + self.unary[t - 1]
            self.before[t] = (ends[:, None] + self.pair[t - 1]).max(axis=0)
        for t in range(T - 2, -1, -1):
            begins = self.unary[t + 1] + self.after[t + 1]
            self.after[t] = (self.pair[t] + begins).max(axis=1)

    def with_label(
        self, y: NDArray[np.int32], t: int, allowed: NDArray[np.bool_]
    ) -> NDArray[np.int32] | None:
        """The best labelling that has one of these labels at t, given y, the best of all; None where there is none."""
        best = np.where(allowed, self.before[t] + self.unary[t] + self.after[t], -np.inf)
        if not np.isfinite(best.max()):
            return None
        found = y.copy()
        found[t] = best.argmax()
        for u in range(t - 1, -1, -1):  # where it meets y again, it is y
            found[u] = (self.before[u] + self.unary[u] + self.pair[u][:, found[u + 1]]).argmax()
            if found[u] == y[u]:
                break
        for u in range(t + 1, len(y)):
            found[u] = (self.pair[u - 1][found[u - 1]] + self.unary[u] + self.after[u]).argmax()
            if found[u] == y[u]:
                break
        return found

    def stretch(self, changed: Parts, first: int, last: int) -> Parts:
        """Tokens first to last of potentials that changed nowhere else, as a chain that ends as the whole does."""
        T, Y = self.unary.shape
        return Parts(
            unary=changed["unary"][first : last + 1],
            pair=np.ascontiguousarray(_pair(changed, T, Y)[first:last]),
            start=self.before[first],
            end=self.after[last],
        )


def _pair(potentials: Parts, T: int, Y: int) -> NDArray[np.floating]:
    """By position [T - 1, Y, Y], nothing copied."""
    pair = potentials["pair"] if "pair" in potentials else np.zeros((Y, Y))
    return pair if pair.ndim == 3 else np.broadcast_to(pair, (T - 1, Y, Y))
