"""Why a reranker took this candidate and not the base model's first: features of both with their weights."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.model.evidence import FEATURE, Contribution, Evidence, Removal

LIST = "the list"


def chosen_and_rival(scores: NDArray[np.float64], against: int | None) -> tuple[int, int | None]:
    """The chosen candidate, and the one to compare with: the one asked about, else the first, else the next best."""
    chosen = int(scores.argmax())
    if against is not None:
        if not 0 <= against < len(scores):
            raise ConfigError(f"there is no candidate {against + 1} in a list of {len(scores)}: name another")
        if against == chosen:
            raise ConfigError(f"candidate {against + 1} is the chosen one: name another to compare it with")
        return chosen, against
    if chosen:
        return chosen, 0
    return chosen, int(scores[1:].argmax()) + 1 if len(scores) > 1 else None


def candidate_evidence(
    shown: Sequence[str],
    names: Sequence[str],
    values: NDArray[np.float64],
    w: NDArray[np.float64],
    scores: NDArray[np.float64],
    kinds: Sequence[str],
    against: int | None,
) -> Evidence:
    """The chosen candidate against another.

    shown: the candidates in words   names, w, kinds [F], values [n, F]: of what any of them is scored by
    """
    chosen, rival = chosen_and_rival(scores, against)
    here, there = values[chosen], np.zeros(len(w)) if rival is None else values[rival]
    contributions = tuple(
        _contribution(name, float(a), float(b), float(weight), kind)
        for name, a, b, weight, kind in zip(names, here, there, w, kinds, strict=True)
        if (a or b) and weight
    )
    return Evidence(
        subject=LIST,
        answer=shown[chosen],
        score=float(scores[chosen]),
        contributions=contributions,
        rival=None if rival is None else shown[rival],
        rival_score=None if rival is None else float(scores[rival]),
        without=None if rival is None else _removal(shown, names, values, w, chosen, rival, kinds),
        note=f"Candidate {chosen + 1} of {len(scores)}"
        + ("." if rival is None else f"; its rival is candidate {rival + 1}."),
    )


def _contribution(name: str, a: float, b: float, w: float, kind: str) -> Contribution:
    """A feature that both may have, with values of their own."""
    if b in (0, a):
        return Contribution(name, w, w if b else 0.0, a, kind)
    if a == 0:
        return Contribution(name, 0.0, w, b, kind)
    return Contribution(name, w * a, w * b, kind=kind)


def _removal(
    shown: Sequence[str],
    names: Sequence[str],
    values: NDArray[np.float64],
    w: NDArray[np.float64],
    chosen: int,
    rival: int,
    kinds: Sequence[str],
) -> Removal | None:
    """Features left out one after the other, the most telling first, until another candidate is the best."""
    lead = (values[chosen] - values[rival]) * w * np.array([kind == FEATURE for kind in kinds])
    order = np.argsort(-lead, kind="stable")
    order = order[lead[order] > 0]
    left = values @ w - np.cumsum((values[:, order] * w[order]).T, axis=0)
    best = left.argmax(axis=1)
    turned = np.flatnonzero(best != chosen)
    if not len(turned):
        return None
    gone = order[: int(turned[0]) + 1].tolist()
    return Removal(
        tuple(
            _contribution(names[f], float(values[chosen, f]), float(values[rival, f]), float(w[f]), FEATURE)
            for f in gone
        ),
        shown[int(best[turned[0]])],
    )
