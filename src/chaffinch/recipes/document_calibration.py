"""Calibrate a classifier: how its scores become probabilities, fitted on documents that it has not seen."""

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.confidence import Calibration
from chaffinch.trust.calibration import LogitMap, fitted_calibration, fitted_label_calibration
from chaffinch.trust.confidence import DOCUMENTS, LABELS, Confidence

Scores = NDArray[np.floating]
Decided = tuple[NDArray[np.float64], NDArray[np.bool_]]


def calibrated(
    scores: Scores,
    gold: NDArray[np.bool_],
    *,
    sigmoids: bool,
    several: bool,
    threshold: float,
    folds: int,
) -> tuple[Calibration, Confidence]:
    """The calibration, and the confidence in what a classifier decides with it.

    scores:    [N, Y], of documents by models that were trained without them; folds: how many models, 0: of dev data
    gold:      bool [N, Y], their labels
    sigmoids:  labels stand by themselves; several: a document gets every label that reaches the threshold
    """

    def fitted(which: NDArray[np.bool_]) -> Calibration:
        if sigmoids:
            return fitted_label_calibration(scores[which], gold[which])
        return fitted_calibration(scores[which], gold[which].argmax(axis=1))

    def probabilities(calibration: Calibration, s: Scores) -> NDArray[np.float64]:
        return calibration.sigmoid(s) if sigmoids else calibration.softmax(s)

    whole = fitted(np.ones(len(scores), bool))
    p = probabilities(whole, scores)
    crossed, half = p.copy(), np.arange(len(p)) % 2 == 0
    if len(p) > 1:
        for part in (half, ~half):
            crossed[part] = probabilities(fitted(~part), scores[part])
    if several:
        which = p >= threshold
        unit, right = LABELS, gold[which]
    else:
        which = np.zeros(p.shape, bool)
        which[np.arange(len(p)), np.asarray(scores).argmax(axis=1)] = True
        unit, right = DOCUMENTS, gold[which]
    raw = probabilities(Calibration(), scores)
    made = Confidence.of_decisions(
        unit, folds, p[which], right, raw[which], crossed[which], LogitMap.line(1.0, 0.0)
    )
    return whole, made
