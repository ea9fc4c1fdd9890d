"""Models: an encoder, a scorer, a structure and a search; trained models never change."""

from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import Packed, Reading, TaggingModel

__all__ = ["LabelSet", "Packed", "Reading", "TaggingModel"]
