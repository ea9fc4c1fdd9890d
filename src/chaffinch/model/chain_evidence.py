"""Evidence for chains: the best labelling against the best with another label at a token.

score(y) - score(y') = sum over the parts of y or y' that are not parts of both
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.evidence import (
    Columns,
    Decision,
    Features,
    Named,
    Restriction,
    SentenceExample,
    Table,
    Term,
    Without,
    token_groups,
)
from chaffinch.model.labels import LabelSet
from chaffinch.model.temperature import tempered
from chaffinch.structures import Chain, Parts

Labels = NDArray[np.int32]
START, END = "start", "end"
LONG = 64  # sentences of at least this many tokens are searched only near each change
MOST = 1000  # maximum number of features of a token that are listed one by one


@dataclass(frozen=True, eq=False)
class ChainScores:
    """The scores of one sentence under a chain.

    weights: of each token, float64 [features, Y]
    names:   names of features, given the token and their rows in its weights
    scored:  the potentials of a slice of the tokens, with some features removed
    terms:   the contributions of labels at position t, given all labels
    whole:   restores every potential that pruning removed; None if nothing is pruned
    fixed:   features cannot be removed one by one
    """

    chain: Chain
    weights: Sequence[Table]
    names: Callable[[int, NDArray[np.int64]], Sequence[Named]]
    scored: Callable[[Without, slice], Parts]
    terms: Callable[[Sequence[int], int], list[Term]]
    whole: Callable[[], Parts] | None = None
    fixed: bool = False


@dataclass(frozen=True, eq=False)
class ChainExample(SentenceExample[Without, Labels]):
    """A sentence of a chain. decided: the outer labels that the model gave [T].

    Its potentials are the removed features: only the potentials of changed tokens are computed.
    """

    x: ChainScores
    labels: LabelSet
    words: Sequence[str]
    decided: Labels
    temperature: float = 1.0

    @property
    def removable(self) -> bool:
        """Whether features can be removed: not if they are multiplied with each other."""
        return not self.x.fixed

    @property
    def reach(self) -> int:
        """The order of the chain."""
        return self.x.chain.order

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
        return token_groups(self.x.weights, self.x.names, MOST)

    def potentials(self, without: Without) -> Without:
        """The removed features."""
        return without

    def best(self, potentials: Without, rule: Restriction | None = None) -> Labels | None:
        """Viterbi over all tokens, or over the changed ones if the sentence is long.

        If pruning left no label that the rule allows, the best of the pruned ones.
        """
        try:
            if self._messages is not None:
                return self._in_stretch(potentials, rule, self._messages)
            return self._argmax(self._scored(potentials), rule)
        except DataError:
            if rule is None or self.x.whole is None:
                return None
        try:
            return self._argmax(self.x.whole(), rule)
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

    def columns(self, y: Labels) -> Columns:
        """The labels."""
        return y.astype(np.int64)

    def terms(self, y: Labels, near: Sequence[int] | None) -> list[Term]:
        """Pairs and triples of labels, and other terms of labels."""
        labels = y.tolist()
        return [
            term for t in (range(len(labels)) if near is None else near) for term in self.x.terms(labels, t)
        ]

    def tags(self, y: Labels) -> Sequence[str]:
        """The outer labels."""
        tags: list[str] = self._spelling[y].tolist()
        return tags

    def probability(self, said: str, decision: Decision) -> float:
        """The marginal probability, by forward-backward."""
        return float(self._p[decision.place, self.labels.outer.index(said)])

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

    def _argmax(self, parts: Parts, rule: Restriction | None) -> Labels:
        mask = None
        if rule is not None:
            mask = np.ones(parts["unary"].shape, bool)
            mask[rule.decision.place] = self._allowed(rule)
        return self.x.chain.argmax(parts, allowed=mask)

    def _allowed(self, rule: Restriction) -> NDArray[np.bool_]:
        """Which inner labels a rule allows at its token."""
        return np.array([rule.allows(label) for label in self.labels.outer])[self.labels.outer_of]

    def _in_stretch(self, removed: Without, rule: Restriction | None, messages: "ChainMessages") -> Labels:
        """The best labelling, found from the unchanged sentence's by searching near the changed tokens."""
        place = None if rule is None else rule.decision.place
        changed = [*removed, *(() if place is None else (place,))]
        if not changed:
            return self.answer
        # A pair may depend on the features of its second token: one more token before is searched.
        first, last = max(min(changed) - 1, 0), max(changed)
        parts = self.x.scored(removed, slice(first, last + 1))
        unary = parts["unary"].copy()
        if rule is not None and place is not None:
            unary[place - first, ~self._allowed(rule)] = -np.inf
        return messages.best(self.x.chain, Parts(unary=unary, pair=parts["pair"]), first, self.answer)


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


def summing(weights: Sequence[Table]) -> Callable[[Without, slice], Table]:
    """The sums of the features' weights [tokens, Y], without those that are removed, of a slice of the tokens."""
    whole = np.stack([w.sum(axis=0) for w in weights]) if len(weights) else np.zeros((0, 0))

    def sums(without: Without, tokens: slice) -> Table:
        found = whole[tokens].copy()
        for t, gone in without.items():
            found[t - tokens.start] = np.delete(weights[t], gone, axis=0).sum(axis=0)
        return found

    return sums


Occurs = Callable[[int, int], bool]  # whether a block has a term at position t of T
# Of each block: how many labels back it reads, where it occurs, and what its name has before and after the labels.
_SHARED: Mapping[str, tuple[int, Occurs, tuple[str, ...], tuple[str, ...]]] = {
    "start": (0, lambda t, _: t == 0, (START,), ()),
    "pair": (1, lambda t, _: t >= 1, (), ()),
    "first": (1, lambda t, _: t == 1, (START,), ()),
    "last": (1, lambda t, T: 1 <= t == T - 1, (), (END,)),
    "triple": (2, lambda t, _: t >= 2, (), ()),
    "end": (0, lambda t, T: t == T - 1, (), (END,)),
}


def chain_terms(
    names: Sequence[str], blocks: Mapping[str, NDArray[np.floating]], T: int
) -> Callable[[Sequence[int], int], list[Term]]:
    """The terms of labels in the shared blocks ``start``, ``end``, ``pair``, ``triple``, ``first`` and ``last``.

    >>> terms = chain_terms(["A", "B"], {"start": np.array([1.0, 2.0]), "pair": np.eye(2)}, 2)
    >>> [(one.name, one.weight) for t in (0, 1) for one in terms([1, 1], t)]
    [('start → B', 2.0), ('B → B', 1.0)]
    """

    shared = [(blocks[name], *_SHARED[name]) for name in _SHARED if name in blocks]

    def terms(y: Sequence[int], t: int) -> list[Term]:
        found = []
        for weights, back, occurs, before, after in shared:
            if occurs(t, T):
                labels = y[t - back : t + 1]
                name = " → ".join([*before, *(names[i] for i in labels), *after])
                found.append(Term(name, float(weights[tuple(labels)]), t))
        return found

    return terms
