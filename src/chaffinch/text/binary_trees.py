"""Binarisation of trees, with horizontal and vertical Markov annotation, and its inverse.

A binary tree's labels are *symbols*. Unary chains become one symbol, their labels separated by a space; the text after
a bracket is an annotation that ``restored`` removes. Labels of a bracketed file contain neither spaces nor brackets.

    S VP            an S with a VP as its only child
    NP(@            a partial NP: its other children are removed
    NP(@ PP         the same; the last removed child is a PP        (horizontal = 1)
    NP(^VP          an NP under a VP                                  (vertical = 2)
"""

from collections.abc import Iterator
from typing import NamedTuple

from chaffinch.text.document import Tree
from chaffinch.text.heads import head

PART = "@"
ABOVE = "^"


def binary(tree: Tree, *, horizontal: int = 0, vertical: int = 1, annotate_words: bool = False) -> Tree:
    """The binary tree: siblings are removed from the outside in, those right of the head first.

    horizontal:     number of removed siblings that a partial phrase is annotated with
    vertical:       number of labels in a symbol: 1 its own, 2 the parent's too
    annotate_words: annotate the symbols of words too

    >>> t = Tree("NP", (Tree("DT", word="a"), Tree("JJ", word="red"), Tree("NN", word="fox")))
    >>> [node.label for node in nodes(binary(t))]
    ['NP', 'DT', 'NP(@', 'JJ', 'NN']
    """
    done: list[Tree] = []
    waiting: list[_Open | _Split | _Build] = [_Open(tree, ())]
    while waiting:
        step = waiting.pop()
        if isinstance(step, _Build):
            right, left = done.pop(), done.pop()
            done.append(Tree(step.symbol, (left, right)))
        elif isinstance(step, _Split):
            waiting.extend(step.steps(horizontal))
        else:
            chain, node = _chain(step.node)
            shown = " ".join(step.above)
            if node.word is not None:
                note = f"({ABOVE}{shown}" if shown and annotate_words else ""
                done.append(Tree(" ".join(chain) + note, (), node.word))
                continue
            centre = head(node.label, [child.label for child in node.children])
            symbol = " ".join(chain) + (f"({ABOVE}{shown}" if shown else "")
            inner = (*reversed(chain), *step.above)[: vertical - 1]
            waiting.append(_Split(node.label, symbol, node.children, centre, (), shown, inner))
    return done[0]


def restored(tree: Tree) -> Tree:
    """The original tree of a binary tree: the inverse of :func:`binary`.

    >>> t = Tree("S", (Tree("VP", (Tree("VB", word="Go"),)), Tree(".", word="!")))
    >>> restored(binary(t)) == t
    True
    """
    done: list[list[Tree]] = [[]]
    waiting: list[tuple[Tree, bool]] = [(tree, False)]
    while waiting:
        node, visited = waiting.pop()
        if node.word is None and not visited:
            done.append([])
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.children))
            continue
        chain = labels(node.label)
        if node.word is not None:
            made = [Tree(chain[-1], (), node.word)]
            chain = chain[:-1]
        else:
            made = done.pop()
        if not is_part(node.label):
            for label in reversed(chain):
                made = [Tree(label, tuple(made))]
        done[-1].extend(made)
    return done[0][0]


def labels(symbol: str) -> tuple[str, ...]:
    """The labels of a symbol's chain, the highest first."""
    return tuple(symbol.partition("(")[0].split(" "))


def is_part(symbol: str) -> bool:
    """Whether a symbol is that of a partial phrase."""
    return symbol.partition("(")[2].startswith(PART)


def nodes(tree: Tree) -> Iterator[Tree]:
    """Every node in preorder."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


class _Open(NamedTuple):
    """A subtree to make binary, under these labels."""

    node: Tree
    above: tuple[str, ...]


class _Build(NamedTuple):
    """A node of the two trees made last."""

    symbol: str


class _Split(NamedTuple):
    """A phrase whose outermost child is cut off next.

    centre: the head's place   cut: siblings cut off already, the last first   shown: the labels above the phrase
    inner:  the labels above its children
    """

    label: str
    symbol: str
    children: tuple[Tree, ...]
    centre: int
    cut: tuple[str, ...]
    shown: str
    inner: tuple[str, ...]

    def steps(self, horizontal: int) -> "list[_Open | _Split | _Build]":
        """The steps that replace it, the last first."""
        rightmost = self.centre < len(self.children) - 1
        sibling = self.children[-1 if rightmost else 0]
        rest = self.children[:-1] if rightmost else self.children[1:]
        outer = _Open(sibling, self.inner)
        core: _Open | _Split = _Open(rest[0], self.inner)
        if len(rest) > 1:
            cut = (sibling.label, *self.cut)[:horizontal]
            note = " ".join([PART, *cut]) + (f" {ABOVE}{self.shown}" if self.shown else "")
            centre = self.centre if rightmost else self.centre - 1
            core = _Split(self.label, f"{self.label}({note}", rest, centre, cut, self.shown, self.inner)
        return [_Build(self.symbol), outer, core] if rightmost else [_Build(self.symbol), core, outer]


def _chain(node: Tree) -> tuple[list[str], Tree]:
    """The labels down to the first node that branches or is a word, and that node."""
    chain = [node.label]
    while node.word is None and len(node.children) == 1:
        node = node.children[0]
        chain.append(node.label)
    return chain, node
