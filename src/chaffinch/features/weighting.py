"""From counts to weights: binary, sublinear, inverse document frequency, log-count ratios, norms.

tf(c)   = c,  or 1 (binary),  or 1 + ln c (sublinear)
idf(f)  = 1 + ln((1 + N) / (1 + df(f)))
v       = tf(c) * idf(f)^power * r(f),  then each row divided by its norm
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import inverse_norms, weigh
from chaffinch.features.rows import SparseRows

NORMS = {"none": 0, "l1": 1, "l2": 2}


def inverse_document_frequency(documents: NDArray[Any], N: int) -> NDArray[np.float64]:
    """idf of each feature from its document frequency: float64 [F]."""
    return 1.0 + np.log((1.0 + N) / (1.0 + documents.astype(np.float64)))


def log_count_ratios(by_label: NDArray[np.float64], alpha: float = 1.0) -> NDArray[np.float64]:
    """The log-count ratio of each feature under a label against all others: float64 [F][Y].

        p(f, y) = alpha + sum of f over documents labelled y,   q(f, y) = alpha + sum over the others
        r(f, y) = ln (p(f, y) / |p(., y)|) - ln (q(f, y) / |q(., y)|)

    Wang and Manning 2012, "Baselines and bigrams". by_label: float64 [F][Y]
    """
    p = alpha + by_label
    q = alpha + by_label.sum(axis=1, keepdims=True) - by_label
    return np.asarray(np.log(p / p.sum(axis=0)) - np.log(q / q.sum(axis=0)))


def strongest_ratio(ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    """One scale per feature: its largest |r| over the labels (two labels have the same |r|).

    With two labels a linear model over |r| v is the model over r v with the signs of some weights flipped, so any
    penalty that ignores signs gives the same problem.
    """
    return np.asarray(np.abs(ratios).max(axis=1, initial=0.0))


def weighted(
    rows: SparseRows,
    scale: NDArray[np.float64] | None,
    *,
    binary: bool,
    sublinear: bool,
    norm: str,
    threads: int = 0,
) -> SparseRows:
    """Rows of counts as rows of weights; the counts are overwritten. Binary weights are stored as factors."""
    if binary and scale is not None:
        by_feature, by_row = scale.astype(np.float32), np.empty(len(rows), dtype=np.float32)
        inverse_norms(rows.ptr, rows.ids, by_feature, NORMS[norm], by_row, threads)
        return SparseRows(rows.ptr, rows.ids, None, rows.columns, (by_feature, by_row))
    if scale is None and norm == "none":
        if binary:
            return SparseRows(rows.ptr, rows.ids, None, rows.columns)
        if not sublinear:
            return rows
    values = rows.weights()
    factors = np.zeros(0) if scale is None else scale
    weigh(rows.ptr, rows.ids, factors, binary, sublinear, NORMS[norm], values, threads)
    return SparseRows(rows.ptr, rows.ids, values, rows.columns)
