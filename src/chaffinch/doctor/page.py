"""The HTML report of an examination."""

from chaffinch.doctor.examination import CHECKS, Examination
from chaffinch.doctor.finding import ERROR, HINT, SEVERITIES, WARNING, Finding
from chaffinch.report import Html, Page, cards, paragraph, table, tag

COLOURS = {ERROR: "bad", WARNING: "", HINT: "soft"}


def examination_page(examination: Examination, top: int = 200) -> Page:
    """A summary, then the worst findings of each check."""
    page = Page("Examination", ", ".join(file.name for file in examination.files))
    totals = {s: sum(examination.counts(name)[s] for name in examination.checked) for s in SEVERITIES}
    rows = sum(len(file.documents) for file in examination.files)
    boxes = [(f"{severity}s", f"{count:,}", "") for severity, count in totals.items()]
    about = {check.name: check.about for check in CHECKS}
    summary = [
        (name, about[name], *(f"{n:,}" for n in examination.counts(name).values()))
        for name in examination.checked
    ]
    page.add(
        "Summary",
        cards(
            [
                (
                    "rows",
                    f"{rows:,}",
                    "1 file" if len(examination.files) == 1 else f"{len(examination.files)} files",
                ),
                *boxes,
            ]
        ),
        table(("check", "looks for", "errors", "warnings", "hints"), summary),
        *(paragraph(note) for note in examination.notes),
    )
    for name in examination.checked:
        found = examination.of(name)
        if found:
            cut = paragraph(f"The worst {top} of {len(found):,}.") if len(found) > top else ""
            page.add(name.capitalize(), cut, _findings(found[:top]))
    return page


def _findings(found: list[Finding]) -> str:
    return table(
        ("", "finding"),
        [(tag("span", f.severity, class_=COLOURS[f.severity] or None), _told(f)) for f in found],
    )


def _told(f: Finding) -> Html:
    """Where it is, what it is, and below it what to do."""
    advice = [tag("div", f"→ {f.suggestion}", class_="soft")] if f.suggestion else []
    return tag("div", tag("div", f.where, class_="where"), tag("div", f.what), *advice, class_="finding")
