"""Learn a few documents by a small change of a linear classifier's weights.

    w[., y] += b(y) d          b: the passive-aggressive update (Crammer et al. 2006) with Crammer and Singer's margin

d is the direction along which the scores of learnt documents change least (:mod:`chaffinch.recipes.quiet_direction`).
The update makes the document right by as much as it was wrong; then the change is scaled down as far as all documents
of the lesson stay right. The scores of another document x change by b (d . x): not at all if it shares no feature with
the lesson.
"""

from dataclasses import replace
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


def corrected(
    model: ClassifierModel, rows: SparseRows, y: NDArray[np.int32], learnt: SparseRows
) -> ClassifierModel | None:
    """The model that gives these documents their labels.

    None if weights alone cannot do that: a document without known features, or two with the same text.

    rows: as the model's encoder makes them   y: int32 [N], the labels' ids   learnt: rows of learnt documents
    """
    N, Y = len(rows), len(model.classes)
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
    if not all(square > 0 for square in squares):
        return None
    amounts = learnt.weights().astype(np.float64)
    directions = [quiet_direction(values[at], _shared(learnt, amounts, rows.ids[at])) for at in which]
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
        for n in np.flatnonzero(~right).tolist():
            scores = values[which[n]] @ w[place[which[n]]] + intercepts
            change = _update(data, n, scores, squares[n], LEAST_MARGIN * 2 ** (number // 3))
            np.add.at(w, place[which[n]], directions[n][:, None] * change)
        made, right = part_taken(1.0)
    else:
        return None
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        part = (low + high) / 2
        smaller, right = part_taken(part)
        if right.all():
            made, high = smaller, part
        else:
            low = part
    return made


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
