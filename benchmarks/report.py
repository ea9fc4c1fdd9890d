"""The table that a benchmark prints: quality and speed side by side."""

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from benchmarks.harness import Result


def report(result: Result) -> Group | Text:
    """A result for the terminal."""
    b = result.benchmark
    if result.skipped:
        return Text(f"{b.name}: skipped: {result.skipped}", style="yellow")
    scores = sorted({name for runs in result.runs.values() for m in runs for name in m.scores})
    unit = next((m.unit for runs in result.runs.values() for m in runs if m.unit), "")
    table = Table(title=f"{b.name}: {b.question}", title_justify="left")
    table.add_column("contender", no_wrap=True)
    for heading in ("cpu s", "wall s", f"{unit}/s", "peak MB", "start MB", *scores):
        table.add_column(heading, justify="right")
    table.add_column(f"ours faster ({b.clock})", justify="right")
    for c in b.contenders:
        error = result.error(c.name)
        if error:
            blank = [""] * (5 + len(scores))
            table.add_row(c.name, *blank, Text(f"failed: {error}", style="red"))
            continue
        m = result.sound(c.name)[-1]
        cpu, wall, start, peak = (
            result.median(c.name, q) for q in ("cpu_s", "wall_s", "start_mb", "peak_mb")
        )
        seconds = (wall if b.clock == "wall" else cpu) or 0.0
        speed = f"{m.work / seconds:,.0f}" if seconds else "-"
        ratio = "" if c is b.ours else str(result.ratio(c.name, b.clock) or "-")
        quality = [f"{m.scores[name]:.4f}" if name in m.scores else "-" for name in scores]
        table.add_row(
            c.name, f"{cpu:.3f}", f"{wall:.3f}", speed, f"{peak:.0f}", f"{start:.0f}", *quality, ratio
        )
    return Group(table, verdict(result))


def verdict(result: Result) -> Text:
    """One line on the bar."""
    b, met = result.benchmark, result.met()
    if b.bar is None:
        return Text("no bar: measured only", style="dim")
    asked = f"required: at least {b.bar:g}x on the {b.clock} clock"
    if met is None:
        return Text(f"{asked}; not decided, because a contender failed", style="red")
    return Text(f"{asked}; {'met' if met else 'NOT met'}", style="green" if met else "red")


def show(result: Result, console: Console) -> None:
    """Print the report."""
    console.print(report(result))
