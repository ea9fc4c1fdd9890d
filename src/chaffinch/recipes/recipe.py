"""A recipe: a named set of choices, the config with its settings, and the functions that train and load it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.knobs import check, configured
from chaffinch.learners.shards import Sharding, ShardNote
from chaffinch.model import TaggingModel
from chaffinch.modelfile import ModelFile
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.text.attributes import Attributes
from chaffinch.text.table import TokenTable

OPTIONS = {
    "weight": "weights of examples (it minimises no loss)",
    "soft": "soft labels",
    "unknown": "unknown labels",
    "start": "a model to continue from",
    "attributes": "your own features (dicts or lists of strings)",
    "sharding": "an engine",
}


@dataclass(frozen=True)
class TaggingTask:
    """The training data of a tagger, and the settings of its training.

    table:    sentences with their columns, labels in column ``y``
    columns:  the columns that features may read, the word first
    dev:      held-out sentences with labels, for stopping and choosing; or None
    features: a preset's name, a file or templates; None: the recipe chooses
    weight:   float32 [sentences], the weight of each; None: all equal
    soft:     labels in alphabetical order and, instead of one label for each token, their probabilities
              (float32 [tokens, labels]); ``y`` then holds the most probable
    unknown:  the label that stands for "not known" in ``y``, if any token has it
    start:    a trained model of the same recipe to continue from
    keep:     whether to keep a memory for incremental learning, besides the model
    fold:     the task is a part of another one, so rules may name labels that it lacks
    sharding: the engine to train on, in shards; None: train in this process
    encoded:  encoders and rows of this table that recipes share, by templates and settings; None: not shared
    """

    table: TokenTable
    columns: tuple[str, ...]
    dev: TokenTable | None = None
    features: str | Sequence[str] | None = None
    seed: int = 0
    threads: int = 0
    on_epoch: Listener = keep_going
    weight: NDArray[np.float32] | None = None
    soft: tuple[tuple[str, ...], NDArray[np.float32]] | None = None
    unknown: str | None = None
    start: TaggingModel | None = None
    keep: bool = False
    fold: bool = False
    sharding: Sharding | None = None
    encoded: dict[Any, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def attributes(self) -> Attributes | None:
        """The user's features of tokens; None: there are only columns."""
        return self.table.attributes

    @property
    def without_words(self) -> bool:
        """Whether tokens are the user's features and have no words."""
        return self.attributes is not None and self.attributes.alone


@dataclass(frozen=True)
class Trained:
    """A model, and the progress that was reported during training.

    counts: an encoder and its counts, to which a counting recipe can add later; None: it cannot
    memory: the recipe's memory for incremental learning; None: nothing was kept
    confidence: the calibration of a classifier; None: it was not calibrated on held-out documents
    shards: the note of a training in shards; None: it was not trained in shards
    all_right: whether all corrections that it was trained on are known to be right
    """

    model: Any
    history: list[Progress] = field(default_factory=list)
    counts: tuple[Any, ...] | None = None
    memory: Any = None
    confidence: Any = None
    shards: ShardNote | None = None
    all_right: bool = False


# A sentence that is still wrong after it was learnt counts twice as much, and again, up to this weight.
MOST_WEIGHT = 32.0

# A lesson of at most this many sentences or documents, or of 1% of all, consists of corrections: each should be right
# afterwards. A larger one is further training data, which may contradict itself.
MOST_CORRECTIONS = 20


def are_corrections(taught: int, known: int) -> bool:
    """Whether a lesson consists of corrections. taught, known: its number of examples, and that of all"""
    return taught <= max(MOST_CORRECTIONS, known // 100)


def doubled(weight: NDArray[Any]) -> NDArray[Any]:
    """Twice these weights, but at most MOST_WEIGHT; larger ones stay."""
    return np.minimum(2 * weight, np.maximum(MOST_WEIGHT, weight))


@dataclass(frozen=True)
class Change:
    """A change of the training data: sentences to add, to forget and to reweight.

    dropped: bool [sentences of the memory], those to forget
    weight:  float32 [sentences of the memory], their new weights
    fresh:   sentences to add, labels in column ``y``; None: none
    """

    dropped: NDArray[np.bool_]
    weight: NDArray[np.float32]
    fresh: TokenTable | None = None
    fresh_weight: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Recipe:
    """One recipe: it trains models of one kind on tasks of one kind.

    options:  the OPTIONS of a task that it can use
    learn_on: makes a model and a memory, with the ``weight`` of each sentence, from a memory and a change of its
              sentences; None: it retrains on all data
    unshrinkable: why its models cannot be made smaller; None: they can
    remember: makes a memory from a model without its data; None: the recipe cannot
    near:     whether a tagger can learn a few sentences by a small change of its weights; False: they are counts
    """

    name: str
    summary: str
    config: type
    train: Callable[[Any, Any], Any]
    load: Callable[[ModelFile], Any]
    options: tuple[str, ...] = ()
    learn_on: Callable[[Any, Change, int], Trained] | None = None
    remember: Callable[[Any, Any, int], Any] | None = None
    unshrinkable: str | None = None
    near: bool = True

    def configured(self, settings: Mapping[str, Any]) -> Any:
        """The config with these settings, checked."""
        return configured(self.config, settings, f"recipe {self.name}")


class Recipes:
    """The recipes of one task, by name and by config.

    hidden: recipes that only load models, such as those of other tools; they are found but not listed
    """

    def __init__(self, *recipes: Recipe, hidden: Sequence[Recipe] = ()) -> None:
        self._listed = recipes
        self._by_name: dict[str, Recipe] = {}
        for recipe in (*recipes, *hidden):
            for other in self._by_name.values():
                if recipe.name == other.name or recipe.config is other.config:
                    raise TypeError(
                        f"recipes {other.name} and {recipe.name}, with {other.config.__name__} and "
                        f"{recipe.config.__name__}: each recipe needs a name and a config of its own"
                    )
            self._by_name[recipe.name] = recipe

    def __iter__(self) -> Any:
        return iter(self._listed)

    def by_name(self, name: str) -> Recipe:
        """The recipe of this name; ConfigError lists the known names."""
        if name not in self._by_name:
            raise ConfigError(f"there is no recipe {name!r}; there are {', '.join(r.name for r in self)}")
        return self._by_name[name]

    def train(self, task: Any, config: Any) -> Trained:
        """Train by the recipe of a config; options of the task that the recipe cannot use are refused."""
        recipe = self.by_config(config)
        for name, meaning in OPTIONS.items():
            if getattr(task, name, None) is not None and name not in recipe.options:
                able = [other.name for other in self if name in other.options]
                raise ConfigError(f"recipe {recipe.name} cannot use {meaning}; {', '.join(able)} can")
        trained: Trained = recipe.train(task, config)
        return trained

    def by_config(self, config: Any) -> Recipe:
        """The recipe of a config; the values of the config are checked."""
        for recipe in self._by_name.values():
            if type(config) is recipe.config:
                check(config)
                return recipe
        raise ConfigError(
            f"expected a recipe's name ({', '.join(r.name for r in self)}) or one of their configs, got {config!r}"
        )


def repeated(weight: NDArray[np.float32], example: str) -> NDArray[np.int64]:
    """The numbers of examples, each repeated by its weight, for recipes that count; weights must be whole numbers.

    >>> repeated(np.array([1, 3], np.float32), "sentence").tolist()
    [0, 1, 1, 1]
    """
    times = np.rint(weight).astype(np.int64)
    wrong = np.flatnonzero(times != weight)
    if len(wrong):
        raise ConfigError(
            f"this recipe counts, so weights must be whole numbers, but {example} {wrong[0] + 1} has "
            f"{weight[wrong[0]]:g}; a recipe with a loss, such as the default one, takes any weight"
        )
    return np.repeat(np.arange(len(weight)), times)
