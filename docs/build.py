"""The documentation: pages derived from the code are written, and every page is rendered to docs/_build."""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from chaffinch.corpus import FORMATS
from chaffinch.files import writing_text
from chaffinch.kernels.kernel import NAMED
from chaffinch.kinds import KINDS
from chaffinch.knobs import knobs, table
from chaffinch.report.html import Html, Page

HERE = Path(__file__).resolve().parent
SETTINGS, KERNELS, README = HERE / "settings.md", HERE / "kernels.md", HERE.parent / "README.md"
OBJECTS = {
    "features": "rows of numbers, dense or sparse",
    "text": "texts, or lists of words",
    "trees": "trees, or bracketed strings",
}
KERNEL_TABLE = re.compile(r"(?<=\| kernel \| what it computes \| objects \|\n\|---\|---\|---\|\n)(?:\|.*\n)+")

INTRODUCTION = """\
# Settings

Each setting is declared once, with its default, its range and a line of help. Flags, keys of a TOML file, the
header of a model file and this page are derived from that declaration; `make docs` regenerates the page.

    chaffinch train train.conll -o model.chaff --recipe hmm --order 1
    chaffinch train train.conll -o model.chaff --recipe hmm --config run.toml

with the same setting in `run.toml`, in which `_` and `-` mean the same:

    order = 1

A flag wins over the file. An unknown key, a wrong type and a value out of range are refused with exit code 2, and
the message names the file and the key. The word `none` means no value, for settings that may have none.
"""


def settings_page() -> str:
    """The text of docs/settings.md."""
    return "\n".join([INTRODUCTION, *_recipes(), "## Readers of files", "", *_readers()])


def counted(readme: str) -> str:
    """The README with the current number of formats."""
    return re.sub(r"converts between \d+ formats", f"converts between {len(FORMATS)} formats", readme)


def with_kernels(page: str) -> str:
    """docs/kernels.md with the current kernels: their settings, the first line of their docstring, their objects."""
    rows = [
        (
            f"{k.kind.__name__}{_arguments(k.kind)}",
            (inspect.getdoc(k.kind) or "").partition("\n")[0],
            OBJECTS[k.of],
        )
        for k in NAMED.values()
    ]
    rows.append(("FunctionKernel(f)", "any Python function f(a, b)", "anything"))
    made = "".join(f"| `{name}` | {_cell(summary)} | {objects} |\n" for name, summary, objects in rows)
    return KERNEL_TABLE.sub(lambda _: made, page, count=1)


def main() -> None:
    """Write what is derived from the code and render all pages."""
    kernels = with_kernels(KERNELS.read_text(encoding="utf-8"))
    with writing_text(KERNELS) as out:
        out.write(kernels)
    with writing_text(SETTINGS) as out:
        out.write(settings_page())
    readme = counted(README.read_text(encoding="utf-8"))
    with writing_text(README) as out:
        out.write(readme)
    rendered = HERE / "_build"
    rendered.mkdir(exist_ok=True)
    pages = [README, *sorted(HERE.glob("*.md"))]
    for source in pages:
        target = rendered / f"{source.stem.lower()}.html"
        with writing_text(target) as out:
            out.write(_rendered(source))
    sys.stdout.write(f"{len(pages)} pages in {rendered.relative_to(HERE.parent)}\n")


def _arguments(kernel: type) -> str:
    """The settings of a kernel with their defaults."""
    settings = inspect.signature(kernel).parameters.values()
    return "(" + ", ".join(f"{p.name}={p.default!r}" for p in settings) + ")"


def _cell(text: str) -> str:
    """Text of a docstring in a cell of Markdown, without its full stop."""
    return re.sub(r":\w+:`(\w+)`", r"`\1`", text).replace("``", "`").replace("|", "\\|").removesuffix(".")


def _recipes() -> Iterator[str]:
    for kind in KINDS:
        yield f"## Recipes for {kind.plural}\n"
        for recipe in kind.recipes:
            yield f"### {recipe.name}\n\n{recipe.summary}\n\n{table(recipe.config)}\n"
        for title, config in (*kind.knobs, *kind.columns):
            yield f"### {title.capitalize()}\n\n{table(config)}\n"


def _readers() -> Iterator[str]:
    shared: dict[type, list[str]] = {}
    for f in FORMATS.values():
        if f.options is not None and knobs(f.options):
            shared.setdefault(f.options, []).append(f"`{f.name}`")
    yield from (f"### {', '.join(names)}\n\n{table(options)}\n" for options, names in shared.items())


def _rendered(source: Path) -> str:
    """A Markdown page as HTML in the look of the reports, links between pages kept."""
    markdown = MarkdownIt().enable("table")
    title, _, text = source.read_text("utf-8").partition("\n")
    page = Page(title.lstrip("# "), "Chaffinch")
    before, *sections = text.split("\n## ")
    if before.strip():
        page.add("", Html(markdown.render(before)))
    for section in sections:
        heading, _, content = section.partition("\n")
        page.add(heading, Html(markdown.render(content)))
    return page.render().replace('.md"', '.html"').replace('href="docs/', 'href="')


if __name__ == "__main__":
    main()
