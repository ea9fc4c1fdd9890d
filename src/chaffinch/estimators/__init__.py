"""Estimators: the public classes. They check their input, call a recipe and keep its model."""

from chaffinch.estimators.aligner import Aligner
from chaffinch.estimators.classifier import Classifier
from chaffinch.estimators.loading import load
from chaffinch.estimators.parser import Parser
from chaffinch.estimators.reranker import Reranker
from chaffinch.estimators.tagger import Tagger

__all__ = ["Aligner", "Classifier", "Parser", "Reranker", "Tagger", "load"]
