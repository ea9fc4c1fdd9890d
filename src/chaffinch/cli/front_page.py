"""The page of ``chaffinch --help``, rendered here because loading the renderer of command help is slower."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text


def print_front_page(ctx: Any, commands: dict[str, str]) -> None:
    """Usage, purpose, the commands and the options of the whole program."""
    console = Console(highlight=False)
    options = [
        (", ".join(sorted(p.opts, key=len)), p.help)
        for p in ctx.command.get_params(ctx)
        if not getattr(p, "hidden", False)
    ]
    usage = Text.assemble((" Usage: ", "yellow"), (ctx.get_usage().removeprefix("Usage: "), "bold"))
    console.print(Padding(usage, (1, 0)))
    console.print(Padding(ctx.command.help, (0, 1, 1, 1)), markup=False)
    console.print(_panel("Commands", commands.items()))
    console.print(_panel("Options", options))
    console.print(Padding(ctx.command.epilog, 1), markup=False)


def _panel(title: str, rows: Iterable[tuple[str, str]]) -> Panel:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    for name, meaning in rows:
        table.add_row(Text(name), Text(meaning))
    return Panel(table, title=title, title_align="left", border_style="dim")
