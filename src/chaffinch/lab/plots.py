"""Charts of an ablation: a dot with its interval for every cell, and accuracy by pass."""

from collections.abc import Sequence

from chaffinch.lab.ablation import Ablation, Row, SeedScores
from chaffinch.report import Html, Page, cards, figure, heat_map, lines, paragraph, table, tag
from chaffinch.report.charts import WIDTH, Scale, chart, clipped, series_colour, tick_text, ticks

_CHARACTERS = 40


def charts(ablation: Ablation) -> dict[str, Html]:
    """Every chart of an ablation, by the suffix of its file's name; the first suffix is empty."""
    named = {"": dots(ablation)}
    if any(len(r.epochs) > 1 for row in ablation.rows for r in row.runs):
        named["-epochs"] = passes(ablation)
    if len(ablation.axes) == 2 and len(ablation.rows) == _product(ablation):
        named["-grid"] = grid(ablation)
    return named


def dots(ablation: Ablation) -> Html:
    """One row per cell: the mean over seeds as a dot, its interval as a line, every seed as a small mark."""
    labels = [row.label for row in ablation.rows]
    found = [row.over_seeds for row in ablation.rows]
    low, high = _padded([100 * v for v in [v for s in found for v in (s.low, s.high)] + _points(ablation)])
    left = round(20 + 6.6 * max(min(len(label), _CHARACTERS) for label in labels))
    top, step = 34, 26
    bottom = top + step * len(labels)
    x = Scale(low, high, left, WIDTH - 84)
    marks = []
    for value in ticks(low, high):
        marks.append(tag("line", x1=x(value), x2=x(value), y1=top, y2=bottom, class_="rule"))
        marks.append(
            tag("text", tick_text(value), x=x(value), y=bottom + 18, text_anchor="middle", class_="soft")
        )
    for i, (row, s) in enumerate(zip(ablation.rows, found, strict=True)):
        y = top + step * i + step / 2
        seeds = [
            tag("circle", cx=x(100 * r.scores[row.score]), cy=y, r=2, fill="var(--soft)", fill_opacity=0.6)
            for r in row.runs
        ]
        told = f"{row.label}: {100 * s.mean:.2f} % ({100 * s.low:.2f} to {100 * s.high:.2f})"
        marks.append(
            tag(
                "g",
                tag("title", told),
                tag("text", clipped(row.label, _CHARACTERS), x=left - 8, y=y + 4, text_anchor="end"),
                tag(
                    "line",
                    x1=x(100 * s.low),
                    x2=x(100 * s.high),
                    y1=y,
                    y2=y,
                    stroke=series_colour(0),
                    stroke_width=2,
                ),
                *seeds,
                tag("circle", cx=x(100 * s.mean), cy=y, r=5, fill=series_colour(0)),
                tag("text", f"{100 * s.mean:.2f} %", x=WIDTH - 76, y=y + 4),
            )
        )
    title = f"{ablation.score} on {ablation.split}, per cent, {_seeds(ablation)}"
    return chart(title, bottom + 30, marks)


def passes(ablation: Ablation) -> Html:
    """Accuracy on the scored split after every pass: mean over seeds, and its interval as a band."""
    series, bands = {}, {}
    for row in ablation.rows:
        shared = min(len(r.epochs) for r in row.runs)
        if shared == 0:
            continue
        over = [SeedScores.of([r.epochs[e] for r in row.runs]) for e in range(shared)]
        series[row.label] = [(e + 1.0, s.mean) for e, s in enumerate(over)]
        bands[row.label] = [(e + 1.0, s.low, s.high) for e, s in enumerate(over)]
    return lines(f"Accuracy on {ablation.split} by pass", series, "pass", "accuracy", bands)


def grid(ablation: Ablation) -> Html:
    """Two parameters against each other."""
    first, second = ablation.axes
    by_point = {tuple(row.point.values()): row.over_seeds.mean for row in ablation.rows}
    values = [[100 * by_point[a, b] for b in second.values] for a in first.values]
    return heat_map(
        f"{ablation.score} on {ablation.split}, per cent",
        [f"{first.param}={a}" for a in first.values],
        [f"{second.param}={b}" for b in second.values],
        values,
        x_label=second.param,
        y_label=first.param,
        digits=1,
    )


def page(ablation: Ablation) -> Page:
    """The report of an ablation."""
    e = ablation.base
    varied = ", ".join(axis.param for axis in ablation.axes)
    best = max(ablation.rows, key=lambda row: row.over_seeds.mean)
    made = Page(f"Ablation of {varied} on {e.source}", f"recipe {e.recipe}, {_seeds(ablation)}")
    s = best.over_seeds
    made.add(
        "Result",
        cards(
            [
                ("best", f"{100 * s.mean:.2f} %", best.label),
                ("interval over seeds", f"{100 * s.low:.2f} to {100 * s.high:.2f}", "95 % confidence"),
                ("cells", str(len(ablation.rows)), f"{_seeds(ablation)} each"),
            ]
        ),
    )
    drawn = charts(ablation)
    captions = {
        "": "Dots: means over seeds, with 95 % intervals; small marks: single seeds.",
        "-epochs": "Means over seeds after each pass, with 95 % intervals.",
        "-grid": "Means over seeds.",
    }
    made.add("Charts", *(figure(svg, captions[ending]) for ending, svg in drawn.items()))
    made.add("Table", table(HEAD, table_rows(ablation.rows)))
    settings = {"recipe": e.recipe, **e.settings}
    made.add("Settings", paragraph(", ".join(f"{k} = {v}" for k, v in settings.items())))
    return made


HEAD = ("cell", "mean", "95 % over seeds", "95 % over data", "seconds")


def table_rows(rows: Sequence[Row]) -> list[tuple[str, str, str, str, str]]:
    """The rows of an ablation's table, under HEAD; scores in per cent."""
    made = []
    for row in rows:
        s, (low, high) = row.over_seeds, row.over_data
        seeds = f"{100 * s.low:.2f} to {100 * s.high:.2f}" if s.count > 1 else "one seed"
        made.append(
            (
                row.label,
                f"{100 * s.mean:.2f}",
                seeds,
                f"{100 * low:.2f} to {100 * high:.2f}",
                f"{row.seconds:.2f}",
            )
        )
    return made


def _seeds(ablation: Ablation) -> str:
    count = len(ablation.rows[0].runs)
    return f"{count} seed{'s' if count > 1 else ''}"


def _points(ablation: Ablation) -> list[float]:
    return [r.scores[row.score] for row in ablation.rows for r in row.runs]


def _product(ablation: Ablation) -> int:
    size = 1
    for axis in ablation.axes:
        size *= len(axis.values)
    return size


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or 1.0
    return low - room, high + room
