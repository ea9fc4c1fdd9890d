"""chaffinch serve."""

from pathlib import Path
from typing import Annotated

import typer

from chaffinch.cli.console import err
from chaffinch.cli.lab_flags import LabelFlag, SeparatorFlag, TextFlag

EXAMPLES = """
chaffinch serve names.chaff
chaffinch serve names.chaff --data letters.conll --train train.conll --open
chaffinch serve names.chaff stars.chaff --port 9000
chaffinch serve topics.chaff --data texts.csv --label-separator "|"
chaffinch serve names.chaff --host 0.0.0.0
"""


def command(
    models: Annotated[list[Path], typer.Argument(help="Models to serve.", metavar="MODEL...")],
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A corpus to look through and correct, with labels or without; may be repeated."),
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(
            help="The training data of a model, as FILE or MODEL=FILE: corrections are learnt together with it, and "
            "full trainings run in the background; may be repeated."
        ),
    ] = None,
    label: LabelFlag = None,
    text: TextFlag = None,
    label_separator: SeparatorFlag = None,
    host: Annotated[str, typer.Option(help="Address; any other than loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any free one.", min=0, max=65535)] = 8000,
    token: Annotated[
        str | None,
        typer.Option(help="Token that requests must carry; by default generated if the address needs one."),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(help="File of corrections; by default MODEL.corrections.jsonl beside the first model."),
    ] = None,
    max_body: Annotated[int, typer.Option(help="Largest request, in bytes.", min=1024, max=1 << 30)] = 1
    << 20,
    retrain_after: Annotated[
        float, typer.Option(help="Seconds without a correction after which a full training starts.", min=0.1)
    ] = 30.0,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve models: a page to see, correct and teach them, and an API for predictions.

    Corrections are on the disk before they are acknowledged. Every change is a new version and can be undone.
    """
    from chaffinch.serve.run import Options, run

    def told(address: str) -> None:
        err.print(f"serving at {address} (Ctrl-C stops)")
        if open_page:
            import webbrowser

            webbrowser.open(address)

    columns = {"label": label, "text": text, "label_separator": label_separator}
    run(
        Options(
            models=models,
            data=data or [],
            train=train or [],
            told={name: value for name, value in columns.items() if value is not None},
            host=host,
            port=port,
            token=token,
            journal=journal,
            max_body=max_body,
            retrain_after=retrain_after,
        ),
        told,
    )
