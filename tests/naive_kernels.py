"""Kernels of strings and trees straight from their definitions: by enumeration of what two objects share."""

from collections import Counter
from itertools import combinations, product

from chaffinch.text.document import Tree


def spectrum(s, t, low, high):
    def grams(x):
        return Counter(tuple(x[i : i + n]) for n in range(low, high + 1) for i in range(len(x) - n + 1))

    a, b = grams(s), grams(t)
    return sum(a[u] * b[u] for u in a)


def mismatch(s, t, n, m, alphabet):
    """The explicit feature map over every string of length n."""

    def features(x):
        counts = Counter()
        for i in range(len(x) - n + 1):
            for u in product(alphabet, repeat=n):
                counts[u] += sum(a != b for a, b in zip(u, x[i : i + n], strict=True)) <= m
        return counts

    a, b = features(s), features(t)
    return sum(a[u] * b[u] for u in a)


def subsequence(s, t, low, high, decay):
    """The explicit feature map: every subsequence, weighted by the stretch it spans."""

    def features(x, n):
        weights = Counter()
        for places in combinations(range(len(x)), n):
            weights[tuple(x[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
        return weights

    total = 0.0
    for n in range(low, high + 1):
        a, b = features(s, n), features(t, n)
        total += sum(a[u] * b[u] for u in a)
    return total


def subset_trees(a: Tree, b: Tree, decay: float) -> float:
    """Every fragment rooted anywhere, as a nested tuple, weighted by the productions it holds."""
    return _shared(_fragments, a, b, decay)


def subtrees(a: Tree, b: Tree, decay: float) -> float:
    return _shared(_whole, a, b, decay)


def partial_trees(a: Tree, b: Tree, decay: float, depth: float) -> float:
    """The definition, children's subsequences enumerated."""

    def D(n, m):
        if n[0] != m[0]:
            return 0.0
        total = decay**2
        for size in range(1, min(len(n[1]), len(m[1])) + 1):
            for I in combinations(range(len(n[1])), size):
                for J in combinations(range(len(m[1])), size):
                    term = decay ** (I[-1] - I[0] + J[-1] - J[0])
                    for i, j in zip(I, J, strict=True):
                        term *= D(n[1][i], m[1][j])
                    total += term
        return depth * total

    return sum(D(n, m) for n in _nodes(_spelt_out(a)) for m in _nodes(_spelt_out(b)))


def _spelt_out(tree):
    """(label, children), words as nodes of their own."""
    if tree.word is not None:
        return (tree.label, ((("word", tree.word), ()),))
    return (tree.label, tuple(_spelt_out(child) for child in tree.children))


def _nodes(node):
    return [node, *(n for child in node[1] for n in _nodes(child))]


def _fragments(tree):
    """The fragments rooted at this node, each with its number of productions."""
    if tree.word is not None:
        return [((tree.label, tree.word), 1)]
    choices = [[(child.label, 0), *_fragments(child)] for child in tree.children]
    return [
        ((tree.label, *(piece for piece, _ in picked)), 1 + sum(n for _, n in picked))
        for picked in product(*choices)
    ]


def _whole(tree):
    if tree.word is not None:
        return [((tree.label, tree.word), 1)]
    pieces = [_whole(child)[0] for child in tree.children]
    return [((tree.label, *(piece for piece, _ in pieces)), 1 + sum(n for _, n in pieces))]


def _shared(rooted, a, b, decay):
    def weights(tree):
        found = Counter()
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            waiting.extend(node.children)
            for fragment, size in rooted(node):
                found[fragment] += decay ** (size / 2)
        return found

    x, y = weights(a), weights(b)
    return sum(x[f] * y[f] for f in x)
