"""chaffinch train --compare: several recipes on one corpus; and the learning curve of one."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from chaffinch.cli.console import err, out, print_json, progress_bar
from chaffinch.cli.task import Training
from chaffinch.errors import ConfigError
from chaffinch.files import writing_text
from chaffinch.knobs import knobs
from chaffinch.lab.held_out import split_off
from chaffinch.lab.recipe_comparison import RecipeComparison, compare_recipes
from chaffinch.progress import Progress
from chaffinch.recipes import TAGGERS
from chaffinch.report import Page, figure, lines
from chaffinch.text.table import TokenTable


def train_and_compare(asked: Training, table: TokenTable, held_out: TokenTable | None) -> None:
    """Train every recipe, show the table, write the page, keep the best. Knobs go to the recipes that have them."""
    names, settings = str(asked.compare), asked.settings
    recipes = [TAGGERS.by_name(name.strip()) for name in names.split(",") if name.strip()]
    if len(recipes) < 2:
        raise ConfigError(f"--compare needs at least two recipes, got {names!r}")
    for name in settings:
        if not any(name in {k.name for k in knobs(r.config)} for r in recipes):
            raise ConfigError(f"none of {names} has a knob --{name.replace('_', '-')}")
    configs = [
        r.configured({k.name: settings[k.name] for k in knobs(r.config) if k.name in settings})
        for r in recipes
    ]
    train, test = (table, held_out) if held_out is not None else split_off(table)
    with progress_bar() as listener:
        found = compare_recipes(
            train,
            test,
            configs,
            features=asked.features,
            seed=asked.seed,
            threads=asked.threads,
            stop_on_held_out=True,
            on_epoch=listener,
            on_recipe=lambda name: err.print(f"training {name}") if err.is_terminal else None,
        )
    best = found.best
    found.taggers[best.recipe].save(asked.model, scores={f"dev.{k}": v for k, v in best.scores.items()})
    if asked.report is not None:
        with writing_text(asked.report) as stream:
            stream.write(found.page(f"{train.n_tokens:,} tokens of training text").render())
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


def write_curve(path: Path, recipe: str, history: Sequence[Progress]) -> None:
    """A page with one line for each score that training reported."""
    page = Page(f"How {recipe} learnt", f"{len(history)} epochs")
    names = list(dict.fromkeys(name for p in history for name in p.scores))
    for name in names:
        points = [(float(p.done), p.scores[name]) for p in history if name in p.scores]
        page.add(name, figure(lines(name, {name: points}, "epoch", name)))
    with writing_text(path) as stream:
        stream.write(page.render())
