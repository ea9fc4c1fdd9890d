"""The recipes of parsers."""

from chaffinch.recipes import pcfg, span_parser
from chaffinch.recipes.recipe import Recipes

PARSERS = Recipes(span_parser.RECIPE, pcfg.RECIPE)

DEFAULT_PARSER = "parser"
