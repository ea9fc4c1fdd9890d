"""Why two words were linked, or were not: the best matching against the best that says the opposite of this link."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.associations import Pair
from chaffinch.model.evidence import Contribution, Evidence, Removal, turning_point
from chaffinch.scorers import PartFeatures
from chaffinch.structures import Parts
from chaffinch.structures.matching import Link, Links

LINKED, UNLINKED = "linked", "unlinked"
SURE = 1e6  # added to a link that must be there
KINDS = ("edge", "more_source", "more_target")

Part = tuple[str, int]  # its block and its place there


@dataclass(frozen=True, eq=False)
class PairScores:
    """One sentence pair: its parts with their features, the weights, and the search.

    structure: with ``argmax`` and ``parts``   plain: links without their kind
    """

    pair: Pair
    features: PartFeatures
    w: NDArray[np.float64]
    names: Sequence[str]
    structure: Any
    plain: Callable[[Any], Links]

    def potentials(self, gone: Iterable[tuple[Part, int]] = ()) -> Parts:
        """w . phi of every part; ``gone`` are features of parts that are left out."""
        blocks = {}
        for name, rows in self.features.rows.items():
            sums = np.zeros(len(rows.ptr) - 1)
            np.add.at(
                sums, np.repeat(np.arange(len(sums)), np.diff(rows.ptr)), self.w[rows.ids] * rows.values
            )
            blocks[name] = sums.reshape(self.features.shape[name])
        for (name, part), k in gone:
            rows = self.features.rows[name]
            at = rows.ptr[part] + k
            blocks[name].reshape(-1)[part] -= self.w[rows.ids[at]] * rows.values[at]
        return Parts(**blocks)


def alignment_evidence(x: PairScores, link: Link | None) -> list[Evidence]:
    """The evidence for each link that was found, or for the one that is asked about, found or not."""
    potentials = x.potentials()
    y = x.structure.argmax(potentials)
    found = x.plain(y)
    n, m = x.features.shape["edge"]
    if link is not None and not (0 <= link[0] < n and 0 <= link[1] < m):
        raise DataError(f"there is no link {link[0] + 1}-{link[1] + 1} between {n} and {m} words")
    return [_of_link(x, potentials, y, one) for one in (sorted(found) if link is None else [link])]


def _of_link(x: PairScores, potentials: Parts, y: Any, link: Link) -> Evidence:
    there = link in x.plain(y)
    rival = _without(x, potentials, link) if there else _with(x, potentials, link)
    mine, theirs = _parts(x, potentials, y), _parts(x, potentials, rival)
    shared = sum(float(_block(potentials, part)) for part in mine & theirs)
    contributions = [c for part in sorted(mine - theirs) for c in _of_part(x, part, 1.0)]
    contributions += [c for part in sorted(theirs - mine) for c in _of_part(x, part, 0.0)]
    score, other = _score(x, potentials, y), _score(x, potentials, rival)
    return Evidence(
        subject=_link_name(x, link),
        answer=LINKED if there else UNLINKED,
        score=score,
        contributions=tuple(contributions),
        rival=_differently(x, y, rival, UNLINKED if there else LINKED),
        rival_score=other,
        shared=shared,
        without=_removal(x, sorted(mine - theirs), link, there, score - other),
        whole=(_spelt(x, y), _spelt(x, rival)),
    )


def _without(x: PairScores, potentials: Parts, link: Link) -> Any:
    """The best matching that has not this link."""
    blocks = {name: block.copy() for name, block in potentials.items()}
    for kind in (name for name in KINDS if name in blocks):
        blocks[kind][link] = -np.inf
    return x.structure.argmax(Parts(**blocks))


def _with(x: PairScores, potentials: Parts, link: Link) -> Any:
    """The best matching that has it, of whatever kind."""
    found: list[tuple[float, int, Any]] = []
    for kind in (name for name in KINDS if name in potentials):
        blocks = {name: block.copy() for name, block in potentials.items()}
        blocks[kind][link] += SURE
        y = x.structure.argmax(Parts(**blocks))
        if link in x.plain(y):
            found.append((_score(x, potentials, y), len(found), y))
    return max(found, key=lambda one: one[:2])[2]


def _removal(x: PairScores, parts: Sequence[Part], link: Link, there: bool, margin: float) -> Removal | None:
    """Features of the answer's own parts left out, the most telling first, until the link is gone or has come."""
    telling = sorted(
        (
            (-float(x.w[f] * v), part, k)
            for part in parts
            for k, (f, v) in enumerate(_row(x, part))
            if x.w[f] * v > 0
        )
    )

    def linked_without(n: int) -> bool:
        gone = [(part, k) for _, part, k in telling[:n]]
        return link in x.plain(x.structure.argmax(x.potentials(gone)))

    found = turning_point([-lead for lead, *_ in telling], margin, there, linked_without)
    if found is None:
        return None
    removed = tuple(_of_part(x, part, 1.0)[k] for _, part, k in telling[: found[0]])
    return Removal(removed, UNLINKED if there else LINKED)


def _of_part(x: PairScores, part: Part, side: float) -> list[Contribution]:
    """The features of a part that the answer has (1) or the rival (0)."""
    name = _part_name(x, part)
    return [
        Contribution(
            f"{name}: {x.names[f]}", side * float(x.w[f]) + 0.0, (1 - side) * float(x.w[f]) + 0.0, float(v)
        )
        for f, v in _row(x, part)
    ]


def _row(x: PairScores, part: Part) -> list[tuple[int, float]]:
    rows = x.features.rows[part[0]]
    here = slice(rows.ptr[part[1]], rows.ptr[part[1] + 1])
    return list(zip(rows.ids[here].tolist(), rows.values[here].tolist(), strict=True))


def _part_name(x: PairScores, part: Part) -> str:
    block, at = part
    e, f = x.pair
    if block in ("source", "target"):
        return f"{(e if block == 'source' else f)[at]} {at + 1} alone"
    return _link_name(x, divmod(at, len(f)))


def _link_name(x: PairScores, link: Link) -> str:
    """Both words, and their places: a word may come twice."""
    i, j = link
    return f"{x.pair[0][i]} {i + 1}-{j + 1} {x.pair[1][j]}"


def _parts(x: PairScores, potentials: Parts, y: Any) -> set[Part]:
    indicator = x.structure.parts(potentials.shape, y)
    return {
        (name, at) for name, block in indicator.items() for at in np.flatnonzero(block.reshape(-1)).tolist()
    }


def _block(potentials: Parts, part: Part) -> float:
    return float(potentials[part[0]].reshape(-1)[part[1]])


def _score(x: PairScores, potentials: Parts, y: Any) -> float:
    return potentials.dot(x.structure.parts(potentials.shape, y))


def _differently(x: PairScores, y: Any, rival: Any, what: str) -> str:
    """What the rival says instead: its own links that the answer has not."""
    own = sorted(x.plain(rival) - x.plain(y))
    return what + (f" but {', '.join(_link_name(x, one) for one in own)}" if own and what == UNLINKED else "")


def _spelt(x: PairScores, y: Any) -> tuple[str, ...]:
    return tuple(f"{i + 1}-{j + 1}" for i, j in sorted(x.plain(y)))
