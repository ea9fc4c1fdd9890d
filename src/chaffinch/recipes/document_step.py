"""Learn a few documents by a small change of a linear classifier's weights.

    w[., y] += b(y) d          b: the passive-aggressive update (Crammer et al. 2006) with Crammer and Singer's margin

d is the direction along which the scores of learnt documents change least (:mod:`chaffinch.recipes.quiet_direction`).
The update makes the document right by as much as it was wrong; then the change is scaled down as far as all documents
of the lesson stay right. The scores of another document x change by b (d . x): not at all if it shares no feature with
the lesson.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.rows import SparseRows
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoicePerceptron, ChoiceSgd
from chaffinch.learners.dual import CoordinateDual, DualCrammerSinger
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.naive_bayes import ComplementNaiveBayes, MultinomialNaiveBayes
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.quantised import quantised
from chaffinch.recipes.quiet_direction import Shared, quiet_direction, shared_features

ROUNDS = 60  # maximum number of visits to each document of the lesson
STUBBORN = 20  # visits after which a document may be left out
HALVINGS = 6  # steps of the bisection for the scale of the change
LEAST_MARGIN = 1e-3
PASSIVE_AGGRESSIVE = DualCrammerSinger(C=1e6)


def takes_steps(learner: Any) -> bool:
    """Whether single documents can be learnt by steps: the learner's weights are linear."""
    return isinstance(
        learner,
        CoordinateDual
        | ChoiceSgd
        | ChoiceBatch
        | ChoicePerceptron
        | MultinomialNaiveBayes
        | ComplementNaiveBayes,
    )


@dataclass(frozen=True)
class Lesson:
    """Documents to learn: rows as the model's encoder makes them, and their labels' ids, int32 [N]."""

    rows: SparseRows
    y: NDArray[np.int32]

    def taken(self, which: NDArray[np.bool_]) -> "Lesson":
        """Some of the documents."""
        return Lesson(self.rows.taken(np.flatnonzero(which)), self.y[which])

    @property
    def learnable(self) -> NDArray[np.bool_]:
        """Whether each document has a feature: bool [N]."""
        sums = np.concatenate([[0.0], np.cumsum(np.square(self.rows.weights().astype(np.float64)))])
        return np.asarray(np.diff(sums[self.rows.ptr]) > 0)


def corrected(
    model: ClassifierModel, rows: SparseRows, y: NDArray[np.int32], learnt: SparseRows
) -> ClassifierModel | None:
    """The model that gives these documents their labels.

    None if weights alone cannot do that: a document without known features, or two with the same text.

    rows: as the model's encoder makes them   y: int32 [N], the labels' ids   learnt: rows of learnt documents
    """
    lesson = Lesson(rows, y)
    return _stepped(model, lesson, learnt)[0] if lesson.learnable.all() else None


def corrected_where_possible(
    model: ClassifierModel, rows: SparseRows, y: NDArray[np.int32], learnt: SparseRows
) -> ClassifierModel:
    """The same, without the documents that have no feature, and those that contradict others."""
    lesson = Lesson(rows, y)
    while (able := lesson.learnable).any():
        lesson = lesson.taken(able)
        made, visits = _stepped(model, lesson, learnt)
        if made is not None:
            return made
        lesson = lesson.taken(visits < min(STUBBORN, int(visits.max())))
    return model


def _stepped(
    model: ClassifierModel, lesson: Lesson, learnt: SparseRows
) -> tuple[ClassifierModel | None, NDArray[np.int64]]:
    """The model after steps, None if it does not get all documents right, and the visits to each."""
    rows, y = lesson.rows, lesson.y
    N, Y = len(rows), len(model.classes)
    visits = np.zeros(N, np.int64)
    data = DocumentExamples(
        ptr=rows.ptr,
        ids=rows.ids,
        values=rows.values,
        factors=rows.factors,
        F=rows.columns,
        label_ptr=np.arange(N + 1, dtype=np.int64),
        labels=y,
        Y=Y,
        soft=None,
    )
    values, bounds = rows.weights().astype(np.float64), rows.ptr.tolist()
    which = [slice(bounds[n], bounds[n + 1]) for n in range(N)]
    squares = [float(np.square(values[at]).sum()) for at in which]
    amounts = learnt.weights().astype(np.float64)
    often = model.encoder.likely_counts(rows.ids)
    directions = [
        quiet_direction(values[at], _shared(learnt, amounts, rows.ids[at]), often[at]) for at in which
    ]
    touched, place = np.unique(rows.ids, return_inverse=True)
    before = model.w[touched, :Y].astype(np.float64)
    w = before.copy()
    intercepts = model.w[-1, :Y].astype(np.float64)

    def part_taken(part: float) -> tuple[ClassifierModel, NDArray[np.bool_]]:
        made = _with_rows(model, touched, before + part * (w - before))
        return made, made.scores_of_rows(rows, 1).argmax(axis=1) == y

    # The model rounds its scores, so the model itself decides whether a document is right.
    made, right = part_taken(0.0)
    for number in range(ROUNDS):
        if right.all():
            break
        visits += ~right
        for n in np.flatnonzero(~right).tolist():
            scores = values[which[n]] @ w[place[which[n]]] + intercepts
            change = _update(data, n, scores, squares[n], LEAST_MARGIN * 2 ** (number // 3))
            np.add.at(w, place[which[n]], directions[n][:, None] * change)
        made, right = part_taken(1.0)
    else:
        return None, visits
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        part = (low + high) / 2
        smaller, right = part_taken(part)
        if right.all():
            made, high = smaller, part
        else:
            low = part
    return made, visits


def _shared(learnt: SparseRows, values: NDArray[np.float64], ids: NDArray[np.int32]) -> Shared:
    """The occurrences of some features in learnt documents; values: of all their features."""
    at, documents, features = shared_features(ids, learnt.ptr, learnt.ids)
    return documents, features, values[at]


def _update(
    data: DocumentExamples, n: int, scores: NDArray[np.float64], square: float, least: float
) -> NDArray[np.float64]:
    """The smallest change that makes a document right by as much as it was wrong, at least by ``least``."""
    y = int(data.labels[n])
    margin = max(float(np.delete(scores, y).max() - scores[y]), least)
    solved, _ = PASSIVE_AGGRESSIVE.solve(
        data, n, scores / margin, np.zeros(data.Y), square, PASSIVE_AGGRESSIVE.C
    )
    return margin * solved


def _with_rows(
    model: ClassifierModel, touched: NDArray[np.int32], changed: NDArray[np.float64]
) -> ClassifierModel:
    """The model with other weights of some features, in eight bits if it has eight."""
    Y, w = len(model.classes), model.w.copy()
    own = np.zeros((len(touched), w.shape[1]), np.float32)
    own[:, :Y] = changed
    eight = model.eight
    if eight is not None:
        codes, scales = eight[0].copy(), eight[1].copy()
        codes[touched], scales[touched] = quantised(own, Y, 1)
        eight = codes, scales
    w[touched] = own
    return replace(model, w=w, eight=eight)
