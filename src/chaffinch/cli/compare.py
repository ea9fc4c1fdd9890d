"""chaffinch compare."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from chaffinch.cli import console
from chaffinch.errors import ConfigError
from chaffinch.evaluate.evaluation import Evaluation, description, title_of
from chaffinch.evaluate.intervals import Comparison
from chaffinch.files import display_name, refuse_unwritable, writing_text
from chaffinch.knobs import LARGEST
from chaffinch.lab.difference_page import HEADINGS, class_rows, difference_page, differing
from chaffinch.lab.model_difference import (
    OUTCOMES,
    ChangedAnswer,
    ModelDifference,
    add_to_history,
    compare_models,
    verdict,
)

EXAMPLES = """
chaffinch compare old.chaff new.chaff test.conll
chaffinch compare old.chaff new.chaff test.csv --label topic --html changes.html
chaffinch compare old.chaff new.chaff test.conll --any --tolerance 0.002    (fail on any loss beyond 0.2 points)
chaffinch compare old.chaff new.chaff test.conll --fail-below 0.93 --json
chaffinch compare old.chaff new.chaff test.conll --history scores.csv
chaffinch compare old.chaff new.chaff letters.txt             (no gold answers: shows what changed)
chaffinch compare yesterday.conll new.chaff test.conll        (the old answers from a file)
"""

NO = 1  # exit code of a regression
EACH = 3  # rows shown for each confusion
SHOWN_CLASSES = 12
LONGEST_TEXT = 160


def command(
    old: Annotated[Path, typer.Argument(help="The current model, or a file of its predictions.")],
    new: Annotated[Path, typer.Argument(help="The new model, or a file of its predictions.")],
    data: Annotated[
        Path, typer.Argument(help="Rows to predict with both models, with or without gold answers.")
    ],
    score: Annotated[
        str | None,
        typer.Option(
            help="Deciding score, by its key in --json; by default the task's first.", metavar="KEY"
        ),
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Largest accepted drop of the score.", min=0.0)] = 0.0,
    point: Annotated[
        bool,
        typer.Option("--any", help="Fail on any drop beyond the tolerance, not only on a significant one."),
    ] = False,
    fail_below: Annotated[
        float | None, typer.Option(help="Fail if the new score is below this, whatever the old one was.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column of the gold labels.")] = None,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    label_separator: Annotated[
        str | None, typer.Option(help="Documents: separator of several labels in one cell.")
    ] = None,
    top: Annotated[int, typer.Option(help="Number of rows to list for each outcome.", min=0)] = 10,
    interval: Annotated[float, typer.Option(help="Confidence of the intervals, in %.")] = 95.0,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", min=0, max=LARGEST[int])] = 0,
    threads: Annotated[int, typer.Option(help="0 for all cores.", min=0)] = 0,
    history: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append a row to this CSV file; created if it does not exist."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report with every changed row.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare two models on the same rows: what the new one fixed, what it broke, and whether it is worse.

    Exit code 1 if the new model is significantly worse (--any: if it is worse at all), 0 if not.
    """
    for path in (history, html):
        if path is not None:
            refuse_unwritable(path)
    difference = compare_models(
        old,
        new,
        data,
        label=label,
        text=text,
        label_separator=label_separator,
        confidence=interval,
        seed=seed,
        threads=threads,
    )
    judged = None
    if difference.evaluation is not None:
        judged = verdict(
            difference.evaluation, score=score, tolerance=tolerance, point=point, fail_below=fail_below
        )
    if history is not None:
        if judged is None:
            raise ConfigError(f"--history needs scores, and {display_name(data)} has no gold answers")
        add_to_history(history, difference, judged, datetime.now())
    if html is not None:
        with writing_text(html) as stream:
            stream.write(difference_page(difference, judged, max(top, 100)).render())
    if json:
        found = difference.as_dict(top)
        if judged is not None:
            found["verdict"] = {
                "regression": judged.regression,
                "score": judged.score,
                "sentence": judged.sentence,
            }
        console.print_json(found)
    else:
        _print(difference, top)
        if judged is not None:
            console.out.print()
            console.out.print(judged.sentence, soft_wrap=True)
        if html is not None:
            console.err.print(f"Report: {display_name(html)}")
    if judged is not None and judged.regression:
        raise typer.Exit(NO)


def _print(difference: ModelDifference, top: int) -> None:
    out = console.out
    _print_sides(difference)
    for note in difference.notes():
        out.print(note, soft_wrap=True)
    if difference.evaluation is not None:
        _print_scores(difference.evaluation)
    out.print()
    out.print(f"{difference.rows:,} rows: {difference.summary()}", style="bold")
    for kind in OUTCOMES:
        groups = difference.grouped(kind, EACH, top)
        if groups:
            out.print()
            out.print(HEADINGS[kind], style="bold")
        for name, count, changes in groups:
            out.print(f"{name} ({count:,})")
            for change in changes:
                _print_change(difference, change)


def _print_sides(difference: ModelDifference) -> None:
    shown = Table(
        "", "file", "recipe", "labels", "bytes", f"{difference.test_set.unit}/s", box=None, pad_edge=False
    )
    for column in shown.columns[3:]:
        column.justify = "right"
    for which, side in (("old", difference.old), ("new", difference.new)):
        numbers = (
            len(side.labels) or None,
            side.model_bytes,
            None if side.speed is None else round(side.speed),
        )
        cells = ("" if n is None else f"{n:,}" for n in numbers)
        shown.add_row(which, side.name, side.recipe or "answers", *cells)
    console.out.print(shown)


def _print_scores(evaluation: Evaluation) -> None:
    comparison = evaluation.comparison or {}
    rows = [(title_of(key), comparison[key]) for key in evaluation.headline]
    console.out.print()
    console.out.print(description(evaluation), style="bold")
    console.out.print(_score_table("score", rows, evaluation.confidence))
    classes = list(class_rows(evaluation))
    if classes:
        largest = sorted(classes, key=lambda row: -abs(row[1].difference))[:SHOWN_CLASSES]
        kept = sorted(largest, key=lambda row: row[1].difference)
        console.out.print()
        console.out.print(_score_table("F1 of", kept, evaluation.confidence))


def _score_table(heading: str, rows: list[tuple[str, Comparison]], confidence: float) -> Table:
    shown = Table(heading, "old", "new", "change", f"{confidence:g}% interval", box=None, pad_edge=False)
    for column in shown.columns[1:4]:
        column.justify = "right"
    for name, c in rows:
        bounds = f"{c.low:+.4f} to {c.high:+.4f}"
        shown.add_row(name, f"{c.other:.4f}", f"{c.ours:.4f}", f"{c.difference:+.4f}", bounds)
    return shown


def _print_change(difference: ModelDifference, change: ChangedAnswer) -> None:
    text = " ".join(change.text.split())
    if len(text) > LONGEST_TEXT:
        text = text[: LONGEST_TEXT - 3] + "..."
    console.out.print(f"  {change.where}  {text}", soft_wrap=True)
    sides = {"gold": change.gold, "old": change.old, "new": change.new}
    known = {name: reading for name, reading in sides.items() if reading is not None}
    for name, reading in known.items():
        others = [other for other_name, other in known.items() if other_name != name]
        pieces = [difference.test_set.piece(change.row, piece) for piece in differing(reading, others)]
        console.out.print(f"      {name:<4} {', '.join(pieces) or '-'}", soft_wrap=True)
