"""A recipe: a name for a row of choices, the config that holds its knobs, and how it trains and loads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.knobs import check, configured
from chaffinch.model import TaggingModel
from chaffinch.modelfile import ModelFile
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.text.table import TokenTable


@dataclass(frozen=True)
class TaggingTask:
    """What a tagger is to be trained on.

    table:    sentences with their columns, labels in column ``y``
    columns:  the columns that features may read, the word first
    dev:      held-out sentences with labels, for stopping and choosing; or None
    features: a preset's name, a file or templates; None leaves it to the recipe
    """

    table: TokenTable
    columns: tuple[str, ...]
    dev: TokenTable | None = None
    features: str | Sequence[str] | None = None
    seed: int = 0
    threads: int = 0
    on_epoch: Listener = keep_going


@dataclass(frozen=True)
class Trained:
    """A model, and the progress that was reported on the way."""

    model: TaggingModel
    history: list[Progress] = field(default_factory=list)


@dataclass(frozen=True)
class Recipe:
    """One row of the table of recipes."""

    name: str
    summary: str
    config: type
    train: Callable[[TaggingTask, Any], Trained]
    load: Callable[[ModelFile], TaggingModel]

    def configured(self, settings: Mapping[str, Any]) -> Any:
        """The config with these settings, checked."""
        return configured(self.config, settings, f"recipe {self.name}")


class Recipes:
    """The recipes of one task, by name and by config."""

    def __init__(self, *recipes: Recipe) -> None:
        self._by_name = {recipe.name: recipe for recipe in recipes}

    def __iter__(self) -> Any:
        return iter(self._by_name.values())

    def by_name(self, name: str) -> Recipe:
        """The recipe called so; ConfigError lists the names there are."""
        if name not in self._by_name:
            raise ConfigError(f"there is no recipe {name!r}; there are {', '.join(self._by_name)}")
        return self._by_name[name]

    def by_config(self, config: Any) -> Recipe:
        """The recipe that a config belongs to, the config's values checked."""
        for recipe in self._by_name.values():
            if type(config) is recipe.config:
                check(config)
                return recipe
        raise ConfigError(
            f"expected a recipe's name ({', '.join(self._by_name)}) or one of their configs, got {config!r}"
        )
