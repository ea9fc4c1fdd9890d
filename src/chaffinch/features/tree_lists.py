"""Global features of k-best lists of trees, as 64-bit keys of whole trees.

Rules alone, under their parents and grandparents; three neighbouring children; heads and their dependents; the length
of a phrase and its neighbours; words under the labels above them; similarity of coordinated phrases; how far
the tree branches to the right; how many of its brackets the other candidates have. After Charniak and Johnson 2005,
"Coarse-to-fine n-best parsing and MaxEnt discriminative reranking".
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.features.forest import Forest, Node, size_level
from chaffinch.features.tag_lists import KeyedRows
from chaffinch.text.document import Tree

COORDINATING = frozenset({"CC", "CONJP"})
GLOBAL = ("right branching", "brackets", "brackets of the others", "score")
SURE = 10.0  # scale of reliable features, so that small weights suffice


def tree_list_features(
    candidates: Sequence[Sequence[Tree]], scores: Sequence[NDArray[np.float64]]
) -> KeyedRows:
    """The features of every candidate of every list, except subtrees that all candidates of a list share.

    scores: the base model's; they weight the brackets of the other candidates

    >>> trees = [Tree("NP", (Tree("DT", word="a"), Tree("NN", word="fox"))), Tree("X", (Tree("DT", word="a"),))]
    >>> rows = tree_list_features([trees], [np.zeros(2)])
    >>> len(rows.ptr) - 1, len(rows.keys) == rows.ptr[-1]
    (2, np.True_)
    """
    keys, values, sizes = [], [], [0]
    fixed = _core.string_keys(list(GLOBAL))
    for trees, weights in zip(candidates, scores, strict=True):
        forest = Forest()
        members = [forest.add(tree) for tree in trees]
        shared = set(members[0]).intersection(*map(set, members[1:]))
        local = _keys(forest, sorted({n for one in members for n in one if n not in shared}))
        p = np.exp(weights - weights.max())
        p /= p.sum()
        likely: dict[tuple[str, int, int], float] = {}
        for one, share in zip(members, p.tolist(), strict=True):
            for bracket in {forest.bracket(n) for n in one if forest.nodes[n].kids}:
                likely[bracket] = likely.get(bracket, 0.0) + share
        gaps = np.maximum(weights - weights.max(), LEAST).tolist()
        for one, gap in zip(members, gaps, strict=True):
            parts = [local[n] for n in one if n not in shared]
            found, counts = np.unique(np.concatenate([*parts, fixed[:0]]), return_counts=True)
            inner = [n for n in one if forest.nodes[n].kids]
            expected = sum(likely[forest.bracket(n)] for n in inner)
            whole = [
                forest.right_branching(one[-1]) / 10,
                len(inner) / 10,
                SURE * (expected - HALF * len(inner)),
                SURE * gap,
            ]
            keys.append(np.concatenate([found, fixed]))
            values.append(np.concatenate([counts, whole]).astype(np.float32))
            sizes.append(len(found) + len(fixed))
    return KeyedRows(
        np.cumsum(sizes, dtype=np.int64),
        np.concatenate(keys) if keys else np.zeros(0, np.uint64),
        np.concatenate(values) if values else np.zeros(0, np.float32),
    )


def tree_list_names(candidates: Sequence[Tree]) -> dict[int, str]:
    """The names of the features of the trees of one list, by key.

    >>> names = tree_list_names([Tree("NP", (Tree("DT", word="a"), Tree("NN", word="fox")))])
    >>> "r NP>DT NN" in names.values(), "score" in names.values()
    (True, True)
    """
    forest = Forest()
    nodes = {n for tree in candidates for n in forest.add(tree)}
    names = [*GLOBAL, *(name for n in sorted(nodes) for name in _features(forest, n))]
    return dict(zip(_core.string_keys(names).tolist(), names, strict=True))


LEAST = -50.0  # lower bound of a score's distance from the best
HALF = 0.4  # probability that a bracket must exceed to raise the score


def _keys(forest: Forest, wanted: list[int]) -> dict[int, NDArray[np.uint64]]:
    """The keys of the features of each of these nodes."""
    names: list[str] = []
    ptr = [0]
    for n in wanted:
        names.extend(_features(forest, n))
        ptr.append(len(names))
    every = _core.string_keys(names) if names else np.zeros(0, np.uint64)
    return {n: every[ptr[i] : ptr[i + 1]] for i, n in enumerate(wanted)}


def _features(forest: Forest, n: int) -> Iterator[str]:
    node = forest.nodes[n]
    if not node.kids:
        return
    label, kids = node.label, [forest.nodes[k] for k in node.kids]
    top = forest.nodes[node.head]
    word, tag = (top.word or "").lower(), top.label
    size = size_level(node.end - node.start)
    before, after = forest.tags.get(node.start - 1, "<"), forest.tags.get(node.end, ">")
    yield f"r {node.rule}"
    yield f"hw {label} {word}"
    yield f"ht {label} {tag} {size}"
    yield f"n {label} {size} {before} {after}"
    yield f"v {label} {size} {after}"
    yield f"e {label} {forest.tags[node.start]} {forest.tags[node.end - 1]} {after}"
    names = ["<", *(k.label for k in kids), ">"]
    for i in range(len(names) - 2):
        yield f"t {label} {names[i]} {names[i + 1]} {names[i + 2]}"
    for kid in kids:
        if kid.word is not None:
            yield f"w {label} {kid.word.lower()}"
            continue
        yield f"p {label} {kid.rule}"
        for below in (forest.nodes[k] for k in kid.kids):
            if below.word is not None:
                yield f"ww {label} {kid.label} {below.word.lower()}"
            else:
                yield f"g {label} {kid.label} {below.rule}"
        if kid.head != node.head:
            other = forest.nodes[kid.head]
            side = "l" if kid.start < top.start else "r"
            yield f"d {label} {tag} {side} {kid.label} {other.label}"
            yield f"l {label} {word} {side} {kid.label} {(other.word or '').lower()}"
            yield f"k {label} {word} {side} {kid.label}"
            yield f"kt {label} {tag} {side} {kid.label} {(other.word or '').lower()}"
    yield from _coordination(label, kids)


def _coordination(label: str, kids: list[Node]) -> Iterator[str]:
    """The similarity of the phrases on both sides of a conjunction."""
    for i in range(1, len(kids) - 1):
        if kids[i].label in COORDINATING:
            a, b = kids[i - 1], kids[i + 1]
            longer = (b.end - b.start) - (a.end - a.start)
            yield f"c {label} {a.label == b.label} {a.rule.partition('>')[2] == b.rule.partition('>')[2]}"
            yield f"cl {label} {max(-5, min(5, longer))} {i + 2 == len(kids)}"
