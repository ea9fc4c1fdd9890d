"""Charts along axes as inline SVG: bars with intervals, grouped bars, lines with bands.

Colours are the page's CSS variables, so a chart adapts to light, dark and print; a mark shows its numbers in a
tooltip.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaffinch.report.html import Html, tag

# -- axes: scales from values to pixels, and round tick values ------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """A linear map from values low .. high to pixels start .. end."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        width = self.high - self.low
        share = 0.5 if width == 0 else (value - self.low) / width
        return round(self.start + share * (self.end - self.start), 2)


@dataclass(frozen=True)
class LogScale(Scale):
    """A logarithmic scale: equal factors are equally far apart. All values must be above 0."""

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        return Scale(math.log(self.low), math.log(self.high), self.start, self.end)(math.log(value))


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten within low .. high; if there are fewer than three, round multiples of them too.

    >>> log_ticks(0.002, 300)
    [0.01, 0.1, 1.0, 10.0, 100.0]
    >>> log_ticks(0.15, 3)
    [0.2, 0.5, 1.0, 2.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for times in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 7)):
        found = [float(f"{m}e{d}") for d in decades for m in times if low <= float(f"{m}e{d}") <= high]
        if len(found) > 2:
            break
    return found


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values within low .. high, approximately ``about`` of them.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(0, 1340, 4)
    [0.0, 500.0, 1000.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A tick's label, without superfluous digits.

    >>> tick_text(0.2), tick_text(1500), tick_text(2e6), tick_text(0.0)
    ('0.2', '1,500', '2M', '0')
    """
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def clipped(text: str, characters: int) -> str:
    """The text; if it is too long, an ellipsis replaces its end."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def text_width(text: str) -> float:
    """The approximate width of a label in pixels at the charts' font size; capitals are wider.

    >>> text_width("noun") < text_width("NOUN")
    True
    """
    return sum(8.8 if c.isupper() else 6.6 for c in text)


# -- charts ---------------------------------------------------------------------------------------------------------

WIDTH = 980
COLOURS = 8

_LABEL_CHARACTERS = 24
_TOP = 34


@dataclass(frozen=True)
class Bar:
    """One bar: its value, its interval if known, and a note for the tooltip."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""


def bars(title: str, items: Sequence[Bar], limits: tuple[float, float] = (0.0, 1.0), digits: int = 3) -> Html:
    """Horizontal bars, one per row, with whiskers if intervals are known.

    >>> "<title>NP: 0.900" in bars("F1 by type", [Bar("NP", 0.9, 0.88, 0.92)])
    True
    """
    left, right, row = _label_room([b.label for b in items]), 64, 24
    height = _TOP + row * len(items) + 30
    x = Scale(*limits, left, WIDTH - right)
    marks = [*_value_axis(x, _TOP, height - 30)]
    for i, bar in enumerate(items):
        y = _TOP + row * i + row / 2
        known = bar.low is not None and bar.high is not None
        interval = f" ({bar.low:.{digits}f} to {bar.high:.{digits}f})" if known else ""
        note = f", {bar.note}" if bar.note else ""
        parts: list[Html] = [
            tag("title", f"{bar.label}: {bar.value:.{digits}f}{interval}{note}"),
            tag("text", clipped(bar.label, _LABEL_CHARACTERS), x=left - 8, y=y + 4, text_anchor="end"),
            _bar(x(max(limits[0], 0.0)), x(bar.value), y - 8, 16, 0),
        ]
        end = x(bar.value)
        if bar.low is not None and bar.high is not None:
            parts.append(_whisker(x(bar.low), x(bar.high), y))
            end = max(end, x(bar.high))
        parts.append(tag("text", f"{bar.value:.{digits}f}", x=end + 6, y=y + 4))
        marks.append(tag("g", *parts))
    return chart(title, height, marks)


def grouped_bars(
    title: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    limits: tuple[float, float] = (0.0, 1.0),
    digits: int = 3,
) -> Html:
    """One group of bars per name with one bar per series, and a legend."""
    left, right, thickness = _label_room(groups), 64, 13
    row = thickness * len(series) + 12
    top = _TOP + 20
    height = int(top + row * len(groups) + 30)
    x = Scale(*limits, left, WIDTH - right)
    marks = [*_legend(list(series), left, _TOP + 4), *_value_axis(x, top, height - 30)]
    for g, group in enumerate(groups):
        y = top + row * g + 6
        middle = y + thickness * len(series) / 2
        name = clipped(group, _LABEL_CHARACTERS)
        marks.append(tag("text", name, tag("title", group), x=left - 8, y=middle + 4, text_anchor="end"))
        for s, (label, values) in enumerate(series.items()):
            at = y + thickness * s
            marks.append(
                tag(
                    "g",
                    tag("title", f"{group}, {label}: {values[g]:.{digits}f}"),
                    _bar(x(max(limits[0], 0.0)), x(values[g]), at, thickness - 2, s),
                    tag("text", f"{values[g]:.{digits}f}", x=x(values[g]) + 6, y=at + 9, font_size=10),
                )
            )
    return chart(title, height, marks)


def lines(
    title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    x_label: str = "",
    y_label: str = "",
    bands: Mapping[str, Sequence[tuple[float, float, float]]] | None = None,
    y_limits: tuple[float, float] | None = None,
    log: bool = False,
) -> Html:
    """One line per series of (x, y) points; a band is (x, low, high) around the line of the same name.

    log: a logarithmic y axis; points that are not above 0 are left out
    """
    bands = bands or {}
    if log:
        series = {name: [(px, py) for px, py in points if py > 0] for name, points in series.items()}
    height, left, right, bottom = 360, 64, 24, 52
    top = _TOP + (24 if len(series) > 1 else 0)
    xs = [px for points in series.values() for px, _ in points] or [0.0, 1.0]
    ys = [py for points in series.values() for _, py in points]
    ys += [v for points in bands.values() for _, low, high in points for v in (low, high)]
    y_low, y_high = y_limits or (_padded_factor(ys or [1.0]) if log else _padded(ys or [0.0, 1.0]))
    x = Scale(min(xs), max(xs), left, WIDTH - right)
    y = (LogScale if log else Scale)(y_low, y_high, height - bottom, top)
    marks = _legend(list(series), left, _TOP + 4) if len(series) > 1 else []
    for value in log_ticks(y_low, y_high) if log else ticks(y_low, y_high):
        marks.append(tag("line", x1=left, x2=WIDTH - right, y1=y(value), y2=y(value), class_="rule"))
        marks.append(
            tag("text", tick_text(value), x=left - 8, y=y(value) + 4, text_anchor="end", class_="soft")
        )
    for value in ticks(min(xs), max(xs), 8):
        marks.append(
            tag(
                "text",
                tick_text(value),
                x=x(value),
                y=height - bottom + 18,
                text_anchor="middle",
                class_="soft",
            )
        )
    marks += axis_names(x_label, y_label, left, WIDTH - right, top, height - bottom)
    for s, (label, points) in enumerate(series.items()):
        colour = series_colour(s)
        if label in bands:
            outline = [(px, high) for px, _, high in bands[label]]
            outline += [(px, low) for px, low, _ in reversed(bands[label])]
            marks.append(tag("polygon", points=_path(outline, x, y), fill=colour, fill_opacity=0.15))
        marks.append(tag("polyline", points=_path(points, x, y), fill="none", stroke=colour, stroke_width=2))
        marks += [
            tag("circle", tag("title", f"{label}: {px:g}, {py:.4g}"), cx=x(px), cy=y(py), r=3, fill=colour)
            for px, py in points
        ]
    return chart(title, height, marks)


def chart(title: str, height: float, marks: Sequence[Html], width: float = WIDTH) -> Html:
    """The frame of every chart: a title, and a box that shrinks with the page."""
    return tag(
        "svg",
        tag("text", title, x=0, y=16, class_="title"),
        *marks,
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="img",
        aria_label=title,
        xmlns="http://www.w3.org/2000/svg",
    )


def series_colour(index: int) -> str:
    """The colour of the series of this index."""
    return f"var(--s{index % COLOURS})"


def axis_names(
    x_label: str, y_label: str, left: float, right: float, top: float, bottom: float
) -> list[Html]:
    """The names of the axes, below the plot and beside it."""
    middle = (top + bottom) / 2
    return [
        tag("text", x_label, x=(left + right) / 2, y=bottom + 40, text_anchor="middle", class_="soft"),
        tag(
            "text",
            y_label,
            x=14,
            y=middle,
            text_anchor="middle",
            class_="soft",
            transform=f"rotate(-90 14 {middle:g})",
        ),
    ]


def _value_axis(x: Scale, top: float, bottom: float) -> list[Html]:
    marks = []
    for value in ticks(x.low, x.high):
        marks.append(tag("line", x1=x(value), x2=x(value), y1=top, y2=bottom, class_="rule"))
        marks.append(
            tag("text", tick_text(value), x=x(value), y=bottom + 18, text_anchor="middle", class_="soft")
        )
    return marks


def _bar(start: float, end: float, y: float, height: float, series: int) -> Html:
    return tag(
        "rect",
        x=min(start, end),
        y=y,
        width=round(abs(end - start), 2),
        height=height,
        rx=2,
        fill=series_colour(series),
        fill_opacity=0.85,
    )


def _whisker(low: float, high: float, y: float) -> Html:
    path = f"M{low:g} {y - 4:g}V{y + 4:g}M{low:g} {y:g}H{high:g}M{high:g} {y - 4:g}V{y + 4:g}"
    return tag("path", d=path, stroke="var(--ink)", stroke_width=1.4, fill="none")


def _legend(names: Sequence[str], left: float, y: float) -> list[Html]:
    marks, x = [], left
    for s, name in enumerate(names):
        marks.append(tag("rect", x=round(x, 1), y=y, width=10, height=10, rx=2, fill=series_colour(s)))
        marks.append(tag("text", name, x=round(x + 15, 1), y=y + 9))
        x += 34 + text_width(name)
    return marks


def _label_room(labels: Sequence[str]) -> float:
    return round(20 + max((text_width(clipped(label, _LABEL_CHARACTERS)) for label in labels), default=0.0))


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or abs(high) * 0.06 or 0.5
    return low - room, high + room


def _padded_factor(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = max((high / low) ** 0.06, 1.2)
    return low / room, high * room


def _path(points: Sequence[tuple[float, float]], x: Scale, y: Scale) -> str:
    return " ".join(f"{x(px):g},{y(py):g}" for px, py in points)


_CHARACTERS = 44
_ROW = 22


def signed_bars(title: str, items: Sequence[Bar], digits: int = 3, *, rest: bool = False) -> Html:
    """A row for each number: its name on the left, its bar to the right or left of zero.

    rest: the last bar sums everything that has no bar of its own; it is drawn faintly

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
