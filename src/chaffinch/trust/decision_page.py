"""A decision's evidence as HTML: the words coloured by it, the contributions as bars."""

from collections.abc import Sequence

from chaffinch.model.evidence import Contribution, Evidence
from chaffinch.report import Bar, Html, figure, join, tag
from chaffinch.report.signed_bars import signed_bars
from chaffinch.trust.decision_text import WIDE, also_changed, contribution_name, removal_sentence
from chaffinch.trust.word_evidence import text_evidence, text_pieces, token_evidence


def decision_html(one: Evidence, words: tuple[str, ...], source: str, top: int) -> Html:
    """The input with its words coloured, and a chart; words: those of a sentence, none of another source."""
    coloured = _tokens(one, words) if words else _text(one, source)
    return join(coloured, figure(_chart(one, words, top), _caption(one, words)))


def _tokens(one: Evidence, words: tuple[str, ...]) -> Html:
    evidence = token_evidence(one, len(words))
    shown = [
        _coloured(tag("b", word) if t == one.place else word, evidence[t], _most(evidence))
        for t, word in enumerate(words)
    ]
    return tag("p", *(join(word, " ") for word in shown))


def _text(one: Evidence, text: str) -> Html:
    """Nothing where no piece of the text has evidence of its own."""
    pieces = text_pieces(text)
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


def _chart(one: Evidence, words: tuple[str, ...], top: int) -> Html:
    shown, rest = one.strongest(top)
    bars = [_bar(c, one, words) for c in [*shown, *([rest] if rest else [])]]
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
