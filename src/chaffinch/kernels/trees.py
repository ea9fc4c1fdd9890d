"""Kernels of trees: the number of shared fragments, with lower weights for larger fragments."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.corpus.brackets import parse
from chaffinch.errors import DataError
from chaffinch.kernels.kernel import Block, Kernel
from chaffinch.kernels.sequences import key
from chaffinch.knobs import check, knob
from chaffinch.text.document import Document, Tree

WORDS = "\x00"  # prefix of words, which distinguishes them from labels


@dataclass(frozen=True)
class Trees:
    """Trees in a bank, and the selected ones: int64 [n]."""

    bank: _core.TreeBank
    which: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.which)

    def taken(self, which: NDArray[np.integer[Any]]) -> "Trees":
        """Some of the trees, in the order named."""
        return Trees(self.bank, self.which[which])

    @classmethod
    def of(cls, objects: Iterable[Any]) -> "Trees":
        """From trees, documents that have one, or bracketed strings."""
        ptr, labels, arity = [0], [], []
        keys: dict[str, int] = {}

        def numbered(name: str) -> int:
            known = keys.get(name)
            if known is None:
                known = keys[name] = key(name)
            return known

        for n, given in enumerate(objects):
            for name, children in _postorder(_tree(n, given)):
                labels.append(numbered(name))
                arity.append(children)
            ptr.append(len(labels))
        bank = _core.TreeBank(np.array(ptr, np.int64), np.array(labels, np.uint64), np.array(arity, np.int32))
        return cls(bank, np.arange(len(ptr) - 1))


class TreeKernel(Kernel):
    """A kernel of trees: :class:`Tree`, documents with a tree, or strings such as ``(S (NP (NNP Ann)) ...)``."""

    @abstractmethod
    def native(self) -> _core.TreeKernel:
        """The kernel of the core; it checks every setting."""

    def prepared(self, objects: Any) -> Trees:
        """Trees in a bank of labels and productions."""
        return objects if isinstance(objects, Trees) else Trees.of(objects)

    def block(self, A: Trees, B: Trees, threads: int) -> Block:
        """See :class:`Kernel`."""
        out = np.zeros((len(A), len(B)), np.float64)
        _core.tree_gram(self.native(), A.bank, A.which, B.bank, B.which, threads, out)
        return out

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """See :class:`Kernel`."""
        a = self.prepared(A)
        out = np.zeros(len(a), np.float64)
        _core.tree_diagonal(self.native(), a.bank, a.which, threads, out)
        return out


@dataclass(frozen=True, kw_only=True)
class SubtreeKernel(TreeKernel, name="subtree", of="trees"):
    """Whole subtrees, down to the words (ST). Vishwanathan and Smola 2003.

        D(n, m) = decay prod_k D(child_k(n), child_k(m))    if the productions are equal, else 0;    k = sum of D

    >>> SubtreeKernel(decay=1.0).gram(["(S (N Ann) (V left))"], ["(S (N Ann) (V left))", "(S (N Ann) (V ran))"])
    array([[3., 1.]])
    """

    decay: float = knob(0.4, "factor for each production of a fragment", low=1e-3, high=1.0)

    def native(self) -> _core.TreeKernel:
        """See :class:`TreeKernel`."""
        check(self)
        return _core.TreeKernel(_core.TreeKernelKind.subtree, self.decay, 1.0)


@dataclass(frozen=True, kw_only=True)
class SubsetTreeKernel(TreeKernel, name="subset-tree", of="trees"):
    """Fragments that contain each production completely or not at all (SST). Collins and Duffy 2002.

        D(n, m) = decay prod_k (1 + D(child_k(n), child_k(m)))    if the productions are equal, else 0;    k = sum of D

    >>> SubsetTreeKernel(decay=1.0).gram(["(S (N Ann) (V left))"], ["(S (N Ann) (V left))", "(S (N Ann) (V ran))"])
    array([[6., 3.]])
    """

    decay: float = knob(0.4, "factor for each production of a fragment", low=1e-3, high=1.0)

    def native(self) -> _core.TreeKernel:
        """See :class:`TreeKernel`."""
        check(self)
        return _core.TreeKernel(_core.TreeKernelKind.subset_tree, self.decay, 1.0)


@dataclass(frozen=True, kw_only=True)
class PartialTreeKernel(TreeKernel, name="partial-tree", of="trees"):
    """Fragments that may contain only some of a node's children (PTK). Moschitti 2006.

        D(n, m) = depth (decay^2 + sum over equally long subsequences I, J of the children of
                         decay^(d(I) + d(J)) prod_k D(I_k, J_k))      if the labels are equal, else 0
        d(I)    = last - first,     k = sum of D over all nodes, words included

    >>> PartialTreeKernel(decay=1.0, depth=1.0).gram(["(S (N Ann))"], ["(S (N Ann))", "(S (N Bob) (V left))"])
    array([[6., 3.]])
    """

    decay: float = knob(0.4, "factor for each position of a span of children", low=1e-3, high=1.0)
    depth: float = knob(0.4, "factor for each level of the tree", low=1e-3, high=1.0)

    def native(self) -> _core.TreeKernel:
        """See :class:`TreeKernel`."""
        check(self)
        return _core.TreeKernel(_core.TreeKernelKind.partial_tree, self.decay, self.depth)


def _tree(n: int, given: Any) -> Tree:
    if isinstance(given, Tree):
        return given
    if isinstance(given, Document) and given.tree is not None:
        return given.tree
    if isinstance(given, str):
        if not given.strip():
            raise DataError(
                f"object {n + 1} is empty: expected a bracketed tree such as (S (NP (NNP Ann)) ...)"
            )
        return parse(given, f"object {n + 1}")
    raise DataError(
        f"object {n + 1} is {type(given).__name__} without a tree, expected a tree or a bracketed string"
    )


def _postorder(tree: Tree) -> Iterable[tuple[str, int]]:
    """Labels and numbers of children in postorder; a word is a node below its leaf."""
    waiting: list[tuple[Tree, bool]] = [(tree, False)]
    while waiting:
        node, visited = waiting.pop()
        if node.word is not None:
            yield WORDS + node.word, 0
            yield node.label, 1
        elif visited:
            yield node.label, len(node.children)
        else:
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.children))
