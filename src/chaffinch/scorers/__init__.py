"""Scorers: how w . phi is stored."""

from chaffinch.scorers.feature_map import FeatureMap, NamedFeatures
from chaffinch.scorers.features import FeatureScorer, PartFeatures, Rows
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
