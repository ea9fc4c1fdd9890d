"""Binary trees over a sentence: SpanTree, scored by spans and pairs of nodes; Derivation, scored by grammar rules."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures.parts import Parts, Shape, blocked, finite

Nodes = NDArray[np.int32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SpanTree:
    """A binary tree over T words with a label in 0 .. Y-1 at each of its 2T-1 nodes, words included.

        s(y) = sum over nodes (i, j, A) of  span[ij, A]
             + sum over left children (i, k, B) under A of   span[ik, Y + A] + left[B, A]
             + sum over right children (k, j, C) under A of  span[kj, 2Y + A] + right[C, A]

    Blocks of the parts: ``span`` [T(T+1)/2, 3Y], or [T(T+1)/2, Y] if scores of spans do not depend on the parent's
    label; rows are ordered by start, then by length (:func:`span_row`). ``left`` and ``right`` [Y, Y], by child and
    parent, are optional. -inf forbids a part.

    A y is an array [2T-1, 3] of (start, end, label), nodes in preorder. Masks: the labels allowed for the ``root``,
    for single words (``leaf``) and for longer spans (``phrase``), [Y] each; the children allowed ``under_left`` and
    ``under_right`` of each parent, [Y, Y].

    Ties: among the best trees, the one whose array is smallest when read row by row.

    >>> tree = SpanTree(2)
    >>> potentials = Parts(span=np.array([[0.0, 0], [0, 1], [0, 5], [1, 0], [0, 2], [0, 0]]))
    >>> tree.argmax(potentials).tolist()
    [[0, 3, 1], [0, 1, 0], [1, 3, 1], [1, 2, 0], [2, 3, 0]]
    >>> len(tree.kbest(potentials, 100))
    64
    """

    Y: int
    root: Mask | None = None
    leaf: Mask | None = None
    phrase: Mask | None = None
    under_left: Mask | None = None
    under_right: Mask | None = None

    def __post_init__(self) -> None:
        if self.Y < 1:
            raise ConfigError(f"SpanTree.Y must be >= 1, got {self.Y}")
        Y = self.Y
        sizes = {"root": (Y,), "leaf": (Y,), "phrase": (Y,), "under_left": (Y, Y), "under_right": (Y, Y)}
        for name, size in sizes.items():
            mask = getattr(self, name)
            if mask is not None and (np.asarray(mask).dtype != np.bool_ or np.shape(mask) != size):
                raise ConfigError(f"SpanTree.{name} must be a bool array of shape {size}")

    def shape(self, T: int) -> dict[str, tuple[int, ...]]:
        """The shape of the parts of T words."""
        return {"span": (T * (T + 1) // 2, 3 * self.Y), "left": (self.Y, self.Y), "right": (self.Y, self.Y)}

    def parts(self, shape: Shape, y: Nodes) -> Parts:
        """How often y uses each part."""
        T = words(shape["span"][0])
        y, parent, left = placed(T, self.Y, y)
        indicator = Parts.zeros(shape, np.float32)
        row = span_row(T, y[:, 0], y[:, 1])
        np.add.at(indicator["span"], (row, y[:, 2]), 1)
        below = np.flatnonzero(parent >= 0)
        above = y[parent[below], 2]
        if shape["span"][1] == 3 * self.Y:
            role = np.where(left[below], self.Y, 2 * self.Y)
            np.add.at(indicator["span"], (row[below], role + above), 1)
        for name, side in (("left", left[below]), ("right", ~left[below])):
            if name in indicator:
                np.add.at(indicator[name], (y[below[side], 2], above[side]), 1)
        return indicator

    def cost(self, shape: Shape, y: Nodes) -> Parts:
        """One for each node that is not in y with its label."""
        T = words(shape["span"][0])
        y, _, _ = placed(T, self.Y, y)
        wrong = np.zeros(shape["span"], np.float32)
        wrong[:, : self.Y] = 1
        wrong[span_row(T, y[:, 0], y[:, 1]), y[:, 2]] = 0
        return Parts(span=wrong)

    def argmax(self, potentials: Parts, *, open: Mask | None = None) -> Nodes:
        """The best tree; ``open`` [T(T+1)/2] says which spans of two words or more may be nodes."""
        with blocked():
            _, nodes = self._native(potentials, open).argmax()
        return nodes.reshape(-1, 3)

    def kbest(self, potentials: Parts, k: int, *, open: Mask | None = None) -> list[tuple[float, Nodes]]:
        """The k best trees with their scores, best first; fewer if fewer exist."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        with blocked():
            scores, nodes = self._native(potentials, open).kbest(k)
        return list(zip(scores.tolist(), nodes.reshape(len(scores), -1, 3), strict=True))

    def logsum(self, potentials: Parts, *, open: Mask | None = None) -> tuple[float, Parts]:
        """log Z and its gradient: the marginals of nodes and the expected counts of pairs."""
        with blocked():
            log_z, *expected = self._native(potentials, open).logsum()
        blocks: dict[str, Any] = dict(zip(("span", "left", "right"), expected, strict=True))
        return log_z, Parts(**{name: blocks[name].reshape(b.shape) for name, b in potentials.items()})

    def masks(self) -> NDArray[np.uint8]:
        """All masks end to end, in the order that trainers expect: root, leaf, phrase, under_left, under_right."""
        vector, table = np.ones(self.Y, np.bool_), np.ones((self.Y, self.Y), np.bool_)
        found = (self.root, self.leaf, self.phrase, self.under_left, self.under_right)
        full = (vector, vector, vector, table, table)
        joined = [(whole if mask is None else mask).ravel() for mask, whole in zip(found, full, strict=True)]
        return np.concatenate(joined).astype(np.uint8)

    def _native(self, potentials: Parts, open: Mask | None) -> "_core.TreeSentence32 | _core.TreeSentence64":
        span = potentials["span"]
        single = span.dtype == np.float32
        blocks = {name: finite(name, block, single) for name, block in potentials.items()}
        unknown = set(blocks) - {"span", "left", "right"}
        if unknown:
            raise DataError(f"a tree has no parts named {', '.join(sorted(unknown))}")
        if span.ndim != 2 or span.shape[1] not in (self.Y, 3 * self.Y):
            raise DataError(f"span: expected shape [spans, {3 * self.Y}], found {list(span.shape)}")
        kind: Any = _core.TreeSentence32 if single else _core.TreeSentence64
        return kind(
            T=words(span.shape[0]),
            Y=self.Y,
            root=as_bytes(self.root),
            leaf=as_bytes(self.leaf),
            phrase=as_bytes(self.phrase),
            left_allowed=as_bytes(self.under_left),
            right_allowed=as_bytes(self.under_right),
            open=as_bytes(open),
            **blocks,
        )


@dataclass(frozen=True, eq=False)
class Derivation:
    """A binary tree over T words; each node uses one of R rules A -> B C.

        s(y) = top[root] + sum over words (t, A) of leaf[t, A]
             + sum over nodes (i, j, A -> B C) of rule[A -> B C] + span[ij, A]

    ``rules`` [R, 3] lists parent, left and right child of each rule; labels are 0 .. Y-1. Blocks of the parts:
    ``leaf`` [T, Y], ``rule`` [R] and, optionally, ``top`` [Y] for the label of the root and ``span`` [T(T+1)/2, Y]
    for spans of two words or more. -inf forbids a part. ``root`` [Y] is a mask of the allowed root labels. The form
    of y and the order of ties are those of :class:`SpanTree`.

    >>> grammar = Derivation(3, np.array([[0, 1, 2], [2, 2, 2]], np.int32))
    >>> leaf = np.array([[-np.inf, 0, -np.inf], [-np.inf, -np.inf, 0], [-np.inf, -np.inf, 0]])
    >>> grammar.argmax(Parts(leaf=leaf, rule=np.log([1.0, 0.5]))).tolist()
    [[0, 3, 0], [0, 1, 1], [1, 3, 2], [1, 2, 2], [2, 3, 2]]
    """

    Y: int
    rules: NDArray[np.int32]
    root: Mask | None = None
    _grammar: Any = field(init=False, repr=False, default=None)
    _number: dict[tuple[int, int, int], int] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        rules = np.ascontiguousarray(self.rules, np.int32)
        if rules.ndim != 2 or rules.shape[1] != 3 or self.Y < 1:
            raise ConfigError(f"Derivation.rules must be an array [R, 3], got one of shape {rules.shape}")
        if rules.size and (int(rules.min()) < 0 or int(rules.max()) >= self.Y):
            raise ConfigError(f"Derivation.rules must hold labels from 0 to {self.Y - 1}")
        if self.root is not None and (np.shape(self.root) != (self.Y,) or self.root.dtype != np.bool_):
            raise ConfigError(f"Derivation.root must be a bool array of shape {(self.Y,)}")
        self._number.update({(a, b, c): r for r, (a, b, c) in enumerate(rules.tolist())})
        if len(self._number) < len(rules):
            raise ConfigError("Derivation.rules holds a rule twice")
        object.__setattr__(self, "rules", rules)
        object.__setattr__(self, "_grammar", _core.Grammar(self.Y, rules))

    def shape(self, T: int) -> dict[str, tuple[int, ...]]:
        """The shape of the parts of T words."""
        return {"leaf": (T, self.Y), "rule": (len(self.rules),)}

    def parts(self, shape: Shape, y: Nodes) -> Parts:
        """How often y uses each part."""
        T = shape["leaf"][0]
        y, parent, left = placed(T, self.Y, y)
        indicator = Parts.zeros(shape, np.float32)
        single = y[:, 1] - y[:, 0] == 1
        indicator["leaf"][y[single, 0], y[single, 2]] = 1
        sides = [parent[left], y[left, 2], parent[~left][1:], y[~left][1:, 2]]
        children = {int(n): [int(label), -1] for n, label in zip(*sides[:2], strict=True)}
        for n, label in zip(*sides[2:], strict=True):
            children[int(n)][1] = int(label)
        for n, (b, c) in children.items():
            rule = self._number.get((int(y[n, 2]), b, c))
            if rule is None:
                raise DataError(f"node {n}: the grammar has no rule {int(y[n, 2])} -> {b} {c}")
            indicator["rule"][rule] += 1
        if "top" in indicator:
            indicator["top"][y[0, 2]] = 1
        if "span" in indicator:
            indicator["span"][span_row(T, y[~single, 0], y[~single, 1]), y[~single, 2]] = 1
        return indicator

    def cost(self, shape: Shape, y: Nodes) -> Parts:
        """One for each node that is not in y with its label; only words count if there is no block of spans."""
        T = shape["leaf"][0]
        y, _, _ = placed(T, self.Y, y)
        single = y[:, 1] - y[:, 0] == 1
        wrong = {name: np.ones(shape[name], np.float32) for name in ("leaf", "span") if name in shape}
        wrong["leaf"][y[single, 0], y[single, 2]] = 0
        if "span" in wrong:
            wrong["span"][span_row(T, y[~single, 0], y[~single, 1]), y[~single, 2]] = 0
        return Parts(**wrong)

    def argmax(self, potentials: Parts, *, open: Mask | None = None) -> Nodes:
        """The best derivation; ``open`` [T(T+1)/2] says which spans of two words or more may be nodes."""
        with blocked():
            nodes: Nodes = self.native(potentials, open).argmax()[1]
        return nodes.reshape(-1, 3)

    def kbest(self, potentials: Parts, k: int, *, open: Mask | None = None) -> list[tuple[float, Nodes]]:
        """The k best derivations with their scores, best first; fewer if fewer exist."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        with blocked():
            scores, nodes = self.native(potentials, open).kbest(k)
        return list(zip(scores.tolist(), nodes.reshape(len(scores), -1, 3), strict=True))

    def logsum(self, potentials: Parts, *, open: Mask | None = None) -> tuple[float, Parts]:
        """log Z and its gradient: the expected counts of labels and rules."""
        with blocked():
            log_z, *expected = self.native(potentials, open).logsum()
        blocks: dict[str, Any] = dict(zip(("leaf", "rule", "span", "top"), expected, strict=True))
        return log_z, Parts(**{name: blocks[name].reshape(b.shape) for name, b in potentials.items()})

    def native(self, potentials: Parts, open: Mask | None) -> Any:
        """The checked potentials, in the form that the core takes."""
        single = potentials["leaf"].dtype == np.float32
        blocks = {name: finite(name, block, single) for name, block in potentials.items()}
        unknown = set(blocks) - {"leaf", "rule", "span", "top"}
        if unknown:
            raise DataError(f"a derivation has no parts named {', '.join(sorted(unknown))}")
        kind: Any = _core.DerivationSentence32 if single else _core.DerivationSentence64
        return kind(self._grammar, root=as_bytes(self.root), open=as_bytes(open), **blocks)


def span_row(T: Any, start: Any, end: Any) -> Any:
    """The row of the span [start, end) of T words.

    >>> [span_row(3, i, j) for i, j in ((0, 1), (0, 3), (1, 2), (2, 3))]
    [0, 2, 3, 5]
    """
    return start * T - start * (start - 1) // 2 + (end - start - 1)


def words(spans: int) -> int:
    """The number of words of a sentence with this number of spans."""
    T = int((np.sqrt(8 * spans + 1) - 1) / 2)
    if T < 1 or spans != T * (T + 1) // 2:
        raise DataError(f"span: expected T(T+1)/2 rows for some T >= 1, found {spans}")
    return T


def placed(T: int, Y: int, y: Nodes) -> tuple[Nodes, NDArray[np.int64], Mask]:
    """A tree's nodes, checked; the place of each node's parent (-1: none), and whether it is the left child."""
    y = np.asarray(y)
    if y.shape != (2 * T - 1, 3):
        raise DataError(f"expected {2 * T - 1} nodes for {T} words, found an array of shape {y.shape}")
    parent, left = np.full(len(y), -1, np.int64), np.zeros(len(y), np.bool_)
    expected = [(0, T, -1)]
    for n, (start, end, label) in enumerate(y.tolist()):
        i, j, above = expected.pop()
        if start != i or (j >= 0 and end != j) or not i < end <= T:
            raise DataError(f"node {n}: [{start}, {end}) does not fit: expected a tree's nodes in preorder")
        if not 0 <= label < Y:
            raise DataError(f"node {n}: expected a label from 0 to {Y - 1}, found {label}")
        if j < 0:  # a left child: its sister begins at its end
            outer = int(y[above, 1])
            if end >= outer:
                raise DataError(
                    f"node {n}: [{start}, {end}) does not fit: expected a tree's nodes in preorder"
                )
            expected.append((end, outer, above))
            left[n] = True
        parent[n] = above
        if end - start > 1:
            expected.append((start, -1, n))
    return y.astype(np.int32, copy=False), parent, left


def as_bytes(mask: Mask | None) -> NDArray[np.uint8] | None:
    """A mask in the form that the dynamic programmes take."""
    return None if mask is None else np.ascontiguousarray(mask, np.bool_).view(np.uint8)
