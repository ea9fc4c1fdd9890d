"""The classifier: labels for whole documents, texts or rows of numbers, as a scikit-learn estimator."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.defaults.choice import DefaultChoice
from chaffinch.defaults.many_documents import choose_settings
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators.document_learning import DocumentLearning
from chaffinch.estimators.documents import (
    counting,
    documents_and_numbers,
    importance_of,
    is_text,
    labels_of,
    merged,
    numbers_of,
    objects_of,
    say_empty,
    texts_of,
)
from chaffinch.estimators.learnt import Lessons
from chaffinch.estimators.streamed_documents import cached_documents, settings_of
from chaffinch.estimators.streams import is_stream, pairs
from chaffinch.kernels import Kernel
from chaffinch.knobs import check
from chaffinch.learners.kernel_choice import KernelChoice
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes.classifiers import (
    CLASSIFIERS,
    DEFAULT_CLASSIFIER,
    SHARDED_CLASSIFIER,
    unpacked,
)
from chaffinch.recipes.document_blocks import train_documents
from chaffinch.recipes.document_task import (
    DocumentLabels,
    DocumentTask,
    calibrated_on_documents,
    train_classifier,
)
from chaffinch.recipes.fingerprints import documents_fingerprint
from chaffinch.recipes.partial_fit import Increment
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.text.label_names import look_alike_remark
from chaffinch.trust.confidence import Confidence

# Repeated rows of numbers are merged up to this many rows; beyond, merging costs more than it saves.
MERGED_UP_TO = 100_000


class Classifier(DocumentLearning):
    """Labels for documents.

    recipe:       a recipe's name, or its config with knobs set: ``Classifier("nb")``, ``Classifier(DualRest(C=2.0))``
                  None: chosen for texts by cross-validation, together with the penalty and, unless they are given,
                  the features; ``ridge`` for numbers
    features:     features of texts: a preset's name, a :class:`TextVectorizer`, or a list of them
    settings:     fixed knobs of a recipe that is chosen: ``{"C": 0.5}``
    choose:       whether to choose the settings that are not given; None: if no recipe is named
    kernel:       kernel of a kernel machine (``kernel-svm``, ``kernel-perceptron``, ``kernel-eg``, ``knn``), instead of
                  the one in its settings: ``Classifier("kernel-svm", kernel=SubsetTreeKernel().normalised())``
    class_weight: weights of the documents of each class: ``"balanced"``, or a dict
    threshold:    the lowest probability at which a label is predicted, if documents may have several labels
    bits:         bits per weight, 8 or 32; None: 8 for texts if the recipe allows it
    smallest:     drop features of text whose largest absolute weight is below this fraction of the overall maximum;
                  None: the largest fraction that costs no accuracy on held-out folds
    calibrate:    compute out-of-fold scores, which calibrate the probabilities and determine ``smallest``
    seed:         seed of the order of documents
    threads:      0 for all cores; the result does not depend on it

    Documents are texts, rows of numbers (a SciPy sparse matrix, an array), a table with one column of texts and
    columns of numbers, or, for a kernel of other objects, a list of those objects, such as trees. The target of a
    document is a label, a list or set of labels, or a dict from labels to their shares.

    >>> texts = ["good tea", "fine tea", "lovely cake", "bad tea", "awful cake", "poor tea"]
    >>> classifier = Classifier().fit(texts, ["+", "+", "+", "-", "-", "-"])
    >>> classifier.predict(["awful tea", "good cake"]).tolist()
    ['-', '+']
    """

    task = "classifier"

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
        y: Any = None,
        sample_weight: Any = None,
        *,
        beside: Any = None,
        dev: Any = None,
        cache: str | Path | None = None,
        on_epoch: Listener = keep_going,
    ) -> "Classifier":
        """Learn from documents and their targets.

        An iterator of pairs (text, label) and a reader of Arrow's batches are learnt block by block, so that they need
        not fit in memory. Other texts are too if ``cache`` names a folder, which then holds the ids of their features.
        Learning block by block chooses features, recipe and penalty, and counts n-grams, on a sample.

        beside: numbers that come with the texts: a matrix, or a dict of columns by name
        dev:    held-out documents and targets (and numbers beside them): the best pass on them is kept,
                and training stops after three passes without improvement
        """
        if cache is not None or is_stream(X, y):
            if sample_weight is not None or beside is not None:
                raise ConfigError(
                    "sample_weight and beside need training in memory: leave them out, or give lists"
                )
            return self.fit_cache(pairs(X, y), cache, dev=dev, on_epoch=on_epoch)
        if y is None:
            raise DataError(
                "fitting requires y to be passed, but the target y is None: give y, or an iterator of pairs of a "
                "text and its label"
            )
        task = self._task(X, y, sample_weight, beside, on_epoch)
        if dev is not None:
            task = dataclasses.replace(task, dev=self._dev(task.text, task.labels.classes, *dev))
        task, config, chosen = self._chosen(task)
        self.choice_ = None if chosen is None else chosen.as_dict()
        recipe = CLASSIFIERS.by_config(config)
        self._increment = None
        single = not task.labels.several and task.labels.soft is None
        plain = (
            task.text
            and single
            and task.beside is None
            and hasattr(X, "__len__")
            and recipe.train is train_classifier
        )
        trained = CLASSIFIERS.train(dataclasses.replace(task, keep=plain), config)
        self.shards_ = None if trained.shards is None else trained.shards.as_dict()
        if trained.counts is not None and single:
            self._increment = Increment.counted(config, task.labels.classes, trained.counts)
        self._keep(trained.model, config, trained.history, trained.confidence)
        self._lessons = Lessons.of(documents_and_numbers(X)[0], y, sample_weight) if plain else None
        self._rows = trained.memory if self._lessons is not None else None
        self._stepped, self._watched, self._new_labels = 0, None, frozenset()
        self._settled = (task.features, config) if self._lessons is not None else None
        return self

    def recalibrate(self, X: Any, y: Any, *, beside: Any = None) -> "Classifier":
        """Fit the probabilities on documents that training has not seen; scores stay.

        For a model that was made smaller, or for documents of another kind than those of training. The guarantee of
        ``threshold_for`` then holds for documents like these.
        """
        model = self._fitted()
        is_of_texts = getattr(model.encoder, "union", None) is not None
        held_out = self._dev(is_of_texts, model.classes, X, y, beside)
        model, confidence = calibrated_on_documents(model, held_out, self.threads)
        if confidence is None:
            warn_about_data(
                "the model knows no feature of these documents, so its probabilities stay as they were"
            )
        else:
            self.model_, self.confidence_ = model, confidence
        return self

    def fit_cache(
        self,
        examples: Iterable[tuple[Any, Any]],
        folder: str | Path | None = None,
        *,
        source: str = "",
        checkpoint: Path | None = None,
        dev: Any = None,
        on_epoch: Listener = keep_going,
    ) -> "Classifier":
        """Learn from pairs of a text and its label through a cache in a folder.

        source:     hash of the cache's source; a cache in the folder with the same hash is used again
        checkpoint: file from which a stopped run resumes
        """
        settings = settings_of(self, on_epoch)
        with cached_documents(examples, folder, settings, source) as (cache, place):
            none = np.zeros(0, np.int32)
            labels = DocumentLabels(np.array(cache.labels), np.zeros(1, np.int64), none)
            _say_look_alikes(labels)
            task = DocumentTask(
                X=[],
                text=True,
                labels=labels,
                importance=np.zeros(0, np.float32),
                bits=self.bits,
                smallest=self.smallest,
                threads=self.threads,
            )
            if dev is not None:
                task = dataclasses.replace(task, dev=self._dev(task.text, task.labels.classes, *dev))
            trained = train_documents(cache, place, settings, task, checkpoint)
            self.choice_ = None
            name = "crammer-singer" if cache.header["loss"] == "hinge" else cache.header["loss"]
            C = float(cache.header["C"])
            config = settings.online or (
                CLASSIFIERS.by_name(name).configured({"C": C})
                if settings.learner is None
                else dataclasses.replace(settings.learner, C=C)
            )
            model, confidence = trained.model, None
            if task.dev is not None and self.calibrate:
                model, confidence = calibrated_on_documents(model, task.dev, self.threads)
            self._keep(model, config, trained.history, confidence)
            self.shards_ = None if trained.shards is None else trained.shards.as_dict()
            self.fingerprint_ = modelfile.fingerprint([cache.file.fingerprint])
            self.trained_on_ = {"documents": len(cache)}
            self.cached_ = {
                "bytes_per_document": cache.bytes_per_document,
                "features": cache.header["features"],
                "recipe": name,
                "how": "dual ascent" if cache.header["rate"] is None else "SGD",
                "counted_on": int(cache.header["counted_on"]),
            }
        self._increment = self._lessons = self._rows = self._settled = None
        return self

    # -- keeping ----------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Plain values only: the model in the form of a file."""
        state = {
            k: v
            for k, v in vars(self).items()
            if k not in ("model_", "_increment", "_lessons", "_settled", "_rows", "_watched")
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

    # -- inside -----------------------------------------------------------------------------------------------

    def _header_labels(self) -> tuple[str, ...]:
        return tuple(str(label) for label in self.model_.classes.tolist())

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
        _say_look_alikes(labels)
        say_empty(labels)
        importance = importance_of(sample_weight, self.class_weight, labels, len(documents))
        if (importance <= 0).any():
            documents, labels, beside, importance = counting(documents, labels, beside, importance)
        if not text and not whole and len(documents) <= MERGED_UP_TO:
            documents, labels, importance = merged(documents, labels, importance)
        self.fingerprint_ = documents_fingerprint(documents, labels)
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
            sharding=self.sharding,
        )

    def _chosen_kernel(self) -> Kernel | None:
        """The kernel of a kernel machine; None for other recipes."""
        config = self._config()
        if not isinstance(config, KernelChoice):
            if self.kernel is not None:
                raise ConfigError(
                    f"recipe {CLASSIFIERS.by_config(config).name} takes no kernel; "
                    "kernel-svm, kernel-perceptron, kernel-eg and knn do"
                )
            return None
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise ConfigError(
                f"expected a kernel such as Rbf(), got {self.kernel!r}; FunctionKernel(f) makes one of f"
            )
        check(config)
        return self.kernel or config.chosen_kernel()

    def _chosen(self, task: DocumentTask) -> tuple[DocumentTask, Any, DefaultChoice | None]:
        """The task with its features, the recipe's config, and the record of the choice, if there was one."""
        config, given = self._config(), dict(self.settings or {})
        wanted = self._choice_wanted(self.choose)
        recipe = CLASSIFIERS.by_config(config)
        if not task.text or not wanted or recipe.train is not train_classifier:
            return task, recipe.configured({**dataclasses.asdict(config), **given}), None
        if self.recipe is None:
            return choose_settings(task, None, given, self.features is not None)
        plain = recipe.config()
        own = {name: v for name, v in dataclasses.asdict(config).items() if v != getattr(plain, name)}
        return choose_settings(task, recipe.name, {**own, **given}, self.features is not None)

    def _config(self) -> Any:
        """The recipe's config: its defaults if the recipe is named, those of ridge if it will be chosen.

        On an engine the default is logistic regression: ridge cannot be trained in shards.
        """
        default = DEFAULT_CLASSIFIER if self.sharding is None else SHARDED_CLASSIFIER
        return CLASSIFIERS.by_name(default).config() if self.recipe is None else super()._config()

    def _dev(self, text: bool, classes: NDArray[Any], X: Any, y: Any, beside: Any = None) -> Any:
        """Held-out documents, their labels, and the numbers beside them. classes: those of training"""
        kernel = self._chosen_kernel()
        whole = kernel is not None and not kernel.of_vectors
        X, beside = (X, beside) if whole else self._beside(X, beside)
        documents: Any = objects_of(X) if whole else texts_of(X) if text else numbers_of(X)
        labels = labels_of(y)
        if len(labels.ptr) - 1 != len(documents):
            raise DataError(
                f"expected a label for each of {len(documents)} held-out documents, got {len(labels.ptr) - 1}"
            )
        if not np.isin(labels.classes, classes).any():
            raise DataError("no held-out document has a label that the training documents have")
        return documents, labels, beside


def _say_look_alikes(labels: DocumentLabels) -> None:
    remark = look_alike_remark([label for label in labels.classes.tolist() if isinstance(label, str)])
    if remark is not None:
        warn_about_data(remark)
