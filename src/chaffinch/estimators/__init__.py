"""Estimators: what users hold. Thin: they check, call a recipe, and keep what it made."""

from chaffinch.estimators.aligner import Aligner
from chaffinch.estimators.classifier import Classifier
from chaffinch.estimators.loading import load
from chaffinch.estimators.parser import Parser
from chaffinch.estimators.reranker import Reranker
from chaffinch.estimators.tagger import Tagger

__all__ = ["Aligner", "Classifier", "Parser", "Reranker", "Tagger", "load"]
