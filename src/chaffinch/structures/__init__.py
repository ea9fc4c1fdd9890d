"""Structures: the possible answers y, their parts, and how to find the best y, the sum over all y and the k best y."""

import warnings
from typing import Any

from chaffinch.structures.chain import Chain, LocalChain
from chaffinch.structures.choice import Candidates, Choice, Judged
from chaffinch.structures.matching import GoldLinks, Matching
from chaffinch.structures.parts import Parts, Shape
from chaffinch.structures.protocols import (
    KBestOracle,
    MaxOracle,
    Scorer,
    Structure,
    SumOracle,
    oracles,
    require,
)
from chaffinch.structures.ruled import Held, LabelStates, RuledChain, RuledLocalChain
from chaffinch.structures.segments import Segment, Segments
from chaffinch.structures.tree import Derivation, SpanTree

__all__ = [
    "Candidates",
    "Chain",
    "Choice",
    "Derivation",
    "GoldLinks",
    "Held",
    "Judged",
    "KBestOracle",
    "LabelStates",
    "LocalChain",
    "Matching",
    "MaxOracle",
    "Parts",
    "RuledChain",
    "RuledLocalChain",
    "Scorer",
    "Segment",
    "Segments",
    "Shape",
    "SpanTree",
    "Structure",
    "SumOracle",
    "oracles",
    "require",
]


def __getattr__(name: str) -> Any:
    """The deprecated names."""
    if name == "Tree":
        warnings.warn("structures.Tree is now called structures.SpanTree", DeprecationWarning, stacklevel=2)
        return SpanTree
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
