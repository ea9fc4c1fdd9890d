"""Why a linear classifier gave a document its label: the features it has, with their weights for both labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.model.evidence import CONSTANT, FEATURE, Contribution, Evidence, Question, Removal

DOCUMENT = "the document"
NOT = "not "  # before a label that a document was not given


@dataclass(frozen=True, eq=False)
class ScoredDocument:
    """One document as a linear classifier scores it.

    names, values [n], weights [n, Y]: of its features   intercepts, scores, p: [Y]
    """

    names: Sequence[str]
    values: NDArray[np.floating]
    weights: NDArray[np.floating]
    intercepts: NDArray[np.floating]
    scores: NDArray[np.floating]
    p: NDArray[np.floating]
    labels: Sequence[str]


def choice_evidence(x: ScoredDocument, question: Question) -> Evidence:
    """The best label against the next, or against the one that is asked about."""
    labels, scores, p = x.labels, x.scores, x.p
    question.checked(labels)
    given = int(scores.argmax())
    rival = rival_label(scores, given, labels, question.against)
    other = np.zeros(len(x.values)) if rival is None else x.weights[:, rival]
    contributions = [
        Contribution(name, float(a), float(b), float(v))
        for name, v, a, b in zip(x.names, x.values, x.weights[:, given], other, strict=True)
        if v and (a or b)
    ]
    bias = float(x.intercepts[given]), 0.0 if rival is None else float(x.intercepts[rival])
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
        without=None if rival is None else _removal(x, given, rival),
    )


def several_evidence(x: ScoredDocument, question: Question, bar: float) -> list[Evidence]:
    """Where a document may have several labels: each label that it has, or the one that is asked about, by itself.

    bar: the score from which a label is given
    """
    labels, scores = x.labels, x.scores
    question.checked(labels)
    has = scores >= bar
    asked = np.flatnonzero(has).tolist() or [int(scores.argmax())]
    if question.against is not None:
        asked = [labels.index(question.against)]
    return [_of_one_label(x, y, bar, given=bool(has[y])) for y in asked]


def _of_one_label(x: ScoredDocument, y: int, bar: float, *, given: bool) -> Evidence:
    """A label against its bar; where it was not given, "not" is the answer and the label its rival."""
    constants = [("intercept", float(x.intercepts[y]), 0.0), ("threshold", 0.0, bar)]
    features = [
        Contribution(name, float(w), 0.0, float(v))
        for name, v, w in zip(x.names, x.values, x.weights[:, y], strict=True)
    ]
    contributions = [c for c in features if c.difference]
    contributions += [Contribution(n, w, b, kind=CONSTANT) for n, w, b in constants if w or b]
    sides = [
        (x.labels[y], float(x.scores[y]), float(x.p[y])),
        (NOT + x.labels[y], bar, 1 - float(x.p[y])),
    ]
    if not given:
        contributions = [Contribution(c.name, c.rival, c.weight, c.value, c.kind) for c in contributions]
        sides.reverse()
    (answer, score, sure), (rival, rival_score, unsure) = sides
    return Evidence(
        subject=DOCUMENT,
        answer=answer,
        score=score,
        contributions=tuple(contributions),
        rival=rival,
        rival_score=rival_score,
        probability=sure,
        rival_probability=unsure,
        without=_crossing(contributions, score - rival_score, rival, strict=given),
    )


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


def _removal(x: ScoredDocument, given: int, rival: int) -> Removal | None:
    """Features left out one after the other, the most telling first, until another label has the best score."""
    w, v = x.weights.astype(np.float64), np.asarray(x.values, np.float64)
    lead = v * (w[:, given] - w[:, rival])
    order = np.argsort(-lead, kind="stable")
    order = order[lead[order] > 0]
    left = v @ w + x.intercepts - np.cumsum(v[order, None] * w[order], axis=0)
    best = left.argmax(axis=1)
    turned = np.flatnonzero(best != given)
    if not len(turned):
        return None
    n = int(turned[0])
    gone = tuple(
        Contribution(x.names[k], float(w[k, given]), float(w[k, rival]), float(v[k]))
        for k in order[: n + 1].tolist()
    )
    return Removal(gone, x.labels[best[n]])


def _crossing(
    contributions: Sequence[Contribution], margin: float, rival: str, *, strict: bool
) -> Removal | None:
    """Features left out until one label falls below its bar, or rises to it."""
    telling = [c for c in contributions if c.kind == FEATURE and c.difference > 0]
    telling.sort(key=lambda c: -c.difference)
    left = margin - np.cumsum([c.difference for c in telling])
    turned = np.flatnonzero(left < 0 if strict else left <= 0)
    return Removal(tuple(telling[: int(turned[0]) + 1]), rival) if len(turned) else None
