"""Structures: the possible answers y, their parts, and how to find the best y, the sum over all y and the k best y."""

from chaffinch.structures.candidates import Candidates, Judged
from chaffinch.structures.chain import Chain, LocalChain
from chaffinch.structures.choice import Choice
from chaffinch.structures.derivation import Derivation
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
from chaffinch.structures.segments import Segment, Segments
from chaffinch.structures.tree import Tree

__all__ = [
    "Candidates",
    "Chain",
    "Choice",
    "Derivation",
    "GoldLinks",
    "Judged",
    "KBestOracle",
    "LocalChain",
    "Matching",
    "MaxOracle",
    "Parts",
    "Scorer",
    "Segment",
    "Segments",
    "Shape",
    "Structure",
    "SumOracle",
    "Tree",
    "oracles",
    "require",
]
