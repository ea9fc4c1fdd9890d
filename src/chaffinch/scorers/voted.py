"""The voted perceptron: every hypothesis votes with the number of examples that it survived."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kernels import Kernel
from chaffinch.scorers.dual import Share, Shares, row_blocks


class Voted:
    """score(x, y) = sum over hypotheses t of  survived_t [y = argmax_y' f_t(x, y')]

    f_t(x, .) = f_{t-1}(x, .) and, at the labels of mistake t, + and - k(x_t, x).

    Freund and Schapire 1999, "Large margin classification using the perceptron algorithm".

    support:  the examples on which mistakes were made, as the kernel prepared them
    mistakes: int [M, 3]: number of the support example, its label, the label predicted for it, in the order of learning
    survived: float64 [M + 1], the number of examples that each hypothesis survived, the empty one first
    """

    def __init__(
        self,
        kernel: Kernel,
        support: Any,
        mistakes: NDArray[np.integer[Any]],
        survived: NDArray[np.float64],
        Y: int,
    ) -> None:
        self.kernel = kernel.fitted(support)
        self.support = self.kernel.prepared(support)
        self.mistakes, self.survived, self.Y = mistakes, survived, Y
        most = np.array([len(self.support), Y, Y])
        if (
            mistakes.ndim != 2
            or mistakes.shape[1] != 3
            or survived.shape != (len(mistakes) + 1,)
            or (mistakes < 0).any()
            or (mistakes >= most).any()
        ):
            raise DataError(
                "a mistake of the voted perceptron names a support example or label that does not exist"
            )

    def scores(self, objects: Any, threads: int = 0) -> NDArray[np.float64]:
        """The shares of the votes: float64 [n, Y]."""
        given = self.kernel.prepared(objects)
        out = np.empty((len(given), self.Y))
        for rows in row_blocks(len(given), len(self.support)):
            out[rows] = self.of_block(self.kernel.rows(given, rows, self.support, threads))
        return out

    def of_block(self, K: NDArray[np.floating]) -> NDArray[np.float64]:
        """The scores given the Gram block of objects and support [n, support]."""
        n = len(K)
        f, votes = np.zeros((n, self.Y)), np.zeros((n, self.Y))
        every = np.arange(n)
        votes[:, 0] += self.survived[0]
        for (i, y, y_hat), times in zip(self.mistakes.tolist(), self.survived[1:].tolist(), strict=True):
            f[:, y] += K[:, i]
            f[:, y_hat] -= K[:, i]
            votes[every, f.argmax(axis=1)] += times
        return np.asarray(votes / self.survived.sum())

    def shares(self, x: Any, y: int, z: int, names: Sequence[str], threads: int = 0) -> list[Shares]:
        """The votes of the hypotheses for two labels, of the one object in x."""
        K = self.kernel.gram(x, self.support, threads=threads)[0]
        f, total = np.zeros(self.Y), float(self.survived.sum())
        first = float(self.survived[0]) / total
        found = [Share("the empty hypothesis", first, float(y == 0), float(z == 0))]
        rows = zip(self.mistakes.tolist(), self.survived[1:].tolist(), strict=True)
        for number, ((i, right, wrong), times) in enumerate(rows, 1):
            f[right] += K[i]
            f[wrong] -= K[i]
            voted = int(f.argmax())
            if voted in (y, z):
                name = f"hypothesis {number}, learnt from"
                found.append(Share(name, times / total, float(voted == y), float(voted == z), i))
        s = self.of_block(K[None])[0]
        return [Shares("votes", float(s[y]), float(s[z]), found)]
