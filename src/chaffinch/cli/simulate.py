"""chaffinch simulate."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from chaffinch.active import STRATEGIES, Simulation, simulate
from chaffinch.active.simulation import BASELINE
from chaffinch.cli.console import out, print_json, progress_bar
from chaffinch.cli.lab_flags import (
    FeaturesFlag,
    FolderFlag,
    JsonFlag,
    LabelFlag,
    RecipeFlag,
    ScoreFlag,
    SeparatorFlag,
    TextFlag,
    ThreadsFlag,
    source_of,
)
from chaffinch.files import refuse_unwritable, writing_text
from chaffinch.kinds.kind import Kind
from chaffinch.knobs import LARGEST
from chaffinch.lab import bench
from chaffinch.report import Page, figure, lines, paragraph, table

EXAMPLES = """
chaffinch simulate train.conll --test dev.conll
chaffinch simulate train.csv --label label --text text --start 50 --batch 50 --rounds 10
chaffinch simulate -d questions --seeds 20 --report curves.html
"""


def command(
    data: Annotated[
        list[str] | None, typer.Argument(help="Labelled files, instead of -d.", metavar="DATA...")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="A dataset by name, folder or files.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Held-out file to score on; by default a fifth of the data.")
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(help=f"A strategy to compare with random; may be repeated: {', '.join(STRATEGIES)}."),
    ] = None,
    start: Annotated[
        int, typer.Option(help="Labelled rows at the start, before any are chosen.", min=2)
    ] = 25,
    batch: Annotated[int, typer.Option(help="Rows added in each round.", min=1)] = 25,
    rounds: Annotated[int, typer.Option(help="Number of rounds.", min=1)] = 8,
    seeds: Annotated[
        int, typer.Option(help="Number of runs of each strategy, with different seeds.", min=1)
    ] = 5,
    seed: Annotated[int, typer.Option(help="The first seed.", min=0, max=LARGEST[int] - 1000)] = 0,
    recipe: RecipeFlag = None,
    features: FeaturesFlag = None,
    score: ScoreFlag = None,
    report: Annotated[Path | None, typer.Option(help="Draw the curves on this HTML page.")] = None,
    label: LabelFlag = None,
    text: TextFlag = None,
    label_separator: SeparatorFlag = None,
    data_folder: FolderFlag = None,
    threads: ThreadsFlag = 0,
    json: JsonFlag = False,
) -> None:
    """Simulate active learning on labelled data, to see whether it pays and how much.

    The labels are hidden at first. Each strategy starts with the same number of labelled rows, asks for the labels of
    further batches, and is scored on held-out data after each. Differences to random are paired by seed. They and the
    share of tokens or texts that a strategy saves have 95 % intervals.
    """
    if report is not None:
        refuse_unwritable(report)
    source = source_of(data, dataset, test, label, text, label_separator)
    laid = bench(
        source,
        data_folder,
        recipe=recipe,
        features=features,
        seed=seed,
        dev_needed=True,
        from_baseline=False,
    )
    kind = laid.kind
    with progress_bar() as listener:
        found = simulate(
            kind,
            laid.splits["train"],
            laid.splits["dev"],
            strategy or _default_strategies(kind),
            recipe=recipe,
            features=features,
            start=start,
            batch=batch,
            rounds=rounds,
            seeds=range(seed, seed + seeds),
            score=score,
            threads=threads,
            listener=listener,
        )
    if report is not None:
        with writing_text(report) as stream:
            stream.write(_page(found).render())
    if json:
        print_json(_plain(found))
        return
    _show(found)


def _default_strategies(kind: Kind) -> list[str]:
    return list(dict.fromkeys(["doubt", kind.strategy]))


def _rows(found: Simulation) -> list[list[str]]:
    """A row per strategy: scores at start and end, the cost of reaching random's last score, the paired gain."""
    wanted = float(found.curves[BASELINE].score.mean(axis=0)[-1])
    made = []
    for name, curve in found.curves.items():
        mean, cost = curve.score.mean(axis=0), curve.cost_of(wanted)
        spent = ["not reached"] * 3 if cost is None else [f"{cost[key]:,.0f}" for key in cost]
        row = [name, f"{100 * mean[0]:.2f}", f"{100 * mean[-1]:.2f}", *spent]
        if name == BASELINE:
            made.append([*row, "", "", ""])
        else:
            saved = found.saving(name)
            share = "not reached" if saved is None else saved.shares
            made.append([*row, share, str(found.gain(name)), str(found.worst(name)[1])])
    return made


def _head(found: Simulation) -> list[str]:
    spent = ["rows", found.unit, "corrections"]
    return [
        "strategy",
        "start",
        "end",
        *spent,
        f"fewer {found.unit}",
        f"{found.score} above random",
        "at its worst budget",
    ]


def _show(found: Simulation) -> None:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for n, name in enumerate(_head(found)):
        shown.add_column(name, justify="left" if n == 0 else "right")
    for row in _rows(found):
        shown.add_row(*row)
    out.print(shown)
    out.print(f"rows, {found.unit} and corrections: needed to reach the last score of random")
    out.print(found.verdict())


def _plain(found: Simulation) -> dict[str, Any]:
    curves = {
        name: {
            "rows": c.rows.mean(axis=0).tolist(),
            found.unit: c.units.mean(axis=0).tolist(),
            "corrections": c.corrections.mean(axis=0).tolist(),
            found.score: c.score.tolist(),
            **({} if name == BASELINE else _gains(found, name)),
        }
        for name, c in found.curves.items()
    }
    return {"score": found.score, "held_out": found.held_out, "curves": curves, "verdict": found.verdict()}


def _gains(found: Simulation, name: str) -> dict[str, Any]:
    units, worst = found.worst(name)
    saved = found.saving(name)
    return {
        "gain": vars(found.gain(name)),
        "worst": {found.unit: units, **vars(worst)},
        "saving": None if saved is None else vars(saved),
    }


def _page(found: Simulation) -> Page:
    """The curves over rows and over tokens or texts, and the table."""
    page = Page("What to label next", found.verdict())
    for title, spent in (("rows", "rows"), (found.unit, "units")):
        if title == "rows" or found.unit != "texts":
            series = {
                name: list(
                    zip(
                        getattr(c, spent).mean(axis=0).tolist(),
                        (100 * c.score.mean(axis=0)).tolist(),
                        strict=True,
                    )
                )
                for name, c in found.curves.items()
            }
            page.add(
                f"{found.score} by labelled {title}",
                figure(lines(f"{found.score} by {title}", series, title, found.score)),
            )
    page.add("What it takes", table(_head(found), _rows(found)), paragraph("Means over seeds."))
    return page
