"""The answers of a trained classifier: labels, probabilities, scores, explanations."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Texts
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.documents import (
    documents_and_numbers,
    is_text,
    numbers_beside,
    numbers_of,
    objects_of,
    texts_of,
)
from chaffinch.estimators.persistent import Calibrated
from chaffinch.features.rows import indexed_rows
from chaffinch.model.choice_evidence import DOCUMENT
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.evidence import Question
from chaffinch.model.objects import shown
from chaffinch.recipes.classifiers import CLASSIFIERS, takes_several_labels
from chaffinch.recipes.partial_fit import COUNTED
from chaffinch.recipes.rescued import Imported
from chaffinch.trust.explain import explain
from chaffinch.trust.explanation import Explanation


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
