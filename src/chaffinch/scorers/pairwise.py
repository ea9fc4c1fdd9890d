"""One-vs-one: a machine for each pair of labels, and their votes."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kernels import Kernel
from chaffinch.scorers.dual import Share, Shares

# Objects per block of voting, so that their margins stay in the cache.
VOTED_ROWS = 512


class Pairwise:
    """f_yz(x) = sum over support examples i of y and z of  alpha_i(z or y) k(x_i, x)  +  b_yz,   y < z

    Each pair's machine gives one vote: to y if f_yz > 0, else to z. Ties are broken by the sum of the
    margins. Between two labels, the scores are +f/2 and -f/2.

    support:    support examples in the order of their labels, as the kernel prepared them
    labels:     int [support], the label of each, ascending
    alpha:      float32 [support, Y]: column z holds the coefficient in the machine of its own label and z
    intercepts: float64 [Y, Y], b_yz in the upper triangle
    """

    def __init__(
        self,
        kernel: Kernel,
        support: Any,
        labels: NDArray[np.integer[Any]],
        alpha: NDArray[np.float32],
        intercepts: NDArray[np.float64],
    ) -> None:
        self.kernel = kernel.fitted(support)
        self.support = self.kernel.prepared(support)
        self.labels, self.alpha, self.intercepts = labels, alpha, intercepts
        Y = len(intercepts)
        if (
            alpha.shape != (len(self.support), Y)
            or intercepts.shape != (Y, Y)
            or labels.shape != (len(alpha),)
            or (len(labels) and not (labels.min() >= 0 and labels.max() < Y))
            or (np.diff(labels) < 0).any()
        ):
            raise DataError(
                "expected coefficients of pairs of labels for every support example, sorted by label"
            )

    @property
    def Y(self) -> int:
        """The number of labels."""
        return len(self.intercepts)

    def margins(self, objects: Any, threads: int = 0) -> NDArray[np.float64]:
        """f_yz of new objects: float64 [n, pairs], pairs (0, 1), (0, 2) ... (1, 2) ..."""
        return self._pairs(self._sums(objects, threads))

    def scores(self, objects: Any, threads: int = 0) -> NDArray[np.float64]:
        """Votes, plus less than half a vote for the sum of margins, which breaks ties: float64 [n, Y]."""
        sums = self._sums(objects, threads)
        found = np.empty((len(sums), self.Y))
        for first in range(0, len(sums), VOTED_ROWS):
            part = slice(first, first + VOTED_ROWS)
            found[part] = voted(self._pairs(sums[part]), self.Y)
        return found

    def of_block(self, K: NDArray[np.floating]) -> NDArray[np.float64]:
        """The scores given the Gram block of objects and support [n, support]."""
        bounds = np.searchsorted(self.labels, np.arange(self.Y + 1))
        parts = [K[:, a:b] @ self.alpha[a:b] for a, b in pairwise(bounds.tolist())]
        return voted(self._pairs(np.stack(parts, axis=1)), self.Y)

    def shares(self, x: Any, y: int, z: int, names: Sequence[str], threads: int = 0) -> list[Shares]:
        """The votes for two labels of the one object in x, and their own machine by its support examples."""
        K = self.kernel.gram(x, self.support, threads=threads)[0] if len(self.labels) else np.zeros(0)
        margins = self.margins(x, threads)
        alone = self._machine(K, y, z, names)
        if self.Y == 2:
            return [alone._replace(what="scores")]
        s, f = voted(margins, self.Y)[0], np.zeros((self.Y, self.Y))
        f[np.triu_indices(self.Y, 1)] = margins[0]
        won = np.triu(f > 0, 1) | np.tril(f.T <= 0, -1)  # [a, b]: the vote of a and b goes to a
        found = []
        for other in range(self.Y):
            name, mine, theirs = _against(other, y, z, won, np.abs(f + f.T), names)
            if mine or theirs:
                found.append(Share(name, 1.0, float(mine), float(theirs)))
        settled = s - won.sum(axis=1)
        found.append(Share("sum of the margins", 1.0, float(settled[y]), float(settled[z])))
        return [Shares("votes", float(s[y]), float(s[z]), found), alone]

    def _machine(self, K: NDArray[np.floating], y: int, z: int, names: Sequence[str]) -> Shares:
        """The machine of two labels: half its margin for the first, half against the second."""
        low, high = min(y, z), max(y, z)
        sign = 0.5 if y == low else -0.5
        alpha = np.where(self.labels == low, self.alpha[:, high], self.alpha[:, low])
        alpha = np.where((self.labels == low) | (self.labels == high), alpha, 0.0).astype(np.float64) * sign
        found = [
            Share(names[self.labels[i]], float(K[i]), float(alpha[i]), -float(alpha[i]), i)
            for i in np.flatnonzero(alpha * K).tolist()
        ]
        bias = sign * float(self.intercepts[low, high])
        f = float(K @ alpha) + bias if len(K) else bias
        found.append(Share("intercept", 1.0, bias, -bias))
        return Shares(f"{names[y]} against {names[z]} alone", f, -f, found)

    def _sums(self, objects: Any, threads: int) -> NDArray[np.floating]:
        """The contribution of each label's support to each of its machines: [n, Y, Y]."""
        bounds = np.searchsorted(self.labels, np.arange(self.Y + 1)).astype(np.int64)
        given = self.kernel.prepared(objects)
        return self.kernel.grouped_expansion(given, self.support, bounds, self.alpha, threads=threads)

    def _pairs(self, sums: NDArray[np.floating]) -> NDArray[np.float64]:
        """sums: [n, Y, Y], the part of each label's support in each of its machines."""
        y, z = np.triu_indices(self.Y, 1)
        return np.asarray(sums[:, y, z] + sums[:, z, y] + self.intercepts[y, z], np.float64)


def _against(
    other: int, y: int, z: int, won: NDArray[np.bool_], by: NDArray[np.float64], names: Sequence[str]
) -> tuple[str, bool, bool]:
    """The answers of the machines of two labels and a third, in words, and whether they vote for y and z.

    If ``other`` is y or z, it is the machine of these two, reported once.
    """
    if other in (y, z):
        first, second = (y, z) if won[y, z] else (z, y)
        told = other == first
        return (
            f"{names[first]} beats {names[second]} by {by[y, z]:.3g}",
            told and first == y,
            told and first == z,
        )
    mine, theirs = bool(won[y, other]), bool(won[z, other])
    if mine and theirs:
        return f"both beat {names[other]}", True, True
    first, second = (y, z) if mine else (z, y)
    name = (
        f"{names[first]} beats {names[other]} by {by[first, other]:.3g}, "
        f"{names[second]} loses to it by {by[second, other]:.3g}"
    )
    return name, mine, theirs


def voted(margins: NDArray[np.float64], Y: int) -> NDArray[np.float64]:
    """The scores of labels from the margins of their pairs [n, pairs]."""
    if Y == 2:
        return np.concatenate([margins, -margins], axis=1) / 2
    votes, sums = np.zeros((len(margins), Y)), np.zeros((len(margins), Y))
    pairs = list(zip(*np.triu_indices(Y, 1), strict=True))
    for label in range(Y):
        mine = [p for p, (y, _) in enumerate(pairs) if y == label]
        others = [p for p, (_, z) in enumerate(pairs) if z == label]
        votes[:, label] = (margins[:, mine] > 0).sum(axis=1) + (margins[:, others] <= 0).sum(axis=1)
        sums[:, label] = margins[:, mine].sum(axis=1) - margins[:, others].sum(axis=1)
    return votes + sums / (3 * (np.abs(sums) + 1))
