"""Out-of-fold probabilities of labels, by a fast model.

The rows are divided into K folds; each fold is scored by a model trained on the others, so no row scores
itself. Rows of one group, and rows of the same text, are in one fold: a copy of a row must not score it either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kinds import kind_of_corpus
from chaffinch.kinds.corpora import Corpus, shuffled, taken
from chaffinch.kinds.unit_labels import UnitLabels
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.trust.calibration import fitted_temperature

FOLDS = 5
TINY = 1e-9  # smallest probability
MOST_CALIBRATED = 20_000  # labels that a temperature is fitted to


@dataclass(frozen=True)
class OutOfFold:
    """For each token or text its label and the best other one, with their held-out probabilities.

    given, other: int32 [N], ids into labels   p_given, p_other: float32 [N]
    NaN if the model had never seen the label.
    """

    labels: list[str]
    given: NDArray[np.int32]
    other: NDArray[np.int32]
    p_given: NDArray[np.float32]
    p_other: NDArray[np.float32]

    @property
    def odds(self) -> NDArray[np.float32]:
        """The odds of the other label against the given one; NaN if the model had never seen the label."""
        return (self.p_other / np.maximum(self.p_given, TINY)).astype(np.float32)

    @property
    def trust(self) -> NDArray[np.float64]:
        """For each label the share of its units for which the models predict it; [labels]."""
        return 1.0 - self.share_doubted(1.0 + TINY)

    def share_doubted(self, odds: float) -> NDArray[np.float64]:
        """For each label the share of its scored units with at least these odds against it; [labels]."""
        against = self.odds
        judged = ~np.isnan(against)
        times = np.bincount(self.given[judged], minlength=len(self.labels))
        doubted = np.bincount(self.given[judged & (against >= odds)], minlength=len(self.labels))
        return doubted / np.maximum(times, 1)

    def doubtful(self, odds: float) -> NDArray[np.int64]:
        """The units with at least these odds against their label; the largest first."""
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
    """Train K models and score each fold with the model that was not trained on it.

    groups: a name for each row; rows of one name are in one fold
    """
    kind = kind_of_corpus(corpus)
    assert isinstance(kind, UnitLabels)
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
    """The fold of each row: groups in random order, assigned to the folds in turn."""
    distinct: dict[str, int] = {}
    for n in shuffled(corpus, seed):
        distinct.setdefault(groups[n], len(distinct))
    if len(distinct) < 2:
        raise DataError("expected at least two rows and two groups for cross-validation, found one")
    return np.array([distinct[name] % folds for name in groups])


def _calibrated(
    p: NDArray[np.float32], own: NDArray[np.int64], judged: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Calibrated probabilities: a fast model is often over- or underconfident.

    One temperature is fitted to thousands of labels, so no label has a noticeable effect on its own probability.
    """
    if len(judged) == 0 or p.shape[1] < 2:
        return p
    scores = np.log(np.maximum(p, 1e-30))
    some = judged[:: max(1, len(judged) // MOST_CALIBRATED)]
    tempered = scores / fitted_temperature(scores[some], own[some])
    q = np.exp(tempered - tempered.max(axis=1, keepdims=True))
    return (q / q.sum(axis=1, keepdims=True)).astype(np.float32)
