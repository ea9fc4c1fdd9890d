"""Tree kernels on Penn Treebank trees of about 70 nodes: subset trees, partial trees, subtrees."""

from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

TREES = "ptb_sample/trees.tsv.gz"
COUNT = 600


def trees(_seed: int) -> list[Any]:
    """Those nearest to 70 nodes, words counted."""
    from chaffinch.corpus.brackets import nodes, read

    found = [d.tree for d in read(corpus(TREES)) if d.tree is not None]
    size = [sum(1 + (n.word is not None) for n in nodes(tree)) for tree in found]
    order = np.argsort(np.abs(np.array(size) - 70), kind="stable")[:COUNT]
    return [found[n] for n in order.tolist()]


def gram(name: str) -> Any:
    """A block of all trees with all trees, one side prepared as new ones would be."""

    def prepare(given: list[Any]) -> Any:
        from chaffinch import kernels

        kernel = getattr(kernels, name)()
        once, again = kernel.prepared(given), kernel.prepared(given)
        return lambda: kernel.gram(once, again, threads=1)

    return prepare


def sizes(_given: list[Any], K: Any) -> dict[str, float]:
    """What was compared; that the values are right is for the tests, which count fragments one by one."""
    return {"pairs": float(K.size), "mean": float(K.mean())}


BENCHMARK = Benchmark(
    name="tree_kernels",
    question="How many pairs of trees of 70 nodes does the subset-tree kernel compare in a second on one core?",
    input=trees,
    work=lambda _given: (float(COUNT * COUNT), "pairs"),
    ours=Contender(name="subset trees", prepare=gram("SubsetTreeKernel"), run=lambda block: block()),
    rivals=(
        Contender(name="partial trees", prepare=gram("PartialTreeKernel"), run=lambda block: block()),
        Contender(name="subtrees", prepare=gram("SubtreeKernel"), run=lambda block: block()),
    ),
    scores=sizes,
    needs=(TREES,),
    repeats=3,
)
