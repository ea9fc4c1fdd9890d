"""python -m benchmarks: run the benchmarks, print their tables, append their records."""

import shlex
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.corpora import missing
from benchmarks.harness import declared, run
from benchmarks.machine import commit, machine
from benchmarks.measure import Measurement
from benchmarks.record import append, record
from benchmarks.report import show

out = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
err = Console(stderr=True, highlight=False)


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks to run; by default all.")] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Rounds, each contender once per round; by default as declared.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of generated inputs and of the intervals.")] = 1,
    listing: Annotated[bool, typer.Option("--list", help="List the benchmarks and their questions.")] = False,
) -> None:
    """Run ours and its rivals in turn on the same input.

    Exit code 0: every bar met; 1: a bar missed or a contender failed; 2: no such benchmark.
    """
    found, broken = declared()
    for name, reason in broken.items():
        err.print(f"benchmarks/{name}.py cannot be used: {reason}", style="red")
    if listing:
        _list()
        return
    unknown = [name for name in names or [] if name not in found]
    if unknown:
        err.print(f"no benchmark is called {unknown[0]!r}; there are {', '.join(sorted(found))}")
        raise typer.Exit(2)
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    head, dirty = commit()
    m = machine()
    out.print(
        f"{m['cpu']}, {m['cores']} cores, {m['memory_gb']} GB; commit {head}{' with changes' if dirty else ''}"
    )
    wanting = bool(broken)
    for name in names or sorted(found):
        result = run(found[name], seed=seed, repeats=repeats, on_run=_tell)
        show(result, out)
        path = append(record(result, command))
        err.print(f"recorded in benchmarks/results/{path.name}", style="dim")
        wanting |= result.failed() or result.met() is False
    raise typer.Exit(1 if wanting else 0)


def _list() -> None:
    table = Table("benchmark", "question", "rivals", "bar", "here")
    for name, b in sorted(declared()[0].items()):
        bar = "" if b.bar is None else f"{b.bar:g}x {b.clock}"
        table.add_row(name, b.question, ", ".join(r.name for r in b.rivals), bar, missing(b.needs) or "yes")
    out.print(table)


def _tell(contender: str, number: int, m: Measurement) -> None:
    if err.is_terminal:
        err.print(f"round {number + 1}: {contender} {m.error or f'{m.wall_s:.3f} s'}", style="dim")


if __name__ == "__main__":
    typer.run(main)
