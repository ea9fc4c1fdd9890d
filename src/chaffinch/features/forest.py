"""The distinct subtrees of a list of trees: subtrees that k-best trees share are processed once."""

from typing import NamedTuple

from chaffinch.text.document import Tree
from chaffinch.text.heads import head

PUNCTUATION = frozenset({",", ":", "``", "''", ".", "-RRB-", "-LRB-"})


class Node(NamedTuple):
    """A subtree with its span. kids and head (its head leaf) are numbers of other nodes."""

    label: str
    start: int
    end: int
    kids: tuple[int, ...]
    word: str | None
    rule: str
    head: int


class Forest:
    """Subtrees by number. tags: the part of speech at each position in the first tree.

    >>> forest = Forest()
    >>> trees = [Tree("NP", (Tree("NN", word="fox"),)), Tree("X", (Tree("NN", word="fox"),))]
    >>> [forest.add(tree) for tree in trees]
    [[0, 1], [0, 2]]
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.tags: dict[int, str] = {}
        self._number: dict[tuple[str, int, str | None, tuple[int, ...]], int] = {}

    def add(self, tree: Tree) -> list[int]:
        """The numbers of a tree's nodes, the root last."""
        done: list[list[int]] = [[]]
        found: list[int] = []
        waiting: list[tuple[Tree, bool]] = [(tree, False)]
        at = 0
        while waiting:
            node, visited = waiting.pop()
            if node.word is not None:
                number = self._leaf(node.label, node.word, at)
                at += 1
            elif not visited:
                done.append([])
                waiting.append((node, True))
                waiting.extend((child, False) for child in reversed(node.children))
                continue
            else:
                number = self._phrase(node.label, tuple(done.pop()))
            done[-1].append(number)
            found.append(number)
        return found

    def bracket(self, n: int) -> tuple[str, int, int]:
        """Label, start and end."""
        node = self.nodes[n]
        return node.label, node.start, node.end

    def right_branching(self, n: int) -> int:
        """The number of nodes on the right branch of the tree, final punctuation excluded."""
        length = 0
        while True:
            length += 1
            kids = [k for k in self.nodes[n].kids if self.nodes[k].label not in PUNCTUATION]
            if not kids:
                return length
            n = kids[-1]

    def _leaf(self, label: str, word: str, at: int) -> int:
        key = (label, at, word, ())
        if key not in self._number:
            self._number[key] = len(self.nodes)
            self.nodes.append(Node(label, at, at + 1, (), word, "", len(self.nodes)))
            self.tags.setdefault(at, label)
        return self._number[key]

    def _phrase(self, label: str, kids: tuple[int, ...]) -> int:
        key = (label, self.nodes[kids[0]].start, None, kids)
        if key not in self._number:
            self._number[key] = len(self.nodes)
            below = [self.nodes[k] for k in kids]
            names = [k.label for k in below]
            rule = f"{label}>{' '.join(names)}"
            centre = below[head(label, names)].head
            self.nodes.append(Node(label, below[0].start, below[-1].end, kids, None, rule, centre))
        return self._number[key]


def size_level(n: int) -> int:
    """The bucket of a phrase's length."""
    return n if n <= 5 else 6 + (n > 8) + (n > 12) + (n > 20)
