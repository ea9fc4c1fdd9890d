"""Shares: what each support example, each vote or each constant adds to the scores of two labels."""

from collections.abc import Sequence
from typing import NamedTuple


class Share(NamedTuple):
    """value * weight of one label's score and value * rival of another's.

    example: the support example that it comes from; None for a constant, or where ``name`` says it all
    """

    name: str
    value: float
    weight: float
    rival: float
    example: int | None = None


class Shares(NamedTuple):
    """All of them, and the two scores that they add up to.

    what: what the scores are: ``scores``, ``votes``, ``A against B alone``
    """

    what: str
    score: float
    rival: float
    shares: Sequence[Share]
