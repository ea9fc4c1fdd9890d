"""Room in a trained linear classifier for words and labels that its training did not have: no answer changes.

A new word gets a feature with weights of zero. A new label gets the mean of the weights of all labels, and an intercept
that is lower than theirs:

    s(new) = mean over y of s(y)  -  temperature ln (N / Y)

An average label has N / Y of the learnt documents, and the new one has one. The mean is at most the greatest, so the
new label is never the best one.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.confidence import Prior
from chaffinch.model.quantised import quantised, with_lanes


def with_room(
    model: ClassifierModel, texts: list[str], classes: NDArray[Any], documents: int, threads: int
) -> ClassifierModel:
    """The model with a feature for each new word of some texts, and a column for each new label.

    classes: all labels, sorted   documents: the number N of learnt ones
    """
    if len(classes) > len(model.classes):
        model = with_labels(model, classes, documents)
    if words := model.encoder.new_words(texts):
        values = model.encoder.rows(texts, None, threads).weights()
        model = with_words(model, words, float(np.sqrt(np.mean(np.square(values)))) if len(values) else 1.0)
    return model


def with_words(model: ClassifierModel, words: list[str], value: float) -> ClassifierModel:
    """The model with a feature for each of these words; value: of such a feature in a text."""
    last = [model.encoder.n_features] * len(words)  # before the intercepts
    w = np.insert(model.w, last, np.float32(0.0), axis=0)
    eight = model.eight
    if eight is not None:
        eight = np.insert(eight[0], last, 0, axis=0), np.insert(eight[1], last, np.float32(0.0))
    return replace(model, encoder=model.encoder.with_words(words, value), w=w, eight=eight)


def with_labels(model: ClassifierModel, classes: NDArray[Any], documents: int) -> ClassifierModel:
    """The model with a column for each label that it does not have.

    classes: all labels, sorted   documents: the number N of learnt ones
    """
    Y, place = len(classes), np.searchsorted(classes, model.classes)
    before = model.w[:, : len(model.classes)]
    w = np.repeat(before.mean(axis=1, dtype=np.float64)[:, None], Y, axis=1).astype(np.float32)
    w[-1] -= model.calibration.temperature * math.log(max(documents / len(place), 2.0))
    w[:, place] = before
    w = with_lanes(w)
    eight = None if model.eight is None else quantised(w, Y, 1)
    prior = model.prior
    if prior is not None:
        share = 1.0 / (documents + Y - len(place))
        shares = np.full(Y, share, np.float32)
        shares[place] = prior.shares * (documents * share)
        prior = Prior(shares, prior.sigmoids)
    return replace(model, w=w, classes=classes, eight=eight, prior=prior)
