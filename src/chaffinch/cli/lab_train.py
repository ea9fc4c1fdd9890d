"""chaffinch train -d DATASET: an experiment on a dataset, with a record and a preset."""

import copy
import inspect
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from chaffinch.cli.console import out, print_json, progress_bar
from chaffinch.cli.flags import panels_of
from chaffinch.cli.lab_flags import FolderFlag, model_panels, outcome_as_json, show_scores
from chaffinch.errors import ConfigError
from chaffinch.kinds.kind import RUN_KNOBS
from chaffinch.knobs import knobs
from chaffinch.lab import Source, bench, presets, records, run
from chaffinch.lab.baseline import LETTERS, Baseline
from chaffinch.lab.records import epoch_lines

PANEL = "Experiments: -d DATASET instead of files, -o then names the record"

EXPERIMENT_FLAGS = {
    "dataset": Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            help="sst5, 20news, trec, a sample's name, a folder with train and test files, or TRAIN,TEST files.",
            rich_help_panel=PANEL,
        ),
    ],
    "name": Annotated[
        str | None, typer.Option("--name", "-n", help="A name for the record.", rich_help_panel=PANEL)
    ],
    "export": Annotated[
        str | None,
        typer.Option(
            "--export",
            "-j",
            help="Write a preset: NAME is presets/NAME.json; or a path.json, path.toml.",
            rich_help_panel=PANEL,
        ),
    ],
    "save": Annotated[
        Path | None, typer.Option("--save", help="Write the model too.", rich_help_panel=PANEL)
    ],
    "data_folder": FolderFlag,
}

# Flags of plain training that mean the same here.
SHARED = (
    "config",
    "recipe",
    "features",
    "label",
    "text",
    "label_separator",
    "stop_on_dev",
    "seed",
    "threads",
    "json",
)


def with_experiments(train: Callable[..., None]) -> Callable[..., None]:
    """Give ``chaffinch train`` the experiment's flags: with -d it runs one, without it trains on files as ever."""
    before = dict(inspect.signature(train).parameters)
    short = {k.name: k for k in knobs(Baseline)}
    knob_names = {k.name for panel in model_panels() for k in knobs(panel.config)} - RUN_KNOBS
    parameters = {name: _optional(p) if name in ("data", "model") else p for name, p in before.items()}
    for name, annotation in EXPERIMENT_FLAGS.items():
        parameters[name] = _keyword(name, annotation, None)
    for name, k in short.items():
        letter = [LETTERS[name]] if name in LETTERS else []
        if name in parameters:
            parameters[name] = _with_letter(parameters[name], letter)
            continue
        flag = f"{k.flag}/--no-{k.flag[2:]}" if k.type is bool else k.flag
        option = typer.Option(
            flag, *letter, help=f"{k.help} [dim]\\[default: {k.default}][/dim]", rich_help_panel=PANEL
        )
        parameters[name] = _keyword(name, Annotated[k.type | None, option], None)

    def wrapper(**arguments: Any) -> None:
        if arguments["dataset"] is not None:
            _experiment(before, short, knob_names, arguments)
            return
        for name in (*EXPERIMENT_FLAGS, *(n for n in short if n not in before)):
            value = arguments.pop(name)
            if value is not None and name != "data_folder":
                flag = name.replace("_", "-")
                raise ConfigError(f"--{flag} belongs to an experiment: name its dataset with -d")
        if not arguments["data"] or arguments["model"] is None:
            missing = "the training files" if not arguments["data"] else "where the model goes, with -o MODEL"
            raise ConfigError(f"name {missing}; or run an experiment on a dataset, -d DATASET")
        train(**arguments)

    wrapper.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters.values()}
    wrapper.__doc__ = train.__doc__
    wrapper.__name__ = train.__name__
    wrapper.panels = panels_of(train)  # type: ignore[attr-defined]
    return wrapper


def _experiment(
    before: dict[str, inspect.Parameter],
    short: dict[str, Any],
    knob_names: set[str],
    arguments: dict[str, Any],
) -> None:
    """Run it: record on -o, preset on -j, model on --save, result on stdout."""
    given = {k: v for k, v in arguments.items() if v is not None}
    settings = {k: v for k, v in given.items() if k in knob_names or k in short}
    if given.get("data"):
        named = ", ".join(map(str, given["data"]))
        raise ConfigError(f"a dataset (-d) and training files exclude each other, found {named}")
    for name, parameter in before.items():
        if name in SHARED or name in knob_names or name in ("data", "model"):
            continue
        if arguments[name] != parameter.default:
            raise ConfigError(f"--{name.replace('_', '-')} does not go with a dataset (-d)")
    recipe = given.get("recipe") if arguments["recipe"] != before["recipe"].default else None
    source = Source.parsed(
        given["dataset"],
        label=given.get("label"),
        text=given.get("text"),
        label_separator=given.get("label_separator"),
    )
    laid = bench(
        source,
        given.get("data_folder"),
        recipe=recipe,
        settings=settings,
        features=given.get("features"),
        seed=given["seed"],
        stop_on_dev=given["stop_on_dev"],
    )
    files = {
        "record": records.record_path(str(given["model"])) if "model" in given else None,
        "preset": presets.preset_path(given["export"], writing=True) if "export" in given else None,
        "model": given.get("save"),
    }
    scored = [part for part in ("train", "dev", "test") if part in laid.parts]
    watched = ["train", *(p for p in ("test", "dev") if p in scored)][:2]
    with progress_bar() as listener:
        outcome = run(
            laid.experiment,
            laid.parts,
            scored=scored,
            watched=watched,
            threads=given["threads"],
            on_epoch=listener,
        )
    name = given.get("name") or f"{source}-{laid.experiment.recipe}"
    if files["record"] is not None:
        records.append(files["record"], records.record(outcome, name, datetime.now()))
    if files["preset"] is not None:
        presets.write(presets.Preset.of(outcome, laid.parts, name), files["preset"])
    if files["model"] is not None:
        outcome.estimator.save(files["model"])
    written = {what: str(path) for what, path in files.items() if path is not None}
    if given["json"]:
        print_json({**outcome_as_json(outcome), **written})
        return
    for line in epoch_lines(outcome.epochs):
        out.print(line.replace("_acc _", "_acc ").replace("_,", ",").replace("**", "").rstrip())
    show_scores(outcome)
    out.print(f"{laid.experiment.recipe} on {source}: trained in {outcome.wall_s:.2f} s")
    for what, path in written.items():
        out.print(f"{what}: {path}")


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _optional(p: inspect.Parameter) -> inspect.Parameter:
    kind, *rest = get_args(p.annotation)
    return p.replace(default=None, annotation=Annotated[kind | None, *rest])


def _with_letter(p: inspect.Parameter, letter: list[str]) -> inspect.Parameter:
    """The same flag with a shorthand."""
    kind, option = get_args(p.annotation)
    made = copy.copy(option)
    made.param_decls = (*(option.param_decls or ()), *letter)
    return p.replace(annotation=Annotated[kind, made])
