"""Charts as files of their own: an SVG that carries its colours, and the same as PNG."""

import re
from importlib.resources import files

from chaffinch.errors import missing_extra
from chaffinch.report.html import Html

_FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
_MARGIN = 16


def svg_file(chart: Html) -> str:
    """A chart without its page: the page's light colours are written in, on a white ground.

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
    """A chart as pixels; needs the extra ``plot``."""
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
