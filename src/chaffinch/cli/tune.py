"""chaffinch tune."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from chaffinch.cli.console import out, print_json, progress_bar, remarks_on_stderr
from chaffinch.cli.flags import WAS_OUT
from chaffinch.cli.lab_flags import (
    FeaturesFlag,
    FolderFlag,
    JsonFlag,
    LabelFlag,
    ScoreFlag,
    SeparatorFlag,
    TextFlag,
    ThreadsFlag,
    source_of,
    with_settings,
)
from chaffinch.cli.terminal import if_interrupted, not_written
from chaffinch.engines import engine_named
from chaffinch.errors import ConfigError
from chaffinch.knobs import LARGEST
from chaffinch.lab import Tuned, bench, presets, tune
from chaffinch.lab.tuning import Trial, space_of, written_space

EXAMPLES = """
chaffinch tune -d reviews --time 60s --preset best.toml
chaffinch tune train.conll --dev dev.conll --recipe crf --trials 27 --preset crf.toml
chaffinch tune -d ingredients --recipe crf -p c2 -v 0.1..10 --order 1 --trials 9 --preset c2.json
chaffinch tune large.conll --recipe crf --trials 27 --engine ray --preset crf.toml
chaffinch preset best.toml -o best.chaff
"""

SHOWN = 12
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@with_settings
def command(
    data: Annotated[
        list[str] | None, typer.Argument(help="Training files, instead of -d.", metavar="DATA...")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", "-d", help="A dataset by name, folder or files; its test split is not read."
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(help="Held-out file; by default the dataset's dev split, else a fifth of the data."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--preset", *WAS_OUT, help="File to write the preset to: .toml or .json.", metavar="PRESET"
        ),
    ] = None,
    time: Annotated[str | None, typer.Option(help="Time limit: 60s, 5m, 1h.")] = None,
    trials: Annotated[
        int | None,
        typer.Option(help="Number of settings to sample; the same number gives the same result.", min=1),
    ] = None,
    recipe: Annotated[
        list[str] | None,
        typer.Option(help="The recipe to tune; may be repeated to compare several.", metavar="NAME"),
    ] = None,
    features: FeaturesFlag = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", help="A setting to sample, instead of the default search space."),
    ] = None,
    value: Annotated[
        list[str] | None, typer.Option("--value", "-v", help="Its values: a,b,c or LOW..HIGH; one -v per -p.")
    ] = None,
    score: ScoreFlag = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the sampled settings and of the models.", min=0, max=LARGEST[int])
    ] = 0,
    name: Annotated[str, typer.Option("--name", "-n", help="A name for the preset.")] = "tuned",
    label: LabelFlag = None,
    text: TextFlag = None,
    label_separator: SeparatorFlag = None,
    data_folder: FolderFlag = None,
    threads: ThreadsFlag = 0,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Run trials side by side on threads, processes or ray, with the same result; needs --trials.",
            metavar="NAME",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Workers of --engine; 0: one per core.", min=0)] = 0,
    json: JsonFlag = False,
    settings: dict[str, Any] | None = None,
) -> None:
    """Find settings on held-out data within a time or a number of trials, and write them as a preset.

    Settings given as flags are fixed; the other important ones are sampled.
    """
    if len(param or []) != len(value or []):
        raise ConfigError("every -p needs its -v")
    source = source_of(data, dataset, dev, label, text, label_separator)
    path = None if output is None else presets.preset_path(output, writing=True)
    kept = (lambda: "no preset was written") if path is None else not_written(path)
    named: list[str | None] = [*recipe] if recipe else [None]
    with if_interrupted(kept):
        laid = [
            bench(
                source,
                data_folder,
                recipe=one,
                settings=settings,
                features=features,
                seed=seed,
                dev_needed=True,
                from_baseline=False,
            )
            for one in named
        ]
    kind, splits = laid[0].kind, laid[0].splits
    spaces = []
    for b in laid:
        chosen = b.experiment.recipe
        known = kind.settings_of(chosen)
        pairs = zip(param or [], value or [], strict=True)
        written = dict(written_space(p, v, chosen, known) for p, v in pairs)
        spaces.append(
            written
            or space_of(chosen, known, fixed={*b.experiment.settings, *(["features"] if features else [])})
        )
        if not spaces[-1]:
            raise ConfigError(f"nothing is left to tune in recipe {chosen}: name a setting with -p and -v")
    seconds = None if time is None else _seconds(time)
    with if_interrupted(kept), remarks_on_stderr(), progress_bar() as listener:
        found = tune(
            [b.experiment for b in laid],
            spaces,
            splits,
            trials=trials if trials is not None or seconds is not None else 9,
            seconds=seconds,
            name=name,
            score=score,
            seed=seed,
            threads=threads,
            listener=listener,
            engine=None if engine is None else engine_named(engine, workers),
        )
    if path is not None:
        presets.write(found.preset, path)
    if json:
        print_json(_as_json(found, path))
        return
    _show(found, str(source))
    if path is not None:
        out.print(f"preset: {path}")


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", text.strip())
    if found is None or float(found[1]) == 0:
        raise ConfigError(f"--time: expected a time such as 60s, 5m or 1h, got {text!r}")
    return float(found[1]) * _UNITS[found[2]]


def _show(found: Tuned, dataset: str) -> None:
    """The best trials on all data, then those that were stopped early."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("trial", "data", found.score, "seconds", "recipe and sampled settings"):
        shown.add_column(name, justify="left" if name.startswith("recipe") else "right")
    ranked = sorted(found.trials, key=lambda t: (-t.share, -t.score, t.number))
    for trial in ranked[:SHOWN]:
        shown.add_row(
            str(trial.number),
            f"{100 * trial.share:.0f} %",
            "failed" if trial.error else f"{100 * trial.score:.2f} %",
            f"{trial.seconds:.2f}",
            _told(trial),
        )
    out.print(shown)
    if len(ranked) > SHOWN:
        out.print(f"and {len(ranked) - SHOWN} more on less of the data", style="dim")
    out.print(
        f"best of {len(found.trials)} runs on held-out data of {dataset}: "
        f"{found.score} {100 * found.best.score:.2f} % by {_told(found.best)}"
    )
    failed = [trial for trial in found.trials if trial.error]
    if failed:
        first = failed[0]
        out.print(f"{len(failed)} of them failed; trial {first.number} ({_told(first)}): {first.error}")


def _told(trial: Trial) -> str:
    sampled = ", ".join(f"{k}={v}" for k, v in trial.settings.items())
    return f"{trial.recipe}: {sampled}" if sampled else f"{trial.recipe} unchanged"


def _as_json(found: Tuned, path: Path | None) -> dict[str, Any]:
    return {
        "score": found.score,
        "best": {"trial": found.best.number, found.score: found.best.score, **found.best.settings},
        "recipe": found.best.recipe,
        "trials": [vars(t) for t in found.trials],
        "preset": None if path is None else str(path),
    }
