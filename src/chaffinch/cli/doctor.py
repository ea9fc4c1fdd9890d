"""chaffinch doctor."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from chaffinch.cli import console
from chaffinch.cli.flags import WAS_OUT
from chaffinch.doctor.examination import CHECKS, NAMES, Examination, examination_page, examine
from chaffinch.doctor.finding import ERROR, SEVERITIES, WARNING, Finding
from chaffinch.doctor.label_errors import ODDS
from chaffinch.files import display_name, refuse_unwritable, writing_text
from chaffinch.knobs import LARGEST

EXAMPLES = """
chaffinch doctor train.conll
chaffinch doctor train.conll dev.conll test.conll      (also finds rows that two files share)
chaffinch doctor export.jsonl --quick                  (no models are trained)
chaffinch doctor posts.csv --label topic --check conflicts --check suspects --top 30
chaffinch doctor train.conll --html faults.html --findings faults.jsonl
"""

NO = 1  # exit code of a faulty corpus
STYLES = {ERROR: "red", WARNING: "yellow"}


def command(
    data: Annotated[
        list[Path],
        typer.Argument(help="The files of one corpus: the training file first, then held-out files."),
    ],
    check: Annotated[
        list[str] | None,
        typer.Option(help=f"Run only this check; may be repeated: {', '.join(NAMES)}.", metavar="NAME"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Train no models: skip the check of labels by cross-validation.")
    ] = False,
    odds: Annotated[
        float,
        typer.Option(
            help="Report a label if cross-validated models prefer another by at least these odds.", min=1.0
        ),
    ] = ODDS,
    label: Annotated[str | None, typer.Option(help="Column of the labels.")] = None,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    label_separator: Annotated[
        str | None, typer.Option(help="Documents: separator of several labels in one cell.")
    ] = None,
    top: Annotated[int, typer.Option(help="Number of findings to show for each check.", min=0)] = 5,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 on warnings too.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the folds.", min=0, max=LARGEST[int])] = 0,
    threads: Annotated[int, typer.Option(help="0 for all cores.", min=0)] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--findings", *WAS_OUT, metavar="FILE", help="Write all findings, one JSON object per line."
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find faults in a corpus: duplicates, label conflicts, illegal tags, misaligned spans, likely label errors.

    Exit code 1 if there are errors (--strict: or warnings), else 0.
    """
    for path in (output, html):
        if path is not None:
            refuse_unwritable(path)
    with console.progress_bar() as listener:
        found = examine(
            data,
            checks=check,
            quick=quick,
            odds=odds,
            label=label,
            text=text,
            label_separator=label_separator,
            seed=seed,
            threads=threads,
            on_fold=listener,
        )
    if output is not None:
        with writing_text(output) as stream:
            for name in found.checked:
                stream.writelines(
                    json_text.dumps(f.as_dict(), ensure_ascii=False) + "\n" for f in found.of(name)
                )
    if html is not None:
        with writing_text(html) as stream:
            stream.write(examination_page(found, max(top, 200)).render())
    if json:
        console.print_json(found.as_dict(top))
    else:
        _print(found, top)
        for written, what in ((output, "Findings"), (html, "Report")):
            if written is not None:
                console.err.print(f"{what}: {display_name(written)}")
    if found.faulty or (strict and found.doubtful):
        raise typer.Exit(NO)


def _print(found: Examination, top: int) -> None:
    about = {check.name: check.about for check in CHECKS}
    sizes = ", ".join(f"{file.name} ({len(file.documents):,} rows)" for file in found.files)
    console.out.print(sizes, style="bold", soft_wrap=True)
    summary = Table("check", "errors", "warnings", "hints", "looks for", box=None, pad_edge=False)
    for column in summary.columns[1:4]:
        column.justify = "right"
    for name in found.checked:
        counts = found.counts(name)
        summary.add_row(name, *(f"{counts[s]:,}" if counts[s] else "" for s in SEVERITIES), about[name])
    console.out.print(summary)
    for note in found.notes:
        console.out.print(note, soft_wrap=True)
    for name in found.checked:
        findings = found.of(name)
        if findings and top:
            console.out.print()
            console.out.print(name, style="bold")
        for finding in findings[:top]:
            _print_finding(finding)
        if len(findings) > top > 0:
            console.out.print(f"  and {len(findings) - top:,} more (--findings FILE writes them all)")


def _print_finding(finding: Finding) -> None:
    console.out.print(f"  {finding.severity:<8}", style=STYLES.get(finding.severity), end="")
    advice = f"  -> {finding.suggestion}" if finding.suggestion else ""
    console.out.print(f"{finding.where}  {finding.what}{advice}", soft_wrap=True)
