"""Reports: self-contained HTML pages with inline SVG charts; no script, no network, light and dark, printable."""

from chaffinch.report.charts import Bar, bars, grouped_bars, lines
from chaffinch.report.grids import heat_map, reliability
from chaffinch.report.html import Html, Page, cards, figure, join, paragraph, table, tag
from chaffinch.report.links import alignment_grid

__all__ = [
    "Bar",
    "Html",
    "Page",
    "alignment_grid",
    "bars",
    "cards",
    "figure",
    "grouped_bars",
    "heat_map",
    "join",
    "lines",
    "paragraph",
    "reliability",
    "table",
    "tag",
]
