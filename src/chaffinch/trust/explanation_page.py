"""Explanations as a page of their own."""

from collections.abc import Sequence

from chaffinch.report import Page, paragraph
from chaffinch.trust.explanation import Explanation

LEGEND = (
    "Green speaks for the answer, red for its rival. The bars of a decision add up to how far the answer is ahead; "
    "a feature of several words colours them all. Hover over a bar for its value and its weights."
)


def explanation_page(explanations: Sequence[Explanation], title: str, top: int | None) -> Page:
    """Explanations one below the other."""
    page = Page("Why this answer?", title)
    page.add("How to read this", paragraph(LEGEND))
    for number, one in enumerate(explanations, 1):
        page.add(f"{number}. {one.source[:70]}", one.html(top))
    return page
