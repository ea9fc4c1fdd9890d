"""Why an incremental tagger decided as it did: features, and the labels that it had decided on by then.

    score(t, y) = sum of unary[features at t][y] + sum of context[what the label templates see at t][y]

A greedy or an easiest-first tagger compares labels at one position, in the state of that step; a beam compares whole
labellings, whose scores are the sums over their positions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.evidence import (
    FEATURE,
    LABELS,
    Contribution,
    Evidence,
    Question,
    Removal,
    Term,
    told_apart,
    turning_point,
)
from chaffinch.model.labels import LabelSet

Labels = NDArray[np.int32]
KEPT = 128  # labellings of a wider beam that rivals are looked for in
LISTED = (
    "The word is in the label dictionary: in training it had this label every time, so nothing was compared."
)


@dataclass(frozen=True, eq=False)
class TokenRows:
    """One sentence as the search reads it.

    ids: of each token, its features   observations: int32 [T, columns]   known: int32 [T], labels that need no search
    """

    ids: Sequence[NDArray[np.int32]]
    observations: NDArray[np.int32]
    known: Labels | None

    def without(self, gone: Mapping[int, set[int]]) -> "TokenRows":
        """The same without the features at these places of these tokens."""
        left = [np.delete(ids, sorted(gone.get(t, ()))) for t, ids in enumerate(self.ids)]
        return replace(self, ids=left)


class ContextScores(Protocol):
    """The weights of an incremental tagger by name, and its search on one sentence."""

    @property
    def labels(self) -> LabelSet:
        """The labels."""
        ...

    @property
    def reach(self) -> int:
        """How many labels back contexts look."""
        ...

    def unary_rows(self, ids: NDArray[np.int32]) -> tuple[list[str], NDArray[np.float64]]:
        """Names and weights [n, Y] of features."""
        ...

    def context_rows(self, x: TokenRows, t: int, decided: Sequence[int]) -> list[int]:
        """The contexts that have weights, given the labels decided so far (-1: not yet)."""
        ...

    def context_weights(self, rows: Sequence[int]) -> tuple[list[str], NDArray[np.float64]]:
        """Names and weights [n, Y] of contexts."""
        ...

    def searched(self, x: TokenRows, k: int) -> list[tuple[float, Labels]]:
        """The k best labellings that the search finds, inner labels."""
        ...


@dataclass(frozen=True, eq=False)
class StepScores:
    """A sentence's steps: order [T], scores [T, Y] (-inf: not to be had) and p [T, outer labels]."""

    order: NDArray[np.int32]
    labels: Labels
    scores: NDArray[np.float32]
    p: NDArray[np.float32]


def step_evidence(
    model: ContextScores, x: TokenRows, words: Sequence[str], steps: StepScores, question: Question
) -> list[Evidence]:
    """The evidence of decisions that were made one after the other."""
    outer, outer_of = model.labels.outer, model.labels.outer_of
    found = []
    for t in question.checked(outer).tokens(len(words)):
        y, step = int(steps.labels[t]), int(steps.order[t])
        if x.known is not None and x.known[t] >= 0:
            found.append(Evidence(words[t], outer[outer_of[y]], 0.0, (), place=t, step=step, note=LISTED))
            continue
        if question.is_answer(outer[outer_of[y]], t, words[t]):
            continue
        scores = steps.scores[t].astype(np.float64)
        rival = _other(scores, outer_of, outer_of[y], outer, question.against)
        decided = np.where(steps.order < step, steps.labels, -1).tolist()
        contributions = _local(model, x, t, decided, y, rival)
        found.append(
            Evidence(
                subject=words[t],
                answer=outer[outer_of[y]],
                score=float(scores[y]),
                contributions=tuple(contributions),
                rival=None if rival is None else outer[outer_of[rival]],
                rival_score=None if rival is None else float(scores[rival]),
                probability=float(steps.p[t, outer_of[y]]),
                rival_probability=None if rival is None else float(steps.p[t, outer_of[rival]]),
                place=t,
                step=step,
                without=None
                if rival is None
                else _removal(model, x, t, {t: (y, rival)}, outer_of[y], float(scores[y] - scores[rival])),
                note="" if rival is not None else f"{question.wanted} is not to be had here.",
            )
        )
    return found


def path_evidence(
    model: ContextScores, x: TokenRows, words: Sequence[str], question: Question
) -> list[Evidence]:
    """The evidence of a beam: its best labelling against the best that it finds with another label at a token."""
    outer, outer_of = model.labels.outer, model.labels.outer_of
    paths = model.searched(x, KEPT)
    score, y = model.searched(x, 1)[0]
    taken, found = _Paths(model, x), []
    for t in question.checked(outer).tokens(len(words)):
        answer = outer[outer_of[y[t]]]
        if x.known is not None and x.known[t] >= 0:
            found.append(Evidence(words[t], answer, score, (), shared=score, place=t, note=LISTED))
            continue
        if question.is_answer(answer, t, words[t]):
            continue
        other = next(
            (one for one in paths if _differs(outer[outer_of[one[1][t]]], answer, question.against)), None
        )
        rival = None if other is None else other[1]
        contributions, shared = taken.alone(y, t) if rival is None else taken.apart(y, rival)
        places = (
            {}
            if rival is None
            else {u: (int(y[u]), int(rival[u])) for u in range(len(words)) if y[u] != rival[u]}
        )
        found.append(
            Evidence(
                subject=words[t],
                answer=answer,
                score=score,
                contributions=tuple(contributions),
                rival=None if rival is None else outer[outer_of[rival[t]]],
                rival_score=None if other is None else other[0],
                shared=shared,
                place=t,
                without=None
                if other is None
                else _removal(model, x, t, places, outer_of[y[t]], score - other[0]),
                note=_beam_note(score, other, question),
                whole=None if rival is None else (_spelt(model.labels, y), _spelt(model.labels, rival)),
            )
        )
    return found


def _beam_note(score: float, other: tuple[float, Labels] | None, question: Question) -> str:
    if other is None:
        return f"{question.wanted} is in none of the {KEPT} best labellings of a wider beam."
    return "" if other[0] <= score else "The beam lost the better rival on its way: a wider one finds it."


def _differs(label: str, answer: str, against: str | None) -> bool:
    """Whether a label is another than the answer, or the one that is asked about."""
    return label != answer if against is None else label == against


def _other(
    scores: NDArray[np.float64], outer_of: Labels, given: int, outer: Sequence[str], against: str | None
) -> int | None:
    """The best label that looks different from outside, or like the one that is asked about."""
    wanted = outer_of != given if against is None else outer_of == outer.index(against)
    left = np.where(wanted, scores, -np.inf)
    return int(left.argmax()) if np.isfinite(left.max(initial=-np.inf)) else None


def _local(
    model: ContextScores, x: TokenRows, t: int, decided: Sequence[int], y: int, rival: int | None
) -> list[Contribution]:
    found = []
    contexts = model.context_rows(x, t, decided)
    for kind, (names, w) in (
        (FEATURE, model.unary_rows(x.ids[t])),
        (LABELS, model.context_weights(contexts)),
    ):
        other = np.zeros(len(w)) if rival is None else w[:, rival]
        found += [
            Contribution(name, a, b, kind=kind, place=t)
            for name, a, b in zip(names, w[:, y].tolist(), other.tolist(), strict=True)
            if a or b
        ]
    return found


class _Paths:
    """Labellings of one sentence taken apart; what many have in common is looked up once."""

    def __init__(self, model: ContextScores, x: TokenRows) -> None:
        self.model, self.x, self.reach = model, x, model.reach
        self.searched = [t for t in range(len(x.ids)) if x.known is None or x.known[t] < 0]
        self.unary = {t: model.unary_rows(x.ids[t]) for t in self.searched}
        self._contexts: dict[tuple[int, ...], list[Term]] = {}

    def alone(self, y: Labels, t: int) -> tuple[list[Contribution], float]:
        """What token t adds to a labelling, and the sum of all else."""
        mine = y.tolist()
        names, w = self.unary[t]
        weights = zip(names, w[:, mine[t]].tolist(), strict=True)
        apart, none = told_apart(self._terms(mine, t), [])
        found = [*(Contribution(name, a, place=t) for name, a in weights if a), *apart]
        others = [u for u in self.searched if u != t]
        shared = sum(float(self.unary[u][1][:, mine[u]].sum()) for u in others)
        return found, shared + none + sum(term.weight for u in others for term in self._terms(mine, u))

    def apart(self, y: Labels, rival: Labels) -> tuple[list[Contribution], float]:
        """What tells two labellings apart, and the sum of what they share."""
        found: list[Contribution] = []
        shared = 0.0
        for t in self.searched:
            names, w = self.unary[t]
            if y[t] == rival[t]:
                shared += float(w[:, y[t]].sum())
                continue
            pairs = zip(names, w[:, y[t]].tolist(), w[:, rival[t]].tolist(), strict=True)
            found += [Contribution(name, a, b, place=t) for name, a, b in pairs if a or b]
        sides = [
            [term for t in self.searched for term in self._terms(path, t)]
            for path in (y.tolist(), rival.tolist())
        ]
        apart, alike = told_apart(*sides)
        return found + apart, shared + alike

    def _terms(self, y: list[int], t: int) -> list[Term]:
        """What the labels before t add to the label there."""
        seen = (t, *y[max(0, t - self.reach) : t + 1])
        if seen not in self._contexts:
            decided = [*y[:t], *[-1] * (len(y) - t)]
            names, w = self.model.context_weights(self.model.context_rows(self.x, t, decided))
            made = zip(names, w[:, y[t]].tolist(), strict=True)
            self._contexts[seen] = [Term(name, weight, t) for name, weight in made]
        return self._contexts[seen]


def _removal(
    model: ContextScores,
    x: TokenRows,
    t: int,
    places: Mapping[int, tuple[int, int]],
    given: int,
    margin: float,
) -> Removal | None:
    """Features left out one after the other, the most telling first, and the whole search run again each time."""
    telling = []
    for u, (y, rival) in places.items():
        names, w = model.unary_rows(x.ids[u])
        for k, (name, a, b) in enumerate(zip(names, w[:, y].tolist(), w[:, rival].tolist(), strict=True)):
            if a > b:
                telling.append((b - a, u, k, Contribution(name, a, b, place=u)))
    telling.sort(key=lambda entry: entry[:3])

    def label_without(n: int) -> int:
        gone: dict[int, set[int]] = {}
        for _, u, k, _ in telling[:n]:
            gone.setdefault(u, set()).add(k)
        return int(model.labels.outer_of[model.searched(x.without(gone), 1)[0][1][t]])

    found = turning_point([-entry[0] for entry in telling], margin, int(given), label_without)
    if found is None:
        return None
    return Removal(tuple(c for *_, c in telling[: found[0]]), model.labels.outer[found[1]])


def _spelt(labels: LabelSet, y: Labels) -> tuple[str, ...]:
    return tuple(labels.outer[i] for i in labels.outer_of[y].tolist())
