"""A trained aligner: associations of words, features of links, their weights, and the evidence for links.

The evidence compares the best matching with the best one with (or without) the link in question.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.alignment_features import ALONE, COMMON, EDGE, AlignmentFeatures
from chaffinch.model.associations import Associations, Pair, stem
from chaffinch.model.evidence import (
    Columns,
    Decision,
    Explainable,
    Features,
    Question,
    Restriction,
    Seen,
    Without,
)
from chaffinch.model.protocols import Packed
from chaffinch.modelfile import ModelFile, Requirements, Saved, array, strings
from chaffinch.scorers import FeatureScorer, PartFeatures
from chaffinch.structures import Parts
from chaffinch.structures.fertile import FertileMatching
from chaffinch.structures.matching import Link, Links, Matching

VIEWS: Mapping[str, Callable[[str], str]] = {"words": str.lower, "stems": stem}

LINKED, UNLINKED = "linked", "unlinked"
SURE = 1e6  # added to a link that is required
KINDS = ("edge", "more_source", "more_target")


@dataclass(frozen=True)
class AlignerModel:
    """Scores every link, then finds the best matching."""

    features: AlignmentFeatures
    scorer: FeatureScorer
    structure: Matching | FertileMatching

    def align(self, pairs: Sequence[Pair]) -> list[Links]:
        """The best matching of each sentence pair."""
        return [_plain(self.structure.argmax(self.scorer.potentials(self.features(pair)))) for pair in pairs]

    def kbest(self, pairs: Sequence[Pair], k: int) -> list[list[tuple[float, Links]]]:
        """The k best matchings of each pair with their scores."""
        lists = (self.structure.kbest(self.scorer.potentials(self.features(pair)), k) for pair in pairs)
        return [[(score, _plain(y)) for score, y in found] for found in lists]

    def scores(self, pair: Pair) -> NDArray[np.float64]:
        """The score of each link minus that of leaving both words unaligned [n, m]."""
        p = self.scorer.potentials(self.features(pair))
        return np.asarray(p["edge"] - p["source"][:, None] - p["target"][None, :])

    def example(self, pair: Pair, link: Link | None) -> "MatchingExample":
        """The evidence of a pair: features of links and of unaligned words. link: the one in question; None: all."""
        names, plain = self.feature_names(), _plain
        return MatchingExample(pair, self.features(pair), self.scorer.w, names, self.structure, plain, link)

    def feature_names(self) -> list[str]:
        """The names of the features, in the order of their weights."""
        lexical = [_lexical_name(pair) for pair in self.features.lexicon]
        more = [*_family_names(EDGE, "second of source: "), *_family_names(EDGE, "second of target: ")]
        return [*_COMMON_NAMES, *lexical, *(more if self.features.fertility > 1 else [])]

    def packed(self) -> Packed:
        """The content for a model file."""
        source, target = ([pair[side] or "" for pair in self.features.lexicon] for side in (0, 1))
        packed = _Sections(tuple(source), tuple(target), self.scorer.w.astype(np.float32)).packed()
        for name in VIEWS:
            packed |= getattr(self.features, name).packed(f"{name}.")
        return packed

    @classmethod
    def loaded(cls, file: ModelFile, structure: Matching | FertileMatching) -> "AlignerModel":
        """The model of a file, every index checked."""
        need = Requirements(file)
        views = {name: Associations.loaded(need, f"{name}.", view) for name, view in VIEWS.items()}
        found = _Sections.loaded(need)
        pairs = zip(found.source, found.target, strict=True)
        lexicon = {(a or None, b or None): COMMON + k for k, (a, b) in enumerate(pairs)}
        if len(lexicon) != len(found.source):
            raise need.fault("the model is damaged: its lexicon holds a pair twice")
        fertility = 2 if isinstance(structure, FertileMatching) else 1
        features = AlignmentFeatures(views["words"], views["stems"], lexicon, fertility)
        need.bind("array 'w'", features.F, len(found.w))
        need.nothing_else()
        return cls(features, FeatureScorer(features.F, found.w.astype(np.float64)), structure)


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections besides the associations: pairs of the lexicon, "" for none, and a weight for each feature."""

    source: tuple[str, ...] = strings("lexicon", name="lexicon.0")
    target: tuple[str, ...] = strings("lexicon", name="lexicon.1")
    w: NDArray[np.float32] = array("float32", "weights", finite=True)


def _plain(links: Iterable[tuple[int, ...]]) -> Links:
    """Links without their kind."""
    return frozenset((link[0], link[1]) for link in links)


def _family_names(families: Mapping[str, int], prefix: str) -> list[str]:
    return [
        f"{prefix}{name}" if size == 1 else f"{prefix}{name} {k}"
        for name, size in families.items()
        for k in range(size)
    ]


_COMMON_NAMES = [*_family_names(EDGE, ""), *_family_names(ALONE, "source "), *_family_names(ALONE, "target ")]


def _lexical_name(pair: tuple[str | None, str | None]) -> str:
    e, f = pair
    return f"{e} alone" if f is None else f"alone {f}" if e is None else f"{e} = {f}"


# -- evidence for links


@dataclass(frozen=True, eq=False)
class MatchingExample(Explainable[Parts, Any]):
    """One sentence pair: its parts with their features, the weights, and the search.

    structure: with ``argmax`` and ``parts``   plain: links without their kind
    link:      the link in question; None: all predicted links
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
        """The features of each part, block after block."""
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

    def potentials(self, without: Without) -> Parts:
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
        return Parts(**blocks)

    def best(self, potentials: Parts, rule: Restriction | None = None) -> Any:
        """The best matching; given a rule, the best without its link if that was predicted, otherwise with it."""
        if rule is None:
            return self.structure.argmax(potentials)
        link, kinds = rule.decision.key, [kind for kind in KINDS if kind in potentials]
        if not rule.allows(LINKED):
            return self.structure.argmax(_changed(potentials, kinds, link, -np.inf))
        forced = [self.structure.argmax(_changed(potentials, [kind], link, SURE)) for kind in kinds]
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
        return self.potentials({})

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
