"""A lexicalised grammar counted off a treebank, to ask how likely a whole tree is.

    p(tree) = prod over phrases of   prod over children, then the end, of p(child | label, sibling before, head, ...)
                                   * prod over children that are not the head of
                                     p(its head's tag | ...) p(its head's word | tag, label, governing word, ...)

Every distribution backs off from the most detailed context to ever shorter ones, as Witten and Bell do:
p(o | c) = (n(c, o) + K d(c) p(o | shorter c)) / (n(c) + K d(c)), d(c) different outcomes having been seen after c.
After Collins 1999, "Head-driven statistical models for natural language parsing".
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.modelfile import Requirements
from chaffinch.text.document import Tree
from chaffinch.text.heads import head

K = 3.0
CHILD, TAG, WORD = KINDS = ("child", "tag", "word")
NAME = "grammar"
PREFIX = f"{NAME}."

Context = tuple[Any, ...]
Event = tuple[tuple[Context, ...], str]  # contexts from the shortest on, and what came
Keys = NDArray[np.uint64]


class Counts(NamedTuple):
    """How often what was seen, by 64-bit keys.

    contexts: uint64 [C], ascending   times, different: int32 [C], how often, and with how many outcomes
    seen:     uint64 [S], ascending   counts: int32 [S], of a context with an outcome
    outcomes: int32 [3], how many there are of each kind, and one more
    """

    contexts: Keys
    times: NDArray[np.int32]
    different: NDArray[np.int32]
    seen: Keys
    counts: NDArray[np.int32]
    outcomes: NDArray[np.int32]


class HeadGrammar:
    """Counts of events and of their contexts.

    >>> grammar = HeadGrammar.counted([Tree("NP", (Tree("DT", word="a"), Tree("NN", word="fox")))])
    >>> hens = Tree("NP", (Tree("DT", word="a"), Tree("NN", word="hen")))
    >>> turned = Tree("NP", (Tree("NN", word="hen"), Tree("DT", word="a")))
    >>> likely, unlikely = grammar.scores([hens, turned]).sum(axis=1)
    >>> bool(likely > unlikely)
    True
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self._known: dict[Event, float] = {}

    @classmethod
    def counted(cls, trees: Iterable[Tree]) -> "HeadGrammar":
        """The grammar of a treebank."""
        found = Counter(event for tree in trees for event in events(tree))
        every, often = list(found), np.array(list(found.values()), np.int64)
        outcomes = Counter(kind for kind, _ in {(contexts[0][0], came) for contexts, came in every})
        keys = _Encoded.of(every)
        owner = np.repeat(np.arange(len(every)), keys.sizes)
        seen, times = _summed(keys.joint, often[owner])
        first = np.unique(keys.joint, return_index=True)[1]
        contexts, different = np.unique(keys.contexts[first], return_counts=True)
        return cls(
            Counts(
                contexts,
                _summed(keys.contexts, often[owner])[1].astype(np.int32),
                different.astype(np.int32),
                seen,
                times.astype(np.int32),
                np.array([outcomes[kind] + 1 for kind in KINDS], np.int32),
            )
        )

    def scores(self, trees: Sequence[Tree]) -> NDArray[np.float64]:
        """The logarithms of the probability of each tree's phrases and tags, and of its words [n, 2]."""
        found = [list(events(tree)) for tree in trees]
        new = [e for e in dict.fromkeys(e for one in found for e in one) if e not in self._known]
        self._known.update(zip(new, np.log(self.probabilities(new)).tolist(), strict=True))
        out = np.zeros((len(trees), 2))
        for n, one in enumerate(found):
            for event in one:
                out[n, event[0][0][0] == WORD] += self._known[event]
        return out

    def probabilities(self, wanted: Sequence[Event]) -> NDArray[np.float64]:
        """That of each outcome after its contexts."""
        keys, counts = _Encoded.of(wanted), self.counts
        p = 1.0 / counts.outcomes[[KINDS.index(contexts[0][0]) for contexts, _ in wanted]]
        start = np.cumsum(keys.sizes) - keys.sizes
        for level in range(max(keys.sizes, default=0)):
            here = np.flatnonzero(keys.sizes > level)
            at = start[here] + level
            place, known = _looked_up(counts.contexts, keys.contexts[at])
            times, rest = counts.times[place], K * counts.different[place]
            joint, met = _looked_up(counts.seen, keys.joint[at])
            longer = (np.where(met, counts.counts[joint], 0) + rest * p[here]) / (times + rest)
            p[here] = np.where(known, longer, p[here])
        return np.asarray(p)

    def packed(self) -> dict[str, NDArray[Any]]:
        """Its arrays as a model file keeps them."""
        return {PREFIX + name: array for name, array in self.counts._asdict().items()}

    @classmethod
    def unpacked(cls, need: Requirements) -> "HeadGrammar":
        """What a model file holds, checked."""
        C, S = f"{NAME} contexts", f"{NAME} events"
        most = 2**31 - 1
        return cls(
            Counts(
                need.array(PREFIX + "contexts", np.uint64, (C,), ascending=True),
                need.array(PREFIX + "times", np.int32, (C,), low=1, below=most),
                need.array(PREFIX + "different", np.int32, (C,), low=1, below=most),
                need.array(PREFIX + "seen", np.uint64, (S,), ascending=True),
                need.array(PREFIX + "counts", np.int32, (S,), low=1, below=most),
                need.array(PREFIX + "outcomes", np.int32, (len(KINDS),), low=1, below=most),
            )
        )


class _Encoded(NamedTuple):
    """Events as keys: contexts uint64 [n], end to end; joint, each with the outcome; sizes [events]."""

    contexts: Keys
    joint: Keys
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, wanted: Sequence[Event]) -> "_Encoded":
        sizes = np.array([len(contexts) for contexts, _ in wanted], np.int64)
        names = ["\x1f".join(map(str, context)) for contexts, _ in wanted for context in contexts]
        came = np.repeat(_core.string_keys([outcome for _, outcome in wanted]), sizes)
        keys = _core.string_keys(names)
        return cls(keys, (keys ^ (came * SPREAD)) * MIX, sizes)


SPREAD, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def _summed(keys: Keys, often: NDArray[np.int64]) -> tuple[Keys, NDArray[np.int64]]:
    """Each key once, ascending, and how often it came."""
    every, place = np.unique(keys, return_inverse=True)
    return every, np.bincount(place, weights=often, minlength=len(every)).astype(np.int64)


def _looked_up(table: Keys, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The place of each key, and whether it is there at all."""
    if not len(table):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
    place = np.searchsorted(table, keys).clip(max=len(table) - 1)
    return place, table[place] == keys


def events(tree: Tree) -> Iterator[Event]:
    """What a tree is made by, from the top."""
    heads: dict[int, Tree] = {}
    _find_heads(tree, heads)
    waiting = [(tree, "")]
    while waiting:
        node, above = waiting.pop()
        if node.word is not None:
            continue
        yield from _phrase(node, above, heads)
        waiting.extend((child, node.label) for child in node.children)


def _find_heads(tree: Tree, heads: dict[int, Tree]) -> None:
    """The leaf that heads each node, by the node's id."""
    waiting = [(tree, False)]
    while waiting:
        node, below_done = waiting.pop()
        if node.word is not None:
            heads[id(node)] = node
        elif below_done:
            centre = head(node.label, [child.label for child in node.children])
            heads[id(node)] = heads[id(node.children[centre])]
        else:
            waiting.append((node, True))
            waiting.extend((child, False) for child in node.children)


def _phrase(node: Tree, above: str, heads: dict[int, Tree]) -> Iterator[Event]:
    label, names = node.label, [child.label for child in node.children]
    centre = head(label, names)
    top, middle = heads[id(node)], names[centre]
    before, earlier = "<", "<"
    for i, came in enumerate([*names, ">"]):
        side = (i > centre) - (i < centre)
        near = (label, before, side, middle)
        yield (
            (
                (CHILD, label),
                (CHILD, label, before),
                (CHILD, *near),
                (CHILD, *near, earlier, above),
                (CHILD, *near, earlier, above, top.label),
            ),
            came,
        )
        if i < len(names) and i != centre:
            other = heads[id(node.children[i])]
            yield (
                ((TAG, came), (TAG, came, label, side), (TAG, came, label, side, top.label)),
                other.label,
            )
            below = (other.label, came)
            yield (
                (
                    (WORD, other.label),
                    (WORD, *below),
                    (WORD, *below, label, top.label, side),
                    (WORD, *below, label, side, "of", (top.word or "").lower()),
                ),
                (other.word or "").lower(),
            )
        earlier, before = before, came
