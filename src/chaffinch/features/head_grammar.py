"""A lexicalised grammar counted off a treebank, to ask how likely a whole tree is.

    p(tree) = prod over phrases of   prod over children, then the end, of p(child | label, sibling before, head, ...)
                                   * prod over children that are not the head of
                                     p(its head's tag | ...) p(its head's word | tag, label, governing word, ...)

Every distribution backs off from the most detailed context to ever shorter ones, as Witten and Bell do:
p(o | c) = (n(c, o) + K d(c) p(o | shorter c)) / (n(c) + K d(c)), d(c) different outcomes having been seen after c.
After Collins 1999, "Head-driven statistical models for natural language parsing".
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from chaffinch.text.document import Tree
from chaffinch.text.heads import head

K = 3.0
WORD = "word"

Context = tuple[Any, ...]
Event = tuple[tuple[Context, ...], str]  # contexts from the shortest on, and what came


class HeadGrammar:
    """Counts of events and of their contexts.

    >>> grammar = HeadGrammar([Tree("NP", (Tree("DT", word="a"), Tree("NN", word="fox")))])
    >>> likely = grammar.score(Tree("NP", (Tree("DT", word="a"), Tree("NN", word="hen"))))
    >>> sum(likely) > sum(grammar.score(Tree("NP", (Tree("NN", word="hen"), Tree("DT", word="a")))))
    True
    """

    def __init__(self, trees: Iterable[Tree]) -> None:
        self._seen: dict[tuple[Context, str], int] = {}
        self._times: dict[Context, int] = {}
        self._different: dict[Context, int] = {}
        outcomes: dict[str, set[str]] = {}
        for tree in trees:
            for contexts, came in events(tree):
                outcomes.setdefault(contexts[0][0], set()).add(came)
                for context in contexts:
                    times = self._seen.get((context, came), 0)
                    self._seen[context, came] = times + 1
                    self._times[context] = self._times.get(context, 0) + 1
                    self._different[context] = self._different.get(context, 0) + (times == 0)
        self._outcomes = {kind: len(found) + 1 for kind, found in outcomes.items()}
        self._known: dict[Event, float] = {}

    def score(self, tree: Tree) -> tuple[float, float]:
        """The logarithms of the probability of the tree's phrases and tags, and of its words."""
        phrases = words = 0.0
        for event in events(tree):
            if event not in self._known:
                self._known[event] = math.log(self.probability(event))
            if event[0][0][0] == WORD:
                words += self._known[event]
            else:
                phrases += self._known[event]
        return phrases, words

    def probability(self, event: Event) -> float:
        """That of an outcome after its contexts."""
        contexts, came = event
        p = 1.0 / self._outcomes.get(contexts[0][0], 1)
        for context in contexts:
            if context in self._times:
                rest = K * self._different[context]
                p = (self._seen.get((context, came), 0) + rest * p) / (self._times[context] + rest)
        return p


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
                ("child", label),
                ("child", label, before),
                ("child", *near),
                ("child", *near, earlier, above),
                ("child", *near, earlier, above, top.label),
            ),
            came,
        )
        if i < len(names) and i != centre:
            other = heads[id(node.children[i])]
            yield (
                (("tag", came), ("tag", came, label, side), ("tag", came, label, side, top.label)),
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
