"""Out-of-fold predictions: what a quick model thinks of labels that it was not trained on.

The rows are cut into K folds; each fold is judged by a model that learnt from the others, so that no row judges
itself. Rows of one group, and rows of the same text, are in one fold: a copy of a row must not judge it either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kinds import kind_of_corpus
from chaffinch.kinds.corpora import Corpus, shuffled, taken
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.trust.calibration import fitted_temperature

FOLDS = 5
TINY = 1e-9  # a probability that is as good as none
MOST_CALIBRATED = 20_000  # labels that a temperature is fitted to


@dataclass(frozen=True)
class OutOfFold:
    """For each token or text its label and the best other one, with their held-out probabilities.

    given, other: int32 [N], ids into labels   p_given, p_other: float32 [N]
    NaN where the model had never met the label, and so had no say.
    """

    labels: list[str]
    given: NDArray[np.int32]
    other: NDArray[np.int32]
    p_given: NDArray[np.float32]
    p_other: NDArray[np.float32]

    @property
    def odds(self) -> NDArray[np.float32]:
        """How many times as probable the other label is as the given one; NaN where the model had no say."""
        return (self.p_other / np.maximum(self.p_given, TINY)).astype(np.float32)

    @property
    def trust(self) -> NDArray[np.float64]:
        """For each label how often the models find it themselves where it is given; [labels]."""
        return 1.0 - self.share_doubted(1.0 + TINY)

    def share_doubted(self, odds: float) -> NDArray[np.float64]:
        """For each label, of its places that were judged those with at least these odds against it; [labels]."""
        against = self.odds
        judged = ~np.isnan(against)
        times = np.bincount(self.given[judged], minlength=len(self.labels))
        doubted = np.bincount(self.given[judged & (against >= odds)], minlength=len(self.labels))
        return doubted / np.maximum(times, 1)

    def doubtful(self, odds: float) -> NDArray[np.int64]:
        """The units with at least these odds against their label; the greatest first."""
        against = self.odds
        with np.errstate(invalid="ignore"):
            chosen = np.flatnonzero(against >= odds)
        return chosen[np.argsort(-against[chosen], kind="stable")]


def out_of_fold(
    corpus: Corpus,
    groups: Sequence[str],
    *,
    folds: int = FOLDS,
    seed: int = 0,
    threads: int = 0,
    on_fold: Listener = keep_going,
) -> OutOfFold:
    """Train K models and ask each about the rows that it has not seen.

    groups: a name for each row; rows of one name are judged together
    """
    kind = kind_of_corpus(corpus)
    fold_of = _folds(corpus, groups, folds, seed)
    names, given = kind.unit_labels(corpus)
    units = len(given)
    index = {name: i for i, name in enumerate(names)}
    other = np.zeros(units, np.int32)
    p_given, p_other = np.full(units, np.nan, np.float32), np.full(units, np.nan, np.float32)
    for k in range(folds):
        here = np.flatnonzero(fold_of == k)
        away = np.flatnonzero(fold_of != k)
        on_fold(Progress("judging labels", k, folds))
        if len(here) == 0 or len(away) == 0:
            continue
        train, asked = taken(corpus, away.tolist()), taken(corpus, here.tolist())
        classes, p = kind.unit_probabilities(train, asked, seed, threads)
        at = kind.units_of(corpus, here)
        column = np.full(len(names), -1, np.int64)
        for i, label in enumerate(classes):
            column[index[label]] = i
        own = column[given[at]]
        judged = own >= 0
        rows = np.flatnonzero(judged)
        p = _calibrated(p, own, rows)
        p_given[at[judged]] = p[rows, own[judged]]
        p[rows, own[judged]] = -1.0
        best = p.argmax(axis=1)
        names_of = np.array([index[label] for label in classes], np.int32)
        other[at] = names_of[best]
        p_other[at[judged]] = p[rows, best[judged]]
    on_fold(Progress("judging labels", folds, folds))
    return OutOfFold(names, given, other, p_given, p_other)


def _folds(corpus: Corpus, groups: Sequence[str], folds: int, seed: int) -> NDArray[np.int64]:
    """Which fold each row is in: groups in random order, dealt out one by one."""
    distinct: dict[str, int] = {}
    for n in shuffled(corpus, seed):
        distinct.setdefault(groups[n], len(distinct))
    if len(distinct) < 2:
        raise DataError("labels are judged by models of other rows, and there is only one row or one group")
    return np.array([distinct[name] % folds for name in groups])


def _calibrated(
    p: NDArray[np.float32], own: NDArray[np.int64], judged: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Probabilities as sure as they are right on these labels: a quick model is often too sure, or not enough.

    One number is fitted to thousands of labels, so that no label has a say in its own trial worth speaking of.
    """
    if len(judged) == 0 or p.shape[1] < 2:
        return p
    scores = np.log(np.maximum(p, 1e-30))
    some = judged[:: max(1, len(judged) // MOST_CALIBRATED)]
    tempered = scores / fitted_temperature(scores[some], own[some])
    q = np.exp(tempered - tempered.max(axis=1, keepdims=True))
    return (q / q.sum(axis=1, keepdims=True)).astype(np.float32)
