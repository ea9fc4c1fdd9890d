"""chaffinch experiment."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from chaffinch.cli.console import out, print_json, progress_bar
from chaffinch.cli.lab_flags import (
    DatasetFlag,
    FeaturesFlag,
    FolderFlag,
    JsonFlag,
    LabelFlag,
    ModelFlag,
    RecipeFlag,
    RecordFlag,
    SeparatorFlag,
    TextFlag,
    ThreadsFlag,
    outcome_as_json,
    show_scores,
    with_settings,
)
from chaffinch.files import writing_text
from chaffinch.knobs import LARGEST
from chaffinch.lab import Source, bench, presets, records, run_and_watch
from chaffinch.lab.learning_page import learning_page
from chaffinch.lab.records import epoch_lines

EXAMPLES = """
chaffinch experiment -d reviews
chaffinch experiment -d reviews -e 5 -n baseline --record notes --preset baseline
chaffinch experiment -d ingredients --recipe perceptron -e 2 -o model.chaff
chaffinch experiment -d trees --recipe pcfg --json
chaffinch experiment -d reviews --report curve.html
"""


@with_settings
def command(
    dataset: DatasetFlag = "sst5",
    model: ModelFlag = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="A name for the record.")] = None,
    record: RecordFlag = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", "-j", help="Write a preset: NAME is presets/NAME.json; or a path.json, path.toml."
        ),
    ] = None,
    recipe: RecipeFlag = None,
    features: FeaturesFlag = None,
    label: LabelFlag = None,
    text: TextFlag = None,
    label_separator: SeparatorFlag = None,
    stop_on_dev: Annotated[
        bool, typer.Option("--stop-on-dev", help="Keep the best pass on the dev split.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0, max=LARGEST[int])] = 0,
    data_folder: FolderFlag = None,
    threads: ThreadsFlag = 0,
    report: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page: accuracy by pass on the training and the test split."),
    ] = None,
    json: JsonFlag = False,
    settings: dict[str, Any] | None = None,
) -> None:
    """Train on a dataset's training split and score every split; write a record, a preset or the model on request.

    Without a recipe, texts get the log-linear baseline, other data the default recipe.
    """
    source = Source.parsed(dataset, label=label, text=text, label_separator=label_separator)
    laid = bench(
        source,
        data_folder,
        recipe=recipe,
        settings=settings,
        features=features,
        seed=seed,
        stop_on_dev=stop_on_dev,
    )
    files: dict[str, Path | None] = {
        "record": None if record is None else records.record_path(record),
        "preset": None if preset is None else presets.preset_path(preset, writing=True),
        "model": model,
        "report": report,
    }
    with progress_bar() as listener:
        outcome = run_and_watch(laid.experiment, laid.splits, threads, listener)
    called = name or f"{source}-{laid.experiment.recipe}"
    if files["record"] is not None:
        records.append(files["record"], records.record(outcome, called, datetime.now()))
    if files["preset"] is not None:
        presets.write(presets.Preset.of(outcome, laid.splits, called), files["preset"])
    if model is not None:
        outcome.estimator.save(model)
    if report is not None:
        page = learning_page(called, outcome.estimator.history_, accuracy=outcome.epochs)
        with writing_text(report) as stream:
            stream.write(page.render())
    written = {what: str(path) for what, path in files.items() if path is not None}
    if json:
        print_json({**outcome_as_json(outcome), **written})
        return
    for line in epoch_lines(outcome.epochs):
        out.print(line.replace("_acc _", "_acc ").replace("_,", ",").replace("**", "").rstrip())
    show_scores(outcome)
    out.print(f"{laid.experiment.recipe} on {source}: trained in {outcome.wall_s:.2f} s")
    for what, path in written.items():
        out.print(f"{what}: {path}")


def from_train(words: list[str]) -> list[str] | None:
    """The arguments of ``chaffinch train -d DATASET``, which was this command; None if no dataset is named.

    >>> from_train(["-d", "reviews", "-o", "notes", "--save", "m.chaff"])
    ['-d', 'reviews', '--record', 'notes', '-o', 'm.chaff']
    """
    if not any(word == "-d" or word.split("=")[0] == "--dataset" for word in words):
        return None
    now = {"-o": "--record", "--out": "--record", "--output": "--record", "--save": "-o"}
    return [now.get(word, word) for word in words]
