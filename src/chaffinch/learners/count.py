"""The count learner: the potentials of a hidden Markov model, from counts of the training data.

    p(x, y) = q(y_1|START) e(x_1|y_1) q(y_2|y_1) e(x_2|y_2) ... q(STOP|y_T)

Everything returned is a log-probability, so the score of a labelling is log p(x, y). Words are integers (symbols);
the caller defines their order and their ladders of wider symbols, this file uses only their counts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.learners.smoothing import (
    Matrix,
    backed_off,
    deleted_interpolation,
    maximum_likelihood,
    smoothed,
)

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True)
class Transitions:
    """Log-potentials of the chain. Order 1: start, pair, end; order 2 adds triple, first and last."""

    start: Matrix
    end: Matrix
    pair: Matrix
    triple: NDArray[np.float64] | None = None
    first: Matrix | None = None
    last: Matrix | None = None


@dataclass(frozen=True)
class SymbolCounts:
    """The counts of each symbol with each label.

    counts: [S, Y]; the first ``words`` rows are words, the rest rungs. A rung holds the counts of the rare words below
            it: a rare word is counted in every rung of its ladder
    direct: [S, Y] the same, but a word that is not a symbol itself is counted in its narrowest rung only
    parent: [S] the next wider symbol, -1 for the widest
    labels: [Y] the count of each label
    """

    counts: Matrix
    direct: Matrix
    words: int
    parent: NDArray[np.int32]
    labels: NDArray[np.float64]


def transitions(
    y: NDArray[np.int32], ptr: NDArray[np.int64], Y: int, order: int, smoothing: str, amount: float
) -> Transitions:
    """q(y_t|y_{t-1}) or q(y_t|y_{t-2}, y_{t-1}), START before and STOP after every sentence.

    smoothing: one of SMOOTHINGS, or "deleted" for the second order's interpolation of all three orders.
    """
    return transitions_of_counts(trigram_counts(y, ptr, Y), order, smoothing, amount)


def transitions_of_counts(
    trigrams: NDArray[np.float64], order: int, smoothing: str, amount: float
) -> Transitions:
    """The same from the counts of :func:`trigram_counts`."""
    Y = len(trigrams) - 1
    if order == 1:
        bigrams = trigrams.sum(axis=0)
        if smoothing == "deleted":
            q = deleted_interpolation(bigrams[None])[0][0]
        else:
            q = smoothed(bigrams, smoothing, amount)
        log_q = _log(q)
        return Transitions(start=log_q[Y, :Y], end=log_q[:Y, Y], pair=log_q[:Y, :Y])
    if smoothing == "deleted":
        q3 = deleted_interpolation(trigrams)[0]
    else:
        q3 = smoothed(trigrams.reshape(-1, Y + 1), smoothing, amount).reshape(trigrams.shape)
    log_q3 = _log(q3)
    # A sentence of one label ends with q(STOP|START, y); longer ones with `last`, from which that is subtracted.
    end = log_q3[Y, :Y, Y]
    return Transitions(
        start=log_q3[Y, Y, :Y],
        end=end,
        pair=np.zeros((Y, Y)),
        triple=np.ascontiguousarray(log_q3[:Y, :Y, :Y]),
        first=np.ascontiguousarray(log_q3[Y, :Y, :Y]),
        last=log_q3[:Y, :Y, Y] - np.where(np.isfinite(end), end, 0.0)[None, :],
    )


def emissions_by_rule(symbols: SymbolCounts, rule: str, amount: float) -> Matrix:
    """log e(x|y) [S, Y] by one of the two rules for unseen words without classes.

    half      e(x|y) = c(y, x) / (c(y) + k), an unseen word gets k / (c(y) + k); k = ``amount``
    constant  e(x|y) = c(y, x) / c(y), an unseen word has the same value under every label
    """
    c_y = symbols.labels
    if rule == "half":
        words = symbols.counts[: symbols.words] / (c_y + amount)
        unseen = np.broadcast_to(amount / (c_y + amount), (len(symbols.counts) - symbols.words, len(c_y)))
    else:
        words = np.divide(
            symbols.counts[: symbols.words], c_y, out=np.zeros((symbols.words, len(c_y))), where=c_y > 0
        )
        unseen = np.ones((len(symbols.counts) - symbols.words, len(c_y)))
    return _log(np.concatenate([words, unseen]))


def emissions_by_class(symbols: SymbolCounts, smoothing: str, amount: float) -> Matrix:
    """log e(s|y) [S, Y] over words and the narrowest rungs of rare words, smoothed as one distribution per label.

    The widest rung stands for an unknown word. Smoothing gives it mass even if no rare word ended in it: otherwise a
    discount would go to known words alone. Any other rung that no rare word ended in gets the score of its parent.
    Without smoothing, these rungs get the score of all rare words below them.
    """
    used = symbols.direct.sum(axis=1) > 0
    table = np.zeros_like(symbols.direct)
    if smoothing != "none":
        used |= symbols.parent < 0
    table[used] = smoothed(symbols.direct[used].T, smoothing, amount).T
    if smoothing == "none":
        wider = maximum_likelihood(symbols.counts[~used] + 1e-3)
        table[~used] = wider / maximum_likelihood(symbols.labels[None] + 1e-3)
        return _log(table)
    for level in _levels(symbols.parent):
        empty = level[~used[level]]
        table[empty] = table[symbols.parent[empty]]
    return _log(table)


def emissions_by_ladder(
    symbols: SymbolCounts, word_strength: float | None, rung_strength: float | None
) -> tuple[Matrix, float, float]:
    """log e(s|y) [S, Y] from p(y|s), interpolated from the widest symbol to the narrowest.

        p(y|s) = (c(s, y) + k p(y|parent of s)) / (c(s) + k)        e(s|y) = p(s) p(y|s) / p(y)

    p(y) is the label's relative frequency (Brants 2000): if it included unseen words, e would sum to exactly one over
    the symbols, but tagging would be worse. The strengths k of words and of rungs are given, or maximise the
    leave-one-out likelihood. Returns the table and the two strengths.
    """
    levels = _levels(symbols.parent)
    rung_levels = [level[level >= symbols.words] for level in levels]
    if rung_strength is None:
        rung_strength = max(STRENGTHS, key=lambda k: _left_out_rungs(symbols, k))
    p = np.empty_like(symbols.counts)
    root = np.flatnonzero(symbols.parent < 0)
    p[root] = maximum_likelihood(symbols.counts[root] + 1e-3)
    for level in rung_levels:
        inner = level[symbols.parent[level] >= 0]
        p[inner] = backed_off(symbols.counts[inner], p[symbols.parent[inner]], rung_strength)
    counts, lower = symbols.counts[: symbols.words], p[symbols.parent[: symbols.words]]
    if word_strength is None:
        word_strength = max(STRENGTHS, key=lambda k: _left_out_words(counts, lower, k))
    p[: symbols.words] = backed_off(counts, lower, word_strength)
    prior = maximum_likelihood(symbols.labels[None] + 1e-3)
    return _log(_symbol_probabilities(symbols)[:, None] * p / prior), word_strength, rung_strength


def trigram_counts(y: NDArray[np.int32], ptr: NDArray[np.int64], Y: int) -> NDArray[np.float64]:
    """c(y_{t-2}, y_{t-1}, y_t) [Y+1, Y+1, Y+1]: the last index is START as a history and STOP as an outcome."""
    lengths = np.diff(ptr)
    starts = ptr[:-1][lengths > 0]
    padded = np.full(len(y) + 3 * len(starts), Y, dtype=np.int64)
    # Each sentence follows two STARTs and precedes one STOP.
    shift = np.zeros(len(y), dtype=np.int64)
    shift[starts] = 3
    shift = np.cumsum(shift) - 1
    padded[np.arange(len(y)) + shift] = y
    outcome = np.ones(len(padded), dtype=bool)
    sentence = np.arange(len(starts))
    first = starts + 3 * sentence
    outcome[first] = outcome[first + 1] = False
    at = np.flatnonzero(outcome)
    W = Y + 1
    key = (padded[at - 2] * W + padded[at - 1]) * W + padded[at]
    return np.bincount(key, minlength=W**3).reshape(W, W, W).astype(np.float64)


def _levels(parent: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """Symbols by their distance from the widest one."""
    depth = np.zeros(len(parent), dtype=np.int64)
    up = parent.copy()
    while (live := up >= 0).any():
        depth[live] += 1
        up[live] = parent[up[live]]
    return [np.flatnonzero(depth == d) for d in range(int(depth.max(initial=0)) + 1)]


def _symbol_probabilities(symbols: SymbolCounts) -> NDArray[np.float64]:
    """p(s) [S]: words by their counts, rungs by the number of words seen once on them.

    The share of all rungs is that of words seen once, the Good-Turing estimate of unseen mass.
    """
    V = symbols.words
    seen = symbols.counts[:V].sum(axis=1)
    standing = np.bincount(symbols.parent[:V][seen == 1] - V, minlength=len(symbols.counts) - V) + 1.0
    unseen = max(float((seen == 1).sum()), 1.0)
    words = seen * (seen.sum() / (seen.sum() + unseen))
    return np.concatenate([words, standing * unseen / standing.sum()]) / (words.sum() + unseen)


def _left_out_rungs(symbols: SymbolCounts, k: float) -> float:
    """Leave-one-out log-likelihood of the labels of words seen once, each from its ladder."""
    counts = symbols.counts[: symbols.words]
    once = np.flatnonzero(counts.sum(axis=1) == 1)
    if len(once) == 0:
        return 0.0
    y = counts[once].argmax(axis=1)
    ladder = [symbols.parent[once]]
    while (ladder[-1] >= 0).any():
        ladder.append(np.where(ladder[-1] >= 0, symbols.parent[ladder[-1]], -1))
    totals = symbols.counts.sum(axis=1)
    p = np.full(len(once), 1.0 / counts.shape[1])
    for rung in reversed(ladder):
        on = rung >= 0
        seen = symbols.counts[rung[on], y[on]] - 1
        p[on] = (seen + k * p[on]) / (totals[rung[on]] - 1 + k)
    return float(np.log(np.maximum(p, 1e-300)).sum())


def _left_out_words(counts: Matrix, lower: Matrix, k: float) -> float:
    """Leave-one-out log-likelihood of the labels of words seen at least twice."""
    totals = counts.sum(axis=1)
    often = totals >= 2
    c, n = counts[often], totals[often][:, None]
    p = (np.maximum(c - 1, 0) + k * lower[often]) / (n - 1 + k)
    return float((c * np.log(np.where(c > 0, np.maximum(p, 1e-300), 1.0))).sum())


def _log(p: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(p)
