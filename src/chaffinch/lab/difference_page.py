"""The HTML report of a comparison: scores side by side, confusions that changed, rows that changed."""

from collections.abc import Iterable, Iterator

from chaffinch.evaluate.evaluation import ERRORS, Evaluation, description, p_text, title_of
from chaffinch.evaluate.intervals import Comparison
from chaffinch.evaluate.mistakes import Marked, Pieces, marked
from chaffinch.evaluate.page import highlighted
from chaffinch.lab.model_difference import OUTCOMES, ChangedAnswer, ModelDifference, Verdict
from chaffinch.report import Html, Page, cards, paragraph, table, tag

LONGEST_TEXT = 600
EACH = 20  # rows shown for each confusion
SHOWN_CONFUSIONS = 20

HEADINGS = {
    "broken": "Broken: right before, wrong now",
    "fixed": "Fixed: wrong before, right now",
    "both wrong": "Changed, and wrong both times",
    "changed": "Changed",
}


def difference_page(difference: ModelDifference, verdict: Verdict | None, top: int = 100) -> Page:
    """The report, section by section; ``top`` rows of each kind."""
    page = Page(
        "What the new model changes",
        f"{difference.new.name} against {difference.old.name} on {difference.test_set.path.name}",
    )
    counts = {kind: len(difference.of_kind(kind)) for kind in OUTCOMES}
    shown = [(kind, f"{n:,}", f"of {difference.rows:,}") for kind, n in counts.items() if n]
    opening = [paragraph(verdict.sentence)] if verdict is not None else []
    page.add("Summary", cards(shown), *opening, *(paragraph(note) for note in difference.notes()))
    if difference.evaluation is not None:
        page.add("Scores", *_scores(difference.evaluation))
        classes = list(class_rows(difference.evaluation))
        if classes:
            page.add(
                "By label", table(("label", "old F1", "new F1", "change", "interval"), map(_cells, classes))
            )
    page.add("Models", _sides(difference))
    confusions = difference.confusions()
    if confusions:
        judged = difference.evaluation is not None
        head = ("what", "gone", "come") if judged else ("what", "times")
        listed = [(name, gone, come) if judged else (name, come) for name, gone, come in confusions]
        cut = len(listed) > SHOWN_CONFUSIONS
        page.add(
            "Confusions",
            paragraph(f"The {SHOWN_CONFUSIONS} most frequent of {len(listed)}.") if cut else "",
            table(head, listed[:SHOWN_CONFUSIONS]),
        )
    for kind in OUTCOMES:
        rows = list(_rows(difference, kind, top))
        if rows:
            page.add(HEADINGS[kind], *rows)
    return page


def class_rows(evaluation: Evaluation) -> Iterator[tuple[str, Comparison]]:
    """The scores of single labels that changed, the greatest loss first."""
    rows = []
    for key, c in (evaluation.comparison or {}).items():
        for start in ("span.type.", "label."):
            if key.startswith(start) and key.endswith(".f1") and c.difference:
                rows.append((key.removeprefix(start).removesuffix(".f1"), c))
    yield from sorted(rows, key=lambda row: row[1].difference)


def differing(reading: Pieces, others: Iterable[Pieces]) -> Pieces:
    """The pieces of an answer that at least one of the others lacks."""
    known = [set(other) for other in others]
    return [piece for piece in reading if not all(piece in other for other in known)]


def _scores(evaluation: Evaluation) -> Iterable[Html]:
    found = evaluation.comparison or {}
    rows = []
    for key in evaluation.headline:
        c = found[key]
        rows.append((title_of(key), *_cells(("", c), key)[1:], p_text(c.p_swap)))
    yield table(("score", "old", "new", "change", "interval", "p (swap)"), rows)
    yield paragraph(
        f"{description(evaluation)}. The interval of the change holds {evaluation.confidence:g}% of paired bootstrap "
        "samples; p (swap) is the share of random swaps of the two answers that give a change at least as large."
    )


def _cells(row: tuple[str, Comparison], key: str = "") -> tuple[object, ...]:
    name, c = row
    sure = c.low > 0 or c.high < 0
    better = (c.difference > 0) != (key in ERRORS)
    change = tag("span", f"{c.difference:+.4f}", class_="soft" if not sure else "good" if better else "bad")
    return name, f"{c.other:.4f}", f"{c.ours:.4f}", change, f"{c.low:+.4f} to {c.high:+.4f}"


def _sides(difference: ModelDifference) -> Html:
    rows = []
    for which, side in (("old", difference.old), ("new", difference.new)):
        size = "" if side.model_bytes is None else f"{side.model_bytes:,}"
        speed = "" if side.speed is None else f"{side.speed:,.0f}"
        rows.append(
            (which, side.name, side.recipe or "a file of answers", len(side.labels) or "", size, speed)
        )
    return table(("", "file", "recipe", "labels", "bytes", f"{difference.test_set.unit} per CPU s"), rows)


def _rows(difference: ModelDifference, kind: str, top: int) -> Iterator[Html]:
    for name, count, changes in difference.grouped(kind, EACH, top):
        yield tag("h3", f"{name} ({count:,})")
        for change in changes:
            yield tag(
                "div",
                tag("div", change.where, class_="where"),
                *_reading(difference, change),
                class_="sentence",
            )


def _reading(difference: ModelDifference, change: ChangedAnswer) -> Iterator[Html]:
    sides = {"gold": change.gold, "old": change.old, "new": change.new}
    known = {name: reading for name, reading in sides.items() if reading is not None}
    words = difference.test_set.words(change.row)
    if words is not None:
        lines = [
            cell
            for name, reading in known.items()
            for cell in (tag("div", name, class_="side"), tag("div", highlighted(words, _marks(name, known))))
        ]
        yield tag("div", *lines, class_="reading")
        return
    text = change.text if len(change.text) <= LONGEST_TEXT else change.text[:LONGEST_TEXT] + "…"
    yield tag("div", text)
    lines = []
    for name, reading in known.items():
        others = [other for other_name, other in known.items() if other_name != name]
        pieces = [difference.test_set.piece(change.row, p) for p in differing(reading, others)]
        lines += [tag("div", name, class_="side"), tag("div", ", ".join(pieces) or "nothing")]
    yield tag("div", *lines, class_="reading")


def _marks(name: str, known: dict[str, Pieces]) -> list[Marked]:
    """Spans compared with gold, or with the other answer if there is none; for token tags, only those that differ."""
    judge = known.get("gold", known["new" if name == "old" else "old"])
    if name == "gold":
        judge = known["new"]
    marks = marked(known[name], judge)
    bounds = {tuple(p[1:] for p in reading) for reading in known.values()}
    if len(bounds) > 1 or any(end - begin > 1 for _, begin, end in known[name]):
        return marks
    differs = {p[1:] for p in differing(known[name], known.values())}
    return [m for m in marks if (m.begin, m.end) in differs]
