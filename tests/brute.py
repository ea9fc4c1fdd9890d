"""Every y of a small structure, one by one: the definition that oracles are held to.

A structure joins by one ``Case``: how to draw it with potentials, and an enumeration of its y in the order in which
ties are broken. Everything else (score, best, sum, k best, marginals) follows from ``parts`` and this file.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from chaffinch.structures import Chain, Choice, Derivation, Matching, Parts, SpanTree
from chaffinch.structures.fertile import FertileMatching
from chaffinch.structures.segments import Segment, Segments
from chaffinch.structures.tree import placed, words

quick = settings(max_examples=20, deadline=None)
refusal = settings(max_examples=5, deadline=None)  # what is checked does not depend on what is drawn

# Multiples of 1/8 add up exactly in either precision, so ties are ties; a small range makes them common.
eighths = tuple(sorted((n / 8 for n in range(-16, 17)), key=abs))
few = (0.0, 0.5, 1.0, -1.0)
mostly = (True, True, True, False)
Values = Sequence[Any] | st.SearchStrategy[Any]


def labelings(structure: Any, potentials: Parts) -> Iterator[Any]:
    """Every y the masks allow, in the order of ties: of equal scores the first is the one to be found."""
    if isinstance(structure, Choice):
        yield from range(len(potentials["choice"]))
    elif isinstance(structure, Chain):
        T = len(potentials["unary"])
        for backwards in itertools.product(range(structure.Y), repeat=T):
            y = np.array(backwards[::-1], np.int32)
            if _allowed(structure, y):
                yield y
    elif isinstance(structure, SpanTree):
        T = words(len(potentials["span"]))
        yield from (tree.y for tree in _every_tree(T, structure.Y) if _tree_allowed(structure, tree))
    elif isinstance(structure, Derivation):
        rules = {*map(tuple, structure.rules.tolist())}
        for tree in _every_tree(len(potentials["leaf"]), structure.Y):
            if tree.rules <= rules and (structure.root is None or structure.root[tree.y[0, 2]]):
                yield tree.y
    elif isinstance(structure, Segments):
        yield from _segmentations(structure, len(potentials["segment"]) // structure.L)
    elif isinstance(structure, Matching):
        n, m = potentials["edge"].shape
        yield from (frozenset(links) for links in _matchings(n, m))
    elif isinstance(structure, FertileMatching):
        n, m = potentials["edge"].shape
        for links in _matchings(2 * n, 2 * m):
            if all(i < n or j < m for i, j in links):
                yield frozenset((i % n, j % m, 1 if i >= n else 2 if j >= m else 0) for i, j in links)
    else:
        raise NotImplementedError(type(structure))


def ordered(structure: Any) -> bool:
    """Whether of equals the one to be found is the first of the enumeration; else it is any of them."""
    return not isinstance(structure, Matching | FertileMatching)


def loss(structure: Any, potentials: Parts, y: Any, gold: Any) -> float:
    """What the structure's cost has to count."""
    if isinstance(structure, SpanTree | Derivation):
        wrong = {*map(tuple, y.tolist())} - {*map(tuple, gold.tolist())}
        return len([1 for i, j, _ in wrong if "span" in potentials or j - i == 1])
    if isinstance(structure, Segments):
        labels = [label for start, end, label in gold for _ in range(start, end)]
        return sum(
            max(0.5, sum(labels[t] != label for t in range(start, end)))
            for start, end, label in set(y) - set(gold)
        )
    if isinstance(structure, Matching | FertileMatching):
        alone, lonely = (
            np.concatenate([parts["source"], parts["target"]])
            for parts in (structure.parts(potentials.shape, links) for links in (y, gold))
        )
        return len(set(y) - set(gold)) + 0.5 * int((alone > lonely).sum())
    return np.sum(np.asarray(y) != np.asarray(gold))


def score(structure: Any, potentials: Parts, y: Any) -> float:
    """potentials . parts(y), in double; -inf if y uses a forbidden part."""
    total = 0.0
    for name, count in structure.parts(potentials.shape, y).items():
        used = count > 0
        total += float(np.sum(potentials[name][used].astype(np.float64) * count[used]))
    return total


def ranked(structure: Any, potentials: Parts) -> list[tuple[float, Any]]:
    """Every allowed y with its score, best first, ties in order."""
    every = [(score(structure, potentials, y), y) for y in labelings(structure, potentials)]
    return sorted((found for found in every if found[0] > -np.inf), key=lambda found: -found[0])


def logsum(
    structure: Any, potentials: Parts, every: list[tuple[float, Any]] | None = None
) -> tuple[float, Parts]:
    """log Z by summing over every y, and the expected parts by averaging over every y.

    every: what ``ranked`` returns, if the caller has it
    """
    every = ranked(structure, potentials) if every is None else every
    top = every[0][0]
    total = math.fsum(math.exp(s - top) for s, _ in every)
    expected = Parts.zeros(potentials.shape)
    for s, y in every:
        expected = expected + structure.parts(potentials.shape, y) * (math.exp(s - top) / total)
    return top + math.log(total), expected


def _allowed(chain: Chain, y: np.ndarray) -> bool:
    return bool(
        (chain.start is None or len(y) == 0 or chain.start[y[0]])
        and (chain.end is None or len(y) == 0 or chain.end[y[-1]])
        and (chain.transitions is None or chain.transitions[y[:-1], y[1:]].all())
    )


def _trees(i: int, j: int, Y: int) -> Iterator[list[tuple[int, int, int]]]:
    """Every labelled binary tree over [i, j), in preorder, in the order of its rows (start, end, label)."""
    for label in range(Y):
        if j - i == 1:
            yield [(i, j, label)]
        for k in range(i + 1, j):
            for left in _trees(i, k, Y):
                for right in _trees(k, j, Y):
                    yield [(i, j, label), *left, *right]


def _segmentations(structure: Segments, T: int) -> Iterator[tuple[Segment, ...]]:
    """Every segmentation of T positions, by the label and the length of the last segment, then of the one before."""
    if T == 0:
        yield ()
    for label in range(structure.Y):
        room = structure.L if structure.longest is None else structure.longest[label]
        for length in range(1, min(room, T) + 1):
            for front in _segmentations(structure, T - length):
                yield (*front, Segment(T - length, T, label))


def _matchings(n: int, m: int) -> Iterator[list[tuple[int, int]]]:
    """Every matching of n rows and m columns."""
    for size in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), size):
            for columns in itertools.permutations(range(m), size):
                yield list(zip(rows, columns, strict=True))


class _Tree(NamedTuple):
    """A tree and what masks and grammars look at."""

    y: np.ndarray  # read-only, since examples share it
    rules: frozenset[tuple[int, int, int]]
    single: np.ndarray  # nodes of one word
    pairs: tuple[tuple[np.ndarray, np.ndarray], ...]  # labels of left, of right children and of their parents


@cache
def _every_tree(T: int, Y: int) -> list[_Tree]:
    """What ``_trees`` yields over T words, made once for all examples."""
    return [_described(np.array(nodes, np.int32), Y) for nodes in _trees(0, T, Y)]


def _described(y: np.ndarray, Y: int) -> _Tree:
    y.flags.writeable = False
    _, parent, left = placed(len(y) // 2 + 1, Y, y)
    below = [[int(label) for label in y[parent == n, 2]] for n in range(len(y))]
    rules = frozenset((int(y[n, 2]), *children) for n, children in enumerate(below) if children)
    child = parent >= 0
    pairs = tuple((y[child & side, 2], y[parent[child & side], 2]) for side in (left, ~left))
    return _Tree(y, rules, y[:, 1] - y[:, 0] == 1, pairs)


def _tree_allowed(structure: SpanTree, tree: _Tree) -> bool:
    def may(mask: np.ndarray | None, *at: Any) -> bool:
        return mask is None or bool(np.all(mask[at]))

    labels = tree.y[:, 2]
    return (
        may(structure.root, labels[0])
        and may(structure.leaf, labels[tree.single])
        and may(structure.phrase, labels[~tree.single])
        and may(structure.under_left, *tree.pairs[0])
        and may(structure.under_right, *tree.pairs[1])
    )


@st.composite
def arrays(draw: Any, size: tuple[int, ...], values: Values, dtype: Any) -> np.ndarray:
    """An array of some of these values, drawn at once: a draw for each number takes longer than the test."""
    n = math.prod(size)
    if isinstance(values, st.SearchStrategy):
        return np.array(draw(st.lists(values, min_size=n, max_size=n)), dtype).reshape(size)
    drawn = np.frombuffer(draw(st.binary(min_size=n, max_size=n)), np.uint8)
    return np.array(values, dtype)[drawn % len(values)].reshape(size)


@st.composite
def choices(draw: Any, values: Values = eighths, dtype: Any = np.float64) -> tuple[Choice, Parts]:
    """A choice and potentials for it."""
    n = draw(st.integers(1, 6))
    return Choice(draw(st.sampled_from([None, n]))), Parts(choice=draw(arrays((n,), values, dtype)))


@st.composite
def chains(
    draw: Any, order: int = 1, values: Values = eighths, dtype: Any = np.float64, masks: bool = True
) -> tuple[Chain, Parts]:
    """A chain with or without masks, and potentials with or without each optional block; y may be impossible."""
    Y = draw(st.integers(1, 3))
    T = draw(st.integers(1, 5 if Y < 3 else 4))
    mask = {
        name: draw(st.none() | arrays(size, mostly, np.bool_)) if masks else None
        for name, size in (("transitions", (Y, Y)), ("start", (Y,)), ("end", (Y,)))
    }
    sizes: dict[str, tuple[int, ...]] = {"pair": (Y, Y), "start": (Y,), "end": (Y,)}
    if order == 2:
        sizes |= {"triple": (Y, Y, Y), "first": (Y, Y), "last": (Y, Y)}
    elif draw(st.booleans()):
        sizes["pair"] = (T - 1, Y, Y)
    blocks = {"unary": draw(arrays((T, Y), values, dtype))}
    for name, size in sizes.items():
        if draw(st.sampled_from([True, True, False])):
            blocks[name] = draw(arrays(size, values, dtype))
    return Chain(Y, **mask, order=order), Parts(**blocks)


@st.composite
def trees(
    draw: Any, values: Values = eighths, dtype: Any = np.float64, masks: bool = True
) -> tuple[SpanTree, Parts]:
    """Trees of up to four words, with or without masks, and potentials with or without each optional block."""
    Y = draw(st.integers(1, 3))
    T = draw(st.integers(1, {1: 5, 2: 4, 3: 3}[Y]))
    mask = {
        name: draw(st.none() | arrays(size, mostly, np.bool_)) if masks else None
        for name, size in (
            ("root", (Y,)),
            ("leaf", (Y,)),
            ("phrase", (Y,)),
            ("under_left", (Y, Y)),
            ("under_right", (Y, Y)),
        )
    }
    wide = draw(st.sampled_from([1, 3, 3]))
    blocks = {"span": draw(arrays((T * (T + 1) // 2, wide * Y), values, dtype))}
    for name in ("left", "right"):
        if draw(st.booleans()):
            blocks[name] = draw(arrays((Y, Y), values, dtype))
    return SpanTree(Y, **mask), Parts(**blocks)


@st.composite
def derivations(
    draw: Any, values: Values = eighths, dtype: Any = np.float64, masks: bool = True
) -> tuple[Derivation, Parts]:
    """Grammars of some of all rules, over up to four words."""
    Y = draw(st.integers(1, 3))
    T = draw(st.integers(1, {1: 5, 2: 4, 3: 3}[Y]))
    every = list(itertools.product(range(Y), repeat=3))
    rules = draw(st.lists(st.sampled_from(every), unique=True, min_size=min(len(every), 4)))
    root = draw(st.none() | arrays((Y,), (True, True, False), np.bool_)) if masks else None
    blocks = {"leaf": draw(arrays((T, Y), values, dtype)), "rule": draw(arrays((len(rules),), values, dtype))}
    if draw(st.booleans()):
        blocks["span"] = draw(arrays((T * (T + 1) // 2, Y), values, dtype))
    if draw(st.booleans()):
        blocks["top"] = draw(arrays((Y,), values, dtype))
    return Derivation(Y, np.array(rules, np.int32), root), Parts(**blocks)


@st.composite
def segments(
    draw: Any, values: Values = eighths, dtype: Any = np.float64, masks: bool = True
) -> tuple[Segments, Parts]:
    """Segments of up to three positions with one or two labels, and potentials with or without optional blocks."""
    Y, L, T = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    longest = draw(st.none() | st.tuples(*[st.integers(1, L)] * Y)) if masks else None
    structure = Segments(Y, L, longest)
    kept = draw(st.sets(st.sampled_from(["pair", "start", "end"])))
    sizes = {name: size for name, size in structure.shape(T).items() if name == "segment" or name in kept}
    return structure, Parts(**{name: draw(arrays(size, values, dtype)) for name, size in sizes.items()})


@st.composite
def matchings(
    draw: Any,
    values: Sequence[float] = eighths,
    dtype: Any = np.float64,
    masks: bool = True,
    fertile: bool = False,
) -> tuple[Matching | FertileMatching, Parts]:
    """Matchings of up to three words on each side, two where words may have two links."""
    most = 2 if fertile else 3
    n, m = draw(st.integers(1, most)), draw(st.integers(1, most))
    structure = FertileMatching() if fertile else Matching()
    if masks:
        values = (*values, *[-np.inf] * len(values))
    sizes = structure.shape(n, m)
    return structure, Parts(**{name: draw(arrays(size, values, dtype)) for name, size in sizes.items()})
