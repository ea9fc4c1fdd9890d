"""Evidence as the page draws it: contributions grouped by word and kind of feature, which add up to the margin."""

from collections.abc import Sequence
from typing import Any

from chaffinch.trust.explain import Contribution, Evidence
from chaffinch.trust.explanation import Explanation
from chaffinch.trust.word_evidence import TextPieces, by_kind

MOST_GROUPS, MOST_TERMS = 60, 12
NAMED = 6  # features of a removal that are named

Share = tuple[int | None, str, float]  # token, kind of feature, value


def explained(explanation: Explanation, one: Evidence) -> dict[str, Any]:
    """A decision against its rival.

        margin = sum of the groups' values + others

    A contribution that reads several words is divided evenly among them.
    """
    pieces = None if explanation.words else TextPieces(explanation.source, explanation.forms)
    groups: dict[tuple[int | None, str], list[tuple[str, float]]] = {}
    for c in one.contributions:
        for at, kind, value in _shares(c, explanation.words, pieces):
            groups.setdefault((at, kind), []).append((c.name, value))
    ranked = sorted(groups.items(), key=lambda item: -abs(sum(value for _, value in item[1])))
    listed = [_group(at, kind, terms, explanation, pieces) for (at, kind), terms in ranked[:MOST_GROUPS]]
    return {
        "answer": one.answer,
        "instead": one.rival,
        "margin": one.margin,
        "groups": listed,
        "others": one.margin - sum(group["value"] for group in listed),
        "turns": _turns(one),
        "note": one.note or None,
    }


def _shares(c: Contribution, words: Sequence[str], pieces: TextPieces | None) -> list[Share]:
    places = c.tokens(len(words))
    if pieces is not None and c.seen.grams is not None:
        places = pieces.touched(c.seen.grams)
    kind = by_kind(c)[0][0]
    if not places:
        return [(None, kind, c.difference)]
    return [(t, kind, c.difference / len(places)) for t in places]


def _group(
    at: int | None,
    kind: str,
    terms: list[tuple[str, float]],
    explanation: Explanation,
    pieces: TextPieces | None,
) -> dict[str, Any]:
    strongest = sorted(terms, key=lambda term: -abs(term[1]))
    made: dict[str, Any] = {"word": None, "at": at, "kind": kind, "value": sum(value for _, value in terms)}
    if at is not None and pieces is None:
        made["word"] = explanation.words[at]
    elif at is not None and pieces is not None:
        made["start"], made["end"] = pieces.spans[at]
        made["word"] = explanation.source[made["start"] : made["end"]]
    made["terms"] = [{"name": name, "value": value} for name, value in strongest[:MOST_TERMS]]
    return made


def _turns(one: Evidence) -> str | None:
    """The features whose removal would change the answer, as a sentence."""
    if one.without is None:
        return None
    names = [c.name for c in one.without.features]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"Without {', '.join(names[:NAMED])}{more} the answer would be {one.without.answer}."
