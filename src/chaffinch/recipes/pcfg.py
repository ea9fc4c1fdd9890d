"""Probabilistic grammars read off a treebank: counted, smoothed, plain or with memory."""

from dataclasses import dataclass

from chaffinch.knobs import knob
from chaffinch.learners.grammar import GrammarCounts
from chaffinch.learners.problem import Problem
from chaffinch.model.pcfg import PcfgModel
from chaffinch.recipes.parsing_task import ParsingTask, trained_parser
from chaffinch.recipes.recipe import Recipe, Trained
from chaffinch.text.binary_trees import binary


@dataclass(frozen=True, kw_only=True)
class Pcfg(GrammarCounts):
    """A probabilistic context-free grammar with horizontal and vertical memory.

    Plain: ``Pcfg(vertical=1, horizontal=99, rule_smoothing=0, expected=False)``.
    Klein and Manning 2003, "Accurate unlexicalized parsing"; Goodman 1996 for ``expected``.
    """

    vertical: int = knob(2, "labels that a symbol shows: 1 its own, 2 its parent's too", low=1)
    horizontal: int = knob(1, "siblings cut off before that a part of a phrase remembers", low=0)
    annotate_words: bool = knob(False, "words' symbols show their parents too")
    expected: bool = knob(True, "choose the tree with the most brackets expected right, not the likeliest")
    toll: float = knob(0.45, "how likely a bracket must be to pay, with --expected", low=0.0)


def train(task: ParsingTask, config: Pcfg) -> Trained:
    """Count the trees made binary."""
    made = [
        binary(
            tree,
            horizontal=config.horizontal,
            vertical=config.vertical,
            annotate_words=config.annotate_words,
        )
        for tree in task.trees
    ]
    toll = config.toll if config.expected else None
    return trained_parser(
        task, config, Problem(None, None, made), lambda counted: PcfgModel.of(counted, toll)
    )


RECIPE = Recipe("pcfg", "a grammar counted off the trees, smoothed", Pcfg, train, PcfgModel.loaded)
