"""chaffinch train --max-size: the best model within a number of bytes."""

from typing import Any

from rich.table import Table

from chaffinch.cli.console import out, print_json, progress_bar
from chaffinch.cli.task import Training
from chaffinch.files import writing_text
from chaffinch.lab.held_out import split_off
from chaffinch.lab.size_search import HEAD, parsed_size, smallest
from chaffinch.text.table import TokenTable


def train_within(asked: Training, config: Any, table: TokenTable, held_out: TokenTable | None) -> None:
    """Search, print the curve of accuracy against size, write the best model that fits."""
    most = parsed_size(str(asked.max_size))
    train, dev = (table, held_out) if held_out is not None else split_off(table)
    with progress_bar() as listener:
        found = smallest(
            config,
            train,
            dev,
            most,
            features=asked.features,
            seed=asked.seed,
            threads=asked.threads,
            on_epoch=listener,
        )
    best, model = found.best, asked.model
    scores = {"dev.token_accuracy": best.token_accuracy, "dev.sentence_accuracy": best.sentence_accuracy}
    found.tagger.save(model, scores=scores)
    if asked.report is not None:
        with writing_text(asked.report) as stream:
            stream.write(found.page(f"at most {asked.max_size}").render())
    if asked.json:
        print_json(
            {"model": str(model), "model_bytes": model.stat().st_size, "best": vars(best)}
            | {"curve": [vars(p) for p in found.curve]}
        )
        return
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in HEAD:
        shown.add_column(name, justify="right")
    for point in found.curve:
        shown.add_row(*point.row(), style="bold" if point == best else None)
    out.print(shown)
    out.print(f"{model} has {model.stat().st_size / 1024:,.1f} KB")
