"""Recipes: named models are rows of this table, not classes."""

from chaffinch.recipes import crf, hmm
from chaffinch.recipes.recipe import Recipe, Recipes, TaggingTask, Trained

TAGGERS = Recipes(
    crf.RECIPE,
    hmm.RECIPE,
    hmm.EMISSION,
)

DEFAULT_TAGGER = "hmm"

__all__ = ["DEFAULT_TAGGER", "TAGGERS", "Recipe", "Recipes", "TaggingTask", "Trained"]
