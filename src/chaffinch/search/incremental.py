"""Incremental search: labels are decided one after the other, and features may read those decided before."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from chaffinch.knobs import knob
from chaffinch.search.legality import Legality, LegalStates

EASE = ("score", "margin")


@dataclass(frozen=True, kw_only=True)
class LeftToRight:
    """Greedy: the best label of each position, from the first to the last."""

    kind: ClassVar[str] = "left-to-right"


@dataclass(frozen=True, kw_only=True)
class EasiestFirst:
    """Repeatedly decide the position and label with the highest score (or margin).

    Shen, Satta and Joshi 2007, "Guided learning for bidirectional sequence classification". Ties: the smaller
    position, then the label that comes first in the alphabet. A decision changes the scores of the positions
    whose templates read it; only these are scored again.
    """

    ease: str = knob(
        "score",
        "the easiest position has the highest score, or the highest margin over the next label",
        choices=EASE,
    )

    kind: ClassVar[str] = "easiest-first"


@dataclass(frozen=True, kw_only=True)
class Beam:
    """From left to right, keeping the ``width`` best prefixes."""

    width: int = knob(8, "beam width", low=1, high=10_000)

    kind: ClassVar[str] = "beam"


IncrementalSearch = LeftToRight | EasiestFirst | Beam


@dataclass(frozen=True, eq=False)
class IncrementalChain:
    """The labellings that an incremental search finds; there is no exact oracle.

    labels: their names   search: the order of decisions   legality: which labellings it may find
    """

    labels: Sequence[str]
    search: IncrementalSearch
    legality: Legality = field(default_factory=Legality)

    @property
    def Y(self) -> int:
        """The number of labels."""
        return len(self.labels)

    @cached_property
    def states(self) -> LegalStates | None:
        """The states of legal labellings; None if every labelling is legal."""
        return LegalStates(self.labels, self.legality) if self.legality else None
