"""chaffinch ablation."""

import csv
import itertools
import json as json_text
import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from chaffinch.cli.console import out, print_json, progress_bar
from chaffinch.cli.flags import WAS_OUT
from chaffinch.cli.lab_flags import (
    DatasetFlag,
    FeaturesFlag,
    FolderFlag,
    JsonFlag,
    LabelFlag,
    RecipeFlag,
    ScoreFlag,
    SeparatorFlag,
    TextFlag,
    ThreadsFlag,
    with_settings,
)
from chaffinch.errors import ConfigError
from chaffinch.files import writing, writing_text
from chaffinch.lab import Ablation, Axis, Source, ablate, bench, scored_split
from chaffinch.lab.experiment import Experiment
from chaffinch.lab.plots import HEAD, charts, page, table_rows
from chaffinch.modelfile import fingerprint
from chaffinch.report.html import png_file, svg_file

FOLDER = Path("evaluation")

EXAMPLES = """
chaffinch ablation -d sst5 -p rate -v 0.003,0.01,0.03
chaffinch ablation -d ingredients --recipe hmm -p order -v 1,2 -p unknown -v suffix,classes
chaffinch ablation -d reviews --recipe svm -p C -v 0.1,1,10 --seeds 10 --on dev --prefix tables/svm-c
"""


@with_settings
def command(
    param: Annotated[
        list[str],
        typer.Option("--param", "-p", help="A setting to vary; may be repeated.", metavar="PARAM"),
    ],
    value: Annotated[
        list[str],
        typer.Option(
            "--value", "-v", help="Its values, separated by commas; one -v per -p.", metavar="V1,V2,..."
        ),
    ],
    dataset: DatasetFlag = "sst5",
    recipe: RecipeFlag = None,
    features: FeaturesFlag = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds (0, 1, ...) for every cell.", min=1)] = 5,
    grid: Annotated[
        bool, typer.Option("--grid/--one-at-a-time", help="Run every combination, or each value separately.")
    ] = True,
    on: Annotated[
        str | None, typer.Option(help="The split to score: test or dev; by default test, if there is one.")
    ] = None,
    score: ScoreFlag = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--prefix",
            *WAS_OUT,
            help="Prefix of the written files; by default evaluation/ablation-DATASET-PARAM.",
        ),
    ] = None,
    png: Annotated[
        bool, typer.Option("--png", help="Write charts as PNG too; needs the extra plot.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Discard the finished runs of an earlier call.")
    ] = False,
    label: LabelFlag = None,
    text: TextFlag = None,
    label_separator: SeparatorFlag = None,
    data_folder: FolderFlag = None,
    threads: ThreadsFlag = 0,
    json: JsonFlag = False,
    settings: dict[str, Any] | None = None,
) -> None:
    """Vary settings over several seeds: a table with intervals, charts, and the figures as JSON and CSV.

    An interrupted ablation continues when the same command is given again.
    """
    axes = _axes(param, value)
    laid = bench(
        Source.parsed(dataset, label=label, text=text, label_separator=label_separator),
        data_folder,
        recipe=recipe,
        settings=settings,
        features=features,
        dev_needed=on == "dev",
    )
    split = scored_split(laid.splits, on)
    begin = output or str(FOLDER / f"ablation-{_plain(dataset)}-{'-'.join(a.param for a in axes)}")
    Path(begin).parent.mkdir(parents=True, exist_ok=True)
    asked = _asked(laid.experiment, axes, seeds, grid, split, score)
    begin = begin if output is not None else _unused(begin, asked)
    journal = Path(f"{begin}.runs.jsonl")
    if fresh:
        journal.unlink(missing_ok=True)
    with progress_bar() as listener:
        found = ablate(
            laid.experiment,
            axes,
            laid.splits,
            laid.kind,
            seeds=range(seeds),
            split=split,
            grid=grid,
            score=score,
            journal=journal,
            threads=threads,
            listener=listener,
        )
    files = _write_files(found, begin, png, asked)
    if json:
        print_json({**_as_json(found), "files": files})
        return
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for i, name in enumerate(HEAD):
        shown.add_column(name, justify="left" if i == 0 else "right")
    for row in table_rows(found.rows):
        shown.add_row(*row)
    out.print(f"{found.score} on {split} of {dataset}, {found.base.recipe}, {seeds} seeds, per cent")
    out.print(shown)
    out.print("files: " + " ".join(files))


def _axes(params: list[str], values: list[str]) -> list[Axis]:
    if len(params) != len(values):
        raise ConfigError(
            f"every -p needs its -v: got {len(params)} parameters and {len(values)} lists of values"
        )
    axes = []
    for param, text in zip(params, values, strict=True):
        listed = tuple(v.strip() for v in text.split(",") if v.strip())
        if not listed:
            raise ConfigError(f"-v {text!r}: expected values separated by commas for {param}")
        axes.append(Axis(param.replace("-", "_"), listed))
    return axes


def _asked(base: Experiment, axes: list[Axis], seeds: int, grid: bool, split: str, score: str | None) -> str:
    """The fingerprint of an ablation's settings."""
    values = [f"{a.param}={','.join(a.values)}" for a in axes]
    return fingerprint([repr(base), *values, str(seeds), str(grid), split, str(score)])


def _unused(begin: str, asked: str) -> str:
    """The prefix of this ablation's files, with a number if another ablation of the same parameters has it."""
    for number in itertools.count(1):
        tried = begin if number == 1 else f"{begin}-{number}"
        path = Path(f"{tried}.json")
        if not path.exists():
            return tried
        try:
            before = json_text.loads(path.read_text(encoding="utf-8")).get("asked")
        except (ValueError, AttributeError, OSError):
            continue
        if before == asked:
            return tried
    raise AssertionError


def _write_files(found: Ablation, begin: str, png: bool, asked: str) -> list[str]:
    """Write the page, the charts and the figures; return the names of the files."""
    names = [f"{begin}.html", f"{begin}.json", f"{begin}.csv"]
    with writing_text(names[0]) as stream:
        stream.write(page(found).render())
    with writing_text(names[1]) as stream:
        stream.write(json_text.dumps({**_as_json(found), "asked": asked}, indent=2) + "\n")
    with writing_text(names[2]) as stream:
        rows = csv.writer(stream, lineterminator="\n")
        params = [axis.param for axis in found.axes]
        rows.writerow([*params, "seed", *found.rows[0].runs[0].scores, "wall_s"])
        for row in found.rows:
            for r in row.runs:
                rows.writerow([*(row.point.get(p, "") for p in params), r.seed, *r.scores.values(), r.wall_s])
    for ending, chart in charts(found).items():
        names.append(f"{begin}{ending}.svg")
        with writing_text(names[-1]) as stream:
            stream.write(svg_file(chart))
        if png:
            names.append(f"{begin}{ending}.png")
            pixels = png_file(chart)
            with writing(names[-1]) as raw:
                raw.write(pixels)
    return names


def _as_json(found: Ablation) -> dict[str, Any]:
    rows = []
    for row in found.rows:
        s, (low, high) = row.over_seeds, row.over_data
        rows.append(
            {
                **row.point,
                "mean": s.mean,
                "low": s.low,
                "high": s.high,
                "data_low": low,
                "data_high": high,
                "seconds": row.seconds,
                "runs": [
                    {"seed": r.seed, **r.scores, "epochs": r.epochs, "wall_s": r.wall_s} for r in row.runs
                ],
            }
        )
    return {
        "dataset": str(found.base.source),
        "recipe": found.base.recipe,
        "settings": dict(found.base.settings),
        "split": found.split,
        "part": found.split,  # the old name of this key
        "score": found.score,
        "rows": rows,
    }


def _plain(name: str) -> str:
    """A dataset's name, made fit for a file name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")
