"""chaffinch inspect."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from chaffinch import modelfile
from chaffinch.cli.console import out, print_json
from chaffinch.estimators import Tagger
from chaffinch.files import writing_text
from chaffinch.model.chain import ChainModel
from chaffinch.report.grids import heat_map
from chaffinch.report.html import Page, cards, figure, table

EXAMPLES = """
chaffinch inspect model.chaff
chaffinch inspect model.chaff --top 20 --label NOUN
chaffinch inspect model.chaff --html model.html
"""


def command(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    top: Annotated[int, typer.Option(help="How many features to show for each label.", min=1)] = 8,
    label: Annotated[str | None, typer.Option(help="Only this label.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the heat map of transitions.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Show what a model holds: its facts, its strongest features by label, its transitions."""
    file = modelfile.read(model)
    tagger = Tagger.loaded(file)
    inside = tagger.model_
    facts = _facts(file, model)
    labels = inside.labels.inner
    chosen = [y for y, name in enumerate(labels) if label is None or name == label]
    strongest = _strongest(inside, chosen, top) if isinstance(inside, ChainModel) else {}
    moves = inside.transitions() if isinstance(inside, ChainModel) else None
    if json:
        record: dict[str, Any] = {**facts, "labels": list(labels)}
        record["top"] = {
            labels[y]: [{"feature": f, "weight": round(w, 6)} for f, w in found]
            for y, found in strongest.items()
        }
        record["transitions"] = None if moves is None else moves.round(6).tolist()
        print_json(record)
    else:
        _show(facts, labels, strongest, moves)
    if html is not None:
        with writing_text(html) as stream:
            stream.write(_page(model.name, facts, labels, strongest, moves))


def _facts(file: modelfile.ModelFile, path: Path) -> dict[str, Any]:
    header = file.header
    return {
        "recipe": header.recipe,
        "settings": dict(header.settings),
        "labels": len(header.labels),
        "columns": header.details.get("columns"),
        "templates": len(header.templates),
        "seed": header.seed,
        "data": header.data,
        "scores": dict(header.scores),
        "bytes": path.stat().st_size,
        "sections": {s.name: s.bytes for s in modelfile.sections(file)},
        "library": header.library,
    }


def _strongest(model: ChainModel, labels: list[int], top: int) -> dict[int, list[tuple[str, float]]]:
    """The features of greatest weight for each label, among those that are finite."""
    unary = model.weights.unary
    found = {}
    for y in labels:
        column = np.where(np.isfinite(unary[:, y]), unary[:, y], -np.inf)
        order = np.argsort(-column, kind="stable")[:top]
        names = model.encoder.names(order.astype(np.int32))
        found[y] = [(name, float(column[f])) for name, f in zip(names, order.tolist(), strict=True)]
    return found


def _show(
    facts: dict[str, Any],
    labels: tuple[str, ...],
    strongest: dict[int, list[tuple[str, float]]],
    moves: NDArray[np.float64] | None,
) -> None:
    columns = ", ".join(facts["columns"] or [])
    size = f"{facts['bytes'] / 1024:,.0f} KB"
    out.print(f"[bold]{facts['recipe']}[/bold]: {facts['labels']} labels, reads {columns}; {size}")
    changed = ", ".join(f"{k}={v}" for k, v in facts["settings"].items())
    out.print(f"settings: {changed}", markup=False)
    for name, value in facts["scores"].items():
        out.print(f"{name}: {100 * value:.2f} %")
    if strongest:
        shown = Table(title="strongest features", box=None, header_style="bold", title_justify="left")
        shown.add_column("label")
        shown.add_column("features and weights")
        for y, found in strongest.items():
            shown.add_row(Text(labels[y]), Text("  ".join(f"{name} {w:+.2f}" for name, w in found)))
        out.print(shown)
    if moves is not None and len(labels) <= 40:
        out.print("[bold]transitions[/bold] (row: before, column: after; darker is likelier)")
        out.print(_terminal_heat_map(labels, moves))


def _terminal_heat_map(labels: tuple[str, ...], moves: NDArray[np.float64]) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 0), header_style="dim")
    grid.add_column("")
    width = max(2, min(6, max(map(len, labels))))
    for name in labels:
        grid.add_column(Text(name[:width]), justify="center", min_width=width)
    shares = _shares(moves)
    for y, name in enumerate(labels):
        cells = []
        for p in shares[y]:
            shade = int(255 - 200 * p)
            ink = "white" if p > 0.5 else "black"
            cells.append(Text(f"{100 * p:3.0f}".center(width), style=f"{ink} on rgb({shade},{shade},255)"))
        grid.add_row(Text(name + " "), *cells)
    return grid


def _shares(moves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of log-potentials as shares of one."""
    finite = np.where(np.isfinite(moves), moves, -1e30)
    p = np.exp(finite - finite.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _page(
    name: str,
    facts: dict[str, Any],
    labels: tuple[str, ...],
    strongest: dict[int, list[tuple[str, float]]],
    moves: NDArray[np.float64] | None,
) -> str:
    page = Page(f"{name}: {facts['recipe']}")
    page.add(
        "What it is",
        cards(
            [
                ("recipe", facts["recipe"], f"{facts['labels']} labels"),
                ("size", f"{facts['bytes'] / 1024:,.0f} KB", f"{len(facts['sections'])} sections"),
                *((key, f"{100 * value:.2f} %", "when trained") for key, value in facts["scores"].items()),
            ]
        ),
        table(["setting", "value"], [[k, str(v)] for k, v in facts["settings"].items()]),
    )
    if strongest:
        rows = [[labels[y], ", ".join(f"{f} {w:+.2f}" for f, w in found)] for y, found in strongest.items()]
        page.add("Strongest features", table(["label", "features and weights"], rows))
    if moves is not None:
        chart = heat_map(
            "Transitions", labels, labels, _shares(moves), x_label="after", y_label="before", digits=2
        )
        page.add("Transitions", figure(chart, "Row: the label before; column: the label after."))
    return page.render()
