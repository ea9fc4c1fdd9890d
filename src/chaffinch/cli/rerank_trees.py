"""chaffinch rerank, where the base model is a parser: lists of trees."""

from collections.abc import Sequence
from pathlib import Path

from chaffinch.corpus import read
from chaffinch.corpus.brackets import bracketed
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Parser, Reranker
from chaffinch.estimators.parser import trees_of
from chaffinch.estimators.reranker import oracle
from chaffinch.estimators.tree_lists import cross_validated_tree_lists, tree_lists, words_of
from chaffinch.evaluate.intervals import compare
from chaffinch.evaluate.trees import score_trees, tree_tally
from chaffinch.files import display_name, writing_text
from chaffinch.kernels import Kernel, PartialTreeKernel, SubsetTreeKernel, SubtreeKernel
from chaffinch.model.candidates import CandidateList
from chaffinch.model.head_grammar import HeadGrammar
from chaffinch.model.reranker_parts import CONSENSUS
from chaffinch.model.tree_consensus import TreeConsensus
from chaffinch.text.document import Tree

SCORE = "bracket.f1"
KERNELS = {"subtree": SubtreeKernel, "subset-tree": SubsetTreeKernel, "partial-tree": PartialTreeKernel}


def gold_trees(path: Path) -> list[Tree]:
    """The trees of a file, without traces and function tags."""
    found = [d.tree for d in read(path) if d.tree is not None]
    if not found:
        raise DataError(f"{display_name(path)}: has no tree")
    return trees_of(found)


def features_named(name: str, data: Path) -> str | TreeConsensus:
    """Features of trees by their name; a grammar that they ask is counted off the trees for training."""
    return TreeConsensus(grammar=HeadGrammar.counted(gold_trees(data))) if name == CONSENSUS else name


def kernel_named(name: str) -> Kernel:
    """A kernel of trees by its name, normalised so that large trees are not alike for their size."""
    if name not in KERNELS:
        raise ConfigError(f"there is no kernel {name!r} of trees: expected {', '.join(KERNELS)}")
    return KERNELS[name]().normalised()


def training_lists(parser: Parser, data: Path, k: int, folds: int, features: str) -> list[CandidateList]:
    """Lists by parsers made as this one was, each trained without the sentences it lists."""

    def anew() -> Parser:
        return Parser(parser.recipe, seed=parser.seed, threads=parser.threads)

    return cross_validated_tree_lists(anew, gold_trees(data), k, folds, grammar=features == CONSENSUS)


def held_out_lists(parser: Parser, data: Path, k: int) -> list[CandidateList]:
    """Lists of sentences whose trees are known."""
    gold = gold_trees(data)
    return tree_lists(parser, [words_of(tree) for tree in gold], k, gold)


def tree_scores(data: Path, lists: Sequence[CandidateList], reranker: Reranker) -> dict[str, float]:
    """Bracket F1 of the lists' first trees, of those chosen and of the best, and the gain with its interval."""
    gold = gold_trees(data)
    answers = {
        "base": [one.candidates[0] for one in lists],
        "reranked": reranker.predict(lists),
        "oracle": oracle(lists),
    }
    found = {f"{SCORE}.{name}": score_trees(gold, trees).bracket.f1 for name, trees in answers.items()}
    labels = sorted({label for name in ("base", "reranked") for label in tree_tally(gold, answers[name])[1]})
    ours, other = (tree_tally(gold, answers[name], also=labels)[0] for name in ("reranked", "base"))
    gain = compare(ours, other)[SCORE]
    return found | {
        f"{SCORE}.gain": gain.difference,
        f"{SCORE}.gain.low": gain.low,
        f"{SCORE}.gain.high": gain.high,
    }


def write_chosen(
    parser: Parser, sentences: Sequence[Sequence[str]], output: Path, reranker: Reranker, k: int
) -> None:
    """One tree per line."""
    with writing_text(output) as stream:
        for tree in reranker.predict(tree_lists(parser, sentences, k)):
            stream.write(bracketed(tree) + "\n")
