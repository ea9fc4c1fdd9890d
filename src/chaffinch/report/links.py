"""An alignment as a grid: one sentence on the side, the other along the top, a mark for each link."""

from collections.abc import Collection, Sequence

from chaffinch.report.charts import WIDTH, chart
from chaffinch.report.html import Html, tag

SIDE = 26.0
Link = tuple[int, int]


def alignment_grid(
    title: str,
    source: Sequence[str],
    target: Sequence[str],
    found: Collection[Link],
    sure: Collection[Link] = (),
    possible: Collection[Link] = (),
    strength: Sequence[Sequence[float]] | None = None,
) -> Html:
    """Squares for predicted links, rings for sure links, dashed rings for possible links.

    strength: [source, target] from 0 to 1, the model's support for a link; shades the cells

    >>> svg = alignment_grid("Pair", ["the", "house"], ["la", "maison"], {(0, 0)}, sure={(0, 0), (1, 1)})
    >>> "house = maison: sure, missed" in svg, "the = la: sure, found" in svg
    (True, True)
    """
    left = 24 + 7.0 * max((len(w) for w in source), default=0)
    top = 40 + 5.4 * max((len(w) for w in target), default=0)
    height = top + SIDE * len(source) + 44
    marks: list[Html] = []
    for j, word in enumerate(target):
        x = left + SIDE * (j + 0.5) + 3
        at = {"x": round(x, 1), "y": round(top - 8, 1)}
        marks.append(tag("text", word, **at, transform=f"rotate(-50 {x:.1f} {top - 8:.1f})"))
    for i, word in enumerate(source):
        middle = top + SIDE * (i + 0.5)
        marks.append(tag("text", word, x=round(left - 8, 1), y=round(middle + 4, 1), text_anchor="end"))
        for j, other in enumerate(target):
            link = (i, j)
            shade = 0.0 if strength is None else min(1.0, max(0.0, float(strength[i][j])))
            said = _said(link in found, link in sure, link in possible)
            marks.append(
                tag(
                    "g",
                    tag("title", f"{word} = {other}: {said}"),
                    _square(left + SIDE * j, top + SIDE * i, 0.05 + 0.35 * shade, 0.5, "var(--heat)"),
                    *(_mark(left + SIDE * j, top + SIDE * i, link in found, link in sure, link in possible)),
                )
            )
    y = top + SIDE * len(source) + 26
    for k, (text, *kinds) in enumerate(
        (("found", True, False), ("sure", False, True), ("possible", False, False))
    ):
        x = left + 110 * k
        marks += _mark(x, y - 17, kinds[0], kinds[1], not any(kinds))
        marks.append(tag("text", text, x=round(x + SIDE + 4, 1), y=round(y, 1), class_="soft"))
    return chart(title, height, marks, max(WIDTH * 0.5, left + max(SIDE * len(target), 330) + 40))


def _said(found: bool, sure: bool, possible: bool) -> str:
    if not (found or sure or possible):
        return "no link"
    gold = "sure" if sure else "possible" if possible else "not in gold"
    return f"{gold}, {'found' if found else 'missed'}"


def _square(x: float, y: float, opacity: float, inset: float, fill: str) -> Html:
    return tag(
        "rect",
        x=round(x + inset, 1),
        y=round(y + inset, 1),
        width=round(SIDE - 2 * inset, 1),
        height=round(SIDE - 2 * inset, 1),
        rx=3,
        fill=fill,
        fill_opacity=round(opacity, 3),
    )


def _mark(x: float, y: float, found: bool, sure: bool, possible: bool) -> list[Html]:
    marks = [_square(x, y, 1.0, 6.0, "var(--s0)")] if found else []
    if sure or possible:
        marks.append(
            tag(
                "circle",
                cx=round(x + SIDE / 2, 1),
                cy=round(y + SIDE / 2, 1),
                r=SIDE / 2 - 2,
                fill="none",
                stroke="var(--s1)",
                stroke_width=2,
                stroke_dasharray=None if sure else "3 3",
            )
        )
    return marks
