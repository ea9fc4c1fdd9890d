"""Explanations: an answer with the evidence for each of its decisions, as text, as a page and as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.report import Bar, Html, Page, figure, join, paragraph, tag
from chaffinch.report.charts import clipped, signed_bars
from chaffinch.trust.explain import Contribution, Evidence, Removal
from chaffinch.trust.word_evidence import (
    Forms,
    Grouping,
    TextPieces,
    by_kind,
    by_token,
    by_word,
    grouped,
    text_evidence,
    token_evidence,
)

TOP, TOP_OF_MANY = 8, 3
GROUPS = ("word", "kind")
WIDE = 100
LISTED = 6  # maximum number of features named in the sentence about the removal
LONG, NEAR = 100, 20  # longer sentences are abridged to words with evidence and words this near the token
FAINT = 0.02  # evidence below this fraction of the strongest gets no colour
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
    shown = one.strongest(top or len(one.contributions) + 1)
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
        "contributions": [_contribution(c) for c in shown],
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


# -- a decision as text ------------------------------------------------------------------------------------------


def decision_text(one: Evidence, words: Sequence[str], top: int) -> str:
    """The answer, its rival, and the contributions for and against; words: the tokens of the sentence."""
    lines = [_headline(one)]
    every = one.strongest(top)
    numbers = [f"{c.difference:+.3f}" for c in every]
    width = max(map(len, numbers), default=0)
    names = [contribution_name(c, one, words) for c in every]
    broad = min(48, max(map(len, names), default=0))
    for c, number, name in zip(every, numbers, names, strict=True):
        lines.append(f"  {number:>{width}}  {name:<{broad}}  {_made_of(c, one)}".rstrip())
    return "\n".join([*lines, *(f"  {remark}" for remark in _remarks(one, words))])


def _remarks(one: Evidence, words: Sequence[str]) -> list[str]:
    """Sentences below the contributions: other changes of the rival, the removal that turns the answer, a note."""
    removal = "" if one.without is None else _removal(one.without, one, words)
    return [remark for remark in (also_changed(one, words), removal, one.note) if remark]


def _headline(one: Evidence) -> str:
    place = "" if one.place is None else f"{one.place + 1} "
    step = "" if one.step is None else f", decision {one.step + 1}"
    sure = "" if one.probability is None else f", p {one.probability:.3f}"
    what = f"{place}{one.subject}: {one.answer}"
    if one.rival is None or one.rival_score is None:
        return f"{what}, score {one.score:.3f}{sure}{step}"
    unsure = "" if one.rival_probability is None else f" and {one.rival_probability:.3f}"
    scores = f"{one.margin:+.3f} = {one.score:.3f} - {_signed(one.rival_score)}"
    head = f"{what}, not {one.rival}"
    numbers = f"{scores}{sure}{unsure}{step}"
    return f"{head}: {numbers}" if len(head) < WIDE else f"{what},\nnot {one.rival}:\n{numbers}"


def _signed(number: float) -> str:
    return f"({number:.3f})" if number < 0 else f"{number:.3f}"


def contribution_name(c: Contribution, one: Evidence, words: Sequence[str]) -> str:
    """The name, and the word at which it occurs if that is not the decided word.

    >>> one = Evidence("b", "X", 1.0, (), place=1)
    >>> [contribution_name(Contribution(name, 1.0, place=0), one, ["a", "b"]) for name in ("caps[0]=no", "a")]
    ['caps[0]=no @ 1 a', 'a @ 1']
    """
    if c.place is None or one.place in (None, c.place):
        return c.name
    if c.name == words[c.place]:
        return f"{c.name} @ {c.place + 1}"
    return f"{c.name} @ {c.place + 1} {words[c.place]}"


def _made_of(c: Contribution, one: Evidence) -> str:
    times = "" if c.value == 1 else f"{c.value:.3g} x "
    if one.rival is None:
        return f"{times}{c.weight:+.3f}" if times else ""
    return f"{times}({c.weight:+.3f} - {_signed(c.rival)})"


def also_changed(one: Evidence, words: Sequence[str]) -> str:
    """The other labels that change under the rival; empty if only one label changes.

    >>> one = Evidence("a", "X", 1.0, (), "Y", 0.5, place=0, whole=(("X", "X", "Z"), ("Y", "X", "W")))
    >>> also_changed(one, ("a", "b", "c"))
    'Then c would be W, too.'
    """
    if one.whole is None or one.place is None:
        return ""
    pairs = zip(words, *one.whole, strict=True)
    found = [f"{w} would be {b}" for t, (w, a, b) in enumerate(pairs) if a != b and t != one.place]
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return f"Then {', '.join(found[:LISTED])}{more}, too." if found else ""


def _removal(removal: Removal, one: Evidence, words: Sequence[str]) -> str:
    return removal_sentence([contribution_name(c, one, words) for c in removal.features], removal.answer)


def removal_sentence(names: Sequence[str], answer: str) -> str:
    """The features whose removal would change the answer, as a sentence.

    >>> removal_sentence(["awful", "not good"], "+")
    "Without awful, 'not good' it would be +."
    >>> removal_sentence([",", "characters 'ab'"], "+")
    "Without ',', characters 'ab' it would be +."
    """
    listed = ", ".join(f"'{name}'" if _runs_on(name) else name for name in names[:LISTED])
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"Without {listed}{more} it would be {answer}."


def _runs_on(name: str) -> bool:
    """Whether a name in a list would run into the next one."""
    return "'" not in name and (" " in name or "," in name)


# -- a decision as HTML ------------------------------------------------------------------------------------------


def decision_html(one: Evidence, words: Sequence[str], pieces: TextPieces, top: int) -> Html:
    """The input with coloured words, and a chart; words: the tokens of a sentence, empty for a text."""
    coloured = _tokens(one, words) if words else _text(one, pieces)
    return join(coloured, figure(_chart(one, words, top), _caption(one, words)))


def _tokens(one: Evidence, words: Sequence[str]) -> Html:
    """The sentence; if it is long, only the words near the decided token and those with evidence."""
    evidence = token_evidence(one, len(words))
    most = _most(evidence)
    shown: list[object] = []
    before = -1
    for t in _near(evidence, one.place):
        word = tag("b", words[t]) if t == one.place else words[t]
        shown += [
            *(["… "] if t > before + 1 else []),
            tag("span", _coloured(word, evidence[t] / most, evidence[t]), class_="token"),
            " ",
        ]
        before = t
    return tag("p", *shown, *(["…"] if before < len(words) - 1 else []), dir="auto")


def _near(evidence: Sequence[float], place: int | None) -> list[int]:
    T = len(evidence)
    if T <= LONG or place is None:
        return list(range(T))
    return [t for t in range(T) if evidence[t] or abs(t - place) <= NEAR]


def _text(one: Evidence, pieces: TextPieces) -> Html:
    """The coloured text; empty if no piece of it has evidence of its own."""
    evidence = text_evidence(one, pieces)
    if not any(evidence):
        return Html("")
    most, made, at = _most(evidence), list[object](), 0
    for (start, end), strength in zip(pieces.spans, evidence, strict=True):
        made += [pieces.text[at:start], _coloured(pieces.text[start:end], strength / most, strength)]
        at = end
    return tag("p", *made, pieces.text[at:], class_="text", dir="auto")


def _coloured(word: object, share: float, evidence: float) -> object:
    if abs(share) < FAINT:
        return word
    colour = "var(--good)" if share > 0 else "var(--bad)"
    wash = f"color-mix(in srgb, {colour} {55 * abs(share):.0f}%, transparent)"
    style = f"background:{wash};border-radius:3px;padding:1px 2px"
    return tag("span", word, style=style, title=f"{evidence:+.3f}")


def _most(evidence: Sequence[float]) -> float:
    return max(map(abs, evidence), default=0.0) or 1.0


def _chart(one: Evidence, words: Sequence[str], top: int) -> Html:
    bars = [_bar(c, one, words) for c in one.strongest(top)]
    title = _title(one)
    shown_title = title if len(title) < WIDE else clipped(one.subject, WIDE)
    return signed_bars(f"{shown_title}, by {one.margin:+.3f}", bars, rest=len(bars) > top)


def _title(one: Evidence) -> str:
    place = "" if one.place is None else f"{one.place + 1}. "
    against = "" if one.rival is None else f", not {one.rival}"
    return f"{place}{one.subject}: {one.answer}{against}"


def _bar(c: Contribution, one: Evidence, words: Sequence[str]) -> Bar:
    return Bar(
        contribution_name(c, one, words),
        c.difference,
        note=f"{c.value:.4g} x ({c.weight:+.4g} - {c.rival:+.4g})",
    )


def _caption(one: Evidence, words: Sequence[str]) -> str:
    said = [f"Score {one.score:.3f}"]
    if one.rival is not None and one.rival_score is not None:
        said.append(f", its rival's {one.rival_score:.3f}")
    if one.probability is not None:
        said.append(f"; probability {one.probability:.3f}")
    if one.rival_probability is not None:
        said.append(f", its rival's {one.rival_probability:.3f}")
    if one.step is not None:
        said.append(f"; decision number {one.step + 1}")
    said.append(".")
    if one.rival is not None and len(_title(one)) >= WIDE:
        said.append(f" The rival: {one.rival}.")
    return "".join([*said, *(f" {remark}" for remark in _remarks(one, words))])
