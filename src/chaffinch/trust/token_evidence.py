"""Which tokens of a sentence the evidence is about: contributions shared out among those that they were seen on."""

import re

from chaffinch.model.evidence import Evidence

_PARTS = re.compile(r"\|| & ")  # of a feature that sees several things
_OFFSET = re.compile(r"\w+\[(-?\d+)\]=")


def token_evidence(one: Evidence, T: int) -> list[float]:
    """How far each of T tokens puts the answer ahead; a feature of several tokens is shared out evenly.

    >>> from chaffinch.model.evidence import Contribution
    >>> seen = (Contribution("w[-1]=a|w[0]=b", 1.0, place=1), Contribution("w[2]=</s>", 0.5, place=1))
    >>> token_evidence(Evidence("b", "X", 1.5, seen), 2)
    [0.5, 1.0]
    >>> token_evidence(Evidence("b", "X", 1.0, (Contribution("NP over 1-2", 1.0, place=0, last=1),)), 3)
    [0.5, 0.5, 0.0]
    """
    found = [0.0] * T
    for c in one.contributions:
        if c.place is None:
            continue
        seen = {c.place + int(m[1]) for part in _PARTS.split(c.name) if (m := _OFFSET.match(part))}
        inside = [t for t in seen if 0 <= t < T] or list(
            range(c.place, (c.place if c.last is None else c.last) + 1)
        )
        for t in inside:
            found[t] += c.difference / len(inside)
    return found
