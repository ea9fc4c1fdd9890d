"""Tasks: how an experiment trains and scores, for sentences with tags and for texts with labels."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Tagger
from chaffinch.evaluate import TagPair, TagScorer, Tally
from chaffinch.knobs import Knob, knobs
from chaffinch.lab.parts import Part, Texts
from chaffinch.model import TaggingModel
from chaffinch.progress import Listener
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS, Recipes
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


TASKS: tuple[Task, ...] = (Tagging(),)


def task_of(part: Part) -> Task:
    """The task that a part is for."""
    if isinstance(part, Texts):
        raise ConfigError("there is no recipe yet for texts with labels")
    return TASKS[0]


def known_configs() -> list[tuple[str, type]]:
    """Every class of settings of every task, under a heading."""
    return [(f"Knobs of recipe {recipe.name}", recipe.config) for task in TASKS for recipe in task.recipes]


def _table(part: Part) -> TokenTable:
    if not isinstance(part, TokenTable):
        raise DataError("expected sentences with tags, got texts with labels")
    return part
