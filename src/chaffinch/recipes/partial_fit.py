"""Partial fit: further documents update the weights."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.features.rows import SparseRows
from chaffinch.learners.choice import ChoiceWeights
from chaffinch.learners.choice_gradient import ChoicePerceptron, ChoiceSgd, SgdRun
from chaffinch.learners.naive_bayes import (
    ComplementNaiveBayes,
    MultinomialNaiveBayes,
    label_counts,
    label_masses,
)
from chaffinch.learners.problem import Problem
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.recipes.document_task import DocumentLabels, DocumentTask, finished, suited

COUNTED = (MultinomialNaiveBayes, ComplementNaiveBayes)
RESUMED = 1000.0  # weight of a loaded model's prior, in documents


class Increment:
    """A classifier that is trained in batches: the first fixes the features, each one updates the weights."""

    def __init__(self, config: Any, classes: NDArray[Any]) -> None:
        self.config, self.classes = config, classes
        self._encoder: DocumentEncoder | None = None
        self._run: SgdRun | None = None
        self._counts: NDArray[np.float64] | None = None
        self._masses = np.zeros(len(classes))
        self._learnt: set[bytes] = set()  # digests of texts and their labels

    @classmethod
    def resumed(cls, config: Any, model: ClassifierModel) -> "Increment":
        """From a trained model, whose weights are updated."""
        if isinstance(config, COUNTED):
            raise ConfigError(
                "a model file has no counts: naive Bayes can learn more only in the process that trained it"
            )
        made = cls(config, model.classes)
        made._encoder = model.encoder
        learner: Any = suited(config, model.encoder.union is not None)
        made._run = learner.start(model.encoder.n_features, len(model.classes))
        made._run.begin(model.w)
        if model.prior is not None:
            made._masses = RESUMED * model.prior.shares.astype(np.float64)
        return made

    @classmethod
    def counted(cls, config: Any, classes: NDArray[Any], counts: tuple[Any, ...]) -> "Increment":
        """From the counts of a training, to which further counts are added."""
        made = cls(config, classes)
        made._encoder, made._counts, made._masses = counts
        return made

    @staticmethod
    def possible(config: Any) -> bool:
        """Whether a recipe can be trained in batches."""
        return isinstance(config, (ChoiceSgd, ChoicePerceptron, MultinomialNaiveBayes, ComplementNaiveBayes))

    def knows(self, texts: Sequence[str], labels: Sequence[Any]) -> bool:
        """Whether all these texts were learnt with their labels before; marks them as learnt."""
        digests = {
            blake2b(f"{label}\x1f{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
            for text, label in zip(texts, labels, strict=True)
        }
        known = digests <= self._learnt
        self._learnt |= digests
        return known

    def model(self, task: DocumentTask) -> ClassifierModel:
        """The model after one pass over these documents."""
        task = replace(task, labels=self._placed(task.labels), smallest=0.0)
        rows = self._rows(task)
        made = self._moved(task.problem(rows), task.text, task.threads)
        assert self._encoder is not None
        return finished(task, self._encoder, made, masses=self._masses)[0]

    def _rows(self, task: DocumentTask) -> SparseRows:
        if self._encoder is None:
            self._encoder, rows = task.encoded()
            return rows
        rows = self._encoder.rows(task.X, task.beside, task.threads)
        if rows.columns != self._encoder.n_features:
            raise DataError(
                f"X has {rows.columns} features, but Classifier is expecting {self._encoder.n_features} features "
                "as input"
            )
        return rows

    def _moved(self, problem: Problem, text: bool, threads: int) -> ChoiceWeights:
        self._masses = self._masses + label_masses(problem)
        if isinstance(self.config, COUNTED):
            counts = label_counts(problem)
            self._counts = counts if self._counts is None else self._counts + counts
            return self.config.weights(self._counts, self._masses)
        learner: Any = suited(self.config, text)
        if self._run is None:
            self._run = learner.start(problem.examples.F, problem.examples.Y)
        self._run.epoch(problem, threads)
        return self._run.weights()

    def _placed(self, labels: DocumentLabels) -> DocumentLabels:
        """The labels numbered among all classes."""
        if labels.several or labels.soft is not None:
            raise ConfigError("partial_fit needs one label per document")
        to = np.searchsorted(self.classes, labels.classes)
        known = to < len(self.classes)
        known[known] = self.classes[to[known]] == labels.classes[known]
        if not known.all():
            strange = labels.classes[~known][0]
            raise DataError(f"label {strange!r} is not among the classes that the first call named")
        return replace(labels, classes=self.classes, ids=to.astype(np.int32)[labels.ids])
