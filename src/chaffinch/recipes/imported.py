"""The recipe of models that another tool trained: they are loaded and saved, and cannot be trained here."""

from dataclasses import dataclass
from typing import Any, NoReturn

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What trained a model that was read from another tool's file or object."""

    tool: str = knob("another tool", "tool that trained the model")
    method: str = knob("", "its loss, solver or class, by its own name")


def refuse_training(_task: Any, config: Imported) -> NoReturn:
    """A model of another tool is not trained here."""
    raise ConfigError(
        f"a model of {config.tool} is read, not trained; name a recipe, or none: Classifier().fit(texts, labels)"
    )
