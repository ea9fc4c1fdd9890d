"""chaffinch cluster: word clusters learned from plain text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from chaffinch.cli.console import err, print_json, progress_bar
from chaffinch.cli.flags import WAS_OUT
from chaffinch.files import refuse_unwritable

EXAMPLES = """
chaffinch cluster news.txt --clusters clusters.tsv
chaffinch cluster part1.txt part2.txt.gz --classes 800 --min-count 10 --lower --clusters clusters.tsv
zcat tokenised.gz | chaffinch cluster - --split spaces --clusters clusters.tsv
"""


def command(
    text: Annotated[
        list[Path], typer.Argument(help="Plain text, one sentence or paragraph per line; may be .gz or '-'.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--clusters",
            *WAS_OUT,
            help="File to write the clusters to: path, word and count.",
            metavar="FILE",
        ),
    ],
    classes: Annotated[int, typer.Option(help="Number of clusters.", min=1)] = 256,
    min_count: Annotated[
        int, typer.Option(help="Minimum count of a word; rarer words are left out.", min=1)
    ] = 2,
    rounds: Annotated[int, typer.Option(help="Maximum number of passes over all words.", min=1)] = 10,
    lower: Annotated[bool, typer.Option("--lower", help="Lower-case the text first.")] = False,
    split: Annotated[str, typer.Option(help="Tokeniser: tokens (our own) or spaces.")] = "tokens",
    json: Annotated[bool, typer.Option("--json", help="Print a summary as one JSON object.")] = False,
) -> None:
    """Learn word clusters from plain text, for the columns cluster4, cluster6 ... of taggers."""
    from chaffinch.text.clusters import learn_clusters, write_clusters

    refuse_unwritable(output)
    with progress_bar() as show:
        rows = learn_clusters(
            _sentences(text, lower, split), classes=classes, min_count=min_count, rounds=rounds, on_round=show
        )
    write_clusters(output, rows)
    found = len({path for path, _, _ in rows})
    if json:
        print_json({"words": len(rows), "clusters": found, "output": str(output)})
    else:
        err.print(f"{len(rows)} words in {found} clusters: {output}")


def _sentences(paths: list[Path], lower: bool, split: str) -> Iterator[list[str]]:
    from chaffinch.corpus.lines import lines
    from chaffinch.errors import ConfigError
    from chaffinch.text.tokens import tokens

    if split not in ("tokens", "spaces"):
        raise ConfigError(f"--split is tokens or spaces, got {split!r}")
    for path in paths:
        for _, text in lines(path):
            line = text.lower() if lower else text
            words = line.split() if split == "spaces" else [t.text for t in tokens(line)]
            if words:
                yield words
