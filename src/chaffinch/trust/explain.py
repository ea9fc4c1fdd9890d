"""Explanations of any model's answer: its best rival, their difference, and the features that decide it.

For every requested decision:

1. the rival: the best answer that decides otherwise, found by the model's own search;
2. the contributions: features, with the column of weights that each answer uses, and terms that only one answer has;
3. the removal: the strongest features are removed one after the other until the model's answer changes.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.model.choice_evidence import ListExample
from chaffinch.model.evidence import (
    FEATURE,
    REST,
    UNSEEN,
    Columns,
    Decision,
    Explainable,
    Features,
    Question,
    Seen,
    Term,
)

Said = TypeVar("Said", bound=Hashable)


class Contribution(NamedTuple):
    """One contribution: value * weight to the score of the answer, value * rival to the score of the rival.

    place: the token at which it occurs, if any
    seen:  what it reads: tokens, as offsets from its place, or n-grams of a text
    """

    name: str
    weight: float
    rival: float = 0.0
    value: float = 1.0
    kind: str = FEATURE
    place: int | None = None
    seen: Seen = UNSEEN

    @property
    def difference(self) -> float:
        """Its contribution to the margin between the answer and the rival."""
        return self.value * (self.weight - self.rival)

    def tokens(self, T: int) -> list[int]:
        """The tokens that it reads, in a sentence of T tokens; its own token if it reads none.

        >>> Contribution("w[1]=</s>", 1.0, place=2, seen=Seen(offsets=(1,))).tokens(3)
        [2]
        """
        if self.place is None:
            return []
        return [t for o in self.seen.offsets if 0 <= (t := self.place + o) < T] or [self.place]

    @property
    def last(self) -> int | None:
        """The last of its tokens, if that is after its place."""
        most = max(self.seen.offsets)
        return None if self.place is None or most <= 0 else self.place + most


@dataclass(frozen=True)
class Removal:
    """Features whose removal would change the answer.

    features: the contributions to remove, the strongest first
    answer:   the answer without them
    """

    features: tuple[Contribution, ...]
    answer: str


@dataclass(frozen=True)
class Evidence:
    """One decision: the answer, its best rival, and the contributions to their score difference.

        score       = shared + sum over contributions of value * weight
        rival_score = shared + sum over contributions of value * rival

    subject: the subject of the decision: a word, a document, a phrase
    shared:  the sum of the parts that both answers have
    place:   the decided token, if there is one
    step:    the number of the decision, from 0, if decisions are made in sequence
    without: features whose removal would change the answer; None if there is no such set, or no search for one
    note:    one further sentence for the reader
    whole:   the entire answer and the entire rival, label by label or link by link, if this is one part of them
    """

    subject: str
    answer: str
    score: float
    contributions: tuple[Contribution, ...]
    rival: str | None = None
    rival_score: float | None = None
    shared: float = 0.0
    probability: float | None = None
    rival_probability: float | None = None
    place: int | None = None
    step: int | None = None
    without: Removal | None = None
    note: str = ""
    whole: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def margin(self) -> float:
        """The lead of the answer, the sum of the contributions; without a rival, their sum in the answer's score."""
        return self.score - (self.shared if self.rival_score is None else self.rival_score)

    def ranked(self) -> list[Contribution]:
        """The contributions that differ between the answers, the strongest first."""
        telling = [c for c in self.contributions if c.difference != 0]
        return sorted(telling, key=lambda c: -abs(c.difference))

    def strongest(self, top: int) -> list[Contribution]:
        """The strongest contributions, and after them the sum of the others, if any, as one contribution."""
        ranked = self.ranked()
        return [*ranked[:top], *([summed(ranked[top:])] if ranked[top:] else [])]


def explain(x: Explainable[Any, Any], question: Question) -> list[Evidence]:
    """The evidence for each requested decision."""
    answer, found = None, []
    for decision in x.decisions(question):
        answer = answer or _Answer(x)
        said = x.wording(answer.y, decision)
        if decision.settled or said != question.against:
            found.append(_compared(x, answer, said, decision, question.against))
        elif decision.place is None:
            raise ConfigError(f"the answer is {said}: name another label to compare it with")
        elif question.token is not None:
            raise ConfigError(
                f"token {decision.place + 1} ({decision.subject}) got the label {said}: "
                "name another to compare it with"
            )
    return found


class _Answer:
    """The answer with the sums of its features and of its terms."""

    def __init__(self, x: Explainable[Any, Any]) -> None:
        self.y = x.answer
        self.score = x.score(self.y)
        self.columns = x.columns(self.y)
        pairs = zip(x.features, self.columns.tolist(), strict=True)
        self.sums = np.array([group.sums[c] if c >= 0 else 0.0 for group, c in pairs])
        self.terms = sum(term.weight for term in x.terms(self.y, None))


def _compared(
    x: Explainable[Any, Any], answer: _Answer, said: str, decision: Decision, against: str | None
) -> Evidence:
    """One decision against its best rival, if there is one."""
    one = Evidence(
        decision.subject,
        said,
        answer.score,
        (),
        shared=answer.score,
        place=decision.place,
        step=decision.step,
        note=decision.settled,
    )
    if decision.settled:
        return one
    rival = x.best(x.potentials({}), x.forbid(decision, against))
    one = replace(one, probability=x.probability(said, decision), note=x.note(decision, rival, against))
    if rival is None:
        own = x.own(decision)
        groups = np.flatnonzero(answer.columns >= 0) if own is None else own
        nothing = np.full(len(answer.columns), -1)
        near = None if own is None else own.tolist()
        contributions, shared = _apart(x, answer, nothing, groups, near, [])
        return replace(one, contributions=tuple(contributions), shared=shared)
    theirs, score = x.columns(rival), x.score(rival)
    differ = np.flatnonzero(answer.columns != theirs)
    near = x.near(differ)
    contributions, shared = _apart(x, answer, theirs, differ, near, x.terms(rival, near))
    mine, instead = x.spelt(answer.y), x.spelt(rival)
    return replace(
        one,
        contributions=tuple(contributions),
        rival=x.described(rival, decision),
        rival_score=score,
        shared=shared,
        rival_probability=x.probability(x.wording(rival, decision), decision),
        without=_removal(x, answer, theirs, differ, decision, answer.score - score) if x.removable else None,
        whole=None if mine is None or instead is None else (mine, instead),
    )


# -- the difference between two answers -------------------------------------------------------------------------------


def _apart(
    x: Explainable[Any, Any],
    answer: _Answer,
    theirs: Columns,
    groups: Columns,
    near: Sequence[int] | None,
    terms: Iterable[Term],
) -> tuple[list[Contribution], float]:
    """The contributions in which the answer and another differ, and the sum of all others.

    theirs, terms: columns and terms of the other, -1 and none if there is no other   groups: those that differ
    """
    features = [
        c for g in groups.tolist() for c in _listed(x.features[g], int(answer.columns[g]), int(theirs[g]))
    ]
    own = list(x.terms(answer.y, near))
    apart, alike = told_apart(own, terms)
    same = np.ones(len(theirs), bool)
    same[groups] = False
    shared = float(answer.sums[same].sum()) + answer.terms - sum(term.weight for term in own)
    return features + apart, shared + alike


def _listed(group: Features, mine: int, theirs: int) -> list[Contribution]:
    """The features of a group with weight for either answer; if there are very many, the strongest and a sum."""
    here, there = _column(group.added, mine), _column(group.added, theirs)
    rest = np.zeros(0, np.int64)
    rows = np.flatnonzero((here != 0) | (there != 0))
    if group.most is not None and len(rows) > group.most:
        order = rows[np.argsort(-np.abs(here - there)[rows], kind="stable")]
        rows, rest = np.sort(order[: group.most]), order[group.most :]
    found = _contributions(group, rows, mine, theirs)
    if len(rest):
        sums = float(here[rest].sum()), float(there[rest].sum())
        found.append(Contribution(f"{len(rest):,} others", *sums, kind=REST, place=group.place))
    return found


def _contributions(group: Features, rows: NDArray[np.int64], mine: int, theirs: int) -> list[Contribution]:
    """The contributions of some features of a group to two answers."""
    names = group.names(rows)
    here = _column(group.weights, mine)[rows].tolist()
    there = _column(group.weights, theirs)[rows].tolist()
    kind, place = group.kind, group.place
    if group.values is None:
        return [
            Contribution(name, a, b, 1.0, kind, place, seen)
            for (name, seen), a, b in zip(names, here, there, strict=True)
        ]
    found = []
    values = [_column(group.values, c)[rows].tolist() for c in (mine, theirs)]
    for (name, seen), a, b, v, u in zip(names, here, there, *values, strict=True):
        if mine < 0 or v == 0:
            made = 0.0, b, u
        elif theirs < 0 or u == 0:
            made = a, 0.0, v
        else:
            made = (a, b, v) if u == v else (a * v, b * u, 1.0)
        found.append(Contribution(name, *made, kind, place, seen))
    return found


def _column(table: NDArray[np.float64], column: int) -> NDArray[np.float64]:
    return table[:, column] if column >= 0 else np.zeros(len(table))


def told_apart(own: Iterable[Term], others: Iterable[Term]) -> tuple[list[Contribution], float]:
    """The terms that only one of two answers has, and the sum of those that they share.

    Terms that both have are shared even if their places differ: they do not change the difference.

    >>> apart, shared = told_apart(
    ...     [Term("A → B", 2.0, 1), Term("B → A", 1.0, 2)], [Term("A → B", 2.0, 2), Term("A → A", 0.5, 1)])
    >>> [(c.name, c.weight, c.rival, c.place) for c in apart], shared
    ([('B → A', 1.0, 0.0, 2), ('A → A', 0.0, 0.5, 1)], 2.0)
    """
    mine, theirs = Counter(own), Counter(others)
    same = mine & theirs
    shared = sum(times * term.weight for term, times in same.items())
    left: dict[tuple[str, float, str], tuple[list[Term], list[Term]]] = {}
    for side, terms in enumerate((mine - same, theirs - same)):
        for term in terms.elements():
            left.setdefault((term.name, term.weight, term.kind), ([], []))[side].append(term)
    found: tuple[list[Contribution], list[Contribution]] = [], []
    for (name, weight, kind), sides in left.items():
        moved = min(map(len, sides))
        shared += moved * weight
        for side, weights in enumerate(((weight, 0.0), (0.0, weight)) if weight else ()):
            for term in sorted(sides[side], key=lambda one: one.place or 0)[moved:]:
                found[side].append(
                    Contribution(name, *weights, kind=kind, place=term.place, seen=Seen(offsets=term.offsets))
                )
    return found[0] + found[1], shared


def summed(many: Sequence[Contribution]) -> Contribution:
    """The sum of contributions as one contribution.

    >>> summed([Contribution("a", 2.0, 1.0), Contribution("b", 0.5, 0.0, value=2.0)])[:3]
    ('2 others', 3.0, 1.0)
    """
    name = f"{len(many)} others" if len(many) > 1 else "1 other"
    weight, rival = sum(c.value * c.weight for c in many), sum(c.value * c.rival for c in many)
    return Contribution(name, weight, rival, kind=REST)


# -- the removal ----------------------------------------------------------------------------------------------------


def _removal(
    x: Explainable[Any, Any],
    answer: _Answer,
    theirs: Columns,
    differ: Columns,
    decision: Decision,
    margin: float,
) -> Removal | None:
    """Remove the answer's features one after the other, the largest contribution first, until the answer changes."""
    leads, groups, rows = _telling(x.features, answer.columns, theirs, differ)
    said = x.wording(answer.y, decision)

    def without(n: int) -> str:
        gone = {int(g): rows[:n][groups[:n] == g] for g in np.unique(groups[:n])}
        y = x.best(x.potentials(gone))
        return said if y is None else x.wording(y, decision)

    if isinstance(x, ListExample) and x.rescored is None:
        found = _first_turn(x, groups, rows)
    else:
        found = turning_point(leads.tolist(), margin, said, without)
    if found is None:
        return None
    n, turned = found
    removed = [
        c
        for g, k in zip(groups[:n].tolist(), rows[:n], strict=True)
        for c in _contributions(x.features[g], k[None], int(answer.columns[g]), int(theirs[g]))
    ]
    return Removal(tuple(removed), turned)


def _first_turn(x: ListExample, groups: Columns, rows: Columns) -> tuple[int, str] | None:
    """The least n for which removing the first n features changes the best answer; scores are sums, so n is exact."""
    gone = [x.features[g].added[k] for g, k in zip(groups.tolist(), rows.tolist(), strict=True)]
    if not gone:
        return None
    total = np.sum([group.sums for group in x.features], axis=0)
    best = (total - np.cumsum(gone, axis=0)).argmax(axis=1)
    said = [x.answers[y] for y in best.tolist()]
    return next(((n, other) for n, other in enumerate(said, 1) if other != x.answers[x.chosen]), None)


def _telling(
    features: Sequence[Features], mine: Columns, theirs: Columns, differ: Columns
) -> tuple[NDArray[np.float64], Columns, Columns]:
    """The contributions of features to the margin, the strongest first, with their groups and rows."""
    leads, groups, rows = [], [], []
    for g in differ.tolist():
        if mine[g] >= 0 and features[g].kind == FEATURE:
            lead = _column(features[g].added, int(mine[g])) - _column(features[g].added, int(theirs[g]))
            for_it = np.flatnonzero(lead > 0)
            leads.append(lead[for_it])
            groups.append(np.full(len(for_it), g))
            rows.append(for_it)
    if not leads:
        return np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)
    strengths, of, at = np.concatenate(leads), np.concatenate(groups), np.concatenate(rows)
    order = np.argsort(-strengths, kind="stable")
    return strengths[order], of[order], at[order]


def turning_point(
    leads: Sequence[float], margin: float, given: Said, answer: Callable[[int], Said]
) -> tuple[int, Said] | None:
    """How many features must be removed to change the answer, and the new answer.

    Removing the first n changes it, removing the first n - 1 does not; None if removing all of them does not.

    leads:     the contribution of each to the lead over the rival, the strongest first
    margin:    the lead; the search starts at the n whose contributions exceed it, so that few answers are computed
    answer(n): the answer without the first n

    >>> turning_point([1.0] * 10, 3.0, "A", lambda n: "B" if n >= 7 else "A")
    (7, 'B')
    >>> turning_point([2.0, 1.0, 1.0], 9.0, "A", lambda n: "A") is None
    True
    """
    N = len(leads)
    used_up = next((n for n, used in enumerate(accumulate(leads), 1) if used > margin), N)
    if N == 0:
        return None
    few, many, step = 0, used_up, 1
    turned = answer(many)
    if turned == given:
        while turned == given:
            if many == N:
                return None
            few, many, step = many, min(many + step, N), 2 * step
            turned = answer(many)
    else:
        few = many - 1
        while few > 0 and (other := answer(few)) != given:
            many, few, step, turned = few, max(few - step, 0), 2 * step, other
    while many - few > 1:
        middle = (few + many) // 2
        if (other := answer(middle)) == given:
            few = middle
        else:
            many, turned = middle, other
    return many, turned
