"""Search: incremental search for y, one decision after the other, and its constraints."""

from chaffinch.search.incremental import Beam, EasiestFirst, IncrementalChain, IncrementalSearch, LeftToRight
from chaffinch.search.legality import Legality, Need

__all__ = [
    "Beam",
    "EasiestFirst",
    "IncrementalChain",
    "IncrementalSearch",
    "LeftToRight",
    "Legality",
    "Need",
]
