"""HTML pages: self-contained; text that is not marked as HTML is escaped."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files

from chaffinch.errors import missing_extra


class Html(str):
    """Text that is already HTML; every other string is escaped when it is put into a page."""

    __slots__ = ()


def tag(name: str, *content: object, **attributes: object) -> Html:
    """An HTML element. ``class_`` is class, ``data_x`` is data-x; an attribute that is None is left out.

    >>> tag("p", "a < b", tag("b", "!"), class_="x")
    '<p class="x">a &lt; b<b>!</b></p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{join(*content)}</{name}>")


def join(*content: object) -> Html:
    """The concatenated pieces, escaped unless they are HTML."""
    return Html("".join(piece if isinstance(piece, Html) else escape(str(piece)) for piece in content))


def paragraph(*content: object) -> Html:
    """A paragraph of running text."""
    return tag("p", *content)


def cards(figures: Iterable[tuple[str, str, str]]) -> Html:
    """Headline figures (name, value, note) in boxes side by side."""
    boxes = (
        tag(
            "div",
            tag("div", name, class_="name"),
            tag("div", value, class_="value"),
            tag("div", note, class_="note"),
            class_="card",
        )
        for name, value, note in figures
    )
    return tag("div", *boxes, class_="cards")


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str | None = None) -> Html:
    """A table; a column is right-aligned if its first non-empty cell is a number or looks like one."""
    body = [list(row) for row in rows]
    right = [_numeric(next((row[i] for row in body if row[i] != ""), "")) for i in range(len(head))]
    classes = ["number" if r else None for r in right]
    parts = []
    if caption is not None:
        parts.append(tag("caption", caption))
    parts.append(
        tag("thead", tag("tr", *(tag("th", h, class_=c) for h, c in zip(head, classes, strict=True))))
    )
    lines = (
        tag("tr", *(tag("td", cell, class_=c) for cell, c in zip(row, classes, strict=True))) for row in body
    )
    parts.append(tag("tbody", *lines))
    return tag("div", tag("table", *parts), class_="wide")


def figure(svg: Html, caption: object | None = None) -> Html:
    """A chart with its caption."""
    return tag("figure", svg, tag("figcaption", caption) if caption is not None else Html(""))


@dataclass
class Page:
    """A report, section by section.

    >>> page = Page("Scores", "dev.conll against out.conll")
    >>> page.add("Spans", paragraph("F1 is 0.9 & rising."))
    >>> "F1 is 0.9 &amp; rising." in page.render()
    True
    """

    title: str
    subtitle: str = ""
    sections: list[tuple[str, Html]] = field(default_factory=list)

    def add(self, heading: str, *content: object) -> None:
        """Append a section."""
        self.sections.append((heading, join(*content)))

    def render(self) -> str:
        """The whole page."""
        style = files("chaffinch.report").joinpath("page.css").read_text("utf-8")
        names = [_anchor(i, heading) for i, (heading, _) in enumerate(self.sections)]
        headings = [heading for heading, _ in self.sections]
        links = (tag("a", h, href=f"#{n}") for h, n in zip(headings, names, strict=True))
        body = join(
            tag("header", tag("h1", self.title), tag("p", self.subtitle)),
            tag("nav", *links) if len(names) > 2 else Html(""),
            tag(
                "main",
                *(
                    tag("section", tag("h2", heading), content, id=name)
                    for name, (heading, content) in zip(names, self.sections, strict=True)
                ),
            ),
            tag("footer", "Written by Chaffinch."),
        )
        head = join(
            Html(
                '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            ),
            tag("title", self.title),
            tag("style", Html(style)),
        )
        return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _anchor(index: int, heading: str) -> str:
    return f"{index + 1}-{re.sub(r'[^a-z0-9]+', '-', heading.lower()).strip('-')}"


def _numeric(cell: object) -> bool:
    if isinstance(cell, int | float):
        return True
    return re.fullmatch(r"[-+<]?[\d.,]+%?( to [-+\d.]+)?", re.sub(r"</?\w[^>]*>", "", str(cell))) is not None


# -- charts as files: an SVG with its colours, and PNG --------------------------------------------------------------

_FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
_MARGIN = 16


def svg_file(chart: Html) -> str:
    """A chart as a separate SVG file: with the page's light colours, on a white background.

    >>> from chaffinch.report import Bar, bars
    >>> text = svg_file(bars("F1", [Bar("NP", 0.9)]))
    >>> "var(--" in text, text.startswith("<svg")
    (False, True)
    """
    colours = _light_colours()
    style = (
        f"svg {{ font: 12px {_FONT}; }} text {{ fill: {colours['ink']}; }} "
        ".title { font-size: 14px; font-weight: 600; } "
        f".soft {{ fill: {colours['soft']}; }} .rule {{ stroke: {colours['rule']}; fill: none; }} "
        f".axis {{ stroke: {colours['soft']}; fill: none; }}"
    )
    head, body = str(chart).split(">", 1)
    width, height = map(float, re.findall(r' (?:width|height)="([0-9.]+)"', head))
    head = re.sub(r' viewBox="[^"]*" width="[^"]*" height="[^"]*"', "", head)
    wide, tall = width + 2 * _MARGIN, height + 2 * _MARGIN
    head += f' viewBox="{-_MARGIN} {-_MARGIN} {wide:g} {tall:g}" width="{wide:g}" height="{tall:g}"'
    ground = f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="{wide:g}" height="{tall:g}" fill="#ffffff"/>'
    drawn = re.sub(r"var\(--([a-z0-9-]+)\)", lambda m: colours[m[1]], body)
    font = _FONT.replace("'", "&#x27;")
    return f'{head} font-family="{font}" font-size="12"><style>{style}</style>{ground}{drawn}\n'


def png_file(chart: Html, scale: float = 2.0) -> bytes:
    """A chart as PNG; needs the extra ``plot``."""
    try:
        from vl_convert import svg_to_png
    except ImportError:
        raise missing_extra("plot", "vl-convert-python") from None
    made: bytes = svg_to_png(svg_file(chart), scale=scale)
    return made


def _light_colours() -> dict[str, str]:
    style = files("chaffinch.report").joinpath("page.css").read_text("utf-8")
    first = style[: style.index("}")]
    return dict(re.findall(r"--([a-z0-9-]+):\s*([^;]+);", first))
