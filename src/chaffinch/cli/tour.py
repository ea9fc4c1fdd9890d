"""chaffinch tour."""

from typing import Annotated

import typer


def command(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before each part.")] = False,
) -> None:
    """Walk through the toolkit on the embedded samples."""
    del yes
