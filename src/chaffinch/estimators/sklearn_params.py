"""scikit-learn's manners, which every estimator has: parameters to read and set, a recipe by name or by config."""

import dataclasses
import inspect
from typing import Any, ClassVar, Self

from chaffinch.errors import ConfigError
from chaffinch.recipes import Recipes

INNER = "recipe__"


class SklearnParams:
    """What ``clone``, ``GridSearchCV`` and people ask of an estimator whose first argument is a recipe.

    The parameters are the constructor's arguments, each kept under its own name.
    """

    recipes: ClassVar[Recipes]

    def __init__(self, recipe: Any, *, seed: int = 0, threads: int = 0) -> None:
        self.recipe = recipe
        self.seed = seed
        self.threads = threads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments; deep: the recipe's knobs as ``recipe__name`` too."""
        own = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        if deep:
            config = self._config()
            own |= {f"{INNER}{f.name}": getattr(config, f.name) for f in dataclasses.fields(config)}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor, or knobs of the recipe as ``recipe__name``."""
        known = inspect.signature(type(self)).parameters
        for name in [n for n in params if not n.startswith(INNER)]:
            if name not in known:
                raise ConfigError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            setattr(self, name, params[name])
        inner = {n.removeprefix(INNER): v for n, v in params.items() if n.startswith(INNER)}
        if inner:
            config = self._config()
            self.recipe = self.recipes.by_config(config).configured({**dataclasses.asdict(config), **inner})
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.recipe!r})"

    def _config(self) -> Any:
        """The recipe's config: its default one where the recipe was named."""
        return self.recipes.by_name(self.recipe).config() if isinstance(self.recipe, str) else self.recipe
