"""chaffinch inspect."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from chaffinch import modelfile
from chaffinch.cli.console import out, print_json
from chaffinch.cli.training_report import told_shards
from chaffinch.errors import ConfigError
from chaffinch.estimators import load
from chaffinch.files import refuse_unwritable, writing_text
from chaffinch.kinds import Kind, kind_of_model
from chaffinch.kinds.kind import Contents
from chaffinch.knobs import knobs
from chaffinch.report.grids import heat_map
from chaffinch.report.html import Page, cards, figure, table
from chaffinch.rescue import format_of

EXAMPLES = """
chaffinch inspect model.chaff
chaffinch inspect model.chaff --top 20 --label NOUN
chaffinch inspect model.chaff --html model.html
chaffinch inspect hashed.chaff --names-from train.csv
"""

MOST_SHOWN = 1000  # features of a label, on a terminal or a page


def command(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    top: Annotated[int, typer.Option(help="Number of features to show for each label.", min=1)] = 8,
    label: Annotated[str | None, typer.Option(help="Only this label.")] = None,
    names_from: Annotated[
        Path | None, typer.Option(help="Documents to recover the names of hashed features from.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the heat map of transitions.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Show a model: its settings and sizes, its strongest features by label, its transitions."""
    if top > MOST_SHOWN and not json:
        raise ConfigError(f"--top accepts up to {MOST_SHOWN:,} features of a label; use --json for more")
    if html is not None:
        refuse_unwritable(html)
    loaded = load(model)
    facts = _facts(_file_of(model, loaded), model)
    kind = kind_of_model(loaded)
    if names_from is not None:
        kind.name_features(loaded, names_from)
    held = kind.inspect(loaded, top, label)
    if label is not None and label not in held.labels:
        raise ConfigError(f"the model has no label {label!r}; it has {', '.join(held.labels)}")
    by_hand = _set_by_hand(kind, facts)
    if json:
        record: dict[str, Any] = {**facts, "labels": list(held.labels)}
        record["top"] = {
            name: [{"feature": f, "weight": round(w, 6)} for f, w in found]
            for name, found in held.rows.items()
        }
        moves = held.transitions
        record["transitions"] = None if moves is None else moves.round(6).tolist()
        if held.edges is not None:
            record["start"], record["stop"] = (edge.round(6).tolist() for edge in held.edges)
        print_json(record)
    else:
        _show(facts, by_hand, held)
    if html is not None:
        with writing_text(html) as stream:
            stream.write(_page(model.name, facts, by_hand, held))


def _file_of(path: Path, loaded: Any) -> modelfile.ModelFile:
    """The model file; a model of another tool is converted to one first."""
    if format_of(path) is None:
        return modelfile.read(path)
    with tempfile.TemporaryDirectory() as folder:
        loaded.save(Path(folder) / "model.chaff")
        return modelfile.read(Path(folder) / "model.chaff")


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
        "choice": header.details.get("choice"),
        **({"shards": shards} if isinstance(shards := header.details.get("shards"), dict) else {}),
        "scores": dict(header.scores),
        "bytes": sum(f.stat().st_size for f in (path.iterdir() if path.is_dir() else [path])),
        "sections": {s.name: s.bytes for s in modelfile.sections(file)},
        "library": header.library,
    }


def _set_by_hand(kind: Kind, facts: dict[str, Any]) -> dict[str, Any]:
    """The settings that differ from the recipe's defaults."""
    configs = [kind.recipes.by_name(facts["recipe"]).config, *(config for _, config in kind.knobs)]
    defaults = {k.name: k.default for config in configs for k in knobs(config)}
    return {k: v for k, v in facts["settings"].items() if k not in defaults or v != defaults[k]}


def _show(facts: dict[str, Any], by_hand: dict[str, Any], held: Contents) -> None:
    reads = f"reads {', '.join(facts['columns'])}; " if facts["columns"] else ""
    size = f"{facts['bytes'] / 1024:,.0f} KB"
    out.print(Text.assemble((facts["recipe"], "bold"), f": {facts['labels']} labels, {reads}{size}"))
    changed = ", ".join(f"{k}={v}" for k, v in by_hand.items())
    others = f"{changed}; all others are defaults" if changed else "all are defaults"
    out.print(f"settings: {others} (--json lists them)")
    if facts["choice"]:
        out.print(str(facts["choice"].get("told")))
    if facts.get("shards"):
        out.print(told_shards(facts["shards"]), markup=False)
    for name, value in facts["scores"].items():
        out.print(f"{name}: {100 * value:.2f} %")
    if held.rows:
        shown = Table(title=held.title, box=None, header_style="bold", title_justify="left")
        shown.add_column("label")
        shown.add_column("with their weights")
        for name, found in held.rows.items():
            shown.add_row(Text(name), Text("  ".join(f"{what} {w:+.2f}" for what, w in found)))
        out.print(shown)
    if held.transitions is not None and len(held.labels) <= 40:
        out.print(Text.assemble(("transitions", "bold"), " (row: before, column: after; darker is likelier)"))
        out.print(_terminal_heat_map(*held.moves()))


def _terminal_heat_map(before: tuple[str, ...], after: tuple[str, ...], moves: NDArray[np.float64]) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 0), header_style="dim")
    grid.add_column("")
    width = max(2, min(6, max(map(len, after))))
    for name in after:
        grid.add_column(Text(name[:width]), justify="center", min_width=width)
    shares = _shares(moves)
    for y, name in enumerate(before):
        cells = []
        for p in shares[y]:
            shade = int(255 - 200 * p)
            ink = "white" if p > 0.5 else "black"
            cells.append(Text(f"{100 * p:3.0f}".center(width), style=f"{ink} on rgb({shade},{shade},255)"))
        grid.add_row(Text(name + " "), *cells)
    return grid


def _shares(moves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of log-potentials as probabilities."""
    finite = np.where(np.isfinite(moves), moves, -1e30)
    p = np.exp(finite - finite.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _page(name: str, facts: dict[str, Any], by_hand: dict[str, Any], held: Contents) -> str:
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
    )
    if held.rows:
        rows = [[y, ", ".join(f"{f} {w:+.2f}" for f, w in found)] for y, found in held.rows.items()]
        page.add(held.title.capitalize(), table(["label", "with their weights"], rows))
    if held.transitions is not None:
        before, after, moves = held.moves()
        chart = heat_map(
            "Transitions",
            before,
            after,
            _shares(moves),
            x_label="after",
            y_label="before",
            digits=2,
        )
        page.add("Transitions", figure(chart, "Row: the label before; column: the label after."))
    settings = [[k, str(v), "yes" if k in by_hand else ""] for k, v in facts["settings"].items()]
    page.add("Settings", table(["setting", "value", "set by hand"], settings))
    return page.render()
