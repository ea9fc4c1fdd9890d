"""Scorers: storage of the weights, and scores of parts."""

from chaffinch.scorers.features import FeatureMap, FeatureScorer, NamedFeatures, PartFeatures, Rows
from chaffinch.scorers.linear import Block, Dense, Example, Layout, Linear

__all__ = [
    "Block",
    "Dense",
    "Example",
    "FeatureMap",
    "FeatureScorer",
    "Layout",
    "Linear",
    "NamedFeatures",
    "PartFeatures",
    "Rows",
]
