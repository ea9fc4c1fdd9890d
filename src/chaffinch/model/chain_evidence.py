"""Why a chain gave a token its label: the best labelling against the best that has another label there.

    score(y) - score(y') = sum over the parts of y or y' that are not parts of both

Features of tokens that are labelled alike either way, and pairs of labels that both have, are summed up as shared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.evidence import (
    REST,
    Contribution,
    Evidence,
    Question,
    Removal,
    Term,
    told_apart,
    turning_point,
)
from chaffinch.model.labels import LabelSet
from chaffinch.structures import Chain, Parts

Kept = Sequence[NDArray[np.bool_]]
Labels = NDArray[np.int32]
START, END = "start", "end"
MOST = 1000  # features of a token that are listed one by one


@dataclass(frozen=True, eq=False)
class ChainSentence:
    """One sentence as a chain scores it.

    weights: of each token, float64 [features, Y]
    names:   what features are called, given the token and their places in its weights
    scored:  the potentials, given which of each token's features are kept
    terms:   what labels add at position t, given all labels: name -> weight
    whole:   every potential that pruning left out put back; None where nothing is pruned
    fixed:   features do not add up by themselves, so that leaving some out means nothing
    """

    chain: Chain
    labels: LabelSet
    words: Sequence[str]
    weights: Sequence[NDArray[np.float64]]
    names: Callable[[int, NDArray[np.int64]], list[str]]
    scored: Callable[[Kept], Parts]
    terms: Callable[[Sequence[int], int], Mapping[str, float]]
    whole: Callable[[], Parts] | None = None
    fixed: bool = False

    def all_kept(self) -> list[NDArray[np.bool_]]:
        """Every feature of every token."""
        return [np.ones(len(w), bool) for w in self.weights]


def chain_evidence(x: ChainSentence, decided: Labels, question: Question) -> list[Evidence]:
    """The evidence for each token that is asked about.

    decided: the outer labels that the model gave [T]
    """
    asked = question.checked(x.labels.outer).tokens(len(x.words))
    if not len(x.words):
        return []
    kept = x.all_kept()
    potentials = x.scored(kept)
    outer_of = x.labels.outer_of
    try:
        y = x.chain.argmax(potentials, allowed=outer_of[None, :] == decided[:, None])
    except DataError:
        raise DataError(
            "the model finds every labelling of this sentence impossible, so no score is there to be explained"
        ) from None
    p = x.labels.collapsed(x.chain.logsum(potentials)[1]["unary"])
    found = []
    for t in asked:
        if question.is_answer(x.labels.outer[decided[t]], t, x.words[t]):
            continue
        found.append(_of_token(x, potentials, kept, y, p, t, question.against))
    return found


def _of_token(
    x: ChainSentence,
    potentials: Parts,
    kept: Kept,
    y: Labels,
    p: NDArray[np.floating],
    t: int,
    against: str | None,
) -> Evidence:
    outer, outer_of = x.labels.outer, x.labels.outer_of
    given = int(outer_of[y[t]])
    rival, scores, note = _rival(x, potentials, y, t, against)
    contributions, shared = _contributions(x, y, rival)
    return Evidence(
        subject=x.words[t],
        answer=outer[given],
        score=_score(x.chain, potentials, y),
        contributions=tuple(contributions),
        rival=None if rival is None else outer[outer_of[rival[t]]],
        rival_score=None if rival is None else _score(x.chain, scores, rival),
        shared=shared,
        probability=float(p[t, given]),
        rival_probability=None if rival is None else float(p[t, outer_of[rival[t]]]),
        place=t,
        without=None if rival is None or x.fixed else _removal(x, kept, y, rival, t),
        note=note,
        whole=None if rival is None else (_spelt(x.labels, y), _spelt(x.labels, rival)),
    )


def _rival(
    x: ChainSentence, potentials: Parts, y: Labels, t: int, against: str | None
) -> tuple[Labels | None, Parts, str]:
    """The best labelling with another label at t, the potentials that it was found under, and a remark."""
    outer_of = x.labels.outer_of
    allowed = np.ones((len(y), x.chain.Y), bool)
    allowed[t] = outer_of != outer_of[y[t]] if against is None else outer_of == x.labels.outer.index(against)
    try:
        return x.chain.argmax(potentials, allowed=allowed), potentials, ""
    except DataError:
        pass
    if x.whole is not None:
        every = x.whole()
        try:
            return (
                x.chain.argmax(every, allowed=allowed),
                every,
                "The model did not try the other label here.",
            )
        except DataError:
            pass
    what = "another label" if against is None else f"the label {against}"
    return None, potentials, f"No labelling with {what} is possible here."


def _contributions(x: ChainSentence, y: Labels, rival: Labels | None) -> tuple[list[Contribution], float]:
    """What tells two labellings apart, and the sum of what they share; without a rival, all of y."""
    found: list[Contribution] = []
    shared = 0.0
    mine, theirs = y.tolist(), None if rival is None else rival.tolist()
    for t, w in enumerate(x.weights):
        if theirs is not None and theirs[t] == mine[t]:
            shared += float(w[:, mine[t]].sum())
        else:
            found += _features(x, t, mine[t], None if theirs is None else theirs[t])
    apart, alike = told_apart(_terms(x, mine), [] if theirs is None else _terms(x, theirs))
    return found + apart, shared + alike


def _terms(x: ChainSentence, y: Sequence[int]) -> list[Term]:
    return [Term(name, weight, t) for t in range(len(y)) for name, weight in x.terms(y, t).items()]


def _features(x: ChainSentence, t: int, mine: int, theirs: int | None) -> list[Contribution]:
    """The features of a token; of very many the strongest, and the rest as one."""
    w = x.weights[t]
    here, there = w[:, mine], np.zeros(len(w)) if theirs is None else w[:, theirs]
    order = np.argsort(-np.abs(here - there), kind="stable")
    chosen = np.sort(order[:MOST])
    found = [
        Contribution(name, a, b, place=t)
        for name, a, b in zip(x.names(t, chosen), here[chosen].tolist(), there[chosen].tolist(), strict=True)
        if a or b
    ]
    rest = order[MOST:]
    if len(rest):
        sums = float(here[rest].sum()), float(there[rest].sum())
        found.append(Contribution(f"{len(rest):,} others", *sums, kind=REST, place=t))
    return found


def _removal(x: ChainSentence, kept: Kept, y: Labels, rival: Labels, t: int) -> Removal | None:
    """Features left out one after the other, the most telling first, until the token gets another label."""
    outer_of = x.labels.outer_of
    telling = sorted(
        (
            (-(float(w[k, y[u]] - w[k, rival[u]])), u, k)
            for u, w in enumerate(x.weights)
            for k in np.flatnonzero(w[:, y[u]] > w[:, rival[u]]).tolist()
        ),
    )

    def label_without(n: int) -> int:
        left = [mask.copy() for mask in kept]
        for _, u, k in telling[:n]:
            left[u][k] = False
        return int(outer_of[x.chain.argmax(x.scored(left))[t]])

    try:
        n = turning_point(len(telling), int(outer_of[y[t]]), label_without)
    except DataError:  # pruning left nothing that is possible
        return None
    if n is None:
        return None
    gone = tuple(
        Contribution(
            x.names(u, np.array([k]))[0],
            float(x.weights[u][k, y[u]]),
            float(x.weights[u][k, rival[u]]),
            place=u,
        )
        for _, u, k in telling[:n]
    )
    return Removal(gone, x.labels.outer[label_without(n)])


def summing(weights: Sequence[NDArray[np.float64]]) -> Callable[[Kept], NDArray[np.float64]]:
    """The sums of the kept features' weights [T, Y], as a function of what is kept."""
    whole = np.stack([w.sum(axis=0) for w in weights]) if weights else np.zeros((0, 0))

    def sums(kept: Kept) -> NDArray[np.float64]:
        found = whole.copy()
        for t, mask in enumerate(kept):
            if not mask.all():
                found[t] = weights[t][mask].sum(axis=0)
        return found

    return sums


def _score(chain: Chain, potentials: Parts, y: Labels) -> float:
    return potentials.dot(chain.parts(potentials.shape, y))


def _spelt(labels: LabelSet, y: Labels) -> tuple[str, ...]:
    return tuple(labels.outer[i] for i in labels.outer_of[y].tolist())


def chain_terms(
    names: Sequence[str], blocks: Mapping[str, NDArray[np.floating]], T: int
) -> Callable[[Sequence[int], int], dict[str, float]]:
    """What labels add under shared blocks ``start``, ``end``, ``pair``, ``triple``, ``first`` and ``last``.

    >>> terms = chain_terms(["A", "B"], {"start": np.array([1.0, 2.0]), "pair": np.eye(2)}, 2)
    >>> terms([1, 1], 0), terms([1, 1], 1)
    ({'start → B': 2.0}, {'B → B': 1.0})
    """

    def terms(y: Sequence[int], t: int) -> dict[str, float]:
        here = names[y[t]]
        found: dict[str, float] = {}

        def add(block: str, name: str, *at: int) -> None:
            if block in blocks:
                found[name] = float(blocks[block][at])

        if t == 0:
            add("start", f"{START} → {here}", y[0])
        if t >= 1:
            before = names[y[t - 1]]
            add("pair", f"{before} → {here}", y[t - 1], y[t])
            if t == 1:
                add("first", f"{START} → {before} → {here}", y[0], y[1])
            if t == T - 1:
                add("last", f"{before} → {here} → {END}", y[t - 1], y[t])
        if t >= 2:
            add("triple", f"{names[y[t - 2]]} → {names[y[t - 1]]} → {here}", y[t - 2], y[t - 1], y[t])
        if t == T - 1:
            add("end", f"{here} → {END}", y[t])
        return found

    return terms
