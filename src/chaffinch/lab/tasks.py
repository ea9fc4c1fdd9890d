"""Tasks: how an experiment trains and scores, for sentences with tags and for texts with labels."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from chaffinch.errors import DataError
from chaffinch.estimators import Classifier, Tagger
from chaffinch.estimators.documents import labels_of
from chaffinch.evaluate import LabelPair, LabelSets, TagPair, TagScorer, Tally
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.knobs import Knob, Panel, configured, knobs
from chaffinch.lab.parts import Part, Texts
from chaffinch.model import TaggingModel
from chaffinch.model.classifier import ClassifierModel
from chaffinch.progress import Listener
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS, Recipes
from chaffinch.recipes.classifiers import CLASSIFIERS, DEFAULT_CLASSIFIER
from chaffinch.recipes.document_options import DocumentOptions, as_arguments
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable

# Knobs that belong to a run and not to what is run.
RUN_KNOBS = frozenset({"seed", "threads"})


class Task(Protocol):
    """What experiments need to know of a task; one instance per task, without state."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def recipes(self) -> Recipes:
        """Its recipes."""

    @property
    def default(self) -> str:
        """The recipe where none is named."""

    @property
    def scores(self) -> tuple[str, ...]:
        """The keys that are reported, the one that counts first."""

    def knobs(self, recipe: str) -> dict[str, Knob]:
        """Every setting that an experiment with this recipe has."""

    def settled(self, recipe: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings checked, the recipe's defaults written out."""

    def estimator(
        self, recipe: str, settings: Mapping[str, Any], features: Any, seed: int, threads: int
    ) -> Any:
        """An estimator, not trained yet."""

    def fit(self, estimator: Any, train: Part, dev: Part | None, on_epoch: Listener) -> None:
        """Train it."""

    def watcher(self, part: Part, threads: int) -> Callable[[Any], float]:
        """The share of a part's tokens or texts that a model, still in training, labels right."""

    def tally(self, estimator: Any, part: Part) -> Tally:
        """The counts behind every score."""


class Tagging:
    """Labels for the tokens of sentences."""

    name = "tagging"
    recipes = TAGGERS
    default = DEFAULT_TAGGER
    scores = ("span.micro.f1", "token_accuracy", "sentence_accuracy")

    def knobs(self, recipe: str) -> dict[str, Knob]:
        """The recipe's."""
        return {k.name: k for k in knobs(TAGGERS.by_name(recipe).config)}

    def settled(self, recipe: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The recipe's config as plain values."""
        return asdict(TAGGERS.by_name(recipe).configured(settings))

    def estimator(
        self, recipe: str, settings: Mapping[str, Any], features: Any, seed: int, threads: int
    ) -> Tagger:
        """A tagger."""
        config = TAGGERS.by_name(recipe).configured(settings)
        return Tagger(config, features=features, seed=seed, threads=threads)

    def fit(self, estimator: Tagger, train: Part, dev: Part | None, on_epoch: Listener) -> None:
        """Train it."""
        estimator.fit(_table(train), dev=None if dev is None else _table(dev), on_epoch=on_epoch)

    def watcher(self, part: Part, threads: int) -> Callable[[TaggingModel], float]:
        """The share of tokens labelled right."""
        table = _table(part)
        column = table.columns[LABEL]

        def accuracy(model: TaggingModel) -> float:
            place = {label: i for i, label in enumerate(model.labels.outer)}
            y = np.array([place.get(label, -1) for label in column.types], dtype=np.int32)[column.ids]
            return float((model.decode(table, threads) == y).mean())

        return accuracy

    def tally(self, estimator: Tagger, part: Part) -> Tally:
        """Counts by sentence."""
        table = _table(part)
        pair = TagPair.from_lists(table.lists(LABEL), estimator.predict(table))
        return TagScorer(pair.labels).tally(pair.y, pair.y_hat, pair.ptr)


class Classification:
    """Labels for texts. The knobs of its features and of the classifier stand beside those of the recipe."""

    name = "classification"
    recipes = CLASSIFIERS
    default = DEFAULT_CLASSIFIER
    scores = ("micro_f1", "accuracy", "macro_f1")

    def knobs(self, recipe: str) -> dict[str, Knob]:
        """The recipe's, those of the features and those of the classifier."""
        return {k.name: k for k in knobs(CLASSIFIERS.by_name(recipe).config)} | _TEXT_KNOBS | _OPTION_KNOBS

    def settled(self, recipe: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The recipe's config as plain values, and what else differs from the defaults."""
        own, text, options = _sorted_out(settings)
        return asdict(CLASSIFIERS.by_name(recipe).configured(own)) | text | options

    def estimator(
        self, recipe: str, settings: Mapping[str, Any], features: Any, seed: int, threads: int
    ) -> Classifier:
        """A classifier."""
        own, text, options = _sorted_out(settings)
        config = CLASSIFIERS.by_name(recipe).configured(own)
        kinds = TextFeatures.of(features).with_clusters(options.get("clusters"))
        kinds = kinds.with_phrases(options.get("phrases")).with_settings(text)
        return Classifier(config, features=kinds, seed=seed, threads=threads, **as_arguments(options))

    def fit(self, estimator: Classifier, train: Part, dev: Part | None, on_epoch: Listener) -> None:
        """Train it."""
        texts = _texts(train)
        held_out = None if dev is None else (_texts(dev).texts, _texts(dev).labels)
        estimator.fit(texts.texts, texts.labels, dev=held_out, on_epoch=on_epoch)

    def watcher(self, part: Part, threads: int) -> Callable[[ClassifierModel], float]:
        """The share of texts labelled right; rows of features are made once for all passes."""
        texts = _texts(part)
        labels = labels_of(texts.labels)
        made: list[tuple[Any, Any]] = []

        def accuracy(model: ClassifierModel) -> float:
            if not made or made[0][0] is not model.encoder:
                made[:] = [(model.encoder, model.encoder.rows(texts.texts, None, threads))]
            s = model.scores_of_rows(made[0][1], threads)
            gold = labels.table(model.classes)
            if model.several:
                return float((model.given(s) == gold).all(axis=1).mean())
            return float(gold[np.arange(len(s)), s.argmax(axis=1)].mean())

        return accuracy

    def tally(self, estimator: Classifier, part: Part) -> Tally:
        """Counts by text; of shares, the largest is what is right."""
        texts = _texts(part)
        predicted = estimator.predict(texts.texts)
        if estimator.model_.several:
            gold = [[y] if isinstance(y, str) else y for y in texts.labels]
            return LabelSets.from_lists(gold, predicted).tally()
        most = [max(y, key=lambda name: y[name]) if isinstance(y, dict) else y for y in texts.labels]
        if not all(isinstance(y, str) for y in most):
            raise DataError(
                "the model gives one label per text, and some of these texts have several or none"
            )
        return LabelPair.from_lists(most, predicted.tolist()).tally()


TASKS: tuple[Task, ...] = (Tagging(), Classification())

_TEXT_KNOBS = {k.name: k for k in knobs(TextVectorizer) if k.name not in RUN_KNOBS}
_OPTION_KNOBS = {k.name: k for k in knobs(DocumentOptions)}


def task_of(part: Part) -> Task:
    """The task that a part is for."""
    return TASKS[1] if isinstance(part, Texts) else TASKS[0]


def known_configs() -> list[Panel]:
    """Every class of settings of every task, under a heading."""
    return [
        *(Panel(f"Sentences: knobs of recipe {r.name}", r.config, r.name) for r in TAGGERS),
        *(Panel(f"Texts: knobs of recipe {r.name}", r.config, r.name) for r in CLASSIFIERS),
        Panel("Texts: features", TextVectorizer),
        Panel("Texts: weights of labels, threshold, file", DocumentOptions),
    ]


def _table(part: Part) -> TokenTable:
    if not isinstance(part, TokenTable):
        raise DataError("expected sentences with tags, got texts with labels")
    return part


def _texts(part: Part) -> Texts:
    if not isinstance(part, Texts):
        raise DataError("expected texts with labels, got sentences with tags")
    return part


def _sorted_out(
    settings: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The settings of the recipe, of the features, and of the classifier, all but the first checked."""
    own = {k: v for k, v in settings.items() if k not in _TEXT_KNOBS and k not in _OPTION_KNOBS}
    found = []
    for config, known, what in (
        (TextVectorizer, _TEXT_KNOBS, "features of text"),
        (DocumentOptions, _OPTION_KNOBS, "classifier"),
    ):
        given = {k: v for k, v in settings.items() if k in known}
        made = configured(config, given, what)
        found.append({k: getattr(made, k) for k in given})
    return own, found[0], found[1]
