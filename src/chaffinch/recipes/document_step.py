"""Take a few documents into a linear classifier by the smallest change of its weights.

    min over w of  |w - w_0|^2 / 2 + sum_n C_n loss_n(w)          n: the documents of the lesson alone

w_0 is what all earlier documents made, so this is the recipe's own objective with the duals of those documents held
still. Dual coordinate ascent moves w along the rows x_n alone, w = w_0 + sum_n b_n x_n: the scores of another document
x change by  b_n (x_n.x),  nothing if it shares no feature with the lesson. The smallest part of the step is taken that
makes the documents right: earlier documents, which the step knows nothing of, would take part of it back. x_n may be
confined to features that few documents have, since the step changes the scores of every document with the others.

Learners without duals, counts among them, take the step of Crammer and Singer's margin, as wide as the gap by which the
document is wrong (the passive-aggressive update of Crammer et al. 2006).
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

ROUNDS = 10  # visits to each document of a lesson of several
DOUBLINGS = 5  # of the weight of a document that is not right yet
PARTS = (
    0.125,
    0.25,
    0.375,
    0.51,
    0.625,
    0.75,
    0.875,
    1.0,
)  # of a step, the smallest that makes the documents right
LEAST_MARGIN = 1e-3
PASSIVE_AGGRESSIVE = DualCrammerSinger(C=1e6)


def takes_steps(learner: Any) -> bool:
    """Whether a learner's weights can take single documents in: they are linear, without a trained intercept."""
    if isinstance(learner, CoordinateDual):
        return not learner.bias
    return isinstance(
        learner, ChoiceSgd | ChoiceBatch | ChoicePerceptron | MultinomialNaiveBayes | ComplementNaiveBayes
    )


def corrected(
    model: ClassifierModel,
    learner: Any,
    rows: SparseRows,
    y: NDArray[np.int32],
    weight: NDArray[np.floating],
    movable: NDArray[np.bool_] | None = None,
) -> tuple[ClassifierModel, NDArray[np.float64]] | None:
    """The model that gives these documents their labels, and the factors of their weights that this took.

    None if weights alone do not do it: a document without known features, or two of the same text.

    rows:    as the model's encoder makes them   y: int32 [N], the labels' ids   weight: [N]
    movable: bool [F], the features whose weights may change; None: all
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
    moving = values if movable is None else values * movable[rows.ids]
    squares = [float(np.square(moving[at]).sum()) for at in which]
    if not all(square > 0 for square in squares):
        return None
    touched, place = np.unique(rows.ids, return_inverse=True)
    before = model.w[touched, :Y].astype(np.float64)
    w = before.copy()
    intercepts = model.w[-1, :Y].astype(np.float64)
    alpha, factor = np.zeros((N, Y)), np.ones(N)

    def scores(n: int) -> NDArray[np.float64]:
        return np.asarray(values[which[n]] @ w[place[which[n]]] + intercepts)

    for _ in range(DOUBLINGS + 1):
        for _ in range(ROUNDS if N > 1 else 1):
            for n in range(N):
                if isinstance(learner, CoordinateDual):
                    C = learner.C * float(weight[n] * factor[n])
                    then, _ = learner.solve(data, n, scores(n), alpha[n], squares[n], C)
                    change = learner.as_weights(data, n, then - alpha[n])
                else:
                    then = change = _update(data, n, scores(n), squares[n])
                np.add.at(w, place[which[n]], moving[which[n], None] * change)
                alpha[n] = then
        for part in PARTS:
            made = _with_rows(model, touched, before + part * (w - before))
            right = made.scores_of_rows(rows, 1).argmax(axis=1) == y
            if right.all():
                return made, factor
        factor[~right] *= 2
    return None


def _update(
    data: DocumentExamples, n: int, scores: NDArray[np.float64], square: float
) -> NDArray[np.float64]:
    """The smallest change after which a wrong document is right by as much as it was wrong; zero if it is right."""
    y = int(data.labels[n])
    gap = float(np.delete(scores, y).max() - scores[y])
    if gap < 0:
        return np.zeros(data.Y)
    margin = max(gap, LEAST_MARGIN)
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
