"""Why a linear classifier gave a document its label: the features it has, with their weights for both labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.model.evidence import CONSTANT, Contribution, Evidence, Question, Removal

DOCUMENT = "the document"
NOT = "not "  # before a label that a document was not given


def choice_evidence(
    names: Sequence[str],
    values: NDArray[np.floating],
    weights: NDArray[np.floating],
    intercepts: NDArray[np.floating],
    scores: NDArray[np.floating],
    p: NDArray[np.floating],
    labels: Sequence[str],
    question: Question,
) -> Evidence:
    """The best label against the next, or against the one that is asked about.

    names, values [n], weights [n, Y]: of the document's features   intercepts, scores, p: [Y]
    """
    question.checked(labels)
    given = int(scores.argmax())
    rival = rival_label(scores, given, labels, question.against)
    other = np.zeros(len(values)) if rival is None else weights[:, rival]
    contributions = [
        Contribution(name, float(a), float(b), float(v))
        for name, v, a, b in zip(names, values, weights[:, given], other, strict=True)
        if v and (a or b)
    ]
    bias = float(intercepts[given]), 0.0 if rival is None else float(intercepts[rival])
    if any(bias):
        contributions.append(Contribution("intercept", *bias, kind=CONSTANT))
    return Evidence(
        subject=DOCUMENT,
        answer=labels[given],
        score=float(scores[given]),
        contributions=tuple(contributions),
        rival=None if rival is None else labels[rival],
        rival_score=None if rival is None else float(scores[rival]),
        probability=float(p[given]),
        rival_probability=None if rival is None else float(p[rival]),
        without=None if rival is None else _removal(names, values, weights, intercepts, labels, given, rival),
    )


def several_evidence(
    names: Sequence[str],
    values: NDArray[np.floating],
    weights: NDArray[np.floating],
    intercepts: NDArray[np.floating],
    scores: NDArray[np.floating],
    p: NDArray[np.floating],
    labels: Sequence[str],
    question: Question,
    bar: float,
) -> list[Evidence]:
    """Where a document may have several labels: each label that it has, or the one that is asked about, by itself.

    bar: the score from which a label is given
    """
    question.checked(labels)
    has = scores >= bar
    asked = np.flatnonzero(has).tolist() or [int(scores.argmax())]
    if question.against is not None:
        asked = [labels.index(question.against)]
    found = []
    for y in asked:
        feature = [
            (name, float(w), float(v))
            for name, v, w in zip(names, values, weights[:, y], strict=True)
            if v * w
        ]
        constants = [("intercept", float(intercepts[y]), 0.0), ("threshold", 0.0, bar)]
        contributions = [Contribution(name, w, 0.0, v) for name, w, v in feature]
        contributions += [Contribution(n, w, b, kind=CONSTANT) for n, w, b in constants if w or b]
        if not has[y]:  # what was given is "not"
            contributions = [Contribution(c.name, c.rival, c.weight, c.value, c.kind) for c in contributions]
        sides = [(labels[y], float(scores[y]), float(p[y])), (NOT + labels[y], bar, 1 - float(p[y]))]
        (answer, score, sure), (rival, rival_score, unsure) = sides if has[y] else sides[::-1]
        column = weights[:, y : y + 1] * (1.0 if has[y] else -1.0)
        ahead = score - rival_score
        found.append(
            Evidence(
                subject=DOCUMENT,
                answer=answer,
                score=score,
                contributions=tuple(contributions),
                rival=rival,
                rival_score=rival_score,
                probability=sure,
                rival_probability=unsure,
                without=_crossing(names, values, column[:, 0], ahead, rival, strict=bool(has[y])),
            )
        )
    return found


def rival_label(
    scores: NDArray[np.floating], given: int, labels: Sequence[str], against: str | None
) -> int | None:
    """The label to compare with: the one that is asked about, else the best of the others, if there are any."""
    if against is not None:
        if labels[given] == against:
            raise ConfigError(f"the answer is {against}: name another label to compare it with")
        return list(labels).index(against)
    if len(scores) < 2:
        return None
    others = np.array(scores, np.float64)
    others[given] = -np.inf
    return int(others.argmax())


def _removal(
    names: Sequence[str],
    values: NDArray[np.floating],
    weights: NDArray[np.floating],
    intercepts: NDArray[np.floating],
    labels: Sequence[str],
    given: int,
    rival: int,
) -> Removal | None:
    """Features left out one after the other, the most telling first, until another label has the best score."""
    w, v = weights.astype(np.float64), np.asarray(values, np.float64)
    lead = v * (w[:, given] - w[:, rival])
    order = np.argsort(-lead, kind="stable")
    order = order[lead[order] > 0]
    left = v @ w + intercepts - np.cumsum(v[order, None] * w[order], axis=0)
    best = left.argmax(axis=1)
    turned = np.flatnonzero(best != given)
    if not len(turned):
        return None
    n = int(turned[0])
    gone = tuple(
        Contribution(names[k], float(w[k, given]), float(w[k, rival]), float(v[k]))
        for k in order[: n + 1].tolist()
    )
    return Removal(gone, labels[best[n]])


def _crossing(
    names: Sequence[str],
    values: NDArray[np.floating],
    w: NDArray[np.floating],
    ahead: float,
    rival: str,
    *,
    strict: bool,
) -> Removal | None:
    """Features left out until one label falls below its bar, or rises to it."""
    lead = np.asarray(values, np.float64) * w
    order = np.argsort(-lead, kind="stable")
    order = order[lead[order] > 0]
    left = ahead - np.cumsum(lead[order])
    turned = np.flatnonzero(left < 0 if strict else left <= 0)
    if not len(turned):
        return None
    gone = order[: int(turned[0]) + 1].tolist()
    return Removal(tuple(Contribution(names[k], float(w[k]), 0.0, float(values[k])) for k in gone), rival)
