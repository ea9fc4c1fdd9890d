"""Charts on a square: heat maps (confusions, transitions) and reliability diagrams."""

import math
from collections.abc import Sequence
from typing import Any

from chaffinch.report.charts import WIDTH, Scale, axis_names, chart, clipped, text_width, tick_text, ticks
from chaffinch.report.html import Html, tag

_LABEL_CHARACTERS = 18


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]] | Any,
    x_label: str = "",
    y_label: str = "",
    logarithmic: bool = False,
    diverging: bool = False,
    digits: int | None = None,
) -> Html:
    """A grid of cells [rows, columns]; larger values have darker colours.

    logarithmic: use a logarithmic colour scale, so that small counts stay visible beside large ones
    diverging:   show negative values in another colour (for weights)
    digits:      number of decimals in the cells; None: as few as the value needs

    >>> "<title>gold NP, predicted VP: 3" in heat_map(
    ...     "Confusions", ["NP"], ["VP"], [[3]], x_label="predicted", y_label="gold")
    True
    """
    room, long = (
        8 + max((text_width(clipped(name, _LABEL_CHARACTERS)) for name in names), default=0.0)
        for names in (rows, columns)
    )
    head = long * math.sqrt(0.5)  # the names of columns rise at 45 degrees
    left, top = 28 + room, 40 + head
    side = max(14.0, min(46.0, (WIDTH - left - 10) / max(1, len(columns))))
    width = max(WIDTH, left + side * len(columns) + 40)
    height = top + side * len(rows) + 52
    cells = [[float(v) for v in row] for row in values]
    strongest = max((abs(v) for row in cells for v in row), default=0.0)
    x_name, y_name = f"{x_label} " if x_label else "", f"{y_label} " if y_label else ""
    marks: list[Html] = []
    for c, name in enumerate(columns):
        x = left + side * (c + 0.5)
        marks.append(
            tag(
                "text",
                clipped(name, _LABEL_CHARACTERS),
                x=round(x + 3, 1),
                y=round(top - 8, 1),
                transform=f"rotate(-45 {x + 3:.1f} {top - 8:.1f})",
            )
        )
    for r, name in enumerate(rows):
        y = top + side * r
        text = clipped(name, _LABEL_CHARACTERS)
        marks.append(tag("text", text, x=round(left - 8, 1), y=round(y + side / 2 + 4, 1), text_anchor="end"))
        for c, value in enumerate(cells[r]):
            depth = _depth(value, strongest, logarithmic)
            written = _written(value, digits)
            parts = [
                tag("title", f"{y_name}{name}, {x_name}{columns[c]}: {written}"),
                tag(
                    "rect",
                    x=round(left + side * c + 0.5, 1),
                    y=round(y + 0.5, 1),
                    width=round(side - 1, 1),
                    height=round(side - 1, 1),
                    rx=2,
                    fill="var(--cold)" if diverging and value < 0 else "var(--heat)",
                    fill_opacity=round(0.04 + 0.96 * depth, 3),
                ),
            ]
            if value and side >= 5.2 * len(written) + 4:
                parts.append(
                    tag(
                        "text",
                        written,
                        x=round(left + side * (c + 0.5), 1),
                        y=round(y + side / 2 + 4, 1),
                        text_anchor="middle",
                        font_size=min(11, round(side * 0.4)),
                        style="fill:var(--on-heat)" if depth > 0.6 else None,
                    )
                )
            marks.append(tag("g", *parts))
    marks += axis_names(x_label, y_label, left, left + side * len(columns), top, height - 60)
    return chart(title, height, marks, width)


def reliability(title: str, bins: Sequence[tuple[float, float, int]]) -> Html:
    """Confidence against accuracy: (mean confidence, accuracy, count) per bin; on the diagonal they are equal.

    Whiskers are 95 % intervals of the accuracy (Wilson 1927). The columns below show the number of cases in each bin.

    >>> "<title>confidence 0.900, accuracy 0.800 (0.490 to 0.943), 10 cases" in reliability("R", [(0.9, 0.8, 10)])
    True
    """
    side, left, top, bottom = 320, 64, 40, 96
    height = top + side + bottom
    x = Scale(0.0, 1.0, left, left + side)
    y = Scale(0.0, 1.0, top + side, top)
    marks: list[Html] = []
    for value in ticks(0.0, 1.0):
        marks.append(tag("line", x1=left, x2=left + side, y1=y(value), y2=y(value), class_="rule"))
        label = tick_text(value)
        marks.append(tag("text", label, x=left - 8, y=y(value) + 4, text_anchor="end", class_="soft"))
        marks.append(tag("text", label, x=x(value), y=top + side + 16, text_anchor="middle", class_="soft"))
    marks.append(tag("line", x1=x(0), y1=y(0), x2=x(1), y2=y(1), class_="axis", stroke_dasharray="4 4"))
    largest = max((count for *_, count in bins), default=0)
    floor = top + side + 62
    drawn = [(c, a, n) for c, a, n in bins if n]
    path = " ".join(f"{x(c):g},{y(a):g}" for c, a, _ in drawn)
    marks.append(tag("polyline", points=path, fill="none", stroke="var(--s0)", stroke_width=2))
    for confidence, accuracy, count in drawn:
        low, high = _wilson(accuracy, count)
        told = tag(
            "title",
            f"confidence {confidence:.3f}, accuracy {accuracy:.3f} ({low:.3f} to {high:.3f}), {count:,.0f} cases",
        )
        tall = round(34 * count / largest, 1)
        at = x(confidence)
        whisker = f"M{at - 3:g} {y(low):g}H{at + 3:g}M{at:g} {y(low):g}V{y(high):g}M{at - 3:g} {y(high):g}H{at + 3:g}"
        marks.append(tag("path", d=whisker, stroke="var(--s0)", stroke_opacity=0.5, fill="none"))
        marks.append(tag("circle", told, cx=x(confidence), cy=y(accuracy), r=4, fill="var(--s0)"))
        marks.append(
            tag(
                "rect",
                told,
                x=x(confidence) - 7,
                y=floor + 30 - tall,
                width=14,
                height=tall,
                fill="var(--s1)",
            )
        )
    marks += axis_names("confidence", "accuracy", left, left + side, top, top + side)
    return chart(title, height, marks, left + side + 24)


def _wilson(share: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a proportion observed in n cases."""
    z2 = 1.96**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = 1.96 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def _depth(value: float, strongest: float, logarithmic: bool) -> float:
    if strongest == 0.0:
        return 0.0
    if logarithmic:
        return math.log1p(abs(value)) / math.log1p(strongest)
    return abs(value) / strongest


def _written(value: float, digits: int | None) -> str:
    return f"{value:,g}" if digits is None else f"{value:.{digits}f}"
