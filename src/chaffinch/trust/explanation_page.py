"""An explanation as HTML: the words coloured by their evidence, the contributions as bars."""

from collections.abc import Sequence

from chaffinch.model.evidence import Contribution, Evidence
from chaffinch.report import Bar, Html, Page, figure, join, paragraph, tag
from chaffinch.report.signed_bars import signed_bars
from chaffinch.trust.explanation import Explanation
from chaffinch.trust.explanation_text import WIDE, also_changed, contribution_name, removal_sentence
from chaffinch.trust.word_evidence import text_evidence, text_pieces, token_evidence

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


def explanation_html(explanation: Explanation, top: int) -> Html:
    """The answer, and a block for each decision."""
    blocks = [paragraph(tag("b", explanation.answer), f" ({explanation.recipe})")]
    for one in explanation.decisions:
        blocks.append(_words(one, explanation))
        blocks.append(figure(_chart(one, explanation, top), _caption(one, explanation.words)))
    return join(*blocks)


def _words(one: Evidence, explanation: Explanation) -> Html:
    """The input with its words coloured; nothing where there are no words to colour."""
    if explanation.words:
        evidence = token_evidence(one, len(explanation.words))
        shown = [
            _coloured(tag("b", word) if t == one.place else word, evidence[t], _most(evidence))
            for t, word in enumerate(explanation.words)
        ]
        return tag("p", *(join(word, " ") for word in shown))
    text, pieces = explanation.source, text_pieces(explanation.source)
    evidence = text_evidence(one, text, pieces)
    if not any(evidence):
        return Html("")
    made, at = [], 0
    for (start, end), strength in zip(pieces, evidence, strict=True):
        made += [text[at:start], _coloured(text[start:end], strength, _most(evidence))]
        at = end
    return tag("p", *made, text[at:])


def _coloured(word: object, evidence: float, most: float) -> Html:
    share = abs(evidence) / most
    if share < 0.02:
        return tag("span", word)
    colour = "var(--good)" if evidence > 0 else "var(--bad)"
    wash = f"color-mix(in srgb, {colour} {55 * share:.0f}%, transparent)"
    style = f"background:{wash};border-radius:3px;padding:1px 2px"
    return tag("span", word, style=style, title=f"{evidence:+.3f}")


def _most(evidence: Sequence[float]) -> float:
    return max(map(abs, evidence), default=0.0) or 1.0


def _chart(one: Evidence, explanation: Explanation, top: int) -> Html:
    shown, rest = one.strongest(top)
    bars = [_bar(c, one, explanation.words) for c in [*shown, *([rest] if rest else [])]]
    title = _title(one)
    shown_title = title if len(title) < WIDE else one.subject
    return signed_bars(f"{shown_title}, by {one.margin:+.3f}", bars, rest=rest is not None)


def _title(one: Evidence) -> str:
    place = "" if one.place is None else f"{one.place + 1}. "
    against = "" if one.rival is None else f", not {one.rival}"
    return f"{place}{one.subject}: {one.answer}{against}"


def _bar(c: Contribution, one: Evidence, words: tuple[str, ...]) -> Bar:
    return Bar(
        contribution_name(c, one, words),
        c.difference,
        note=f"{c.value:.4g} x ({c.weight:+.4g} - {c.rival:+.4g})",
    )


def _caption(one: Evidence, words: tuple[str, ...]) -> str:
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
    if also := also_changed(one, words):
        said.append(f" {also}")
    if one.without is not None:
        names = [contribution_name(c, one, words) for c in one.without.features]
        said.append(f" {removal_sentence(names, one.without.answer)}")
    if one.note:
        said.append(f" {one.note}")
    return "".join(said)
