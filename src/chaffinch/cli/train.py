"""chaffinch train."""

from pathlib import Path
from typing import Annotated, Any

import typer

from chaffinch.cli.flags import with_knobs
from chaffinch.cli.lab_train import with_experiments
from chaffinch.cli.task import Training, refuse_strange_flags
from chaffinch.cli.tasks import TASKS, task_of_file
from chaffinch.corpus import FORMATS
from chaffinch.files import refuse_unwritable

EXAMPLES = """
chaffinch train train.conll -o model.chaff
chaffinch train train.conll -o hmm.chaff --recipe hmm --dev dev.conll
chaffinch train data.conllu -o pos.chaff --label xpos --json
chaffinch train annotated.jsonl -o names.chaff
chaffinch train tasks.json -o names.chaff --annotators majority
chaffinch train words.txt -o model.chaff --from columns --columns w=1,y=3
chaffinch train train.tsv --dev dev.tsv -o best.chaff --compare greedy,easiest-first,crf --report recipes.html
chaffinch train train.tsv --dev dev.tsv -o small.chaff --recipe easiest-first --max-size 300KB
chaffinch train reviews.csv -o stars.chaff --text review --label stars --dev dev.csv
chaffinch train posts.csv -o nb.chaff --recipe nb --features counts --ngram-high 1
chaffinch train topics.csv -o topics.chaff --recipe svm --label-separator "|" --threshold 0.4
chaffinch train reviews.csv --dev dev.csv -o best.chaff --compare ridge,nb,maxent --report recipes.html
"""


@with_experiments
@with_knobs(*(panel for task in TASKS for panel in task.panels()))
def command(
    data: Annotated[
        list[Path], typer.Argument(help="Training files; '-' for standard input.", metavar="DATA")
    ],
    model: Annotated[
        Path, typer.Option("--out", "--output", "-o", help="Where the model goes.", metavar="MODEL")
    ],
    recipe: Annotated[
        str | None,
        typer.Option(
            help=" ".join(f"For {t.plural}: {', '.join(r.name for r in t.recipes)}." for t in TASKS),
            metavar="NAME",
        ),
    ] = None,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from", help=f"Format of DATA, if not seen: {', '.join(sorted(FORMATS))}.", metavar="FORMAT"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Sentences: names of the columns (w,shape,y), or which to take (w=2,y=4)."),
    ] = None,
    annotators: Annotated[
        str | None,
        typer.Option(help="Texts that several people annotated: first, majority or soft (shares of labels)."),
    ] = None,
    dev: Annotated[Path | None, typer.Option(help="Held-out file to score, and to stop on.")] = None,
    features: Annotated[str | None, typer.Option(help="A preset's name or a file of templates.")] = None,
    label: Annotated[
        str | None, typer.Option(help="The column to learn, by number or name; else the last.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    label_separator: Annotated[
        str | None, typer.Option(help="Documents: what separates several labels in one cell.")
    ] = None,
    stop_on_dev: Annotated[
        bool,
        typer.Option("--stop-on-dev", help="Documents, -d: keep the pass that does best on the dev part."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Decides every random choice.", min=0)] = 0,
    threads: Annotated[
        int, typer.Option(help="0 for all cores; the model is the same for any number.", min=0)
    ] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
    compare: Annotated[
        str | None,
        typer.Option(help="Train these recipes, separated by commas, and keep the best.", metavar="NAMES"),
    ] = None,
    max_size: Annotated[
        str | None,
        typer.Option(
            help="greedy, easiest-first, beam: the best model no larger, such as 300KB.", metavar="SIZE"
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="An HTML page: learning curve, comparison or sizes.")
    ] = None,
    settings: dict[str, Any] | None = None,
) -> None:
    """Train a model and write it to one file; what the data holds says which kind of model."""
    for path in (model, report):
        if path is not None:
            refuse_unwritable(path)
    task = task_of_file(data[0], recipe, from_format)
    asked = Training(
        data=data,
        model=model,
        from_format=from_format,
        columns=columns,
        annotators=annotators,
        recipe=recipe,
        dev=dev,
        features=features,
        label=label,
        text=text,
        label_separator=label_separator,
        stop_on_dev=stop_on_dev,
        seed=seed,
        threads=threads,
        json=json,
        compare=compare,
        max_size=max_size,
        report=report,
        settings=settings or {},
    )
    refuse_strange_flags(task, asked)
    task.train(asked)
