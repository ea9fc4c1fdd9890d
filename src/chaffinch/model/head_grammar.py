"""A lexicalised grammar estimated from a treebank, whose log-probabilities are features of whole trees.

    child         p(child | phrase, sibling before, head, parent, head's tag ...), the end of the phrase included
    subcategory   the same given the head's word
    tag, word     of a child's head, given its governor
    attachment    a child with its head's tag (its word for PP and SBAR), given the governing word
    rule          all children at once, given the parent and grandparent
    length        of a phrase, by levels
    before, after the part of speech beside a phrase
    coordination  the conjunct after a conjunction, given the one before

Each is the logarithm of a product over the tree, and a feature of its own. Every distribution
backs off from the most detailed context to shorter ones, by Witten and Bell's method:
p(o | c) = (n(c, o) + K d(c) p(o | shorter c)) / (n(c) + K d(c)), with d(c) distinct outcomes seen after c.
After Collins 1999, "Head-driven statistical models for natural language parsing".
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.features.forest import Forest, Node, size_level
from chaffinch.modelfile import Saved, array
from chaffinch.text.document import Tree

K = 3.0
KINDS = (
    "child",
    "subcategory",
    "tag",
    "word",
    "attachment",
    "rule",
    "length",
    "before",
    "after",
    "coordination",
)
CHILD, SUBCATEGORY, TAG, WORD, ATTACHMENT, RULE, LENGTH, BEFORE, AFTER, COORDINATION = KINDS
COORDINATING = frozenset({"CC", "CONJP"})
LEXICAL = frozenset({"PP", "SBAR"})  # phrases whose head word is more informative than its tag

Event = tuple[str, tuple[str, ...], str]  # its kind, contexts from the shortest on, and the outcome
Keys = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Counts(Saved):
    """Counts of events, by 64-bit keys.

    contexts: uint64 [C], ascending   times, different: int32 [C], counts, and numbers of distinct outcomes
    seen:     uint64 [S], ascending   counts: int32 [S], of a context with an outcome
    outcomes: int32 [kinds], the number of outcomes of each kind, plus one
    """

    contexts: Keys = array("uint64", "contexts", ascending=True)
    times: NDArray[np.int32] = array("int32", "contexts", low=1, below=2**31 - 1)
    different: NDArray[np.int32] = array("int32", "contexts", low=1, below=2**31 - 1)
    seen: Keys = array("uint64", "events", ascending=True)
    counts: NDArray[np.int32] = array("int32", "events", low=1, below=2**31 - 1)
    outcomes: NDArray[np.int32] = array("int32", len(KINDS), low=1, below=2**31 - 1)


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

    @classmethod
    def counted(cls, trees: Iterable[Tree]) -> "HeadGrammar":
        """The grammar of a treebank."""
        found = Counter(event for tree in trees for event in events_of(tree))
        every, often = list(found), np.array(list(found.values()), np.int64)
        outcomes = Counter(kind for kind, _ in {(kind, came) for kind, _, came in every})
        keys = _EventKeys.of(every)
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
        """The log-probability of each tree of a list, by kind of event [n, kinds]."""
        forest = Forest()
        places: dict[_Place, int] = {}
        members = [
            [places.setdefault(place, len(places)) for place in _places(forest, forest.add(tree)[-1])]
            for tree in trees
        ]
        found = [list(events(forest, *place)) for place in places]
        number = {event: n for n, event in enumerate(dict.fromkeys(e for one in found for e in one))}
        logs = np.log(self.probabilities(list(number)))
        kinds = np.array([KINDS.index(kind) for kind, _, _ in number], np.int64)
        which = np.array([number[event] for one in found for event in one], np.int64)
        owner = np.repeat(np.arange(len(found)), [len(one) for one in found])
        cells = np.bincount(
            owner * len(KINDS) + kinds[which], logs[which], minlength=len(found) * len(KINDS)
        ).reshape(-1, len(KINDS))
        return np.stack([cells[one].sum(axis=0) for one in members])

    def probabilities(self, wanted: Sequence[Event]) -> NDArray[np.float64]:
        """The probability of each outcome given its contexts."""
        keys, counts = _EventKeys.of(wanted), self.counts
        p = 1.0 / counts.outcomes[[KINDS.index(kind) for kind, _, _ in wanted]]
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


class _EventKeys(NamedTuple):
    """Events as keys: contexts uint64 [n], end to end; joint, each with the outcome; sizes [events]."""

    contexts: Keys
    joint: Keys
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, wanted: Sequence[Event]) -> "_EventKeys":
        sizes = np.array([len(contexts) for _, contexts, _ in wanted], np.int64)
        names = [f"{kind}\t{context}" for kind, contexts, _ in wanted for context in contexts]
        came = np.repeat(_core.string_keys([came for _, _, came in wanted]), sizes)
        keys = _core.string_keys(names)
        return cls(keys, (keys ^ (came * SPREAD)) * MIX, sizes)


SPREAD, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def _summed(keys: Keys, often: NDArray[np.int64]) -> tuple[Keys, NDArray[np.int64]]:
    """The distinct keys, ascending, and their counts."""
    every, place = np.unique(keys, return_inverse=True)
    return every, np.bincount(place, weights=often, minlength=len(every)).astype(np.int64)


def _looked_up(table: Keys, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The index of each key, and whether it exists."""
    if not len(table):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
    place = np.searchsorted(table, keys).clip(max=len(table) - 1)
    return place, table[place] == keys


_Place = tuple[int, str, str]  # a node, the label above it, and the one above that


def events_of(tree: Tree) -> Iterator[Event]:
    """The events of a tree, from the top."""
    forest = Forest()
    for place in _places(forest, forest.add(tree)[-1]):
        yield from events(forest, *place)


def events(forest: Forest, n: int, above: str, higher: str) -> Iterator[Event]:
    """The events of a phrase."""
    node = forest.nodes[n]
    label, kids = node.label, [forest.nodes[k] for k in node.kids]
    names, top = [kid.label for kid in kids], forest.nodes[node.head]
    centre = next(i for i, kid in enumerate(kids) if kid.head == node.head)
    tag, word = top.label, (top.word or "").lower()
    before, earlier = "<", "<"
    for i, came in enumerate([*names, ">"]):
        side = "left" if i < centre else "head" if i == centre else "right"
        after = f"{label}\t{before}"
        near = f"{after}\t{side}\t{names[centre]}"
        far, lexical = f"{near}\t{earlier}\t{above}", f"{near}\t{tag}"
        yield CHILD, (label, after, near, far, f"{far}\t{tag}"), came
        yield SUBCATEGORY, (label, after, near, lexical, f"{lexical}\t{word}"), came
        if i < len(names) and i != centre:
            yield from _governed(came, forest.nodes[kids[i].head], f"{label}\t{side}", tag, word)
        earlier, before = before, came
    under = f"{label}\t{above}"
    yield RULE, (label, under, f"{under}\t{higher}"), node.rule
    yield LENGTH, (label, under, f"{under}\t{tag}"), str(size_level(node.end - node.start))
    yield BEFORE, (label, under), forest.tags.get(node.start - 1, "<")
    yield AFTER, (label, under, f"{under}\t{names[centre]}"), forest.tags.get(node.end, ">")
    for i in range(1, len(names) - 1):
        if names[i] in COORDINATING:
            yield COORDINATION, (label, f"{label}\t{names[i - 1]}"), names[i + 1]


def _governed(came: str, below: Node, where: str, tag: str, word: str) -> Iterator[Event]:
    """The events of a child that is not the head; ``below`` is its own head."""
    own = (below.word or "").lower()
    tagged, here = f"{came}\t{where}\t{tag}", f"{below.label}\t{came}"
    yield TAG, (came, f"{came}\t{where}", tagged, f"{tagged}\t{word}"), below.label
    yield WORD, (below.label, here, f"{here}\t{where}\t{tag}", f"{here}\t{where}\tof\t{word}"), own
    shown = f"{came} {own if came in LEXICAL else below.label}"
    yield ATTACHMENT, (tag, f"{where}\t{tag}", f"{where}\tof\t{word}"), shown


def _places(forest: Forest, top: int) -> Iterator[_Place]:
    """Every phrase of a tree with the labels above it."""
    waiting: list[_Place] = [(top, "", "")]
    while waiting:
        place = waiting.pop()
        n, above, _ = place
        node = forest.nodes[n]
        if node.kids:
            yield place
            waiting.extend((kid, node.label, above) for kid in node.kids)
