"""Incremental learning of a classifier: it learns or forgets documents and keeps its other answers."""

import dataclasses
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.document_predictions import DocumentPredictions
from chaffinch.estimators.documents import is_text, labels_of, texts_of
from chaffinch.estimators.learnt import Lessons
from chaffinch.features.rows import SparseRows
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.document_step import corrected, takes_steps
from chaffinch.recipes.document_task import DocumentTask, suited, train_classifier, without_own_folds
from chaffinch.recipes.partial_fit import Increment
from chaffinch.trust.confidence import Confidence

WATCHED = 500  # learnt documents whose scores a correction should leave alone


def _few(more: Lessons, lessons: Lessons, before: int = 0) -> bool:
    """Whether these documents and ``before`` earlier ones are at most 1% of all, or one."""
    return before + len(more.texts) <= max(1, len(lessons.texts) // 100)


class DocumentLearning(DocumentPredictions):
    """Incremental learning and forgetting."""

    # For partial_fit: the documents of fit, and their features and config.
    _lessons: Lessons | None = None
    _settled: tuple[Any, Any] | None = None
    _rows: tuple[Any, Any] | None = None  # the encoder and the rows of the lessons
    _watched: tuple[Any, SparseRows] | None = None  # an encoder, and its rows of some learnt documents
    _stepped: int = 0  # texts learnt by steps since the last training on all texts
    _increment: Increment | None = None

    @abstractmethod
    def _task(self, X: Any, y: Any, sample_weight: Any, beside: Any, on_epoch: Listener) -> DocumentTask:
        """The documents as a task."""

    @abstractmethod
    def _keep(
        self, model: Any, config: Any, history: list[Any], confidence: Confidence | None = None
    ) -> None:
        """Store a trained model."""

    @property
    def partial_fit(self) -> Any:
        """Learn from more documents: ``partial_fit(X, y, classes=None, sample_weight=None, beside=None)``.

        A linear classifier that ``fit`` trained on texts with one label each learns as follows, with its present
        settings. A few texts with known labels are learnt by the change of the weights that classifies them correctly
        and moves the scores of learnt texts least; features and calibration stay. Once these texts are more than 1% of
        all, it trains on all rows, which are kept in memory. If that does not classify the texts correctly, and for
        larger lessons, it trains from scratch: new words and labels get features, and probabilities are calibrated
        again. A text that is known with the same label changes nothing, unless it is still misclassified: then its
        weight doubles. A text that is known with another label replaces the earlier one.

        Other classifiers of the recipes loglinear, perceptron, nb and complement-nb update their weights or counts; the
        first call needs all classes and fixes the features of text. A call changes nothing if all its texts were
        learnt with these labels and are classified correctly.

        >>> from chaffinch import Classifier
        >>> classifier = Classifier("ridge").fit(["good tea", "bad tea"], ["+", "-"])
        >>> classifier.partial_fit(["lovely cake"], ["+"]).predict(["lovely"]).tolist()
        ['+']
        """
        if self._lessons is None and not Increment.possible(self._config()):
            recipe = CLASSIFIERS.by_config(self._config())
            if recipe.train is not train_classifier:
                able = ", ".join(one.name for one in CLASSIFIERS if one.train is train_classifier)
                raise AttributeError(
                    f"recipe {recipe.name} has no partial_fit; these recipes have it: {able}"
                )
            raise AttributeError(
                f"recipe {self.recipe!r} has no partial_fit unless fit trained it on texts in this process; "
                "loglinear, perceptron and nb always have it"
            )
        return self._partial_fit

    def forget(self, X: Any) -> Self:
        """Remove texts from the training data, as if they had never been learnt."""
        if self._lessons is None:
            raise ConfigError("only a linear classifier that fit trained on texts in this process can forget")
        lessons = self._lessons.without(texts_of(X))
        if lessons is None:
            raise DataError("expected texts that were learnt, found none of them: there is nothing to forget")
        return self._learn_anew(lessons)

    def _learn_anew(self, lessons: Lessons) -> Self:
        """Train on all documents with the features and the settings of the first training."""
        assert self._settled is not None
        features, config = self._settled
        task = self._task(lessons.texts, lessons.labels, lessons.weight, None, keep_going)
        task = dataclasses.replace(task, features=features, keep=True)
        trained = CLASSIFIERS.by_config(config).train(task, config)
        self._keep(trained.model, config, trained.history, trained.confidence)
        self._lessons, self._rows, self._stepped = lessons, trained.memory, 0
        return self

    def _learnt_on(
        self, lessons: Lessons, more: Lessons, kept: NDArray[np.bool_], fresh: NDArray[np.bool_]
    ) -> bool:
        """Train on the rows in memory and those of a few more texts; features and calibration stay.

        False if that is impossible, or if a text of the lesson is still misclassified: it may need new features.
        """
        known = set(self.model_.classes.tolist())
        if self._rows is None or self._settled is None or not _few(more, lessons):
            return False
        if not known.issuperset(more.labels):
            return False
        features, config = self._settled
        encoder, rows = self._rows
        task = self._task(lessons.texts, lessons.labels, lessons.weight, None, keep_going)
        if len(task.X) != len(lessons.texts) or len(task.labels.classes) != len(known):
            return False
        if not kept.all():
            rows = rows.taken(np.flatnonzero(kept))
        new = [more.texts[k] for k in np.flatnonzero(fresh).tolist()]
        if new:
            rows = rows.above(encoder.rows(new, None, self.threads))
        if _few(more, lessons, self._stepped) and self._step(more):
            self._stepped += len(more.texts)
            self._lessons, self._rows = lessons, (encoder, rows)
            return True
        task = dataclasses.replace(task, features=features, ready=(encoder, rows), calibrate=False)
        trained = CLASSIFIERS.by_config(config).train(task, without_own_folds(config, True))
        model = dataclasses.replace(trained.model, calibration=self.model_.calibration)
        given = model.classes[model.scores(more.texts, None, self.threads).argmax(axis=1)]
        if (given != np.asarray(more.labels)).any():
            return False
        self._keep(model, config, trained.history, self.confidence_)
        self._lessons, self._rows, self._stepped = lessons, (encoder, rows), 0
        return True

    def _step(self, more: Lessons) -> bool:
        """Learn a few texts by the smallest change of the weights that makes them right; False if impossible."""
        assert self._settled is not None
        assert self._lessons is not None
        config = self._settled[1]
        if not takes_steps(suited(config, True, len(self._lessons.texts))):
            return False
        if len(set(more.texts)) < len(more.texts) or not set(self.model_.classes.tolist()).issuperset(
            more.labels
        ):
            return False
        place = {label: k for k, label in enumerate(self.model_.classes.tolist())}
        y = np.array([place[label] for label in more.labels], np.int32)
        lesson = self.model_.encoder.rows(more.texts, None, self.threads)
        model = corrected(self.model_, lesson, y, self._watched_rows())
        if model is None:
            return False
        self._keep(model, config, self.history_, self.confidence_)
        return True

    def _watched_rows(self) -> SparseRows:
        """The features of some learnt documents, evenly spaced; encoded once for each encoder."""
        assert self._lessons is not None
        if self._watched is None or self._watched[0] is not self.model_.encoder:
            N = len(self._lessons.texts)
            which = np.arange(min(N, WATCHED)) * N // max(1, min(N, WATCHED))
            texts = [self._lessons.texts[n] for n in which.tolist()]
            self._watched = self.model_.encoder, self.model_.encoder.rows(texts, None, self.threads)
        return self._watched[1]

    def _partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, beside: Any = None
    ) -> Self:
        X, beside = self._beside(X, beside)
        if self._lessons is not None and is_text(X) and beside is None:
            more = Lessons.of(texts_of(X), y, sample_weight)
            right = np.asarray(self.predict(more.texts)) == np.asarray(more.labels)
            change = self._lessons.taught(more, np.atleast_1d(right))
            if change is None or self._learnt_on(change[0], more, *change[1:]):
                return self
            self._learn_anew(change[0])
            if _few(more, change[0]) and (self.predict(more.texts) != np.asarray(more.labels)).any():
                self._step(more)
            return self
        config = self._config()
        increment = self._increment
        if increment is None and hasattr(self, "model_"):
            increment = Increment.resumed(config, self.model_)
        if increment is None:
            if classes is None:
                raise DataError("classes must be passed on the first call to partial_fit.")
            increment = Increment(config, labels_of(list(classes)).classes)
        task = self._task(X, y, sample_weight, beside, keep_going)
        if task.text and beside is None and not task.labels.several and task.labels.soft is None:
            labels = task.labels.classes[task.labels.ids]
            known = increment.knows(task.X, labels.tolist())
            if known and np.array_equal(self.predict(task.X), labels):
                return self
        self._keep(increment.model(task), config, [])
        self._increment = increment
        return self
