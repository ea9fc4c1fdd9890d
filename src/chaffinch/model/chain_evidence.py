"""Why a chain gave a token its label: the best labelling against the best that has another label there.

    score(y) - score(y') = sum over the parts of y or y' that are not parts of both

Features of tokens that are labelled alike either way, and pairs of labels that both have, are summed up as shared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.chain_messages import ChainMessages
from chaffinch.model.encoders import Encoder, TokenFeatures, token_features
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
from chaffinch.text.table import TokenTable

Kept = Mapping[int, NDArray[np.bool_]]  # which features some tokens keep; the others keep all
Labels = NDArray[np.int32]
START, END = "start", "end"
LONG = 64  # tokens from which on a sentence is not read as a whole for each of them
MOST = 1000  # features of a token that are listed one by one


class DecodingModel(Protocol):
    """A chain model: its encoder, and the labels that it gives."""

    @property
    def encoder(self) -> Encoder:
        """Tokens to features."""
        ...

    def decode(self, table: TokenTable, threads: int) -> Labels:
        """The outer label of every token."""
        ...


@dataclass(frozen=True, eq=False)
class ChainSentence:
    """One sentence as a chain scores it.

    weights: of each token, float64 [features, Y]
    names:   what features are called, given the token and their places in its weights
    scored:  the potentials, given which features are kept
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

    def label_terms(self, y: Sequence[int], t: int) -> list[Term]:
        """What labels add at position t."""
        return [Term(name, weight, t) for name, weight in self.terms(y, t).items()]


class _Answer:
    """The labelling that the model gave, with what each token adds to its score.

    messages: what is best around any stretch of it, where it is long
    """

    def __init__(self, x: ChainSentence, y: Labels, potentials: Parts) -> None:
        self.y = y
        short = len(y) < LONG or x.chain.order > 1 or x.whole is not None
        self.messages = None if short else ChainMessages(potentials)
        mine = y.tolist()
        self.features = np.array([w[:, k].sum() for w, k in zip(x.weights, mine, strict=True)])
        self.terms = [x.label_terms(mine, t) for t in range(len(mine))]
        self.labels = np.array([sum(term.weight for term in terms) for terms in self.terms])


def chains_evidence(
    model: DecodingModel,
    sentence: Callable[[TokenFeatures], ChainSentence],
    table: TokenTable,
    which: Sequence[int],
    question: Question,
    threads: int,
) -> list[list[Evidence]]:
    """The evidence of some sentences of a table; sentence: how the model scores one."""
    decided = model.decode(table, threads)
    return [
        chain_evidence(sentence(found), decided[found.tokens], question)
        for found in token_features(model.encoder, table, which, threads)
    ]


def chain_evidence(x: ChainSentence, decided: Labels, question: Question) -> list[Evidence]:
    """The evidence for each token that is asked about.

    decided: the outer labels that the model gave [T]
    """
    asked = question.checked(x.labels.outer).tokens(len(x.words))
    if not len(x.words):
        return []
    potentials = x.scored({})
    outer_of = x.labels.outer_of
    try:
        y = x.chain.argmax(potentials, allowed=outer_of[None, :] == decided[:, None])
    except DataError:
        raise DataError(
            "the model finds every labelling of this sentence impossible, so no score is there to be explained"
        ) from None
    p = x.labels.collapsed(x.chain.logsum(potentials)[1]["unary"])
    answer, found = _Answer(x, y, potentials), []
    for t in asked:
        if question.is_answer(x.labels.outer[decided[t]], t, x.words[t]):
            continue
        found.append(_of_token(x, potentials, answer, p, t, question.against))
    return found


def _of_token(
    x: ChainSentence,
    potentials: Parts,
    answer: _Answer,
    p: NDArray[np.floating],
    t: int,
    against: str | None,
) -> Evidence:
    y, outer, outer_of = answer.y, x.labels.outer, x.labels.outer_of
    given = int(outer_of[y[t]])
    rival, scores, note = _rival(x, potentials, answer, t, against)
    score, other = _score(x.chain, potentials, y), None if rival is None else _score(x.chain, scores, rival)
    contributions, shared = _contributions(x, answer, rival, t)
    return Evidence(
        subject=x.words[t],
        answer=outer[given],
        score=score,
        contributions=tuple(contributions),
        rival=None if rival is None else outer[outer_of[rival[t]]],
        rival_score=other,
        shared=shared,
        probability=float(p[t, given]),
        rival_probability=None if rival is None else float(p[t, outer_of[rival[t]]]),
        place=t,
        without=None
        if rival is None or other is None or x.fixed
        else _removal(x, answer, rival, t, score - other),
        note=note,
        whole=None if rival is None else (_spelt(x.labels, y), _spelt(x.labels, rival)),
    )


def _rival(
    x: ChainSentence, potentials: Parts, answer: _Answer, t: int, against: str | None
) -> tuple[Labels | None, Parts, str]:
    """The best labelling with another label at t, the potentials that it was found under, and a remark."""
    y, outer_of = answer.y, x.labels.outer_of
    here = outer_of != outer_of[y[t]] if against is None else outer_of == x.labels.outer.index(against)
    what = "another label" if against is None else f"the label {against}"
    none = f"No labelling with {what} is possible here."
    if answer.messages is not None:
        found = answer.messages.with_label(y, t, here)
        return found, potentials, none if found is None else ""
    allowed = np.ones((len(y), x.chain.Y), bool)
    allowed[t] = here
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
    return None, potentials, none


def _contributions(
    x: ChainSentence, answer: _Answer, rival: Labels | None, t: int
) -> tuple[list[Contribution], float]:
    """What tells two labellings apart, and the sum of what they share; without a rival, what token t adds."""
    mine = answer.y.tolist()
    if rival is None:
        apart, none = told_apart(answer.terms[t], [])
        others = np.arange(len(mine)) != t
        shared = float(answer.features[others].sum() + answer.labels[others].sum())
        return _features(x, t, mine[t], None) + apart, shared + none
    theirs, differ = rival.tolist(), answer.y != rival
    found = [c for u in np.flatnonzero(differ).tolist() for c in _features(x, u, mine[u], theirs[u])]
    seen = differ.copy()  # where a label, or one that it is seen together with, differs
    for back in range(1, x.chain.order + 1):
        seen[back:] |= differ[:-back]
    places = np.flatnonzero(seen).tolist()
    apart, alike = told_apart(
        [term for u in places for term in answer.terms[u]],
        [term for u in places for term in x.label_terms(theirs, u)],
    )
    shared = float(answer.features[~differ].sum() + answer.labels[~seen].sum())
    return found + apart, shared + alike


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


def _removal(x: ChainSentence, answer: _Answer, rival: Labels, t: int, margin: float) -> Removal | None:
    """Features left out one after the other, the most telling first, until the token gets another label."""
    y, outer_of = answer.y, x.labels.outer_of
    differ = np.flatnonzero(y != rival)
    telling = sorted(
        (
            (-float(lead[k]), u, k)
            for u in differ.tolist()
            for lead in [x.weights[u][:, y[u]] - x.weights[u][:, rival[u]]]
            for k in np.flatnonzero(lead > 0).tolist()
        ),
    )

    def label_without(n: int) -> int:
        left: dict[int, NDArray[np.bool_]] = {}
        for _, u, k in telling[:n]:
            left.setdefault(u, np.ones(len(x.weights[u]), bool))[k] = False
        potentials, at = x.scored(left), t
        if answer.messages is not None:
            first = max(int(differ[0]) - 1, 0)
            potentials, at = answer.messages.stretch(potentials, first, int(differ[-1])), t - first
        return int(outer_of[x.chain.argmax(potentials)[at]])

    try:
        found = turning_point([-lead for lead, *_ in telling], margin, int(outer_of[y[t]]), label_without)
    except DataError:  # pruning left nothing that is possible
        return None
    if found is None:
        return None
    n, label = found
    gone = tuple(
        Contribution(
            x.names(u, np.array([k]))[0],
            float(x.weights[u][k, y[u]]),
            float(x.weights[u][k, rival[u]]),
            place=u,
        )
        for _, u, k in telling[:n]
    )
    return Removal(gone, x.labels.outer[label])


def summing(weights: Sequence[NDArray[np.float64]]) -> Callable[[Kept], NDArray[np.float64]]:
    """The sums of the kept features' weights [T, Y], as a function of what is kept."""
    whole = np.stack([w.sum(axis=0) for w in weights]) if weights else np.zeros((0, 0))

    def sums(kept: Kept) -> NDArray[np.float64]:
        found = whole.copy()
        for t, mask in kept.items():
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
