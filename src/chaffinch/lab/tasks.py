"""Tasks: how an experiment trains and scores, for sentences with tags and for texts with labels."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Classifier, Tagger
from chaffinch.evaluate import LabelPair, TagPair, TagScorer, Tally
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.knobs import Knob, configured, knobs
from chaffinch.lab.parts import Part, Texts
from chaffinch.model import TaggingModel
from chaffinch.model.classifier import ClassifierModel
from chaffinch.progress import Listener
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS, Recipes
from chaffinch.recipes.classifiers import CLASSIFIERS, DEFAULT_CLASSIFIER
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
        self, recipe: str, settings: Mapping[str, Any], features: str | None, seed: int, threads: int
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
        self, recipe: str, settings: Mapping[str, Any], features: str | None, seed: int, threads: int
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
    """A label for each text. The knobs of its features stand beside those of the recipe."""

    name = "classification"
    recipes = CLASSIFIERS
    default = DEFAULT_CLASSIFIER
    scores = ("accuracy", "macro_f1")

    def knobs(self, recipe: str) -> dict[str, Knob]:
        """The recipe's and those of the features."""
        return {k.name: k for k in knobs(CLASSIFIERS.by_name(recipe).config)} | _TEXT_KNOBS

    def settled(self, recipe: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The recipe's config as plain values, and the features' settings that differ from their preset's."""
        own, text = _of_features(settings)
        return asdict(CLASSIFIERS.by_name(recipe).configured(own)) | text

    def estimator(
        self, recipe: str, settings: Mapping[str, Any], features: str | None, seed: int, threads: int
    ) -> Classifier:
        """A classifier."""
        own, text = _of_features(settings)
        config = CLASSIFIERS.by_name(recipe).configured(own)
        return Classifier(
            config, features=TextFeatures.of(features).with_settings(text), seed=seed, threads=threads
        )

    def fit(self, estimator: Classifier, train: Part, dev: Part | None, on_epoch: Listener) -> None:
        """Train it."""
        if dev is not None:
            raise ConfigError("classifiers do not stop on a dev part; tune the number of epochs instead")
        texts = _texts(train)
        estimator.fit(texts.texts, texts.labels, on_epoch=on_epoch)

    def watcher(self, part: Part, threads: int) -> Callable[[ClassifierModel], float]:
        """The share of texts labelled right; rows of features are made once for all passes."""
        texts = _texts(part)
        y = np.array(texts.labels)
        made: list[tuple[Any, Any]] = []

        def accuracy(model: ClassifierModel) -> float:
            if not made or made[0][0] is not model.encoder:
                made[:] = [(model.encoder, model.encoder.rows(texts.texts, None, threads))]
            s = model.scores_of_rows(made[0][1], threads)
            return float((model.classes[s.argmax(axis=1)] == y).mean())

        return accuracy

    def tally(self, estimator: Classifier, part: Part) -> Tally:
        """Counts by text."""
        texts = _texts(part)
        return LabelPair.from_lists(texts.labels, estimator.predict(texts.texts).tolist()).tally()


TASKS: tuple[Task, ...] = (Tagging(), Classification())

_TEXT_KNOBS = {k.name: k for k in knobs(TextVectorizer) if k.name not in RUN_KNOBS}


def task_of(part: Part) -> Task:
    """The task that a part is for."""
    return TASKS[1] if isinstance(part, Texts) else TASKS[0]


def known_configs() -> list[tuple[str, type]]:
    """Every class of settings of every task, under a heading."""
    return [
        *((f"Sentences: knobs of recipe {r.name}", r.config) for r in TAGGERS),
        *((f"Texts: knobs of recipe {r.name}", r.config) for r in CLASSIFIERS),
        ("Texts: features", TextVectorizer),
    ]


def _table(part: Part) -> TokenTable:
    if not isinstance(part, TokenTable):
        raise DataError("expected sentences with tags, got texts with labels")
    return part


def _texts(part: Part) -> Texts:
    if not isinstance(part, Texts):
        raise DataError("expected texts with labels, got sentences with tags")
    if not all(isinstance(y, str) for y in part.labels):
        raise DataError("the laboratory is for one label per text, and some have several or none")
    return part


def _of_features(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of the recipe, and those of the features, the latter checked and of their knobs' types."""
    own = {k: v for k, v in settings.items() if k not in _TEXT_KNOBS}
    text = {k: v for k, v in settings.items() if k in _TEXT_KNOBS}
    made = configured(TextVectorizer, text, "features of text")
    return own, {k: getattr(made, k) for k in text}
