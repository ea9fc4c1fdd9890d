"""Flags that the laboratory's commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from chaffinch.cli.console import out
from chaffinch.cli.flags import with_knobs
from chaffinch.errors import ConfigError
from chaffinch.kinds import KINDS
from chaffinch.kinds.kind import RUN_KNOBS
from chaffinch.knobs import Panel
from chaffinch.lab import Source
from chaffinch.lab.baseline import LETTERS, Baseline
from chaffinch.lab.experiment import Outcome

DatasetFlag = Annotated[
    str,
    typer.Option(
        "--dataset",
        "-d",
        help="sst5, 20news, trec, a sample's name, a folder with train and test files, or TRAIN,TEST files.",
        metavar="DATASET",
    ),
]
FolderFlag = Annotated[
    Path | None,
    typer.Option(help="Folder of the corpora.", envvar="CHAFFINCH_DATA", metavar="DIR"),
]
ModelFlag = Annotated[
    Path | None,
    typer.Option("--out", "--output", "-o", help="File to write the model to.", metavar="MODEL"),
]
RecordFlag = Annotated[
    str | None, typer.Option("--record", help="Add a record of the result: NAME is records/NAME.md.")
]
RecipeFlag = Annotated[
    str | None, typer.Option(help="The recipe; by default chosen by the data.", metavar="NAME")
]
FeaturesFlag = Annotated[str | None, typer.Option(help="Taggers: a preset's name or a file of templates.")]
LabelFlag = Annotated[str | None, typer.Option(help="The column to learn, if its name does not identify it.")]
SeparatorFlag = Annotated[
    str | None, typer.Option("--label-separator", help="Separator of several labels in one cell.")
]
TextFlag = Annotated[
    str | None, typer.Option(help="The column of the text, if its name does not identify it.")
]
ScoreFlag = Annotated[
    str | None, typer.Option(help="The deciding score; by default the task's first: span F1, accuracy.")
]
ThreadsFlag = Annotated[
    int, typer.Option(help="0 for all cores; results are the same for any number.", min=0)
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def model_panels() -> list[Panel]:
    """Every class of settings of models of every kind, under a heading."""
    return [panel for kind in KINDS for panel in kind.panels(reading=False)]


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the short names of settings with their letters, and every knob of every recipe."""
    panels = [Panel("Settings by their short names", Baseline), *model_panels()]
    return with_knobs(*panels, letters=LETTERS, without=RUN_KNOBS)(command)


def source_of(
    data: list[str] | None,
    dataset: str | None,
    dev: str | None,
    label: str | None,
    text: str | None,
    label_separator: str | None,
) -> Source:
    """The data of a command: a dataset by its name, or labelled files and a held-out file."""
    if bool(data) == bool(dataset):
        raise ConfigError("give either a dataset (-d NAME) or labelled files")
    if dataset:
        if dev is not None:
            raise ConfigError("a held-out file goes with labelled files; a dataset (-d) has its own splits")
        return Source.parsed(dataset, label=label, text=text, label_separator=label_separator)
    return Source(
        train=tuple(data or ()),
        dev=() if dev is None else (dev,),
        label=label,
        text=text,
        label_separator=label_separator,
    )


def show_scores(outcome: Outcome) -> None:
    """The scores of a finished model, a row per split."""
    keys = list(dict.fromkeys(key for found in outcome.scores.values() for key in found))
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("scored on")
    for key in keys:
        shown.add_column(key, justify="right")
    for split, found in outcome.scores.items():
        shown.add_row(split, *(f"{100 * found[key]:.2f} %" if key in found else "" for key in keys))
    out.print(shown)


def outcome_as_json(outcome: Outcome) -> dict[str, Any]:
    """A finished experiment as --json prints it."""
    return {
        "dataset": str(outcome.experiment.source),
        "recipe": outcome.experiment.recipe,
        "settings": outcome.settings,
        "seed": outcome.experiment.seed,
        "epochs": outcome.epochs,
        **outcome.scores,
        "wall_s": round(outcome.wall_s, 4),
        "cpu_s": round(outcome.cpu_s, 4),
    }
