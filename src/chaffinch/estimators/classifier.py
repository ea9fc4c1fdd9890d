"""The classifier: labels for whole documents, texts or rows of numbers, as a scikit-learn estimator."""

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.defaults.choice import DefaultChoice
from chaffinch.defaults.documents import choose
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.documents import (
    counting,
    documents_and_numbers,
    fingerprint_of,
    importance_of,
    is_text,
    labels_of,
    merged,
    numbers_beside,
    numbers_of,
    objects_of,
    texts_of,
)
from chaffinch.estimators.learnt import Lessons
from chaffinch.estimators.persistent import Persistent
from chaffinch.features.rows import indexed_rows
from chaffinch.kernels import Kernel
from chaffinch.knobs import check
from chaffinch.learners.kernel_choice import KernelChoice
from chaffinch.model.choice_evidence import DOCUMENT
from chaffinch.model.evidence import Question
from chaffinch.model.objects import shown
from chaffinch.model.protocols import Packed
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.classifiers import CLASSIFIERS, DEFAULT_CLASSIFIER, takes_several_labels, unpacked
from chaffinch.recipes.document_task import DocumentTask, train_classifier, without_own_folds
from chaffinch.recipes.imported import Imported
from chaffinch.recipes.partial_fit import COUNTED, Increment
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.trust.confidence import Confidence
from chaffinch.trust.explain import explain
from chaffinch.trust.explanation import Explanation

# Repeated rows of numbers are merged up to this many rows; beyond, merging costs more than it saves.
MERGED_UP_TO = 100_000


class Classifier(Persistent[Any]):
    """Labels for documents.

    recipe:       a recipe's name, or its config with knobs set: ``Classifier("nb")``, ``Classifier(DualRest(C=2.0))``
                  None: chosen by cross-validation within the training texts, as are the penalty and, unless they
                  are given, the features; for numbers ``ridge``
    features:     of text: a preset's name, a :class:`TextVectorizer`, or a list of them
    settings:     knobs of the recipe that are given if the recipe itself is chosen: ``{"C": 0.5}``
    choose:       whether to choose what is not given; None: if no recipe is named
    kernel:       of a kernel machine (``kernel-svm``, ``kernel-perceptron``, ``kernel-eg``, ``knn``), instead of the
                  one that its settings name: ``Classifier("kernel-svm", kernel=SubsetTreeKernel().normalised())``
    class_weight: weights of the documents of each class: ``"balanced"``, or a dict
    threshold:    if documents may have several labels: the lowest probability at which a label is predicted
    bits:         8 or 32 for each weight; None: 8 for text
    smallest:     drop features of text whose largest absolute weight is below this fraction of the overall maximum;
                  None: as many as cost no accuracy on held-out folds
    calibrate:    compute out-of-fold scores, which calibrate the probabilities and determine ``smallest``
    seed:         seed of the order of documents
    threads:      0 for all cores; the result does not depend on it

    Documents are texts, or rows of numbers (a SciPy sparse matrix, an array), or a table with one column of texts and
    columns of numbers; for a kernel of other objects, a list of them, such as trees. Targets are labels; a list or set
    of labels per document; or a dict of labels and their shares.

    >>> texts = ["good tea", "fine tea", "lovely cake", "bad tea", "awful cake", "poor tea"]
    >>> classifier = Classifier().fit(texts, ["+", "+", "+", "-", "-", "-"])
    >>> classifier.predict(["awful tea", "good cake"]).tolist()
    ['-', '+']
    """

    task = "classifier"
    recipes = CLASSIFIERS

    confidence_: Confidence | None = None

    # What partial_fit needs: the documents of fit, and their features and config.
    _lessons: Lessons | None = None
    _settled: tuple[Any, Any] | None = None
    _rows: tuple[Any, Any] | None = None  # the encoder and the rows of the lessons

    def __init__(
        self,
        recipe: Any = None,
        *,
        features: Any = None,
        settings: Mapping[str, Any] | None = None,
        choose: bool | None = None,
        kernel: Kernel | None = None,
        class_weight: Any = None,
        threshold: float = 0.5,
        bits: int | None = None,
        smallest: float | None = None,
        calibrate: bool = True,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        super().__init__(recipe, seed=seed, threads=threads)
        self.features = features
        self.settings = settings
        self.choose = choose
        self.kernel = kernel
        self.class_weight = class_weight
        self.threshold = threshold
        self.bits = bits
        self.smallest = smallest
        self.calibrate = calibrate

    # -- learning ---------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        beside: Any = None,
        dev: Any = None,
        on_epoch: Listener = keep_going,
    ) -> "Classifier":
        """Learn from documents and their targets.

        beside: numbers that come with the texts: a matrix, or a dict of columns by name
        dev:    held-out documents and targets (and numbers beside them): the best pass on them is kept,
                and training stops after three passes without improvement
        """
        task = self._task(X, y, sample_weight, beside, on_epoch)
        if dev is not None:
            task = dataclasses.replace(task, dev=self._dev(task, *dev))
        task, config, chosen = self._chosen(task)
        self.choice_ = None if chosen is None else chosen.as_dict()
        recipe = CLASSIFIERS.by_config(config)
        self._increment: Increment | None = None
        single = not task.labels.several and task.labels.soft is None
        plain = (
            task.text
            and single
            and task.beside is None
            and hasattr(X, "__len__")
            and recipe.train is train_classifier
        )
        trained = recipe.train(dataclasses.replace(task, keep=plain), config)
        if trained.counts is not None and single:
            self._increment = Increment.counted(config, task.labels.classes, trained.counts)
        self._keep(trained.model, config, trained.history, trained.confidence)
        learnt = plain and self._increment is None
        self._lessons = Lessons.of(documents_and_numbers(X)[0], y, sample_weight) if learnt else None
        self._rows = trained.memory if self._lessons is not None else None
        self._settled = (task.features, config) if self._lessons is not None else None
        return self

    @property
    def partial_fit(self) -> Any:
        """Learn from more documents: ``partial_fit(X, y, classes=None, sample_weight=None, beside=None)``.

        A linear classifier that ``fit`` trained on texts with one label each trains on all documents, with the settings
        that it has. A few texts with known labels join the rows that are kept in memory; features and calibration stay
        as they are. If that does not make them right, and for larger lessons, everything is done anew: new words and
        labels are taken in, and probabilities calibrated again. A text that is known with the same label changes
        nothing unless it is still wrong (then it counts twice as much), and one that is known with another label takes
        its place. Otherwise the recipes loglinear, perceptron, nb and complement-nb update their weights or counts; the
        first call needs all classes, and fixes the features of text.

        >>> classifier = Classifier("ridge").fit(["good tea", "bad tea"], ["+", "-"])
        >>> classifier.partial_fit(["lovely cake"], ["+"]).predict(["lovely"]).tolist()
        ['+']
        """
        if self._lessons is None and not Increment.possible(self._config()):
            raise AttributeError(
                f"recipe {self.recipe!r} has no partial_fit unless fit trained it on texts in this process; "
                "loglinear, perceptron and nb have"
            )
        return self._partial_fit

    def forget(self, X: Any) -> "Classifier":
        """Remove texts from the training data, as if they had never been learnt."""
        if self._lessons is None:
            raise ConfigError("only a linear classifier that fit trained on texts in this process can forget")
        lessons = self._lessons.without(texts_of(X))
        if lessons is None:
            raise DataError("expected texts that were learnt, found none of them: there is nothing to forget")
        return self._learn_anew(lessons)

    def _learn_anew(self, lessons: Lessons) -> "Classifier":
        """Train on all documents with the features and the settings of the first training."""
        assert self._settled is not None
        features, config = self._settled
        task = self._task(lessons.texts, lessons.labels, lessons.weight, None, keep_going)
        task = dataclasses.replace(task, features=features, keep=True)
        trained = CLASSIFIERS.by_config(config).train(task, config)
        self._keep(trained.model, config, trained.history, trained.confidence)
        self._lessons, self._rows = lessons, trained.memory
        return self

    def _learnt_on(
        self, lessons: Lessons, more: Lessons, kept: NDArray[np.bool_], fresh: NDArray[np.bool_]
    ) -> bool:
        """Train on the rows that are there and those of a few more texts; features and calibration stay as they are.

        False if that cannot be, or if a text of the lesson is not right afterwards: it may need new features.
        """
        few = len(more.texts) <= max(1, len(lessons.texts) // 100)
        known = set(self.model_.classes.tolist())
        if self._rows is None or self._settled is None or not few or not known.issuperset(more.labels):
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
        task = dataclasses.replace(task, features=features, ready=(encoder, rows), calibrate=False)
        trained = CLASSIFIERS.by_config(config).train(task, without_own_folds(config, True))
        model = dataclasses.replace(trained.model, calibration=self.model_.calibration)
        given = model.classes[model.scores(more.texts, None, self.threads).argmax(axis=1)]
        if (given != np.asarray(more.labels)).any():
            return False
        self._keep(model, config, trained.history, self.confidence_)
        self._lessons, self._rows = lessons, (encoder, rows)
        return True

    # -- answering --------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of ``predict_proba``'s columns."""
        return self._fitted("classes_").classes

    @property
    def n_features_in_(self) -> int:
        """The number of columns of a document; classifiers of texts have none."""
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
        """The weights of a linear classifier as scikit-learn has them: [labels, features]; two labels have one row."""
        return self._linear("coef_")[:-1].T

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The intercepts of a linear classifier: [labels], [1] for two labels."""
        return self._linear("intercept_")[-1]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the features, in the order of ``coef_``'s columns."""
        return np.array(self._fitted("get_feature_names_out").encoder.names(), dtype=object)

    def answers(self, X: Any, beside: Any = None) -> tuple[NDArray[np.float64], list[Any]]:
        """The probabilities [N, labels] and the predictions as a list, from one pass over the documents."""
        model = self._fitted()
        X, beside = self._documents(X, beside) if self._ranks else (X, beside)
        scores = self._scores(X, beside)
        return model.probabilities(scores), list(self._decided(scores, X))

    def predict_proba(self, X: Any, beside: Any = None) -> NDArray[np.float64]:
        """p(label|document) [N, labels]: rows sum to one, unless documents may have several labels."""
        return self._fitted().probabilities(self._scores(X, beside))

    def threshold_for(self, *, precision: float, risk: float = 0.1) -> float:
        """The lowest probability at which answers have at least this precision.

        An answer is the most probable label; with several labels, each predicted one. With a probability of
        1 - ``risk`` over the training data, answers at or above it have the precision asked for on data of the same
        distribution (learn-then-test on out-of-fold answers). ConfigError if the data cannot show that.
        """
        self._fitted()
        if self.confidence_ is None:
            raise ConfigError(
                "this classifier was not calibrated on held-out documents, so no threshold can be certified: train it "
                "with calibrate=True, or with dev data"
            )
        return self.confidence_.threshold(precision, risk)

    def decision_function(self, X: Any, beside: Any = None) -> NDArray[np.float64]:
        """The scores [N, labels]; of two labels, the second's lead over the first [N]."""
        model = self._fitted()
        s = self._scores(X, beside).astype(np.float64)
        return s[:, 1] - s[:, 0] if s.shape[1] == 2 and not model.several else s

    def explain(self, document: Any, *, against: Any = None, beside: Any = None) -> Explanation:
        """An explanation of a document's label: named contributions that add up to the model's scores.

        against: the label to compare with ("why B and not A"); None: the best other one. If documents may have
                 several labels, the label in question
        beside:  the numbers that come with the text, as for ``predict``

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

    # -- keeping ----------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Plain values only: the model in the form of a file."""
        state = {
            k: v
            for k, v in vars(self).items()
            if k not in ("model_", "_increment", "_lessons", "_settled", "_rows")
        }
        if hasattr(self, "model_"):
            packed = self.model_.packed()
            state["_packed"] = (
                self._header_labels(),
                packed.details,
                packed.arrays,
                packed.strings,
                self.model_.classes,
            )
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = state.pop("_packed", None)
        vars(self).update(state)
        if packed is not None:
            *sections, classes = packed
            self.model_ = dataclasses.replace(unpacked(*sections), classes=classes)

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
                ),  # as its naive Bayes has it: counts, not numbers
            ),
            input_tags=InputTags(
                sparse=True, string=False, positive_only=isinstance(self._config(), COUNTED)
            ),
        )

    # -- inside -----------------------------------------------------------------------------------------------

    @classmethod
    def loaded(cls, file: modelfile.ModelFile) -> Self:
        """The classifier that a model file holds."""
        made = super().loaded(file)
        made.confidence_ = Confidence.loaded(file)
        return made

    def _packed(self) -> Packed:
        packed = super()._packed()
        return packed if self.confidence_ is None else packed | self.confidence_.packed()

    def _header_labels(self) -> tuple[str, ...]:
        return tuple(str(label) for label in self.model_.classes.tolist())

    def _fitted(self, attribute: str | None = None) -> Any:
        if not hasattr(self, "model_"):
            if attribute is not None:
                raise AttributeError(f"{attribute} exists only after fit")
            raise _not_fitted()
        return self.model_

    def _linear(self, attribute: str) -> NDArray[np.float32]:
        """Weights [F+1, labels], the intercepts last; of two labels the second less the first."""
        model = self._fitted(attribute)
        if not hasattr(model, "w"):
            raise AttributeError(f"{attribute}: the recipe {self.config_!r} has no weights for features")
        w = np.asarray(model.w[:, : len(model.classes)])
        return w[:, 1:] - w[:, :1] if w.shape[1] == 2 and not model.several else w

    def _keep(
        self, model: Any, config: Any, history: list[Any], confidence: Confidence | None = None
    ) -> None:
        self.model_ = model
        self.confidence_ = confidence
        self.config_ = config
        self.history_ = history

    def _task(self, X: Any, y: Any, sample_weight: Any, beside: Any, on_epoch: Listener) -> DocumentTask:
        kernel = self._chosen_kernel()
        whole = kernel is not None and not kernel.of_vectors
        X, beside = (X, beside) if whole else self._beside(X, beside)
        text = is_text(X) and not whole
        documents: Any = objects_of(X) if whole else texts_of(X) if text else numbers_of(X)
        labels = labels_of(y)
        if len(labels.ptr) - 1 != len(documents):
            raise DataError(
                f"expected a label for each of {len(documents)} documents, got {len(labels.ptr) - 1}"
            )
        if not text and beside is not None:
            raise DataError(
                "numbers beside the documents need texts as documents; join matrices into one instead"
            )
        importance = importance_of(sample_weight, self.class_weight, labels, len(documents))
        if (importance <= 0).any():
            documents, labels, beside, importance = counting(documents, labels, beside, importance)
        if not text and not whole and len(documents) <= MERGED_UP_TO:
            documents, labels, importance = merged(documents, labels, importance)
        self.fingerprint_ = fingerprint_of(documents, labels)
        self.trained_on_ = {"documents": len(labels.ptr) - 1}
        return DocumentTask(
            X=documents,
            text=text,
            labels=labels,
            importance=importance,
            beside=beside,
            features=TextFeatures.of(self.features) if text else None,
            bits=self.bits,
            smallest=self.smallest,
            threshold=self.threshold,
            seed=self.seed,
            threads=self.threads,
            on_epoch=on_epoch,
            kernel=self.kernel,
            calibrate=self.calibrate,
        )

    def _chosen_kernel(self) -> Kernel | None:
        """The kernel of a kernel machine; None for other recipes."""
        config = self._config()
        if not isinstance(config, KernelChoice):
            if self.kernel is not None:
                raise ConfigError(
                    f"recipe {CLASSIFIERS.by_config(config).name} has no kernel; "
                    "kernel-svm, kernel-perceptron, kernel-eg and knn have"
                )
            return None
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise ConfigError(
                f"expected a kernel such as Rbf(), got {self.kernel!r}; FunctionKernel(f) makes one of f"
            )
        check(config)
        return self.kernel or config.chosen_kernel()

    def _chosen(self, task: DocumentTask) -> tuple[DocumentTask, Any, DefaultChoice | None]:
        """The task with its features, the recipe's config, and what was chosen of them."""
        config, given = self._config(), dict(self.settings or {})
        wanted = self.recipe is None if self.choose is None else self.choose
        recipe = CLASSIFIERS.by_config(config)
        if not task.text or not wanted or recipe.train is not train_classifier:
            return task, recipe.configured({**dataclasses.asdict(config), **given}), None
        if self.recipe is None:
            return choose(task, None, given, self.features is not None)
        plain = recipe.config()
        own = {name: v for name, v in dataclasses.asdict(config).items() if v != getattr(plain, name)}
        return choose(task, recipe.name, {**own, **given}, self.features is not None)

    def _config(self) -> Any:
        """The recipe's config: its defaults if the recipe is named, those of ridge if it will be chosen."""
        return CLASSIFIERS.by_name(DEFAULT_CLASSIFIER).config() if self.recipe is None else super()._config()

    def _dev(self, task: DocumentTask, X: Any, y: Any, beside: Any = None) -> Any:
        kernel = self._chosen_kernel()
        whole = kernel is not None and not kernel.of_vectors
        X, beside = (X, beside) if whole else self._beside(X, beside)
        documents: Any = objects_of(X) if whole else texts_of(X) if task.text else numbers_of(X)
        labels = labels_of(y)
        if len(labels.ptr) - 1 != len(documents):
            raise DataError(
                f"expected a label for each of {len(documents)} held-out documents, got {len(labels.ptr) - 1}"
            )
        if not np.isin(labels.classes, task.labels.classes).any():
            raise DataError("no held-out document has a label that the training documents have")
        return documents, labels, beside

    def _partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, beside: Any = None
    ) -> "Classifier":
        X, beside = self._beside(X, beside)
        if self._lessons is not None and is_text(X) and beside is None:
            more = Lessons.of(texts_of(X), y, sample_weight)
            right = np.asarray(self.predict(more.texts)) == np.asarray(more.labels)
            change = self._lessons.taught(more, np.atleast_1d(right))
            if change is None or self._learnt_on(change[0], more, *change[1:]):
                return self
            return self._learn_anew(change[0])
        task = self._task(X, y, sample_weight, beside, keep_going)
        config = self._config()
        increment: Increment | None = getattr(self, "_increment", None)
        if increment is None and hasattr(self, "model_"):
            increment = Increment.resumed(config, self.model_)
        if increment is None:
            if classes is None:
                raise DataError("classes must be passed on the first call to partial_fit.")
            increment = Increment(config, labels_of(list(classes)).classes)
        self._keep(increment.model(task), config, [])
        self._increment = increment
        return self

    @property
    def _ranks(self) -> bool:
        """Whether the model itself says which label is best, as its tool breaks ties."""
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
        """Documents, and the numbers beside them: those of their own table, or those given beside."""
        X, own = documents_and_numbers(X)
        if own is not None and beside is not None:
            raise DataError(
                "X has columns of numbers, and numbers are given beside it: give them in one of the two"
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
            beside = np.column_stack(list(beside.values()))  # as it was trained: numbers without names
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
    """The name in an explanation of a document that is not a text."""
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
