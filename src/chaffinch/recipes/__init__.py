"""Recipes: named models are rows of this table, not classes."""

from chaffinch.recipes import crf, hmm, memm, perceptron
from chaffinch.recipes.recipe import Recipe, Recipes, TaggingTask, Trained

TAGGERS = Recipes(
    crf.RECIPE,
    hmm.RECIPE,
    hmm.EMISSION,
    memm.RECIPE,
    perceptron.PERCEPTRON,
    perceptron.MIRA,
    perceptron.GREEDY,
    perceptron.EASIEST_FIRST,
    perceptron.BEAM,
)

DEFAULT_TAGGER = "crf"

__all__ = ["DEFAULT_TAGGER", "TAGGERS", "Recipe", "Recipes", "TaggingTask", "Trained"]
