"""Numbered symbols of binary trees: nodes as arrays for the dynamic programmes, and trees from nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.parsing import SpanChance
from chaffinch.text.binary_trees import is_part, labels
from chaffinch.text.document import Tree


@dataclass(frozen=True, eq=False)
class TreeLabels:
    """Symbols by number.

    of_words: bool [symbols], those that words may have
    tagged:   the last label of a word's symbol is its part of speech; otherwise parts of speech are given separately
    """

    symbols: tuple[str, ...]
    of_words: NDArray[np.bool_]
    tagged: bool

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each symbol."""
        return {symbol: y for y, symbol in enumerate(self.symbols)}

    @cached_property
    def shown(self) -> list[str]:
        """The symbols in readable form: ``NP@`` is a partial NP; several labels are put in square brackets.

        >>> TreeLabels(("NP", "", "VP(@", "VP(@ PP ^S"), np.zeros(4, bool), tagged=False).shown
        ['NP', 'part', 'VP@', '[VP@ PP ^S]']
        """
        plain = [symbol.replace("(", "") or "part" for symbol in self.symbols]
        return [f"[{symbol}]" if " " in symbol else symbol for symbol in plain]

    @cached_property
    def brackets(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The brackets of each symbol, as CSR of numbers. A word's tag is no bracket; the second NP of a chain
        differs from the first."""
        ptr = np.cumsum([0, *map(len, self._chains)], dtype=np.int64)
        place = {name: n for n, name in enumerate(self._bracket_names)}
        return ptr, np.array([place[name] for chain in self._chains for name in chain], np.int32)

    def chances(self, p: NDArray[np.float32], T: int, least: float) -> list[SpanChance]:
        """The brackets with p >= least. p: float32 [T(T+1)/2, symbols], the probability of each symbol at each span."""
        ptr, ids = self.brackets
        names = self._bracket_names
        found = np.zeros((len(p), len(names)))
        for y in np.flatnonzero(p.any(axis=0)):
            found[:, ids[ptr[y] : ptr[y + 1]]] += p[:, y, None]
        starts = np.repeat(np.arange(T), np.arange(T, 0, -1))
        ends = np.concatenate([np.arange(t + 1, T + 1) for t in range(T)])
        likely = [
            SpanChance(int(starts[s]), int(ends[s]), names[b][0], float(min(found[s, b], 1.0)))
            for s, b in zip(*np.nonzero(found >= least), strict=True)
        ]
        return sorted(likely, key=lambda one: (one.start, -one.end, -one.p))

    @cached_property
    def _chains(self) -> list[list[tuple[str, int]]]:
        """The brackets of each symbol: the label, and the number of equal labels above it in the chain."""
        made = []
        for symbol, word in zip(self.symbols, self.of_words.tolist(), strict=True):
            chain = labels(symbol) if symbol and not is_part(symbol) else ()
            chain = chain[:-1] if self.tagged and word else chain
            made.append([(label, chain[:n].count(label)) for n, label in enumerate(chain)])
        return made

    @cached_property
    def _bracket_names(self) -> list[tuple[str, int]]:
        return list(dict.fromkeys(name for chain in self._chains for name in chain))

    def tree(self, nodes: NDArray[np.int32], words: Sequence[str], tags: Sequence[str] | None = None) -> Tree:
        """The tree of nodes [2T-1, 3] in preorder; a label of -1 makes no bracket."""
        done: list[list[Tree]] = []
        for start, end, label in reversed(
            nodes.tolist()
        ):  # children come before their parents, the right one first
            symbol = self.symbols[label] if label >= 0 else ""
            chain = labels(symbol) if symbol and not is_part(symbol) else ()
            if end - start == 1:
                tag = chain[-1] if tags is None else tags[start]
                made = [Tree(tag, (), words[start])]
                chain = chain[:-1] if tags is None else chain
            else:
                left = done.pop()
                made = left + done.pop()
            for name in reversed(chain):
                made = [Tree(name, tuple(made))]
            done.append(made)
        (top,) = done
        return top[0] if len(top) == 1 else Tree(FALLBACK, tuple(top))


FALLBACK = "S"  # the label of a whole sentence without one


def numbered(tree: Tree, number: dict[str, int]) -> NDArray[np.int32]:
    """The nodes of a binary tree: int32 [2T-1, 3] of start, end and the symbol's number, in preorder."""
    rows: list[list[int]] = []
    at = 0
    waiting: list[Tree | int] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, int):
            rows[node][1] = at
            continue
        rows.append([at, at + 1, number[node.label]])
        if node.word is not None:
            at += 1
        else:
            waiting.append(len(rows) - 1)
            waiting.extend(reversed(node.children))
    return np.array(rows, np.int32)
