"""Which words the evidence is about: contributions shared out among the words that they were seen on."""

import re
from collections.abc import Sequence

from chaffinch.model.evidence import FEATURE, Evidence

_PARTS = re.compile(r"\|| & ")  # of a feature that sees several things
_OFFSET = re.compile(r"\w+\[(-?\d+)\]=")
_QUOTED = re.compile(r"^(?:[a-z]+ )+'(.*)'$", re.S)
_PIECE = re.compile(r"\w+|[^\w\s]")


def token_evidence(one: Evidence, T: int) -> list[float]:
    """How far each of T tokens puts the answer ahead; a feature of several tokens is shared out evenly.

    >>> from chaffinch.model.evidence import Contribution
    >>> seen = (Contribution("w[-1]=a|w[0]=b", 1.0, place=1), Contribution("w[2]=</s>", 0.5, place=1))
    >>> token_evidence(Evidence("b", "X", 1.5, seen), 2)
    [0.5, 1.0]
    """
    found = [0.0] * T
    for c in one.contributions:
        if c.place is None:
            continue
        seen = {c.place + int(m[1]) for part in _PARTS.split(c.name) if (m := _OFFSET.match(part))}
        inside = [t for t in seen if 0 <= t < T] or [c.place]
        for t in inside:
            found[t] += c.difference / len(inside)
    return found


def text_pieces(text: str) -> list[tuple[int, int]]:
    """Words and signs of a text, as bounds of characters."""
    return [match.span() for match in _PIECE.finditer(text)]


def text_evidence(one: Evidence, text: str, pieces: Sequence[tuple[int, int]]) -> list[float]:
    """How far each piece of a text puts the answer ahead; an n-gram is shared out among all places where it stands.

    >>> from chaffinch.model.evidence import Contribution
    >>> seen = (Contribution("no tea", 1.0), Contribution("tea", 0.5))
    >>> text_evidence(Evidence("", "X", 1.5, seen), "No tea!", text_pieces("No tea!"))
    [0.5, 1.0, 0.0]
    """
    found = [0.0] * len(pieces)
    for c in one.contributions:
        if c.kind != FEATURE:
            continue
        quoted = _QUOTED.match(c.name)
        pattern = _pattern(quoted[1] if quoted else c.name, whole=quoted is None)
        spans = [m.span() for m in re.finditer(pattern, text, re.IGNORECASE)] if pattern else []
        touched = [i for i, (a, b) in enumerate(pieces) if any(a < end and start < b for start, end in spans)]
        for i in touched:
            found[i] += c.difference / len(touched)
    return found


def _pattern(name: str, *, whole: bool) -> str:
    """Words with anything but words between them; whole: not inside of longer words. A hashed feature may have several
    n-grams.

    >>> _pattern("no tea / tea", whole=False)
    'no\\\\W+tea|tea'
    """
    grams = [r"\W+".join(map(re.escape, gram.split())) for gram in name.split(" / ")]
    inner = "|".join(gram for gram in grams if gram)
    return rf"(?<!\w)(?:{inner})(?!\w)" if whole and inner else inner
