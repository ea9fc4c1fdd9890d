"""A decision's evidence as HTML: the words coloured by it, the contributions as bars."""

from collections.abc import Sequence

from chaffinch.report import Bar, Html, figure, join, tag
from chaffinch.report.charts import clipped, signed_bars
from chaffinch.trust.decision_text import WIDE, also_changed, contribution_name, removal_sentence
from chaffinch.trust.explain import Contribution, Evidence
from chaffinch.trust.word_evidence import TextPieces, text_evidence, token_evidence

LONG, NEAR = 100, 20  # longer sentences are abridged to words with evidence and words this near the token
FAINT = 0.02  # evidence below this fraction of the strongest gets no colour


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
    shown, rest = one.strongest(top)
    bars = [_bar(c, one, words) for c in [*shown, *([rest] if rest else [])]]
    title = _title(one)
    shown_title = title if len(title) < WIDE else clipped(one.subject, WIDE)
    return signed_bars(f"{shown_title}, by {one.margin:+.3f}", bars, rest=rest is not None)


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
    if also := also_changed(one, words):
        said.append(f" {also}")
    if one.without is not None:
        names = [contribution_name(c, one, words) for c in one.without.features]
        said.append(f" {removal_sentence(names, one.without.answer)}")
    if one.note:
        said.append(f" {one.note}")
    return "".join(said)
