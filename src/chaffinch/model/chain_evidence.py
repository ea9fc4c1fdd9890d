"""Evidence for chains: the best labelling against the best with another label at a token.

score(y) - score(y') = sum over the parts of y or y' that are not parts of both
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.encoders import Encoder, IdRows, TokenFeatures, token_features
from chaffinch.model.evidence import (
    HERE,
    Columns,
    Decision,
    Explainable,
    Features,
    Named,
    Offsets,
    Question,
    TaggedSentence,
    Term,
    Without,
)
from chaffinch.model.labels import LabelSet
from chaffinch.model.temperature import tempered
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable

Labels = NDArray[np.int32]
Weights = Sequence[NDArray[np.float64]]
Scored = Callable[[Without, slice], Parts]
LabelTerms = Callable[[Sequence[int], int], Iterable[tuple[str, float] | tuple[str, float, Offsets]]]
START, END = "start", "end"
LONG = 64  # sentences of at least this many tokens are searched only near each change
MOST = 1000  # maximum number of features of a token that are listed one by one


@dataclass(frozen=True, eq=False)
class ChainScores:
    """The scores of one sentence under a chain.

    weights: of each token, float64 [features, Y]
    names:   names of features, given the token and their rows in its weights
    scored:  the potentials of a slice of the tokens, with some features removed
    terms:   the contributions of labels at position t, given all labels: names, weights and offsets if not (0,)
    whole:   restores every potential that pruning removed; None if nothing is pruned
    fixed:   features cannot be removed one by one
    """

    chain: Chain
    weights: Weights
    names: Callable[[int, NDArray[np.int64]], Sequence[Named]]
    scored: Scored
    terms: LabelTerms
    whole: Callable[[], Parts] | None = None
    fixed: bool = False


class ExplainedChain(Protocol):
    """A chain model: its encoder, and the labels that it gives."""

    @property
    def encoder(self) -> Encoder:
        """Tokens to features."""
        ...

    @property
    def labels(self) -> LabelSet:
        """The labels."""
        ...

    @property
    def temperature(self) -> float:
        """The temperature of the probabilities."""
        ...

    def decode_rows(self, ptr: NDArray[np.int64], rows: IdRows, threads: int) -> Labels:
        """The outer label of every token; ptr: the bounds of sentences."""
        ...


def chain_examples(
    model: ExplainedChain,
    scores: Callable[[TokenFeatures, LabelSet], ChainScores],
    table: TokenTable,
    which: Sequence[int],
    threads: int,
) -> Iterator[TaggedSentence]:
    """Some sentences of a table, which is encoded once; scores: computes the scores of one sentence."""
    rows = model.encoder.rows(table, threads)
    decided = model.decode_rows(table.ptr, rows, threads)
    for found in token_features(model.encoder, rows, table, which):
        mine = decided[found.tokens]
        made = []
        if len(mine):
            x = scores(found, model.labels)
            made = [ChainExample(x, model.labels, found.words, mine, model.temperature)]
        yield TaggedSentence([model.labels.outer[i] for i in mine.tolist()], made)


@dataclass(frozen=True)
class ChainPotentials:
    """The potentials of a sentence as changes to the model's, so that only changed tokens are searched.

    removed: features     token, allowed: a token with its allowed labels
    whole:   restore the labels that pruning removed
    """

    removed: Without
    token: int | None = None
    allowed: NDArray[np.bool_] | None = None
    whole: bool = False


@dataclass(frozen=True, eq=False)
class ChainExample(Explainable[ChainPotentials, Labels]):
    """A sentence of a chain. decided: the outer labels that the model gave [T]."""

    x: ChainScores
    labels: LabelSet
    words: Sequence[str]
    decided: Labels
    temperature: float = 1.0

    @property
    def removable(self) -> bool:
        """Whether features can be removed: not if they are multiplied with each other."""
        return not self.x.fixed

    @cached_property
    def answer(self) -> Labels:
        """The best inner labelling with the predicted outer labels."""
        allowed = self.labels.outer_of[None, :] == self.decided[:, None]
        try:
            return self.x.chain.argmax(self._potentials, allowed=allowed)
        except DataError:
            raise DataError(
                "The model rules out every labelling of this sentence, so there is nothing to explain."
            ) from None

    @cached_property
    def features(self) -> list[Features]:
        """The features of each token."""
        return [
            Features(w, lambda rows, t=t: self.x.names(t, rows), t, most=MOST)  # type: ignore[misc]
            for t, w in enumerate(self.x.weights)
        ]

    def decisions(self, question: Question) -> Iterator[Decision]:
        """The tokens in question."""
        for t in question.checked(self.labels.outer).tokens(len(self.words)):
            yield Decision(self.words[t], place=t)

    def potentials(self, without: Without) -> ChainPotentials:
        """The change; potentials are computed when they are searched."""
        return ChainPotentials(without)

    def forbid(self, potentials: ChainPotentials, decision: Decision, against: str | None) -> ChainPotentials:
        """Forbid the answer, or force ``against``, at one token."""
        t, outer_of = decision.place, self.labels.outer_of
        here = (
            outer_of != self.decided[t] if against is None else outer_of == self.labels.outer.index(against)
        )
        return replace(potentials, token=t, allowed=here)

    def best(self, potentials: ChainPotentials) -> Labels | None:
        """Viterbi over all tokens, or over the changed ones if the sentence is long."""
        p = potentials
        try:
            if self._messages is not None:
                return self._in_stretch(p, self._messages)
            every = self.x.whole() if p.whole and self.x.whole is not None else self._scored(p.removed)
            mask = None
            if p.token is not None and p.allowed is not None:
                mask = np.ones((len(self.words), self.x.chain.Y), bool)
                mask[p.token] = p.allowed
            return self.x.chain.argmax(every, allowed=mask)
        except DataError:
            return None

    def score(self, y: Labels) -> float:
        """The score, also of labels that pruning removed."""
        potentials = self._potentials if self.x.whole is None else self.x.whole()
        if self.x.chain.order > 1:
            return potentials.dot(self.x.chain.parts(potentials.shape, y))
        pair = potentials["pair"]
        pairs = pair[y[:-1], y[1:]] if pair.ndim == 2 else pair[np.arange(len(y) - 1), y[:-1], y[1:]]
        ends = sum(float(potentials[k][y[t]]) for k, t in (("start", 0), ("end", -1)) if k in potentials)
        return float(potentials["unary"][np.arange(len(y)), y].sum() + pairs.sum()) + ends

    def rival(self, decision: Decision, against: str | None) -> Labels | None:
        """The rival; if pruning left no other label, the best of the pruned ones."""
        asked = self.forbid(self.potentials({}), decision, against)
        found = self.best(asked)
        return self.best(replace(asked, whole=True)) if found is None and self.x.whole is not None else found

    def columns(self, y: Labels) -> Columns:
        """The labels."""
        return y.astype(np.int64)

    def near(self, changed: Columns) -> list[int]:
        """The tokens for which a label that they are scored with differs."""
        after = {t + back for t in changed.tolist() for back in range(self.x.chain.order + 1)}
        return sorted(t for t in after if t < len(self.words))

    def terms(self, y: Labels, near: Sequence[int] | None) -> list[Term]:
        """Pairs and triples of labels, and other terms of labels."""
        labels = y.tolist()
        return [
            Term(name, weight, t, offsets=more[0] if more else HERE)
            for t in (range(len(labels)) if near is None else near)
            for name, weight, *more in self.x.terms(labels, t)
        ]

    def own(self, decision: Decision) -> Columns:
        """The token itself."""
        return np.array([decision.place], np.int64)

    def wording(self, y: Labels, decision: Decision) -> str:
        """The outer label."""
        assert decision.place is not None
        return self.labels.outer[self.labels.outer_of[y[decision.place]]]

    def probability(self, said: str, decision: Decision) -> float:
        """The marginal probability, by forward-backward."""
        return float(self._p[decision.place, self.labels.outer.index(said)])

    def spelt(self, y: Labels) -> tuple[str, ...]:
        """All labels."""
        return tuple(self._spelling[y].tolist())

    def note(self, decision: Decision, rival: Labels | None, against: str | None) -> str:
        """A note if pruning removed the rival."""
        if rival is not None and self.x.whole is not None:
            tried = np.isfinite(self._potentials["unary"][np.arange(len(self.words)), rival]).all()
            return "" if tried else "The model did not try the other label here."
        return super().note(decision, rival, against)

    @cached_property
    def _spelling(self) -> NDArray[np.object_]:
        return np.array(self.labels.outer, object)[self.labels.outer_of]

    @cached_property
    def _potentials(self) -> Parts:
        return self._scored({})

    @cached_property
    def _p(self) -> NDArray[np.floating]:
        potentials = tempered(self._potentials, self.temperature)
        return self.labels.collapsed(self.x.chain.logsum(potentials)[1]["unary"])

    @cached_property
    def _messages(self) -> "ChainMessages | None":
        """The best scores before and after any stretch of a long sentence."""
        short = len(self.words) < LONG or self.x.chain.order > 1 or self.x.whole is not None
        return None if short else ChainMessages(self._potentials)

    def _scored(self, without: Without) -> Parts:
        return self.x.scored(without, slice(0, len(self.words)))

    def _in_stretch(self, p: ChainPotentials, messages: "ChainMessages") -> Labels:
        """The best labelling, found from the unchanged sentence's by searching near the changed tokens."""
        changed = [*p.removed, *([] if p.token is None else [p.token])]
        y = self.answer
        if not changed:
            return y
        # A pair may depend on the features of its second token: one more token before is searched.
        first, last = max(min(changed) - 1, 0), max(changed)
        parts = self.x.scored(p.removed, slice(first, last + 1))
        unary = parts["unary"]
        if p.token is not None and p.allowed is not None:
            unary = unary.copy()
            unary[p.token - first, ~p.allowed] = -np.inf
        return messages.best(self.x.chain, Parts(unary=unary, pair=parts["pair"]), first, y)


class ChainMessages:
    """Best prefixes and suffixes of a long chain of order 1, so that a change of a few tokens is searched locally.

        before[t, y] = the best of all labels before t, the pair that leads to y included
        after[t, y]  = the best of all labels after t, the pair that leaves y included

    >>> messages = ChainMessages(Parts(unary=np.array([[1.0, 0.0], [0.0, 3.0], [0.0, 0.0]]), pair=np.eye(2)))
    >>> changed = Parts(unary=np.array([[0.0, -np.inf]]), pair=np.eye(2))
    >>> messages.best(Chain(2), changed, 1, np.array([1, 1, 1], np.int32))
    array([0, 0, 0], dtype=int32)
    """

    def __init__(self, potentials: Parts) -> None:
        self.unary = potentials["unary"]
        T, Y = self.unary.shape
        pair = potentials["pair"] if "pair" in potentials else np.zeros((Y, Y))
        self.pair = pair if pair.ndim == 3 else np.broadcast_to(pair, (T - 1, Y, Y))
        self.before, self.after = np.zeros((T, Y)), np.zeros((T, Y))
        if "start" in potentials:
            self.before[0] = potentials["start"]
        if "end" in potentials:
            self.after[-1] = potentials["end"]
        for t in range(1, T):
            ends = self.before[t - 1] + self.unary[t - 1]
            self.before[t] = (ends[:, None] + self.pair[t - 1]).max(axis=0)
        for t in range(T - 2, -1, -1):
            begins = self.unary[t + 1] + self.after[t + 1]
            self.after[t] = (self.pair[t] + begins).max(axis=1)

    def best(self, chain: Chain, changed: Parts, first: int, y: NDArray[np.int32]) -> NDArray[np.int32]:
        """The best labelling after the potentials of a stretch from ``first`` on have changed.

        changed: the potentials of the stretch   y: the best labelling before the change
        DataError if no labelling is possible
        """
        last = first + len(changed["unary"]) - 1
        blocks = {"unary": changed["unary"], "start": self.before[first], "end": self.after[last]}
        if "pair" in changed:
            blocks["pair"] = np.ascontiguousarray(changed["pair"])
        found = y.copy()
        found[first : last + 1] = chain.argmax(Parts(**blocks))
        # From where it agrees with y again, it equals y.
        for u in range(first - 1, -1, -1) if found[first] != y[first] else ():
            found[u] = (self.before[u] + self.unary[u] + self.pair[u][:, found[u + 1]]).argmax()
            if found[u] == y[u]:
                break
        for u in range(last + 1, len(y)) if found[last] != y[last] else ():
            found[u] = (self.pair[u - 1][found[u - 1]] + self.unary[u] + self.after[u]).argmax()
            if found[u] == y[u]:
                break
        return found


def summing(weights: Weights) -> Callable[[Without, slice], NDArray[np.float64]]:
    """The sums of the features' weights [tokens, Y], without those that are removed, of a slice of the tokens."""
    whole = np.stack([w.sum(axis=0) for w in weights]) if len(weights) else np.zeros((0, 0))

    def sums(without: Without, tokens: slice) -> NDArray[np.float64]:
        found = whole[tokens].copy()
        for t, gone in without.items():
            found[t - tokens.start] = np.delete(weights[t], gone, axis=0).sum(axis=0)
        return found

    return sums


def chain_terms(
    names: Sequence[str], blocks: Mapping[str, NDArray[np.floating]], T: int
) -> Callable[[Sequence[int], int], list[tuple[str, float]]]:
    """The terms of labels in the shared blocks ``start``, ``end``, ``pair``, ``triple``, ``first`` and ``last``.

    >>> terms = chain_terms(["A", "B"], {"start": np.array([1.0, 2.0]), "pair": np.eye(2)}, 2)
    >>> terms([1, 1], 0), terms([1, 1], 1)
    ([('start → B', 2.0)], [('B → B', 1.0)])
    """

    def terms(y: Sequence[int], t: int) -> list[tuple[str, float]]:
        here = names[y[t]]
        found: list[tuple[str, float]] = []

        def add(block: str, name: str, *at: int) -> None:
            if block in blocks:
                found.append((name, float(blocks[block][at])))

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
