"""chaffinch samples: list the embedded samples, show one, write one to files."""

from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree as Branches

from chaffinch import samples
from chaffinch.cli.console import out, print_json
from chaffinch.cli.flags import WAS_OUT
from chaffinch.errors import ConfigError
from chaffinch.knobs import LARGEST
from chaffinch.samples.letters import image
from chaffinch.text.document import LABEL, Document, Tree

EXAMPLES = """
chaffinch samples                                every sample, its task and its size
chaffinch samples posts                          a few documents to look at
chaffinch samples ingredients --folder recipes/   train.conll, dev.conll and test.conll in a folder
chaffinch samples ingredients --folder mended/ --careful     the same without annotation errors
chaffinch samples topics --folder t/ --size 20000 --seed 7   more documents, and different ones
"""

COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red", "bright_cyan", "bright_green")


def command(
    name: Annotated[str | None, typer.Argument(help="Name of a sample; without it, all are listed.")] = None,
    out_folder: Annotated[
        Path | None,
        typer.Option("--folder", *WAS_OUT, metavar="DIR", help="Write its files to this folder."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Random seed; another seed gives other documents.", min=-LARGEST[int], max=LARGEST[int]
        ),
    ] = samples.SEED,
    size: Annotated[
        int | None,
        typer.Option(help="Documents in the training split; dev and test keep their proportion."),
    ] = None,
    careful: Annotated[
        bool, typer.Option("--careful", help="Write the correct labels, without simulated annotation errors.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """List the embedded samples, look into one, or write one to files in the ordinary formats.

    The samples are small synthetic corpora with noise and ambiguity, generated at random from word lists and grammars.
    They are free to use, and the same seed gives the same documents on every machine.
    """
    if out_folder is None and (size is not None or force or careful):
        flag = "--force" if force else "--careful" if careful else "--size"
        raise ConfigError(f"{flag} applies to written files: name a folder with --folder DIR")
    if name is None and out_folder is not None:
        raise ConfigError(f"name the sample to write to {out_folder}: {', '.join(samples.SAMPLES)}")
    if name is None:
        _list(as_json)
    elif out_folder is None:
        _show(name, seed, as_json)
    else:
        _write(name, out_folder, seed, size, careful, force, as_json)


def picture(document: Document, width: int) -> RenderableType:
    """A document for the terminal: words over their labels, a tree, a text with its label, or letters."""
    if document.tree is not None:
        return _branches(document.tree)
    if document.links is not None:
        return _linked(document, width)
    if LABEL in document.columns and document.images:
        return _written_word(document)
    if LABEL in document.columns:
        labels = document.columns[LABEL]
        return _under(document.words(), ["" if y == "O" else y for y in labels], width)
    told = ", ".join(document.labels)
    return Text.assemble((told, f"bold {_colour(told)}"), "  ", document.text)


def _list(as_json: bool) -> None:
    if as_json:
        rows = {
            name: {"task": s.task, "about": s.about, "formats": list(s.formats), "sizes": s.sizes}
            for name, s in samples.SAMPLES.items()
        }
        print_json({"samples": rows})
        return
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("sample", "task", "what it holds", "files"):
        table.add_column(column, no_wrap=column in ("sample", "task"))
    table.add_column("train / dev / test", justify="right", no_wrap=True)
    for name, sample in samples.SAMPLES.items():
        sizes = " / ".join(str(n) for n in sample.sizes.values())
        table.add_row(Text(name, style="bold"), sample.task, sample.about, " ".join(sample.formats), sizes)
    out.print(table)
    out.print("\nchaffinch samples NAME shows a few documents; --folder DIR writes the files.", style="dim")


def _show(name: str, seed: int, as_json: bool) -> None:
    sample = samples.sample(name)
    documents = samples.load(name, n=3, seed=seed)
    if as_json:
        facts = {"name": name, "task": sample.task, "about": sample.about, "sizes": sample.sizes}
        print_json({**facts, "seed": seed, "examples": [_plain(d) for d in documents]})
        return
    out.print(Text.assemble((name, "bold"), f": {sample.about}"))
    for document in documents:
        out.print(Padding(picture(document, out.width - 4), (1, 2, 0, 2), expand=False))


def _write(
    name: str, folder: Path, seed: int, size: int | None, careful: bool, force: bool, as_json: bool
) -> None:
    written = samples.export(name, folder, seed=seed, size=size, careful=careful, force=force)
    if as_json:
        files = [{"path": str(p), "documents": n, "bytes": p.stat().st_size} for p, n in written.items()]
        print_json({"name": name, "seed": seed, "files": files})
        return
    for path, n in written.items():
        out.print(f"{path}  {n} documents, {path.stat().st_size:,} bytes", soft_wrap=True)


def _plain(document: Document) -> dict[str, object]:
    """An example as plain values for JSON."""
    plain: dict[str, object] = {"text": document.text}
    if document.columns:
        plain["columns"] = document.columns
    if document.labels:
        plain["labels"] = document.labels
    if document.links is not None:
        plain["target"] = " ".join(document.links.target)
        plain["sure"] = sorted(map(list, document.links.sure))
        plain["possible"] = sorted(map(list, document.links.possible))
    return plain


def _under(words: list[str], notes: list[str], width: int) -> Text:
    """Words in lines of at most ``width``, each over its note."""
    text = Text()
    above, below, used = Text(), Text(), 0
    for word, note in zip(words, notes, strict=True):
        cell = max(cell_len(word), cell_len(note)) + 1
        if used and used + cell > width:
            text.append_text(above).append("\n").append_text(below).append("\n")
            above, below, used = Text(), Text(), 0
        above.append(word, style="bold" if note else "").append(" " * (cell - cell_len(word)))
        below.append(note, style=_colour(note)).append(" " * (cell - cell_len(note)))
        used += cell
    return text.append_text(above).append("\n").append_text(below)


def _linked(document: Document, width: int) -> RenderableType:
    """The sentence over its linked words, possible links in brackets; then its translation."""
    links = document.links
    assert links is not None
    notes = []
    for i in range(len(document.tokens)):
        sure = [links.target[j] for a, j in sorted(links.sure) if a == i]
        possible = [f"({links.target[j]})" for a, j in sorted(links.possible) if a == i]
        notes.append(" ".join(sure + possible))
    return Group(_under(document.words(), notes, width), Text(" ".join(links.target), style="italic"))


def _branches(tree: Tree) -> Branches:
    """A tree, with flat phrases on one line each."""
    flat = all(child.word is not None for child in tree.children)
    line = Text(tree.label, style=_colour(tree.label))
    if tree.word is not None or flat:
        leaves = (tree,) if tree.word is not None else tree.children
        line = Text() if tree.word is not None else line.append(" ")
        for leaf in leaves:
            line.append(f"{leaf.word}", style="bold").append(f"/{leaf.label} ", style="dim")
        return Branches(line, guide_style="dim")
    branches = Branches(line, guide_style="dim")
    for child in tree.children:
        branches.children.append(_branches(child))
    return branches


def _written_word(document: Document) -> Text:
    """Letter images side by side, two rows of pixels to a line, over their letters."""
    images = [image(token.text) for token in document.tokens]
    lines = []
    for r in range(0, len(images[0]), 2):
        rows = ["".join(_BLOCKS[2 * a + b] for a, b in zip(i[r], i[r + 1], strict=True)) for i in images]
        lines.append("  ".join(rows))
    lines.append("  ".join(letter.center(len(images[0][0])) for letter in document.columns[LABEL]))
    return Text("\n".join(line.rstrip() for line in lines), no_wrap=True)


_BLOCKS = " ▄▀█"


def _colour(label: str) -> str:
    """The same colour for a label wherever it is shown; B- and I- share theirs."""
    kind = label[2:] if label[:2] in ("B-", "I-") else label
    known = {"positive": "green", "negative": "red", "neutral": "cyan"}
    return known.get(kind, COLOURS[sum(kind.encode()) % len(COLOURS)])
