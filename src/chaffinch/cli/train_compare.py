"""chaffinch train --compare: several recipes on one corpus."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from chaffinch.cli.console import err, out, print_json, progress_bar
from chaffinch.cli.task import Training
from chaffinch.errors import ConfigError
from chaffinch.files import writing_text
from chaffinch.knobs import knobs
from chaffinch.lab.held_out import part_split_off
from chaffinch.lab.parts import Part
from chaffinch.lab.recipe_comparison import RecipeComparison, compare_recipes
from chaffinch.recipes import Recipes


def train_and_compare(
    asked: Training,
    recipes: Recipes,
    train: Part,
    held_out: Part | None,
    title: str,
    *,
    features: Any,
    shared: Mapping[str, Any] | None = None,
    stop_on_held_out: bool,
) -> None:
    """Train every recipe, show the table, write the page, keep the best. Knobs go to the recipes that have them.

    shared: settings that go to all of them
    """
    names = str(asked.compare)
    settings = {k: v for k, v in asked.settings.items() if k not in (shared or {})}
    chosen = [recipes.by_name(name.strip()) for name in names.split(",") if name.strip()]
    if len(chosen) < 2:
        raise ConfigError(f"--compare needs at least two recipes, got {names!r}")
    for name in settings:
        if not any(name in {k.name for k in knobs(r.config)} for r in chosen):
            raise ConfigError(f"none of {names} has a knob --{name.replace('_', '-')}")
    configs = [
        r.configured({k.name: settings[k.name] for k in knobs(r.config) if k.name in settings})
        for r in chosen
    ]
    if held_out is None:
        train, held_out = part_split_off(train)
    with progress_bar() as listener:
        found = compare_recipes(
            train,
            held_out,
            configs,
            features=features,
            settings=shared,
            seed=asked.seed,
            threads=asked.threads,
            stop_on_held_out=stop_on_held_out,
            on_epoch=listener,
            on_recipe=lambda name: err.print(f"training {name}") if err.is_terminal else None,
        )
    best = found.best
    found.estimators[best.recipe].save(asked.model, scores={f"dev.{k}": v for k, v in best.scores.items()})
    if asked.report is not None:
        with writing_text(asked.report) as stream:
            stream.write(found.page(title).render())
    if asked.json:
        print_json(
            {"best": best.recipe, "model": str(asked.model), "recipes": [e.as_dict() for e in found.entries]}
        )
    else:
        show(found)
        out.print(f"{best.recipe} is kept in {asked.model}")


def show(found: RecipeComparison) -> None:
    """The table, best row bold."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for i, name in enumerate(found.head()):
        shown.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
    for entry, row in zip(found.entries, found.rows(), strict=True):
        shown.add_row(*row, style="bold" if entry is found.best else None)
    out.print(shown)
