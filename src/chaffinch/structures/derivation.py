"""Derivation: binary trees that a grammar allows, scored by its rules."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures.parts import Parts, Shape, blocked, finite
from chaffinch.structures.tree import Mask, Nodes, as_bytes, placed, span_row


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
