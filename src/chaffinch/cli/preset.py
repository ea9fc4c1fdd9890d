"""chaffinch preset."""

from datetime import datetime
from typing import Annotated

import typer

from chaffinch.cli.console import err, out, print_json, progress_bar
from chaffinch.cli.lab_flags import (
    FolderFlag,
    JsonFlag,
    ModelFlag,
    RecordFlag,
    ThreadsFlag,
    outcome_as_json,
    show_scores,
)
from chaffinch.lab import dataset, presets, records, run_and_watch

EXAMPLES = """
chaffinch experiment -d reviews -j baseline   writes presets/baseline.json
chaffinch preset baseline                     runs it again: the same scores, the same bytes
chaffinch preset best.toml -o best.chaff      keeps the model
"""


def command(
    file: Annotated[str, typer.Argument(help="A preset's file, or its name in presets/.", metavar="FILE")],
    model: ModelFlag = None,
    record: RecordFlag = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Train on the held-out split too: a new model, not the preset's.")
    ] = False,
    data_folder: FolderFlag = None,
    threads: ThreadsFlag = 0,
    json: JsonFlag = False,
) -> None:
    """Repeat the experiment of a preset and check that data, scores and the model's bytes are the same."""
    before = presets.read(presets.preset_path(file))
    experiment = before.experiment
    data = dataset(experiment.source, data_folder)
    splits = experiment.whole_splits(data) if whole else experiment.splits(data)
    with progress_bar() as listener:
        outcome = run_and_watch(experiment, splits, threads, listener)
    again = presets.Preset.of(outcome, splits, before.name)
    differences = [] if whole else before.differences(again)
    if record is not None:
        records.append(records.record_path(record), records.record(outcome, before.name, datetime.now()))
    if model is not None:
        outcome.estimator.save(model)
    if json:
        print_json({**outcome_as_json(outcome), "model": again.model, "differences": differences})
    else:
        show_scores(outcome)
        if whole:
            out.print(
                f"{before.name}: trained on everything but the test split ({again.model_bytes:,} bytes)"
            )
        elif not differences:
            out.print(
                f"{before.name}: the same scores, the same model to the byte ({again.model_bytes:,} bytes)"
            )
        for sentence in differences:
            err.print(f"{before.name}: {sentence}")
    if differences:
        raise typer.Exit(1)
