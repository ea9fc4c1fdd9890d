"""Evidence for links: the best matching against the best with (or without) the link in question."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.associations import Pair
from chaffinch.model.evidence import Columns, Decision, Explainable, Features, Question, Seen, Without
from chaffinch.scorers import PartFeatures
from chaffinch.structures import Parts
from chaffinch.structures.matching import Link, Links

LINKED, UNLINKED = "linked", "unlinked"
SURE = 1e6  # added to a link that is required
KINDS = ("edge", "more_source", "more_target")


@dataclass(frozen=True)
class MatchingPotentials:
    """The potentials of a sentence pair; wanted: whether a link is required or forbidden."""

    parts: Parts
    link: Link | None = None
    wanted: bool = False


@dataclass(frozen=True, eq=False)
class MatchingExample(Explainable[MatchingPotentials, Any]):
    """One sentence pair: its parts with their features, the weights, and the search.

    structure: with ``argmax`` and ``parts``   plain: links without their kind
    link:      the one that is asked about; None: all that were found
    """

    pair: Pair
    parts: PartFeatures
    w: NDArray[np.float64]
    names: Sequence[str]
    structure: Any
    plain: Callable[[Any], Links]
    link: Link | None

    @cached_property
    def answer(self) -> Any:
        """The best matching."""
        return self.structure.argmax(self._potentials)

    @cached_property
    def features(self) -> list[Features]:
        """Those of each part, block after block."""
        found = []
        for block, rows in self.parts.rows.items():
            for at, (a, b) in enumerate(zip(rows.ptr[:-1].tolist(), rows.ptr[1:].tolist(), strict=True)):
                ids, values = rows.ids[a:b], np.asarray(rows.values[a:b], np.float64)
                found.append(
                    Features(
                        np.asarray(self.w[ids], np.float64)[:, None],
                        lambda chosen, block=block, at=at, ids=ids: [  # type: ignore[misc]
                            (f"{self._part_name(block, at)}: {self.names[f]}", Seen(self.names[f]))
                            for f in ids[chosen].tolist()
                        ],
                        values=values[:, None],
                    )
                )
        return found

    def decisions(self, question: Question) -> Iterator[Decision]:
        """The links in question, predicted or not."""
        n, m = self.parts.shape["edge"]
        if self.link is not None and not (0 <= self.link[0] < n and 0 <= self.link[1] < m):
            raise DataError(
                f"there is no link {self.link[0] + 1}-{self.link[1] + 1}: the sentences have {n} and {m} words"
            )
        for link in sorted(self.plain(self.answer)) if self.link is None else [self.link]:
            yield Decision(self._link_name(link), link)

    def potentials(self, without: Without) -> MatchingPotentials:
        """w . phi of every part."""
        blocks, first = {}, 0
        for name, rows in self.parts.rows.items():
            size = len(rows.ptr) - 1
            sums = np.array([group.sums[0] for group in self.features[first : first + size]], np.float64)
            for g, gone in without.items():
                if first <= g < first + size:
                    sums[g - first] = self.features[g].without(gone)[0]
            blocks[name] = sums.reshape(self.parts.shape[name])
            first += size
        return MatchingPotentials(Parts(**blocks))

    def forbid(
        self, potentials: MatchingPotentials, decision: Decision, against: str | None
    ) -> MatchingPotentials:
        """Forbid the link if it was predicted; otherwise require it."""
        return replace(potentials, link=decision.key, wanted=decision.key not in self.plain(self.answer))

    def best(self, potentials: MatchingPotentials) -> Any:
        """The best matching, or the best with the required link."""
        parts, link = potentials.parts, potentials.link
        if link is None:
            return self.structure.argmax(parts)
        kinds = [kind for kind in KINDS if kind in parts]
        if not potentials.wanted:
            return self.structure.argmax(_changed(parts, kinds, link, -np.inf))
        forced = [self.structure.argmax(_changed(parts, [kind], link, SURE)) for kind in kinds]
        found = [y for y in forced if link in self.plain(y)]
        return found[max(range(len(found)), key=lambda n: (self.score(found[n]), n))]

    def score(self, y: Any) -> float:
        """The sum of its parts."""
        return self._potentials.dot(self.structure.parts(self._potentials.shape, y))

    def columns(self, y: Any) -> Columns:
        """Whether the answer has each part."""
        indicator = self.structure.parts(self._potentials.shape, y)
        found = [np.where(indicator[name].reshape(-1) != 0, 0, -1) for name in self.parts.rows]
        return np.concatenate(found).astype(np.int64)

    def wording(self, y: Any, decision: Decision) -> str:
        """Whether the answer has the link."""
        return LINKED if decision.key in self.plain(y) else UNLINKED

    def described(self, rival: Any, decision: Decision) -> str:
        """If the rival lacks the link in question, also its links that the answer lacks."""
        said = self.wording(rival, decision)
        own = sorted(self.plain(rival) - self.plain(self.answer))
        instead = f" but {', '.join(map(self._link_name, own))}" if own and said == UNLINKED else ""
        return said + instead

    def spelt(self, y: Any) -> tuple[str, ...]:
        """All links, counted from 1."""
        return tuple(f"{i + 1}-{j + 1}" for i, j in sorted(self.plain(y)))

    @cached_property
    def _potentials(self) -> Parts:
        return self.potentials({}).parts

    def _part_name(self, block: str, at: int) -> str:
        e, f = self.pair
        if block in ("source", "target"):
            return f"{(e if block == 'source' else f)[at]} {at + 1} alone"
        return self._link_name(divmod(at, len(f)))

    def _link_name(self, link: Link) -> str:
        """Both words with their positions: a word may occur twice."""
        i, j = link
        return f"{self.pair[0][i]} {i + 1}-{j + 1} {self.pair[1][j]}"


def _changed(parts: Parts, kinds: Sequence[str], link: Link, more: float) -> Parts:
    """The potentials with a number added to a link of some kinds."""
    blocks = {name: block.copy() if name in kinds else block for name, block in parts.items()}
    for kind in kinds:
        blocks[kind][link] += more
    return Parts(**blocks)
