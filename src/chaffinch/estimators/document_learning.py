"""The answers of a trained classifier (labels, probabilities, scores, explanations), and its incremental learning: it
learns or forgets documents and keeps its other answers.
"""

import dataclasses
import sys
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Texts
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators.documents import (
    documents_and_numbers,
    is_text,
    labels_of,
    numbers_beside,
    numbers_of,
    objects_of,
    texts_of,
)
from chaffinch.estimators.learnt import Lessons, contradicted, contradiction_remark, mistakes_remark
from chaffinch.estimators.persistent import Calibrated
from chaffinch.features.rows import SparseRows, indexed_rows
from chaffinch.model.choice_evidence import DOCUMENT
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.evidence import Question
from chaffinch.model.objects import shown
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.classifiers import CLASSIFIERS, takes_several_labels
from chaffinch.recipes.document_step import corrected, takes_steps
from chaffinch.recipes.document_task import DocumentTask, suited, train_classifier, without_own_folds
from chaffinch.recipes.partial_fit import COUNTED, Increment
from chaffinch.recipes.recipe import are_corrections
from chaffinch.recipes.rescued import Imported
from chaffinch.trust.confidence import Confidence
from chaffinch.trust.explain import explain
from chaffinch.trust.explanation import Explanation

# -- predictions ------------------------------------------------------------------------------------------------------


class DocumentPredictions(Calibrated[Any]):
    """The answers of a trained classifier."""

    recipes = CLASSIFIERS

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of ``predict_proba``'s columns."""
        return self._fitted("classes_").classes

    @property
    def n_features_in_(self) -> int:
        """The number of columns of a document; a classifier of texts does not have this attribute."""
        model = self._fitted("n_features_in_")
        if model.encoder.reads != "numbers":
            raise AttributeError(f"a classifier of {model.encoder.reads} has no n_features_in_")
        return model.encoder.columns

    def predict(self, X: Any, beside: Any = None, *, k: int | None = None) -> Any:
        """The best label of each document; lists of labels (or a 0/1 table) if documents may have several.

        k: give the k most probable labels of each document instead, best first: [N, k], or all if there are fewer
        """
        model = self._fitted()
        if k is not None and k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        if k is None and self._ranks:
            return self._decided(None, self._documents(X, beside)[0])
        if k is None:
            return self._decided(self._scores(X, beside), X)
        if hasattr(model, "ranked"):
            return model.classes[model.ranked(self._documents(X, beside)[0], k, self.threads)]
        return model.classes[np.argsort(-self._scores(X, beside), axis=1, kind="stable")[:, :k]]

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The weights of a linear classifier in scikit-learn's layout: [labels, features]; one row for two labels."""
        return self._linear("coef_")[:-1].T

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The intercepts of a linear classifier: [labels], [1] for two labels."""
        return self._linear("intercept_")[-1]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the features, in the order of ``coef_``'s columns."""
        return np.array(self._fitted("get_feature_names_out").encoder.names(), dtype=object)

    def answers(self, X: Any, beside: Any = None) -> tuple[NDArray[np.float64], list[Any]]:
        """The probabilities [N, labels] and the labels, or lists of them, from one pass over the documents."""
        model = self._fitted()
        X, beside = self._documents(X, beside) if self._ranks else (X, beside)
        scores = self._scores(X, beside)
        decided = self._decided(scores, X)
        if model.several and model.indicator:
            decided = [model.classes[row != 0].tolist() for row in decided]
        return model.probabilities(scores), decided if isinstance(decided, list) else decided.tolist()

    def places_of_answers(self, texts: Texts) -> tuple[NDArray[np.float64], NDArray[np.int32]] | None:
        """The probabilities [N, labels] of texts of the core, and the place of each answer in ``classes_`` [N].

        None if answers are several labels, or if the model ranks labels itself: ``answers`` gives them.
        """
        model = self._fitted()
        if model.several or self._ranks:
            return None
        if isinstance(model.encoder, DocumentEncoder) and model.encoder.reads_bytes:
            scores = model.scores(texts, None, self.threads)
        else:
            scores = self._scores(texts.strings(), None)
        return model.probabilities(scores), scores.argmax(axis=1).astype(np.int32)

    def predict_proba(self, X: Any, beside: Any = None) -> NDArray[np.float64]:
        """p(label|document) [N, labels]: rows sum to one, unless documents may have several labels."""
        return self._fitted().probabilities(self._scores(X, beside))

    def threshold_for(self, *, precision: float, risk: float = 0.1) -> float:
        """The lowest probability at which answers have at least this precision.

        An answer is the most probable label; with several labels, each predicted one. With a probability of
        1 - ``risk`` over the training data, answers at or above it have this precision on data of the same
        distribution (learn-then-test on out-of-fold answers). ConfigError if the data cannot certify that.
        """
        remedy = "no threshold can be certified: train it with calibrate=True, or with dev data"
        return self._certified(precision, risk, f" on held-out documents, so {remedy}")

    def decision_function(self, X: Any, beside: Any = None) -> NDArray[np.float64]:
        """The scores [N, labels]; for two labels, the score of the second minus that of the first [N]."""
        model = self._fitted()
        s = self._scores(X, beside).astype(np.float64)
        return s[:, 1] - s[:, 0] if s.shape[1] == 2 and not model.several else s

    def explain(self, document: Any, *, against: Any = None, beside: Any = None) -> Explanation:
        """An explanation of a document's label: named contributions that add up to the model's scores.

        against: the label to compare with ("why B and not A"); None: the best other one. If documents may have
                 several labels, the label in question
        beside:  the numbers that come with the text, as for ``predict``

        >>> from chaffinch import Classifier
        >>> classifier = Classifier("nb").fit(["good tea", "awful tea"], ["+", "-"])
        >>> classifier.explain("awful cake").decisions[0].ranked()[0].name
        'awful'
        """
        model = self._fitted()
        X, beside = self._documents(document if getattr(document, "ndim", 1) == 2 else [document], beside)
        question = Question(against=None if against is None else str(against))
        asked = Question() if model.several else question
        decisions = tuple(
            one for x in model.examples(X, beside, question, self.threads) for one in explain(x, asked)
        )
        source = document if isinstance(document, str) else _in_words(document)
        answer = ", ".join(str(one.answer) for one in decisions if one.subject == DOCUMENT)
        forms = model.encoder.forms(document) if isinstance(document, str) else {}
        return Explanation(CLASSIFIERS.by_config(self.config_).name, source, (), answer, decisions, forms)

    def score(self, X: Any, y: Any, sample_weight: Any = None, beside: Any = None) -> float:
        """Accuracy; with several labels, the share of documents with exactly the right labels."""
        predicted = self.predict(X, beside)
        if self._fitted().several and not self._fitted().indicator:
            right = np.array([set(a) == set(b) for a, b in zip(predicted, y, strict=True)])
        else:
            same = np.asarray(predicted) == np.asarray(y)
            right = same.all(axis=1) if same.ndim == 2 else same
        return float(np.average(right, weights=sample_weight))

    # -- scikit-learn's interface -----------------------------------------------------------------------------

    _estimator_type = "classifier"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=False),
            classifier_tags=ClassifierTags(
                multi_label=takes_several_labels(self._config()),
                poor_score=isinstance(
                    self._config(), COUNTED
                ),  # as scikit-learn's naive Bayes, which models counts
            ),
            input_tags=InputTags(
                sparse=True, string=False, positive_only=isinstance(self._config(), COUNTED)
            ),
        )

    def _fitted(self, attribute: str | None = None) -> Any:
        if not hasattr(self, "model_"):
            if attribute is not None:
                raise AttributeError(f"{attribute} exists only after fit")
            raise _not_fitted()
        return self.model_

    def _linear(self, attribute: str) -> NDArray[np.float32]:
        """Weights [F+1, labels], the intercepts last; for two labels, the second minus the first [F+1, 1]."""
        model = self._fitted(attribute)
        if not hasattr(model, "w"):
            raise AttributeError(f"{attribute}: the recipe {self.config_!r} has no weights for features")
        w = np.asarray(model.w[:, : len(model.classes)])
        return w[:, 1:] - w[:, :1] if w.shape[1] == 2 and not model.several else w

    @property
    def _ranks(self) -> bool:
        """Whether the model ranks labels itself, because it breaks ties as another tool does."""
        return hasattr(self.model_, "ranked") and not self.model_.several

    def _decided(self, scores: NDArray[np.float32] | None, X: Any) -> Any:
        """The answers; if the model ranks, X is a list of texts and scores are not needed."""
        model = self.model_
        if self._ranks:
            return model.classes[model.ranked(X, 1, self.threads)[:, 0]]
        assert scores is not None
        if not model.several:
            return model.classes[scores.argmax(axis=1)]
        given = model.given(scores)
        if model.indicator:
            return given.astype(np.int64)
        return [model.classes[row].tolist() for row in given]

    def _scores(self, X: Any, beside: Any) -> NDArray[np.float32]:
        documents, beside = self._documents(X, beside)
        return self.model_.scores(documents, beside, self.threads)

    def _beside(self, X: Any, beside: Any) -> tuple[Any, Any]:
        """Documents, and the numbers beside them: columns of the same table, or those given as ``beside``."""
        X, own = documents_and_numbers(X)
        if own is not None and beside is not None:
            raise DataError(
                "X has columns of numbers, and numbers are also given beside it: give them in one of the two"
            )
        return X, numbers_beside(beside) if own is None else own

    def _documents(self, X: Any, beside: Any = None) -> tuple[Any, Any]:
        """Documents as the encoder reads them, and the numbers beside them."""
        encoder = self._fitted().encoder
        if encoder.reads == "objects":
            return objects_of(X), beside
        X, beside = self._beside(X, beside)
        named = encoder.union is not None and encoder.union.beside_names
        if isinstance(beside, Mapping) and encoder.reads == "texts" and not named:
            beside = np.column_stack(list(beside.values()))  # as in training: numbers without names
        if encoder.reads != "numbers" and isinstance(X, str):
            X = [X]
        if encoder.reads == "numbers":
            if isinstance(self.config_, Imported) and (is_text(X) or _of_mappings(X)):
                return indexed_rows(X, encoder.columns), None
            if is_text(X):
                raise DataError("this classifier was trained on numbers, got texts")
            return numbers_of(X, encoder.columns), None
        if not is_text(X) and len(X) > 0:
            raise DataError("this classifier was trained on texts: give a list of strings")
        return texts_of(X), beside


def _of_mappings(X: Any) -> bool:
    """Whether documents are dicts of values by index, as LIBLINEAR takes them."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(row, Mapping) for row in X)


def _in_words(document: Any) -> str:
    """The name of a document that is not a text, for explanations."""
    try:
        return shown(document)
    except ConfigError:  # an object without a text form
        return f"a {type(document).__name__}"


def _not_fitted() -> Exception:
    """scikit-learn's error, if scikit-learn is loaded."""
    message = "this Classifier instance is not fitted yet: call fit, or load a model"
    if "sklearn" not in sys.modules:
        return ConfigError(message)
    from sklearn.exceptions import NotFittedError

    return type("NotFitted", (NotFittedError, ConfigError), {})(message)


# -- learning ---------------------------------------------------------------------------------------------------------


STILL_WRONG = (
    "its words are too rare to be features, or other texts with the same features contradict it; give more texts with "
    "these words, or forget texts that contradict it"
)

WATCHED = 500  # learnt documents whose scores a correction should leave alone
MOST_MOVED = 0.01  # a step that changes the answers to a larger share of them is named


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
        weight doubles. A text that is known with another label replaces the earlier one, also within one lesson, with a
        :class:`DataWarning`. Up to 20 texts, or 1% of all, are corrections: a :class:`DataWarning` names those that are
        still misclassified afterwards, or tells that they changed the answers to more than 1% of learnt texts.

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

    def _moved(self, model: Any, rows: SparseRows) -> float:
        """The share of learnt documents whose answers another model of the same encoder changes."""
        now, then = (one.scores_of_rows(rows, self.threads).argmax(axis=1) for one in (self.model_, model))
        return float(np.mean(now != then)) if len(now) else 0.0

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
        watched = self._watched_rows()
        model = corrected(self.model_, lesson, y, watched)
        if model is None:
            return False
        if (moved := self._moved(model, watched)) > MOST_MOVED:
            warn_about_data(
                f"learning this lesson changed the answers to {100 * moved:.1f} % of {len(watched)} learnt texts: no "
                "feature of its own distinguishes it from them; give more texts with its words, or take it back with "
                "forget"
            )
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

    def _taught(self, more: Lessons) -> Self:
        """Learn further texts beside all earlier ones."""
        assert self._lessons is not None
        taught, number = len(more.texts), list(range(len(more.texts)))
        if found := contradicted(more.texts, more.labels):
            warn_about_data(contradiction_remark(found, "documents"))
            number = [n for n in number if n not in found]
            more = more.taken(number)
        change = self._lessons.taught(more, self._right(more))
        if change is not None and not self._learnt_on(change[0], more, *change[1:]):
            self._learn_anew(change[0])
            if _few(more, change[0]) and not self._right(more).all():
                self._step(more)
        if are_corrections(taught, len(self._lessons.texts)) and not (right := self._right(more)).all():
            wrong = [number[k] for k in np.flatnonzero(~right).tolist()]
            warn_about_data(mistakes_remark(wrong, taught, "documents", STILL_WRONG))
        return self

    def _right(self, lessons: Lessons) -> NDArray[np.bool_]:
        """Whether each text gets its label: bool [texts]."""
        return np.atleast_1d(np.asarray(self.predict(lessons.texts)) == np.asarray(lessons.labels))

    def _partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, beside: Any = None
    ) -> Self:
        X, beside = self._beside(X, beside)
        if self._lessons is not None:
            if beside is not None:
                raise DataError("this classifier was trained on texts without numbers beside them")
            return self._taught(Lessons.checked(texts_of(X), y, sample_weight))
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
