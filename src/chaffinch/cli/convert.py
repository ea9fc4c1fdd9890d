"""chaffinch convert."""

from pathlib import Path
from typing import Annotated, Any

import typer

from chaffinch.cli.console import err, print_json
from chaffinch.cli.flags import with_knobs
from chaffinch.corpus import FORMATS
from chaffinch.corpus.fitting import Tokeniser
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import STDIO
from chaffinch.knobs import Panel
from chaffinch.text.alignment import Choice

EXAMPLES = """
chaffinch convert reviews.csv reviews.jsonl --text body --label stars
chaffinch convert export.json train.conll --scheme bioes --misaligned widen
chaffinch convert ner.conll.gz tasks.json --to label-studio
zcat trees.mrg.gz | chaffinch convert - words.conll --from brackets --strip
"""

# One panel of flags per class of options, named after the formats that share it; the most general first.
_OPTIONS = list(dict.fromkeys(f.options for f in reversed(FORMATS.values()) if f.options is not None))
_READERS = [
    Panel(f"Reading {', '.join(f.name for f in FORMATS.values() if f.options is o)}", o) for o in _OPTIONS
]


@with_knobs(*_READERS)
def command(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="File or folder to read, '-' for standard input.")
    ],
    target: Annotated[str, typer.Argument(metavar="OUT", help="File to write, '-' for standard output.")],
    settings: dict[str, Any],
    from_format: Annotated[
        str | None,
        typer.Option("--from", help=f"Format of IN, by default detected: {', '.join(sorted(FORMATS))}."),
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", help="Format of OUT, if its extension does not determine it.")
    ] = None,
    scheme: Annotated[
        str | None, typer.Option(help="Tag scheme to write: iob1, bio, bioes, bilou or io.")
    ] = None,
    misaligned: Annotated[
        Choice, typer.Option(help="Spans that do not fit the tokens: error, drop or widen.")
    ] = "error",
    tokeniser: Annotated[
        Tokeniser,
        typer.Option(
            help="Tokeniser of text without tokens: words, or spaces if the text is already tokenised."
        ),
    ] = "words",
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT if it exists.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON on standard output.")
    ] = False,
) -> None:
    """Convert a corpus to another format, and report what is lost."""
    from chaffinch.corpus.conversion import convert

    if json and target == STDIO:
        raise ConfigError(
            "--json prints its report on standard output; write the corpus to a file instead of '-'"
        )
    try:
        made = convert(
            source,
            target,
            from_format=from_format,
            to_format=to_format,
            scheme=scheme,
            misaligned=misaligned,
            tokeniser=tokeniser,
            force=force,
            **settings,
        )
    except DataError:
        _refuse_own_files(source, from_format)
        raise
    if json:
        print_json(made.as_dict() | {"output": target})
        return
    err.print(f"{made.documents} documents: {made.source} to {made.target}", markup=False, soft_wrap=True)
    for loss in made.losses:
        err.print(f"  {loss}", markup=False, soft_wrap=True)


def _refuse_own_files(source: str, format: str | None) -> None:
    """Raise if the file is of a kind whose files are not corpora."""
    from chaffinch.kinds import KINDS

    path = Path(source)
    for kind in KINDS:
        if not kind.detected and path.is_file() and kind.holds(path, format):
            raise DataError(
                f"{source}: holds {kind.plural}, which no format of a corpus has; the other commands read the file "
                "as it is"
            ) from None
