"""Search: how y is found, choice by choice."""

from chaffinch.search.incremental import Beam, EasiestFirst, IncrementalSearch, LeftToRight
from chaffinch.search.legality import Legality, Need

__all__ = ["Beam", "EasiestFirst", "IncrementalSearch", "LeftToRight", "Legality", "Need"]
