"""chaffinch train."""

from pathlib import Path
from typing import Annotated, Any

import typer

from chaffinch.cli.console import progress_bar
from chaffinch.cli.flags import with_knobs
from chaffinch.cli.training_report import clock, compare_and_keep, keep_smallest, keep_trained
from chaffinch.corpus import FORMATS
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.files import refuse_unwritable
from chaffinch.kinds import KINDS, Kind, kind_of_file
from chaffinch.kinds.corpora import joined
from chaffinch.kinds.kind import TrainRequest, refuse_strange_flags
from chaffinch.knobs import LARGEST, Panel, knobs
from chaffinch.lab.baseline import LETTERS, Baseline, turned
from chaffinch.lab.learning_page import watching

SHORT = frozenset(k.name for k in knobs(Baseline))

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
chaffinch train linked.tsv -o links.chaff --pairs bitext.tsv
chaffinch train lists.jsonl -o reranker.chaff --recipe perceptron
"""


@with_knobs(
    Panel("Settings by their short names", Baseline),
    *(panel for kind in KINDS for panel in kind.panels()),
    letters=LETTERS,
)
def command(
    data: Annotated[
        list[Path], typer.Argument(help="Training files; '-' for standard input.", metavar="DATA")
    ],
    model: Annotated[
        Path, typer.Option("--out", "--output", "-o", help="File to write the model to.", metavar="MODEL")
    ],
    recipe: Annotated[
        str | None,
        typer.Option(
            help=" ".join(f"For {k.plural}: {', '.join(r.name for r in k.recipes)}." for k in KINDS),
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
        typer.Option(help="Texts with several annotators: first, majority or soft (shares of labels)."),
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="Held-out file to score after every pass, for early stopping.")
    ] = None,
    features: Annotated[str | None, typer.Option(help="A preset's name or a file of templates.")] = None,
    label: Annotated[
        str | None, typer.Option(help="The column to learn, by number or name; by default the last.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    label_separator: Annotated[
        str | None, typer.Option(help="Documents: separator of several labels in one cell.")
    ] = None,
    stop_on_dev: Annotated[
        bool,
        typer.Option("--stop-on-dev", help="Documents: keep the best pass on the dev split."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0, max=LARGEST[int])] = 0,
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
            help="Taggers and classifiers: the best model no larger, such as 300KB.", metavar="SIZE"
        ),
    ] = None,
    pairs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Sentence pairs: more of them without links, to learn which words translate each other; "
            "may be repeated.",
            metavar="FILE",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="An HTML page: learning curve and reliability, comparison or sizes.")
    ] = None,
    settings: dict[str, Any] | None = None,
) -> None:
    """Train a model and write it to one file; the data determine the kind of model."""
    for path in (model, report):
        if path is not None:
            refuse_unwritable(path)
    kind = kind_of_file(data[0], recipe, from_format)
    asked = TrainRequest(
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
        pairs=pairs or None,
        report=report,
        settings=settings or {},
    )
    refuse_strange_flags(kind, asked)
    _train(kind, asked)


def _train(kind: Kind, asked: TrainRequest) -> None:
    """Train on files, score on all of them, write the model."""
    if asked.stop_on_dev and asked.dev is None:
        raise ConfigError(f"--stop-on-dev needs held-out {kind.plural}: name their file with --dev")
    reading = {k.name for _, config in kind.columns for k in knobs(config)} & asked.settings.keys()
    told = asked.told | {name: asked.settings[name] for name in reading}
    settings = {name: value for name, value in asked.settings.items() if name not in reading}
    beside = kind.beside(asked, told)
    corpora = {"train": joined([kind.read(path, told) for path in asked.data])}
    if asked.dev is not None:
        corpora["dev"] = kind.read(
            asked.dev, {name: value for name, value in told.items() if name != "weight"}
        )
    if (asked.compare or asked.max_size) and beside:
        flag = "--pairs" if asked.pairs else "--annotators soft"
        raise ConfigError(f"{flag} cannot be combined with --compare or --max-size")
    if asked.compare is not None:
        compare_and_keep(kind, asked, settings, corpora)
        return
    if asked.max_size is not None:
        keep_smallest(kind, asked, settings, corpora)
        return
    settings = _by_knob(kind, asked.recipe, settings)
    estimator = kind.made(asked.recipe, settings, asked.features, asked.seed, asked.threads)
    dev = corpora.get("dev")
    accuracy: list[dict[str, float]] = []
    with progress_bar() as listener, clock() as took:
        watched = corpora if asked.report is not None else {}
        try:
            kind.fit(
                estimator,
                corpora["train"],
                dev,
                watching(kind, watched, accuracy, listener, asked.threads),
                **beside,
            )
        except DataError as e:
            raise kind.located(e, asked.data, told) from None
    scores = {name: kind.scores_of(kind.tally(estimator, corpus)) for name, corpus in corpora.items()}
    for remark in kind.remarks(estimator, told):
        warn_about_data(remark)
    facts = kind.facts(estimator, corpora["train"])
    keep_trained(asked, estimator, took, scores, facts, kind.calibration(estimator), accuracy=accuracy)


def _by_knob(kind: Kind, recipe: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with the short names that the recipe does not have turned into its knobs."""
    name = recipe or kind.default
    known = kind.settings_of(name)
    short = {k: v for k, v in settings.items() if k not in known and k in SHORT}
    if not short:
        return settings
    return {k: v for k, v in settings.items() if k not in short} | turned(short, name, known)
