"""Tree kernels on Penn Treebank trees of about 70 nodes: subset trees, partial trees, subtrees."""

from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark
from benchmarks.corpora import corpus
from benchmarks.gram_block import gram_block, sizes

TREES = "ptb_sample/trees.tsv.gz"
COUNT = 600


def trees(_seed: int) -> list[Any]:
    """Those nearest to 70 nodes, words counted."""
    from chaffinch.corpus.brackets import read
    from chaffinch.text.binary_trees import nodes

    found = [d.tree for d in read(corpus(TREES)) if d.tree is not None]
    size = [sum(1 + (n.word is not None) for n in nodes(tree)) for tree in found]
    order = np.argsort(np.abs(np.array(size) - 70), kind="stable")[:COUNT]
    return [found[n] for n in order.tolist()]


BENCHMARK = Benchmark(
    name="tree_kernels",
    question="How many pairs of trees of 70 nodes does the subset-tree kernel compare in a second on one core?",
    input=trees,
    work=lambda _given: (float(COUNT * COUNT), "pairs"),
    ours=gram_block("subset trees", "SubsetTreeKernel"),
    rivals=(gram_block("partial trees", "PartialTreeKernel"), gram_block("subtrees", "SubtreeKernel")),
    scores=sizes,
    needs=(TREES,),
    repeats=3,
)
