"""Tree kernels on TREC questions as the parser reads them; it is trained on the treebank's sample."""

from benchmarks.corpora import corpus
from benchmarks.kernels_trec import benchmark
from chaffinch.text.document import Tree

TREES = "ptb_sample/trees.tsv.gz"


def parses(sentences: list[list[str]]) -> list[Tree]:
    """The parser's trees, their words in lower case."""
    from chaffinch import Parser
    from chaffinch.corpus import read

    treebank = [d.tree for d in read(corpus(TREES), strip=True) if d.tree is not None]
    return [lowered(tree) for tree in Parser("parser", folds=0).fit(treebank).predict(sentences)]


def lowered(tree: Tree) -> Tree:
    return Tree(tree.label, tuple(map(lowered, tree.children)), tree.word.lower() if tree.word else tree.word)


BENCHMARK = benchmark(
    "kernels_trec_parses",
    "How well do kernels of the parser's trees classify questions by kind of answer?",
    parses,
    TREES,
    (
        "word pairs + partial trees",
        "words",
        "word pairs",
        "subtrees",
        "subset trees",
        "partial trees",
        "words + subset trees",
        "words + partial trees",
        "word pairs + subtrees",
        "word pairs + subset trees",
        "characters + word pairs + partial trees",
    ),
)
