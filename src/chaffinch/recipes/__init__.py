"""Recipes: named models are rows of this table, not classes."""

from chaffinch.recipes import (
    crf,
    hmm,
    incremental_search,
    latent,
    margin,
    memm,
    perceptron,
    rescued,
    semi_crf,
)
from chaffinch.recipes.recipe import Recipe, Recipes, TaggingTask, Trained

TAGGERS = Recipes(
    crf.RECIPE,
    hmm.RECIPE,
    hmm.EMISSION,
    memm.RECIPE,
    semi_crf.RECIPE,
    perceptron.PERCEPTRON,
    perceptron.MIRA,
    margin.SSVM,
    margin.M3N,
    latent.PERCEPTRON,
    latent.SVM,
    incremental_search.GREEDY,
    incremental_search.EASIEST_FIRST,
    incremental_search.BEAM,
    hidden=(rescued.RECIPE,),
)

DEFAULT_TAGGER = "crf"

__all__ = ["DEFAULT_TAGGER", "TAGGERS", "Recipe", "Recipes", "TaggingTask", "Trained"]
