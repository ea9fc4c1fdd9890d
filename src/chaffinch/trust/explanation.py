"""Explanations: an answer with the evidence for each of its decisions, as text, as a page and as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.report import Html, Page, join, paragraph, tag
from chaffinch.trust.decision_page import decision_html
from chaffinch.trust.decision_text import decision_text
from chaffinch.trust.explain import Contribution, Evidence
from chaffinch.trust.word_evidence import Forms, Grouping, TextPieces, by_kind, by_token, by_word, grouped

TOP, TOP_OF_MANY = 8, 3
GROUPS = ("word", "kind")
LEGEND = (
    "Green supports the answer, red its rival. The bars of a decision add up to the margin of the answer; "
    "a feature of several words colours all of them. Hover over a bar for its value and its weights."
)


@dataclass(frozen=True)
class Explanation:
    """Why a model gave this answer. Notebooks show it as a page; ``print`` as text.

    recipe:    the kind of model
    source:    the input, as one line
    words:     the tokens of a sentence; empty for other inputs
    answer:    the whole answer, as one line
    decisions: the decisions that make up the answer, each against its best rival
    forms:     the stems of the words of the source, for features that read stems
    """

    recipe: str
    source: str
    words: tuple[str, ...]
    answer: str
    decisions: tuple[Evidence, ...]
    forms: Forms = field(default_factory=dict)

    def text(self, top: int | None = None) -> str:
        """As text; top: number of contributions to show for each decision."""
        shown = self._top(top)
        blocks = [decision_text(one, self.words, shown) for one in self.decisions]
        return "\n\n".join([f"{self.recipe}: {self.answer}", *blocks])

    def html(self, top: int | None = None) -> Html:
        """As an HTML fragment: words coloured by their evidence, contributions as bars."""
        pieces = TextPieces(self.source, self.forms)
        blocks = [decision_html(one, self.words, pieces, top or TOP) for one in self.decisions]
        return join(paragraph(tag("b", self.answer), f" ({self.recipe})"), *blocks)

    def record(self, top: int | None = None) -> dict[str, Any]:
        """As plain values for JSON; tokens are counted from 1. Without ``top``, it has every contribution."""
        return {
            "recipe": self.recipe,
            "input": self.source,
            "answer": self.answer,
            "decisions": [_decision(one, top) for one in self.decisions],
        }

    def grouped(self, by: str) -> "Explanation":
        """The same with contributions summed: by the ``word`` that they read, or by ``kind`` of feature.

        A feature of several words is divided evenly among them.
        """
        if by not in GROUPS:
            raise ConfigError(f"contributions are grouped by {' or '.join(GROUPS)}, not by {by!r}")
        if by == "kind":
            how: Grouping = by_kind
        else:
            how = by_token(self.words) if self.words else by_word(TextPieces(self.source, self.forms))
        return replace(self, decisions=tuple(grouped(one, how) for one in self.decisions))

    def _top(self, top: int | None) -> int:
        return top or (TOP if len(self.decisions) <= 2 else TOP_OF_MANY)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        page = Page("")
        page.add(self.answer, self.html())
        return f'<iframe srcdoc="{_attribute(page.render())}" width="100%" height="480" frameborder="0"></iframe>'


def explanation_page(explanations: Sequence[Explanation], title: str, top: int | None) -> Page:
    """A page of explanations, one below the other."""
    page = Page("Why this answer?", title)
    page.add("How to read this", paragraph(LEGEND))
    for number, one in enumerate(explanations, 1):
        page.add(f"{number}. {one.source[:70]}", one.html(top))
    return page


def _decision(one: Evidence, top: int | None) -> dict[str, Any]:
    shown, rest = one.strongest(top or len(one.contributions) + 1)
    return {
        "subject": one.subject,
        "token": _from_one(one.place),
        "step": _from_one(one.step),
        "answer": one.answer,
        "score": one.score,
        "rival": one.rival,
        "rival_score": one.rival_score,
        "margin": one.margin,
        "probability": one.probability,
        "rival_probability": one.rival_probability,
        "shared": one.shared,
        "contributions": [_contribution(c) for c in [*shown, *([rest] if rest else [])]],
        "without": None
        if one.without is None
        else {"answer": one.without.answer, "features": [_contribution(c) for c in one.without.features]},
        "note": one.note,
        "whole": None if one.whole is None else dict(zip(("answer", "rival"), one.whole, strict=True)),
    }


def _contribution(c: Contribution) -> dict[str, Any]:
    return {
        "name": c.name,
        "weight": c.weight,
        "rival": c.rival,
        "value": c.value,
        "kind": c.kind,
        "difference": c.difference,
        "token": _from_one(c.place),
        "last_token": _from_one(c.last),
    }


def _from_one(place: int | None) -> int | None:
    return None if place is None else place + 1


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")
