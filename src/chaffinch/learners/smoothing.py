"""Smoothing: from counts to probabilities that sum to one.

Counts are a matrix c [contexts, outcomes]; each estimate below returns P [contexts, outcomes] whose rows sum
to one, also for a context that was never seen. Letters: c(h, x) the count of outcome x in context h, c(h) the
row sum, n(h) the number of distinct outcomes seen in h, X the number of outcomes.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def smoothed(counts: Matrix, smoothing: str, amount: float) -> Matrix:
    """The estimate called ``smoothing``; ``amount`` is its k or its discount.

    >>> counts = np.array([[3.0, 1.0, 0.0]])
    >>> smoothed(counts, "none", 0.0).round(3).tolist()
    [[0.75, 0.25, 0.0]]
    >>> smoothed(counts, "add-k", 1.0).round(3).tolist()
    [[0.571, 0.286, 0.143]]
    >>> smoothed(counts, "absolute", 0.5).round(3).tolist()
    [[0.625, 0.125, 0.25]]
    """
    return _ESTIMATES[smoothing](counts, amount)


def maximum_likelihood(counts: Matrix, _: float = 0.0) -> Matrix:
    """P(x|h) = c(h, x) / c(h); a context never seen gets the uniform distribution."""
    totals = counts.sum(axis=1, keepdims=True)
    uniform = np.full_like(counts, 1.0 / counts.shape[1])
    return np.divide(counts, totals, out=uniform, where=totals > 0)


def add_k(counts: Matrix, k: float) -> Matrix:
    """P(x|h) = (c(h, x) + k) / (c(h) + k X)."""
    return maximum_likelihood(counts + k)


def absolute_discounting(counts: Matrix, d: float) -> Matrix:
    """P(x|h) = (c(h, x) - d) / c(h) if x was seen; the discounted mass is shared equally by the unseen.

    The mass is d n(h) / c(h), so an unseen x gets d n(h) / (c(h) (X - n(h))). If no outcome is unseen,
    nothing is discounted. Ney, Essen and Kneser 1994.
    """
    seen = counts > 0
    n = seen.sum(axis=1, keepdims=True)
    unseen = counts.shape[1] - n
    d_row = np.where((unseen > 0) & (n > 0), d, 0.0)
    share = np.divide(d_row * n, unseen, out=np.zeros_like(counts[:, :1]), where=unseen > 0)
    return maximum_likelihood(np.where(seen, np.maximum(counts - d_row, 0.0), share))


def kneser_ney(counts: Matrix, d: float) -> Matrix:
    """P(x|h) = max(c(h, x) - d, 0) / c(h) + d n(h) / c(h) * P_1(x), interpolated for every x.

    P_1(x) counts the contexts of x, not its occurrences: (n(x) + 1) / sum over x' of (n(x') + 1), the
    one for outcomes never seen. Kneser and Ney 1995, with Chen and Goodman's interpolation.
    """
    contexts = (counts > 0).sum(axis=0).astype(np.float64) + 1.0
    lower = contexts / contexts.sum()
    totals = counts.sum(axis=1, keepdims=True)
    kept = np.maximum(counts - d, 0.0)
    taken = totals - kept.sum(axis=1, keepdims=True)
    mixed = kept + np.where(totals > 0, taken, 1.0) * lower
    return mixed / mixed.sum(axis=1, keepdims=True)


def backed_off(counts: Matrix, lower: Matrix, strength: float) -> Matrix:
    """P(x|h) = (c(h, x) + s P_lower(x)) / (c(h) + s): the counts of h, and s pseudo-counts from a wider context.

    lower: [contexts, outcomes], rows summing to one. MacKay and Peto 1995.
    """
    return (counts + strength * lower) / (counts.sum(axis=1, keepdims=True) + strength)


def deleted_interpolation(trigrams: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(z|x, y) = l1 P(z) + l2 P(z|y) + l3 P(z|x, y), with weights set by leaving each trigram out once.

    trigrams: c [X, Y, Z] over all histories; the two shorter estimates are its margins. For each trigram the
    order of model that predicts it best with its own occurrence removed gets its count (Brants 2000,
    "TnT", figure 1). Returns P [X, Y, Z] and the weights l [3].
    """
    bigrams = trigrams.sum(axis=0)
    unigrams = bigrams.sum(axis=0)
    history2 = trigrams.sum(axis=2, keepdims=True)
    history1 = bigrams.sum(axis=1, keepdims=True)

    def left_out(count: NDArray[np.float64], history: NDArray[np.float64] | float) -> NDArray[np.float64]:
        below = np.asarray(history - 1.0)
        return np.divide(count - 1.0, below, out=np.zeros_like(trigrams), where=below > 0)

    ratios = np.stack(
        [
            left_out(np.broadcast_to(unigrams, trigrams.shape), float(unigrams.sum())),
            left_out(np.broadcast_to(bigrams, trigrams.shape), np.broadcast_to(history1, trigrams.shape)),
            left_out(trigrams, np.broadcast_to(history2, trigrams.shape)),
        ]
    )
    winner = ratios.argmax(axis=0)
    weights = np.array([trigrams[winner == order].sum() for order in range(3)])
    weights = weights / weights.sum() if weights.sum() > 0 else np.array([1.0, 0.0, 0.0])

    p1 = maximum_likelihood(unigrams[None, :])
    p2 = np.where(history1 > 0, maximum_likelihood(bigrams), p1)
    flat = trigrams.reshape(-1, trigrams.shape[2])
    p3 = maximum_likelihood(flat).reshape(trigrams.shape)
    p3 = np.where(history2 > 0, p3, p2)
    return weights[0] * p1 + weights[1] * p2 + weights[2] * p3, weights


_ESTIMATES: dict[str, Callable[[Matrix, float], Matrix]] = {
    "none": maximum_likelihood,
    "add-k": add_k,
    "absolute": absolute_discounting,
    "kneser-ney": kneser_ney,
}
SMOOTHINGS = tuple(_ESTIMATES)
