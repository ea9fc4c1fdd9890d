"""Held-out opinions: what a quick model thinks of labels that it was not trained on.

The rows are cut into K folds; each fold is judged by a model that learnt from the others, so that no row judges
itself. Rows of one group, and rows of the same text, are in one fold: a copy of a row must not judge it either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.estimators import Classifier, Tagger
from chaffinch.kinds.corpora import shuffled, size, taken
from chaffinch.kinds.documents import Texts
from chaffinch.learners.dual import DualLogistic
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.recipes.crf_config import Crf
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable
from chaffinch.trust.calibration import fitted_temperature

FOLDS = 5
TINY = 1e-9  # a probability that is as good as none
MOST_CALIBRATED = 20_000  # labels that a temperature is fitted to

# A plain likelihood, whose probabilities are honest, by the quickest optimiser.
QUICK_TAGGER = Crf(optimiser="fast", margin=0.0, inside="as given")
# Held back more than one that is to predict: it must not believe the slips that it is to find.
QUICK_CLASSIFIER = DualLogistic(C=3.0)


@dataclass(frozen=True)
class Opinions:
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


def held_out_opinions(
    part: TokenTable | Texts,
    groups: Sequence[str],
    *,
    folds: int = FOLDS,
    seed: int = 0,
    threads: int = 0,
    on_fold: Listener = keep_going,
) -> Opinions:
    """Train K models and ask each about the rows that it has not seen.

    groups: a name for each row; rows of one name are judged together
    """
    fold_of = _folds(part, groups, folds, seed)
    units = size(part) if isinstance(part, Texts) else part.n_tokens
    names = sorted(set(part.labels if isinstance(part, Texts) else part.columns[LABEL].types))
    index = {name: i for i, name in enumerate(names)}
    given = _given(part, index)
    other = np.zeros(units, np.int32)
    p_given, p_other = np.full(units, np.nan, np.float32), np.full(units, np.nan, np.float32)
    for k in range(folds):
        here = np.flatnonzero(fold_of == k)
        away = np.flatnonzero(fold_of != k)
        on_fold(Progress("judging labels", k, folds))
        if len(here) == 0 or len(away) == 0:
            continue
        classes, p = _probabilities(taken(part, away.tolist()), taken(part, here.tolist()), seed, threads)
        at = _units(part, here)
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
    return Opinions(names, given, other, p_given, p_other)


def _folds(part: TokenTable | Texts, groups: Sequence[str], folds: int, seed: int) -> NDArray[np.int64]:
    """Which fold each row is in: groups in random order, dealt out one by one."""
    distinct: dict[str, int] = {}
    for n in shuffled(part, seed):
        distinct.setdefault(groups[n], len(distinct))
    if len(distinct) < 2:
        raise DataError("labels are judged by models of other rows, and there is only one row or one group")
    return np.array([distinct[name] % folds for name in groups])


def _given(part: TokenTable | Texts, index: dict[str, int]) -> NDArray[np.int32]:
    if isinstance(part, Texts):
        return np.array([index[label] for label in part.labels], np.int32)
    column = part.columns[LABEL]
    return np.array([index[label] for label in column.types], np.int32)[column.ids]


def _units(part: TokenTable | Texts, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The tokens of some sentences, or the texts themselves."""
    if isinstance(part, Texts):
        return rows
    lengths = np.diff(part.ptr)[rows]
    starts = np.repeat(part.ptr[rows] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return starts + np.arange(lengths.sum())


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


def _probabilities(
    train: TokenTable | Texts, asked: TokenTable | Texts, seed: int, threads: int
) -> tuple[list[str], NDArray[np.float32]]:
    """The labels of a model trained on one part, and their probabilities [units, labels] on the other."""
    if isinstance(train, Texts):
        assert isinstance(asked, Texts)
        if len(set(train.labels)) < 2:
            return sorted(set(train.labels)), np.ones((len(asked.texts), 1), np.float32)
        classifier = Classifier(QUICK_CLASSIFIER, seed=seed, threads=threads).fit(train.texts, train.labels)
        return [str(c) for c in classifier.classes_], np.array(
            classifier.predict_proba(asked.texts), np.float32
        )
    assert not isinstance(asked, Texts)
    tagger = Tagger(QUICK_TAGGER, seed=seed, threads=threads).fit(train)
    labels = [str(c) for c in tagger.classes_]
    found = tagger.predict_marginals(asked)
    return labels, np.concatenate([*found, np.empty((0, len(labels)), np.float32)]).copy()
