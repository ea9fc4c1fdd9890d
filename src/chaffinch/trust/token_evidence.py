"""Which tokens of a sentence the evidence is about: contributions shared out among those that they were seen on."""

from chaffinch.trust.explain import Evidence


def token_evidence(one: Evidence, T: int) -> list[float]:
    """How far each of T tokens puts the answer ahead; a feature of several tokens is shared out evenly.

    >>> from chaffinch.trust.explain import Contribution
    >>> seen = (Contribution("a b", 1.0, place=1, offsets=(-1, 0)), Contribution("</s>", 0.5, place=1, offsets=(2,)))
    >>> token_evidence(Evidence("b", "X", 1.5, seen), 2)
    [0.5, 1.0]
    """
    found = [0.0] * T
    for c in one.contributions:
        for t in c.tokens(T):
            found[t] += c.difference / len(c.tokens(T))
    return found
