"""A task on the command line: what a file is read as, how a model is trained on it, how the model answers.

``train``, ``predict``, ``inspect`` and ``explain`` know no task by name; each is a row of the table in ``tasks.py``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus import Format
from chaffinch.corpus.registry import with_extension
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import display_name
from chaffinch.knobs import Panel, knobs
from chaffinch.recipes import Recipes
from chaffinch.trust.explanation import Explanation

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Training:
    """What ``chaffinch train`` was asked for; a flag that was not given is None."""

    data: list[Path]
    model: Path
    from_format: str | None = None
    columns: str | None = None
    annotators: str | None = None
    recipe: str | None = None
    dev: Path | None = None
    features: str | None = None
    label: str | None = None
    text: str | None = None
    label_separator: str | None = None
    stop_on_dev: bool = False
    seed: int = 0
    threads: int = 0
    json: bool = False
    compare: str | None = None
    max_size: str | None = None
    report: Path | None = None
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What ``chaffinch predict`` was asked for."""

    data: Path
    output: Path
    from_format: str | None = None
    to_format: str | None = None
    columns: str | None = None
    kbest: int | None = None
    nth: int | None = None
    marginals: bool = False
    posterior: bool = False
    probabilities: bool = False
    steps: bool = False
    beside: list[Path] | None = None
    json: bool = False
    text: str | None = None
    threshold: float | None = None
    threads: int = 0


@dataclass(frozen=True, kw_only=True)
class Explaining:
    """What ``chaffinch explain`` was asked for: a file, or words as they were typed.

    number: of the sentence or document, from 1; None: all   token: from 0
    """

    data: Path | None = None
    words: str | None = None
    number: int | None = None
    token: int | None = None
    against: str | None = None
    text: str | None = None
    threads: int = 0

    @property
    def source(self) -> str:
        """What messages call the input."""
        return "the text" if self.data is None else display_name(self.data)

    def chosen(self, items: Sequence[Item]) -> list[Item]:
        """All, or the one that was asked for."""
        if not items:
            raise DataError(f"{self.source}: there is nothing to explain")
        if self.number is None:
            return list(items)
        if self.number > len(items):
            raise DataError(f"{self.source}: there is no number {self.number} among {len(items)}")
        return [items[self.number - 1]]


@dataclass(frozen=True)
class Contents:
    """What ``chaffinch inspect`` shows of a model.

    title:       what the rows are: strongest features, support vectors
    rows:        label -> names with their weights, the greatest first
    transitions: [labels, labels], log-potentials from the row's label to the column's; None where there are none
    """

    labels: tuple[str, ...]
    title: str = "strongest features"
    rows: Mapping[str, list[tuple[str, float]]] = field(default_factory=dict)
    transitions: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Task:
    """One row of the table of tasks.

    plural:    what a file of it holds, as in "for documents"
    recipes:   its recipes
    default:   the recipe that is trained where none is named
    holds:     whether a file of this format is of this task
    takes:     the flags of Training and Prediction that it understands beside those that all do
    estimator: the class of its trained models
    knobs:     further configs whose knobs are flags of ``train``, with the title they are listed under after the plural
    explain:   why it gave an answer
    explains:  the flags of Explaining that it understands beside those that all do
    name_features: finds names of hashed features in a file, before ``inspect``; None where there are none
    """

    plural: str
    recipes: Recipes
    default: str
    holds: Callable[[Path, Format], bool]
    estimator: type
    train: Callable[[Training], None]
    predict: Callable[[Any, Prediction], None]
    inspect: Callable[[Any, int, str | None], Contents]
    explain: Callable[[Any, Explaining], list[Explanation]]
    takes: Collection[str] = ()
    explains: Collection[str] = ()
    knobs: tuple[tuple[str, type], ...] = ()
    name_features: Callable[[Any, Path], None] | None = None

    def panels(self) -> list[Panel]:
        """The settings that are flags of ``train``."""
        kind = self.plural.capitalize()
        own = [Panel(f"{kind}: knobs of recipe {r.name}", r.config, r.name) for r in self.recipes]
        return [*own, *(Panel(f"{kind}: {title}", config) for title, config in self.knobs)]

    def configured(self, name: str | None, settings: Mapping[str, Any]) -> Any:
        """The recipe's config as set by flags; a flag of another recipe is refused, and its owners named.

        Flags of the task's further configs are left to the task.
        """
        recipe = self.recipes.by_name(name or self.default)
        own = {k.name for k in knobs(recipe.config)}
        further = {k.name for _, config in self.knobs for k in knobs(config)}
        for flag in settings.keys() - own - further:
            takers = [r.name for r in self.recipes if flag in {k.name for k in knobs(r.config)}]
            owners = f"; recipes with it: {', '.join(takers)}" if takers else ""
            raise ConfigError(
                f"recipe {recipe.name} for {self.plural} has no knob --{flag.replace('_', '-')}{owners}"
            )
        return recipe.configured({k: v for k, v in settings.items() if k in own})


ALWAYS = frozenset(
    {
        "data",
        "model",
        "recipe",
        "dev",
        "seed",
        "threads",
        "json",
        "report",
        "settings",
        "output",
        "from_format",
    }
)


def refuse_strange_flags(task: Task, request: Training | Prediction) -> None:
    """Raise for a flag that was given and that the task does not understand."""
    defaults = {f.name: f.default for f in fields(request)}
    for name, default in defaults.items():
        if name in ALWAYS or name in task.takes or getattr(request, name) == default:
            continue
        flag = name.removesuffix("_format").replace("_", "-")
        raise ConfigError(f"--{flag} does not go with {task.plural}")


def refuse_other_format(output: Path, part: str, names: str) -> None:
    """Raise where a file of this name would not be read as one of ``part``, as documents call it: tree, links."""
    suggested = with_extension(output)
    if suggested and not any(part in format.carries for format in suggested):
        raise ConfigError(
            f"{output}: by its name of the format {suggested[-1].name}, which holds no {part}; name {names}"
        )
