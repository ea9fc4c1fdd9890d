"""Tree kernels on Penn Treebank trees of about 70 nodes, beside the recursion written plainly in Python."""

from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TREES = "ptb_sample/trees.tsv.gz"
COUNT, PLAIN = 600, 24  # trees; of which the plain recursion takes the first few
DECAY = 0.4


def trees(_seed: int) -> list[Any]:
    """Those nearest to 70 nodes, words counted."""
    from chaffinch.corpus.brackets import nodes, read

    found = [d.tree for d in read(corpus(TREES)) if d.tree is not None]
    size = [sum(1 + (n.word is not None) for n in nodes(tree)) for tree in found]
    order = np.argsort(np.abs(np.array(size) - 70), kind="stable")[:COUNT]
    return [found[n] for n in order.tolist()]


def ours(kind: str) -> Any:
    def prepare(given: list[Any]) -> Any:
        from chaffinch.kernels import PartialTreeKernel, SubsetTreeKernel

        kernel = SubsetTreeKernel(decay=DECAY) if kind == "subset" else PartialTreeKernel()
        once, again = kernel.prepared(given), kernel.prepared(given)
        return lambda: kernel.gram(once, again, threads=1)

    return prepare


def plain(given: list[Any]) -> Any:
    """Collins and Duffy's recursion with a memory, on the pairs of the first few trees, once for each pair of all."""

    def production(node: Any) -> Any:
        return (node.label, node.word or tuple(child.label for child in node.children))

    def flat(tree: Any) -> list[Any]:
        out = [tree]
        for node in out:
            out.extend(node.children)
        return [(production(node), node) for node in out]

    def value(a: list[Any], b: list[Any]) -> float:
        memory: dict[tuple[int, int], float] = {}

        def D(n: Any, m: Any) -> float:
            if production(n) != production(m):
                return 0.0
            key = (id(n), id(m))
            if key not in memory:
                product = DECAY
                for x, y in zip(n.children, m.children, strict=True):
                    product *= 1 + D(x, y)
                memory[key] = product
            return memory[key]

        return sum(D(n, m) for p, n in a for q, m in b if p == q)

    first = [flat(tree) for tree in given[:PLAIN]]
    return lambda: np.array([[value(a, b) for b in first] for a in first])


def agreement(_given: list[Any], K: Any) -> dict[str, float]:
    """The sum over the first few trees, by which two implementations are seen to agree."""
    return {"sum of the first": float(K[:PLAIN, :PLAIN].sum()), "pairs": float(K.size)}


BENCHMARK = Benchmark(
    name="tree_kernels",
    question="How many pairs of trees of 70 nodes does the subset-tree kernel compare in a second on one core?",
    input=trees,
    work=lambda _given: (float(COUNT * COUNT), "pairs"),
    ours=Contender(name="chaffinch subset trees", prepare=ours("subset"), run=lambda gram: gram()),
    rivals=(
        Contender(name="chaffinch partial trees", prepare=ours("partial"), run=lambda gram: gram()),
        Contender(name=f"plain Python, {PLAIN * PLAIN} pairs", prepare=plain, run=lambda gram: gram()),
    ),
    scores=agreement,
    needs=(TREES,),
    repeats=3,
)
