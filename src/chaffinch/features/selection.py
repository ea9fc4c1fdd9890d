"""Feature selection: by frequency, at random, by labels, by chi-squared, by information gain."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import count_by_label, permutation, uniforms
from chaffinch.errors import DataError
from chaffinch.features.rows import SparseRows

PICKS = ("top", "sample", "label", "chi2", "gain")
LABELLED_PICKS = ("label", "chi2", "gain")


@dataclass(frozen=True)
class LabelRows:
    """Which labels each document has: document n has ids[ptr[n]] .. ids[ptr[n+1]-1].

    names: the labels, in order of first occurrence
    """

    names: list[Any]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]

    @classmethod
    def of(cls, labels: Iterable[Any]) -> "LabelRows":
        """From one label per document, or from a list, tuple or set of them.

        >>> LabelRows.of(["tea", ["tea", "cake"], []]).ids.tolist()
        [0, 0, 1]
        """
        numbers: dict[Any, int] = {}
        ptr, ids = [0], []
        for label in labels:
            several = sorted(label) if isinstance(label, (set, frozenset)) else label
            for name in several if isinstance(several, (list, tuple)) else (several,):
                ids.append(numbers.setdefault(name, len(numbers)))
            ptr.append(len(ids))
        return cls(list(numbers), np.array(ptr, dtype=np.int64), np.array(ids, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def documents(self) -> NDArray[np.float64]:
        """The number of documents with each label: float64 [Y]."""
        return np.bincount(self.ids, minlength=len(self.names)).astype(np.float64)


def sums_by_label(rows: SparseRows, labels: LabelRows, *, presence: bool = False) -> NDArray[np.float64]:
    """The sum of each feature over each label's documents: float64 [F][Y]. presence: every value is 1."""
    if len(labels) != len(rows):
        raise DataError(f"expected labels for {len(rows)} documents, got {len(labels)}")
    out = np.zeros((rows.columns, len(labels.names)))
    ones = presence or (rows.values is None and rows.factors is None)
    values = np.zeros(0, np.float32) if ones else rows.weights()
    count_by_label(rows.ptr, rows.ids, values, labels.ptr, labels.ids, out)
    return out


def picked(
    how: str,
    size: int | None,
    *,
    totals: NDArray[np.int64],
    rows: SparseRows,
    labels: LabelRows | None = None,
    seed: int = 0,
) -> NDArray[np.bool_]:
    """Which features to keep: bool [F]. Ties go to the more frequent feature, then to the earlier one."""
    F = len(totals)
    keep = np.ones(F, dtype=np.bool_)
    if size is None or size >= F:
        return keep
    scores = _scores(how, totals, rows, labels, seed)
    best = np.lexsort((np.arange(F), -scores))[:size]
    keep[:] = False
    keep[best] = True
    return keep


def undropped(share: float, rows: SparseRows, labels: LabelRows | None, seed: int = 0) -> NDArray[np.bool_]:
    """Which features remain if a share of each label's features is dropped at random: bool [F].

    A feature in the documents of several labels is kept if any of them keeps it. Without labels all
    documents have the same label.
    """
    if labels is None:
        seen = [np.arange(rows.columns)]
    else:
        present = sums_by_label(rows, labels, presence=True) > 0
        seen = [np.flatnonzero(present[:, y]) for y in range(present.shape[1])]
    keep = np.zeros(rows.columns, dtype=np.bool_)
    for y, features in enumerate(seen):
        kept = len(features) - round(share * len(features))
        keep[features[permutation(len(features), seed + y)[:kept]]] = True
    return keep


def chi_squared(sums: NDArray[np.float64], labels: NDArray[np.float64], N: int) -> NDArray[np.float64]:
    """Pearson's statistic of each feature against the labels: float64 [F].

        e(f, y) = sum_y' o(f, y') * share of documents labelled y
        chi2(f) = sum over y of (o - e)^2 / e

    sums: o, float64 [F][Y]; labels: documents per label, float64 [Y]
    """
    expected = np.outer(sums.sum(axis=1), labels / max(N, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = (sums - expected) ** 2 / expected
    return np.asarray(np.nan_to_num(terms, nan=0.0, posinf=0.0).sum(axis=1))


def information_gain(present: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """The information gain of each feature about the label, in nats: float64 [F].

        gain(f) = H(y) - P(f) H(y | f) - P(not f) H(y | not f)

    present: documents with feature and label, float64 [F][Y]; labels: documents per label, float64 [Y]
    """
    total = labels.sum()
    if total == 0:
        return np.zeros(len(present))
    held = present.sum(axis=1)
    nats = _unscaled_entropy(labels[None, :], labels.sum(keepdims=True))
    nats = nats - _unscaled_entropy(present, held) - _unscaled_entropy(labels - present, total - held)
    return np.asarray(nats / total)


def label_frequency(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest relative frequency of each feature over the labels: float64 [F]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = sums / sums.sum(axis=0)
    return np.asarray(np.nan_to_num(shares, nan=0.0).max(axis=1, initial=0.0))


def renumbering(keep: NDArray[np.bool_]) -> NDArray[np.int32]:
    """New numbers of the kept features, -1 for the others: int32 [F]."""
    return np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)


def _scores(
    how: str, totals: NDArray[np.int64], rows: SparseRows, labels: LabelRows | None, seed: int
) -> NDArray[np.float64]:
    frequency = totals.astype(np.float64)
    if how == "top":
        return frequency
    if how == "sample":
        # Efraimidis and Spirakis 2006: the largest u^(1/frequency) are a weighted sample without replacement.
        return np.asarray(np.log1p(-uniforms(len(totals), seed)) / frequency)
    if labels is None:
        raise DataError(f"picking features by {how} needs labels")
    if how == "label":
        return label_frequency(sums_by_label(rows, labels))
    if how == "chi2":
        return chi_squared(sums_by_label(rows, labels), labels.documents(), len(labels))
    return information_gain(sums_by_label(rows, labels, presence=True), labels.documents())


def _unscaled_entropy(counts: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """n H(counts / n) of each row."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log(counts), 0.0).sum(axis=1)
        return np.asarray(np.where(totals > 0, totals * np.log(totals), 0.0) - terms)
