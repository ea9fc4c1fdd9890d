"""Nearest neighbours: the training objects closest to x vote."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kernels import Kernel
from chaffinch.scorers.dual import Share, Shares, row_blocks


class Neighbours:
    """score(x, y) = the share of y among the k training objects nearest to x.

    d(x, x_i)^2 = k(x, x) + k(x_i, x_i) - 2 k(x, x_i)

    Ties go to the earlier object. With ``weighted``, a neighbour counts 1 / (d^2 + a small constant).

    >>> from chaffinch.kernels import LinearKernel
    >>> near = Neighbours(LinearKernel(), [[0.0], [1.0], [5.0]], np.array([0, 0, 1]), 2, k=1)
    >>> near.scores([[4.0], [0.2]])
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(
        self,
        kernel: Kernel,
        support: Any,
        labels: NDArray[np.integer[Any]],
        Y: int,
        *,
        k: int,
        weighted: bool = False,
        importance: NDArray[np.floating] | None = None,
    ) -> None:
        self.kernel = kernel.fitted(support)
        self.support = self.kernel.prepared(support)
        self.labels, self.Y, self.k, self.weighted = labels, Y, k, weighted
        self.importance = np.ones(len(labels)) if importance is None else importance
        if labels.shape != (len(self.support),) or self.importance.shape != labels.shape:
            raise DataError("expected one label for each training object")
        if len(labels) and not (labels.min() >= 0 and labels.max() < Y):
            raise DataError("a training object has a label id beyond the labels")
        self._squares = self.kernel.diagonal(self.support)

    def scores(self, objects: Any, threads: int = 0) -> NDArray[np.float64]:
        """The shares of the votes: float64 [n, Y]."""
        given = self.kernel.prepared(objects)
        out = np.empty((len(given), self.Y))
        for rows in row_blocks(len(given), len(self.support)):
            some = given.taken(rows)
            K = self.kernel.gram(some, self.support, threads=threads)
            out[rows] = self._votes(self.kernel.diagonal(some)[:, None] + self._squares - 2.0 * K)
        return out

    def shares(self, x: Any, y: int, z: int, names: Sequence[str], threads: int = 0) -> list[Shares]:
        """The votes of the neighbours of the one object in x, as shares of all votes."""
        given = self.kernel.prepared(x)
        K = self.kernel.gram(given, self.support, threads=threads)
        far = np.maximum(self.kernel.diagonal(given)[:, None] + self._squares - 2.0 * K, 0.0)
        near, weight = self._nearest(far)
        near, weight = near[0], weight[0] / weight.sum()
        s = self._votes(far)[0]
        found = []
        for i, w in zip(near.tolist(), weight.tolist(), strict=True):
            label = int(self.labels[i])
            name = f"{names[label]} at distance {np.sqrt(far[0, i]):.3g}"
            found.append(Share(name, w, float(label == y), float(label == z), i))
        return [Shares("votes", float(s[y]), float(s[z]), found)]

    def _nearest(self, far: NDArray[np.float64]) -> tuple[NDArray[np.integer], NDArray[np.floating]]:
        """The k nearest of each row and their weights."""
        near = np.argsort(far, axis=1, kind="stable")[:, : min(self.k, far.shape[1])]
        weight = self.importance[near]
        if self.weighted:
            weight = weight / (np.take_along_axis(far, near, 1) + 1e-9)
        return near, weight

    def _votes(self, far: NDArray[np.float64]) -> NDArray[np.float64]:
        far = np.maximum(far, 0.0)
        near, weight = self._nearest(far)
        votes = np.zeros((len(far), self.Y))
        np.add.at(votes, (np.arange(len(far))[:, None], self.labels[near]), weight)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))
