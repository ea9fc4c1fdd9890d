"""The recipes of parsers, and the counted one: a smoothed probabilistic grammar of a treebank."""

from dataclasses import dataclass

from chaffinch.knobs import knob
from chaffinch.learners.grammar import GrammarCounts
from chaffinch.learners.problem import Problem
from chaffinch.model.pcfg import PcfgModel
from chaffinch.recipes import span_parser
from chaffinch.recipes.recipe import Recipe, Recipes, Trained, repeated
from chaffinch.recipes.training import ParsingTask, train_parser
from chaffinch.text.binary_trees import binary


@dataclass(frozen=True, kw_only=True)
class Pcfg(GrammarCounts):
    """A probabilistic context-free grammar with horizontal and vertical memory.

    Plain: ``Pcfg(vertical=1, horizontal=99, rule_smoothing=0, expected=False)``.
    Klein and Manning 2003, "Accurate unlexicalized parsing"; Goodman 1996 for ``expected``.
    """

    vertical: int = knob(
        2, "ancestor labels in a symbol: 1 its own, 2 its parent's too (vertical Markov order)", low=1
    )
    horizontal: int = knob(
        1, "number of removed siblings that a symbol is annotated with (horizontal Markov order)", low=0
    )
    annotate_words: bool = knob(False, "annotate the symbols of words with their parents too")
    expected: bool = knob(
        True, "return the tree with the highest expected number of right brackets, not the most probable tree"
    )
    toll: float = knob(
        0.45, "probability that a bracket must exceed to raise the score, with --expected", low=0.0
    )


def train(task: ParsingTask, config: Pcfg) -> Trained:
    """Count the binarised trees; a tree of weight k counts k times."""
    trees = task.trees
    if task.weight is not None:
        trees = [trees[n] for n in repeated(task.weight, "tree").tolist()]
    made = [
        binary(
            tree,
            horizontal=config.horizontal,
            vertical=config.vertical,
            annotate_words=config.annotate_words,
        )
        for tree in trees
    ]
    toll = config.toll if config.expected else None
    return train_parser(task, config, Problem(None, None, made), lambda counted: PcfgModel.of(counted, toll))


PCFG = Recipe(
    "pcfg", "a smoothed grammar, counted from the trees", Pcfg, train, PcfgModel.loaded, options=("weight",)
)


PARSERS = Recipes(span_parser.RECIPE, PCFG)

DEFAULT_PARSER = "parser"
