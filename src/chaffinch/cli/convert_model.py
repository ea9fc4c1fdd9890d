"""chaffinch convert-model."""

from pathlib import Path
from typing import Annotated

import typer

from chaffinch.cli.console import err, print_json
from chaffinch.errors import ConfigError, ModelFileError
from chaffinch.estimators.loading import estimator_of
from chaffinch.files import refuse_unwritable
from chaffinch.rescue import format_of, rescued
from chaffinch.rescue.registry import names

EXAMPLES = """
chaffinch convert-model names.crfsuite names.chaff
chaffinch convert-model chunks.crfpp chunks.chaff
chaffinch convert-model old-model chunks.chaff --from crf++ --encoding euc-jp
"""


def command(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A model of another tool.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The model file to write.")],
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            help=f"Format of IN, by default detected: {', '.join(sorted(names()))}.",
            metavar="FORMAT",
        ),
    ] = None,
    encoding: Annotated[
        str, typer.Option(help="Encoding of the data that the model was trained on.")
    ] = "utf-8",
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT if it exists.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON on standard output.")
    ] = False,
) -> None:
    """Convert a model of another tool to a model file that gives the same answers."""
    if target.exists() and not force:
        raise ConfigError(f"{target} exists; give --force to overwrite it")
    refuse_unwritable(target)
    if not source.exists():
        raise ModelFileError(f"{source}: no such file")
    format = format_of(source, from_format)
    if format is None:
        raise ModelFileError(
            f"{source}: is not a model of a known format; known are {', '.join(sorted(names()))} (--from names one)"
        )
    found = rescued(source, format, encoding)
    estimator_of(found).save(target)
    if json:
        print_json(
            {"format": format.name, "read": found.told, "output": str(target), "bytes": target.stat().st_size}
        )
        return
    err.print(f"read {found.told}; wrote {target}", markup=False, soft_wrap=True)
