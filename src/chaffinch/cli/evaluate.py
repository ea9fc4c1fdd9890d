"""chaffinch evaluate."""

from typing import Annotated

import typer
from rich.table import Table

from chaffinch.cli import console
from chaffinch.corpus import FORMATS
from chaffinch.evaluate import CONVENTIONS, SCHEMES
from chaffinch.evaluate.evaluation import Evaluation, description, evaluate_files, p_text, title_of, verdict
from chaffinch.evaluate.page import page
from chaffinch.evaluate.tags import AUTO
from chaffinch.files import display_name, refuse_unwritable, writing_text
from chaffinch.kinds import KINDS
from chaffinch.knobs import LARGEST

EXAMPLES = """
chaffinch evaluate dev.conll out.conll
chaffinch evaluate out.conll                 (last two columns: gold, prediction)
chaffinch evaluate dev.out dev.pred --convention hmm-project
chaffinch evaluate dev.conll new.conll --against old.conll --html report.html
chaffinch evaluate gold.conllu tagged.conllu --label xpos
chaffinch evaluate gold.csv predicted.csv --json
chaffinch evaluate labelled.csv --label-separator "|"    (several labels, a column 'prediction')
"""

SHOWN_CLASSES = 60
TASKS = [task for kind in reversed(KINDS) for task in kind.outputs]


def command(
    gold: Annotated[str, typer.Argument(help="The gold answers, or one file that also has the predictions.")],
    predicted: Annotated[str | None, typer.Argument(help="The output to score.", show_default=False)] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="FILE", help="Another output to compare with.")
    ] = None,
    convention: Annotated[
        str, typer.Option("--convention", help=f"What counts as a span: {', '.join((AUTO, *CONVENTIONS))}.")
    ] = AUTO,
    scheme: Annotated[
        str | None,
        typer.Option(
            "--scheme", help=f"Scheme of seqeval-strict: {', '.join(SCHEMES)}; by default detected."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", help=f"Format of the files: {', '.join(FORMATS)}; by default detected."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", help="The column to score, if not the default: xpos, deprel, stars ..."),
    ] = None,
    label_separator: Annotated[
        str | None,
        typer.Option("--label-separator", help="Documents: separator of several labels in one cell."),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(
            "--train", metavar="FILE", help="Training file: score seen and unseen words separately."
        ),
    ] = None,
    interval: Annotated[float, typer.Option("--interval", help="Confidence of the intervals, in %.")] = 95.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.", min=0, max=LARGEST[int])] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with every score.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write a report with plots.")
    ] = None,
) -> None:
    """Score an output: tags, document labels, spans, parse trees or word links, depending on the data.

    If the output has probabilities (a column 'confidence', scores of spans, columns of --marginals), their expected
    calibration error and Brier score are printed too.
    """
    if html is not None:
        refuse_unwritable(html)
    told = {"label": label, "label_separator": label_separator}
    evaluation = evaluate_files(
        gold,
        predicted,
        against,
        format=format,
        convention=convention,
        scheme=scheme,
        confidence=interval,
        seed=seed,
        train=train,
        known=TASKS,
        **{name: value for name, value in told.items() if value is not None},
    )
    if html is not None:
        with writing_text(html) as out:
            out.write(page(evaluation).render())
    if json:
        console.print_json(evaluation.as_dict())
        return
    _print(evaluation)
    if html is not None:
        console.err.print(f"Report: {display_name(html)}")


def _print(evaluation: Evaluation) -> None:
    out = console.out
    out.print(description(evaluation), style="bold")
    scores = evaluation.scores.as_dict()
    head = Table("score", "value", f"{evaluation.confidence:g}% interval", box=None, pad_edge=False)
    head.columns[1].justify = "right"
    for key in evaluation.headline:
        i = evaluation.intervals.get(key)
        bounds = f"{i.low:.4f} to {i.high:.4f}" if i is not None else ""
        head.add_row(title_of(key), f"{scores[key]:.4f}", bounds)
    for name in ("seen", "unseen"):
        if evaluation.seen is not None:
            tokens, accuracy = (evaluation.seen[f"{name}.{k}"] for k in ("tokens", "token_accuracy"))
            head.add_row(f"token accuracy, {name} words", f"{accuracy:.4f}", f"{tokens:,.0f} tokens")
    if evaluation.confidences is not None:
        found = evaluation.confidences.as_dict()
        chance = f"{found['answers']:,} {found['unit']}: {found['by_chance']:.4f} by chance"
        head.add_row("expected calibration error", f"{found['error']:.4f}", chance)
        head.add_row("Brier score", f"{found['brier']:.4f}", "")
    out.print(head)
    if evaluation.outputs.remark is not None:
        out.print(evaluation.outputs.remark, soft_wrap=True)
    if evaluation.comparison is not None:
        _print_comparison(evaluation)
    _print_classes(evaluation)


def _print_comparison(evaluation: Evaluation) -> None:
    heads = ("score", "ours", "other", "change", "low", "high", "p swap", "p boot")
    shown = Table(*heads, box=None, pad_edge=False)
    for column in shown.columns:
        column.no_wrap = True
    for column in shown.columns[1:]:
        column.justify = "right"
    for key in evaluation.headline:
        c = (evaluation.comparison or {})[key]
        shown.add_row(
            title_of(key),
            f"{c.ours:.4f}",
            f"{c.other:.4f}",
            f"{c.difference:+.4f}",
            f"{c.low:+.4f}",
            f"{c.high:+.4f}",
            p_text(c.p_swap),
            p_text(c.p_bootstrap),
        )
    console.out.print()
    console.out.print(shown)
    console.out.print(verdict(evaluation), soft_wrap=True)


def _print_classes(evaluation: Evaluation) -> None:
    found = evaluation.outputs.classes(evaluation.scores)
    if found is None or not found.rates:
        return
    classes = found.rates
    shown = Table(
        found.what, "precision", "recall", "F1", "gold", "predicted", "correct", box=None, pad_edge=False
    )
    for column in shown.columns[1:]:
        column.justify = "right"
    largest = sorted(classes, key=lambda name: -classes[name].gold)[:SHOWN_CLASSES]
    for name in sorted(largest):
        r = classes[name]
        rates = (f"{x:.4f}" for x in (r.precision, r.recall, r.f1))
        shown.add_row(name, *rates, *(f"{n:,}" for n in (r.gold, r.predicted, r.correct)))
    console.out.print()
    console.out.print(shown)
    if len(largest) < len(classes):
        console.out.print(f"and {len(classes) - len(largest)} rarer ones (--json has them all)")
