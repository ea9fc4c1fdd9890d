"""Bars to either side of zero: what speaks for an answer, and what against."""

from collections.abc import Sequence

from chaffinch.report.axes import Scale, clipped, text_width
from chaffinch.report.charts import WIDTH, Bar, chart
from chaffinch.report.html import Html, tag

_CHARACTERS = 44
_TOP, _ROW = 34, 22


def signed_bars(title: str, items: Sequence[Bar], digits: int = 3, *, rest: bool = False) -> Html:
    """A row for each number, its name on the left, its bar to the right of zero or to the left.

    rest: the last bar stands for many others, and is drawn faintly

    >>> "<title>tea: -0.500" in signed_bars("For and against", [Bar("tea", -0.5), Bar("cake", 1.0)])
    True
    """
    left = round(20 + max((text_width(clipped(b.label, _CHARACTERS)) for b in items), default=0.0))
    most = max((abs(b.value) for b in items), default=0.0) or 1.0
    low = -most if any(b.value < 0 for b in items) else 0.0
    x = Scale(low, most, left + (56 if low else 0), WIDTH - 64)
    height = _TOP + _ROW * len(items) + 8
    zero = x(0.0)
    marks = [tag("line", x1=zero, x2=zero, y1=_TOP - 4, y2=height - 6, class_="axis")]
    for i, bar in enumerate(items):
        y, end = _TOP + _ROW * i + _ROW / 2, x(bar.value)
        note = f", {bar.note}" if bar.note else ""
        against = bar.value < 0
        marks.append(
            tag(
                "g",
                tag("title", f"{bar.label}: {bar.value:+.{digits}f}{note}"),
                tag("text", clipped(bar.label, _CHARACTERS), x=left - 8, y=y + 4, text_anchor="end"),
                tag(
                    "rect",
                    x=round(min(zero, end), 2),
                    y=y - 7,
                    width=round(abs(end - zero), 2),
                    height=14,
                    rx=2,
                    fill="var(--bad)" if against else "var(--good)",
                    fill_opacity=0.3 if rest and i == len(items) - 1 else 0.8,
                ),
                tag(
                    "text",
                    f"{bar.value:+.{digits}f}",
                    x=round(end + (-6 if against else 6), 2),
                    y=y + 4,
                    text_anchor="end" if against else "start",
                ),
            )
        )
    return chart(title, height, marks)
