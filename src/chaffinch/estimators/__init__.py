"""Estimators: what users hold. Thin: they check, call a recipe, and keep what it made."""

from chaffinch.estimators.loading import load
from chaffinch.estimators.tagger import Tagger

__all__ = ["Tagger", "load"]
