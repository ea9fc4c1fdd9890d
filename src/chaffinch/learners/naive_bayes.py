"""Naive Bayes over weighted n-gram counts: multinomial, and its complement."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import count_by_label
from chaffinch.errors import DataError
from chaffinch.knobs import knob
from chaffinch.learners.choice import ChoiceWeights, importance, padded
from chaffinch.learners.examples import DocumentExamples
from chaffinch.learners.learner import CountLearner
from chaffinch.learners.problem import Problem

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LabelCounts(CountLearner):
    """What naive Bayes learners share: the counts of features in the documents of each label."""

    alpha: float = knob(0.1, "smoothing count added to every count", low=1e-9)

    def check(self, problem: Problem) -> None:
        """One label for each document, or soft targets."""
        if problem.examples.soft is None:
            problem.examples.one_label_each("naive Bayes")

    def count(self, problem: Problem) -> ChoiceWeights:
        """The weights from one pass of counting."""
        return self.weights(label_counts(problem), label_masses(problem))

    @abstractmethod
    def weights(self, counts: Matrix, masses: Matrix) -> ChoiceWeights:
        """The weights from counts [F, Y] and the documents' mass of each label [Y]."""


@dataclass(frozen=True, kw_only=True)
class MultinomialNaiveBayes(LabelCounts):
    """log p(y) + sum_f x_f log p(f|y),   p(f|y) = (alpha + n_fy) / sum over f' of the same.

    n_fy is the sum of feature f over documents labelled y.
    """

    def weights(self, counts: Matrix, masses: Matrix) -> ChoiceWeights:
        """The weights from counts [F, Y] and the documents' mass of each label [Y]."""
        smooth = counts + self.alpha
        logs = np.log(smooth) - np.log(smooth.sum(axis=0))
        with np.errstate(divide="ignore"):
            prior = np.maximum(np.log(masses) - np.log(masses.sum()), -700.0)
        return ChoiceWeights(_stacked(logs, prior), "counts", counts=(counts, masses))


@dataclass(frozen=True, kw_only=True)
class ComplementNaiveBayes(LabelCounts):
    """- sum_f x_f log p(f|not y), from the counts of all other labels.

    Rennie et al. 2003, "Tackling the poor assumptions of naive Bayes": better if labels differ in size.
    """

    normalised: bool = knob(False, "divide each label's weights by their sum")

    def weights(self, counts: Matrix, masses: Matrix) -> ChoiceWeights:
        """The weights from counts [F, Y]; the labels' masses are not used."""
        others = counts.sum(axis=1, keepdims=True) - counts + self.alpha
        logs = np.log(others.sum(axis=0)) - np.log(others)
        if self.normalised:
            logs = logs / logs.sum(axis=0)
        return ChoiceWeights(_stacked(logs, np.zeros(len(masses))), "counts", counts=(counts, masses))


def label_counts(problem: Problem) -> Matrix:
    """n_fy: the sum of each feature over each label's documents, each document times its importance [F, Y]."""
    data: DocumentExamples = problem.examples
    values = data.weights()
    if len(values) and values.min() < 0:
        raise DataError(
            "Negative values in data passed to naive Bayes: it counts, and counts are not negative"
        )
    weighted = values * np.repeat(importance(problem), np.diff(data.ptr))
    out = np.zeros((data.F, data.Y))
    if data.soft is None:
        count_by_label(data.ptr, data.ids, weighted, data.label_ptr, data.labels, out)
        return out
    for y in range(data.Y):
        share = weighted * np.repeat(data.soft[:, y], np.diff(data.ptr))
        out[:, y] = np.bincount(data.ids, weights=share, minlength=data.F)
    return out


def label_masses(problem: Problem) -> Matrix:
    """The sum of the importance of each label's documents: float64 [Y]."""
    targets = problem.examples.targets().astype(np.float64)
    return np.asarray(importance(problem).astype(np.float64) @ targets)


def _stacked(logs: Matrix, prior: Matrix) -> NDArray[np.float32]:
    """Weights of features and of the intercept as one padded table."""
    F, Y = logs.shape
    w = np.zeros((F + 1, padded(Y)), dtype=np.float32)
    w[:F, :Y] = logs
    w[F, :Y] = prior
    return w
