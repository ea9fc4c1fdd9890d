"""The incremental learning of a trained classifier: it learns or forgets documents and keeps its other answers."""

import dataclasses
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators.document_predictions import DocumentPredictions
from chaffinch.estimators.documents import (
    labels_of,
    texts_of,
)
from chaffinch.estimators.learnt import Lessons, contradicted, contradiction_remark, mistakes_remark
from chaffinch.features.rows import SparseRows
from chaffinch.model.classifier import ClassifierModel
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.document_step import corrected, corrected_where_possible, takes_steps
from chaffinch.recipes.document_task import DocumentTask, suited, train_classifier, without_own_folds
from chaffinch.recipes.grown_classifier import with_room
from chaffinch.recipes.partial_fit import Increment
from chaffinch.recipes.recipe import are_corrections
from chaffinch.trust.confidence import Confidence

STILL_WRONG = (
    "its words are too rare to be features, or other texts with the same features contradict it; give more texts with "
    "these words, or forget texts that contradict it"
)

WATCHED = 500  # learnt documents whose scores a correction should leave alone
ENOUGH = 4  # texts of a new label after which all texts are trained on; then whenever they double
UNKNOWN = 1000  # learnt documents, if a file does not tell their number
MOST_MOVED = 0.01  # a step that changes the answers to a larger share of them is named


def _few(more: Lessons, lessons: Lessons, before: int = 0) -> bool:
    """Whether these documents and ``before`` earlier ones are at most 1% of all, or one."""
    return before + len(more.texts) <= max(1, len(lessons.texts) // 100)


def _last_labels(more: Lessons) -> list[int]:
    """The places of a lesson's texts, without those that follow again with another label: these are warned of."""
    if found := contradicted(more.texts, more.labels):
        warn_about_data(contradiction_remark(found, "documents"))
    return [n for n in range(len(more.texts)) if n not in found]


def _grown_labels(new: frozenset[Any], lessons: Lessons, more: Lessons) -> bool:
    """Whether the texts of a new label have become 4, 8, 16 ...: enough to learn more than their own words.

    lessons: all texts, with those of ``more``
    """
    for label in new.intersection(more.labels):
        now = lessons.labels.count(label)
        if now >= ENOUGH and now.bit_length() > (now - more.labels.count(label)).bit_length():
            return True
    return False


class DocumentLearning(DocumentPredictions):
    """Incremental learning and forgetting."""

    # For partial_fit: the documents of fit, and their features and config.
    _lessons: Lessons | None = None
    _settled: tuple[Any, Any] | None = None
    _rows: tuple[Any, Any] | None = None  # the encoder and the rows of the lessons
    _watched: tuple[Any, SparseRows] | None = None  # an encoder, and its rows of some learnt documents
    _new_labels: frozenset[Any] = frozenset()  # labels that steps added to the model
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
        settings. A few texts are learnt by the change of the weights that classifies them correctly and moves the
        scores of learnt texts least; new words get features, new labels weights; the calibration stays. Once these
        texts are more than 1% of all, or those of a new label have become 4, 8, 16 ..., it trains on all rows, which
        are kept in memory. If that does not classify the texts correctly, and for larger lessons, it trains from
        scratch, and probabilities are calibrated again. A text that is known with the same label changes nothing,
        unless it is still misclassified: then its weight doubles. A text that is known with another label replaces the
        earlier one, also within one lesson, with a :class:`DataWarning`. Up to 20 texts, or 1% of all, are corrections:
        a :class:`DataWarning` names those that are still misclassified afterwards, or tells that they changed the
        answers to more than 1% of learnt texts.

        A linear classifier of texts from a file learns all texts by such changes, those that are still misclassified
        are named. Other classifiers of the recipes loglinear, perceptron, nb and complement-nb update their weights or
        counts; the first call needs all classes and fixes the features of text. A call changes nothing if all its texts
        were learnt with these labels and are classified correctly.

        >>> from chaffinch import Classifier
        >>> classifier = Classifier("ridge").fit(["good tea", "bad tea"], ["+", "-"])
        >>> classifier.partial_fit(["lovely cake"], ["+"]).predict(["lovely"]).tolist()
        ['+']
        """
        if self._lessons is None and not self._learns_near and not Increment.possible(self._config()):
            recipe = CLASSIFIERS.by_config(self._config())
            if recipe.train is not train_classifier:
                able = ", ".join(one.name for one in CLASSIFIERS if one.train is train_classifier)
                raise AttributeError(
                    f"recipe {recipe.name} has no partial_fit; these recipes have it: {able}"
                )
            raise AttributeError(
                f"recipe {self.recipe!r} has no partial_fit unless fit trained it on texts with one label each; "
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
        self._watched, self._new_labels = None, frozenset()
        return self

    def _learnt_on(
        self, lessons: Lessons, more: Lessons, kept: NDArray[np.bool_], fresh: NDArray[np.bool_]
    ) -> bool:
        """Train on the rows in memory and those of a few more texts; features and calibration stay.

        False if that is impossible, or if a text of the lesson is still misclassified: it may need new features.
        """
        if self._rows is None or self._settled is None or not _few(more, lessons):
            return False
        features, config = self._settled
        encoder, rows = self._rows
        task = self._task(lessons.texts, lessons.labels, lessons.weight, None, keep_going)
        classes = task.labels.classes
        if len(task.X) != len(lessons.texts) or not set(self.model_.classes.tolist()) <= set(
            classes.tolist()
        ):
            return False
        if not kept.all():
            rows = rows.taken(np.flatnonzero(kept))
        new = [more.texts[k] for k in np.flatnonzero(fresh).tolist()]
        if new:
            rows = rows.above(encoder.rows(new, None, self.threads))
        new_labels = self._new_labels | (set(classes.tolist()) - set(self.model_.classes.tolist()))
        stays = _few(more, lessons, self._stepped) and not _grown_labels(new_labels, lessons, more)
        if stays and self._step(more, classes):
            self._stepped += len(more.texts)
            self._lessons, self._rows, self._new_labels = lessons, (encoder, rows), new_labels
            return True
        if len(classes) > len(self.model_.classes):
            return False
        ready = self._with_added_words(encoder, rows, lessons.texts)
        task = dataclasses.replace(task, features=features, ready=ready, calibrate=False)
        trained = CLASSIFIERS.by_config(config).train(task, without_own_folds(config, True))
        model = dataclasses.replace(trained.model, calibration=self.model_.calibration)
        given = model.classes[model.scores(more.texts, None, self.threads).argmax(axis=1)]
        if (given != np.asarray(more.labels)).any():
            return False
        self._keep(model, config, trained.history, self.confidence_)
        self._lessons, self._rows, self._stepped = lessons, (encoder, rows), 0
        return True

    def _with_added_words(
        self, encoder: DocumentEncoder, rows: SparseRows, texts: list[str]
    ) -> tuple[DocumentEncoder, SparseRows]:
        """The features of all lessons, with those of the words that steps have added to the model."""
        grown = self.model_.encoder
        if not grown.added:
            return encoder, rows
        read, value = grown.union.vectorizers[-1], grown.scales[-1]
        added = read.transform(texts, threads=self.threads).times(value)
        return encoder.with_words(read.names(), value), rows.beside(added)

    def _moved(self, before: Any, model: Any, rows: SparseRows) -> float:
        """The share of learnt documents whose answers another model of the same encoder changes."""
        now, then = (one.scores_of_rows(rows, self.threads).argmax(axis=1) for one in (before, model))
        return float(np.mean(now != then)) if len(now) else 0.0

    def _step(self, more: Lessons, classes: NDArray[Any]) -> bool:
        """Learn a few texts by the smallest change of the weights that makes them right; False if impossible.

        classes: all labels, also those of the lesson
        """
        assert self._settled is not None
        assert self._lessons is not None
        config = self._settled[1]
        if not takes_steps(suited(config, True, len(self._lessons.texts))):
            return False
        if len(set(more.texts)) < len(more.texts):
            return False
        place = {label: k for k, label in enumerate(classes.tolist())}
        y = np.array([place[label] for label in more.labels], np.int32)
        before = with_room(self.model_, more.texts, classes, len(self._lessons.texts), self.threads)
        lesson = before.encoder.rows(more.texts, None, self.threads)
        watched = self._watched_rows(before.encoder)
        model = corrected(before, lesson, y, watched)
        if model is None:
            return False
        if (moved := self._moved(before, model, watched)) > MOST_MOVED:
            if len(classes) > len(self.model_.classes):
                return False
            warn_about_data(
                f"learning this lesson changed the answers to {100 * moved:.1f} % of {len(watched)} learnt texts: no "
                "feature of its own distinguishes it from them; give more texts with its words, or take it back with "
                "forget"
            )
        self._keep(model, config, self.history_, self.confidence_)
        return True

    def _watched_rows(self, encoder: DocumentEncoder) -> SparseRows:
        """The features of some learnt documents, evenly spaced; encoded once for each encoder."""
        assert self._lessons is not None
        if self._watched is None or self._watched[0] is not encoder:
            N = len(self._lessons.texts)
            which = np.arange(min(N, WATCHED)) * N // max(1, min(N, WATCHED))
            texts = [self._lessons.texts[n] for n in which.tolist()]
            self._watched = encoder, encoder.rows(texts, None, self.threads)
        return self._watched[1]

    @property
    def _learns_near(self) -> bool:
        """Whether the model, trained elsewhere, can learn texts by steps: it is linear, with one label for a text."""
        model = getattr(self, "model_", None)
        if (
            self._increment is not None
            or not isinstance(model, ClassifierModel)
            or model.encoder.union is None
        ):
            return False
        plain = not model.several and model.link == "softmax" and not model.encoder.union.beside_columns
        return plain and takes_steps(suited(self.config_, True))

    def _learn_near(self, more: Lessons) -> Self:
        """Learn texts by the smallest change of the weights; no learnt text is in memory."""
        taught, number = len(more.texts), _last_labels(more)
        more = more.taken(number)
        right = self._right(more)
        if right.all():
            return self
        last = {text: n for n, text in enumerate(more.texts) if more.weight[n] > 0}
        lesson = more.taken(sorted(last.values()))
        model = self.model_
        classes = labels_of([*model.classes.tolist(), *lesson.labels]).classes
        words = lesson.texts if model.encoder.has_common_words else []
        documents = self.trained_on_.get("documents", UNKNOWN)
        model = with_room(model, words, classes, documents, self.threads)
        place = {label: k for k, label in enumerate(classes.tolist())}
        y = np.array([place[label] for label in lesson.labels], np.int32)
        rows = model.encoder.rows(lesson.texts, None, self.threads)
        model = corrected_where_possible(model, rows, y, SparseRows.none(rows.columns))
        self._keep(model, self.config_, self.history_, self.confidence_)
        self.trained_on_ = dict(self.trained_on_) | {"documents": documents + len(lesson.texts)}
        if not are_corrections(taught, documents):
            warn_about_data(
                f"{taught:,} documents were learnt by small changes of a model of {documents:,} documents that are "
                "not in memory: training on all of them together usually gives a better model"
            )
        self._say_mistakes(more, number, taught)
        return self

    def _say_mistakes(self, more: Lessons, number: list[int], taught: int) -> None:
        """Warn of texts that are still misclassified. number: their places in a lesson of ``taught`` texts"""
        if not (right := self._right(more)).all():
            wrong = [number[k] for k in np.flatnonzero(~right).tolist()]
            warn_about_data(mistakes_remark(wrong, taught, "documents", STILL_WRONG))

    def _taught(self, more: Lessons) -> Self:
        """Learn further texts beside all earlier ones."""
        assert self._lessons is not None
        taught, number = len(more.texts), _last_labels(more)
        more = more.taken(number)
        change = self._lessons.taught(more, self._right(more))
        if change is not None and not self._learnt_on(change[0], more, *change[1:]):
            self._learn_anew(change[0])
            if _few(more, change[0]) and not self._right(more).all():
                self._step(more, self.model_.classes)
        if are_corrections(taught, len(self._lessons.texts)):
            self._say_mistakes(more, number, taught)
        return self

    def _labelled_alike(self, more: Lessons) -> Lessons:
        """A lesson with strings as labels if the learnt ones are strings."""
        others = [label for label in more.labels if not isinstance(label, str)]
        if not others or self.model_.classes.dtype.kind != "U":
            return more
        warn_about_data(
            f"expected strings as labels, as those learnt before, found {others[0]!r}, which is read as "
            f"{str(others[0])!r}"
        )
        return dataclasses.replace(more, labels=[str(label) for label in more.labels])

    def _right(self, lessons: Lessons) -> NDArray[np.bool_]:
        """Whether each text gets its label: bool [texts]."""
        return np.atleast_1d(np.asarray(self.predict(lessons.texts)) == np.asarray(lessons.labels))

    def _partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, beside: Any = None
    ) -> Self:
        X, beside = self._beside(X, beside)
        if self._lessons is not None or self._learns_near:
            if beside is not None:
                raise DataError("this classifier was trained on texts without numbers beside them")
            more = self._labelled_alike(Lessons.checked(texts_of(X), y, sample_weight))
            return self._learn_near(more) if self._lessons is None else self._taught(more)
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
