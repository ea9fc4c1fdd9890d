"""Best beginnings and best ends of a long chain, so that questions about a few of its tokens need not read it all.

before[t, y] = the best of all labels before t, the pair that leads to y included
after[t, y]  = the best of all labels after t, the pair that leaves y included
"""

import numpy as np
from numpy.typing import NDArray

from chaffinch.structures import Chain, Parts


class ChainMessages:
    """Those of a chain of order 1.

    >>> messages = ChainMessages(Parts(unary=np.array([[1.0, 0.0], [0.0, 3.0], [0.0, 0.0]]), pair=np.eye(2)))
    >>> changed = Parts(unary=np.array([[0.0, -np.inf]]), pair=np.eye(2))
    >>> messages.best(Chain(2), changed, 1, np.array([1, 1, 1], np.int32))
    array([0, 0, 0], dtype=int32)
    """

    def __init__(self, potentials: Parts) -> None:
        self.unary = potentials["unary"]
        T, Y = self.unary.shape
        pair = potentials["pair"] if "pair" in potentials else np.zeros((Y, Y))
        self.pair = pair if pair.ndim == 3 else np.broadcast_to(pair, (T - 1, Y, Y))
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

    def best(self, chain: Chain, changed: Parts, first: int, y: NDArray[np.int32]) -> NDArray[np.int32]:
        """The best labelling of potentials that changed on a stretch from ``first`` on and nowhere else.

        changed: the potentials of the stretch   y: the best labelling before the change
        DataError if no labelling is possible
        """
        last = first + len(changed["unary"]) - 1
        blocks = {"unary": changed["unary"], "start": self.before[first], "end": self.after[last]}
        if "pair" in changed:
            blocks["pair"] = np.ascontiguousarray(changed["pair"])
        found = y.copy()
        found[first : last + 1] = chain.argmax(Parts(**blocks))
        # Once it meets y again, it is y.
        for u in range(first - 1, -1, -1) if found[first] != y[first] else ():
            found[u] = (self.before[u] + self.unary[u] + self.pair[u][:, found[u + 1]]).argmax()
            if found[u] == y[u]:
                break
        for u in range(last + 1, len(y)) if found[last] != y[last] else ():
            found[u] = (self.pair[u - 1][found[u - 1]] + self.unary[u] + self.after[u]).argmax()
            if found[u] == y[u]:
                break
        return found
