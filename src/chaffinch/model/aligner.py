"""A trained aligner: associations of words, features of links, their weights."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch.model.alignment_evidence import MatchingExample
from chaffinch.model.alignment_features import ALONE, COMMON, EDGE, AlignmentFeatures
from chaffinch.model.associations import Associations, Pair, stem
from chaffinch.model.protocols import Packed
from chaffinch.modelfile import ModelFile, Requirements, Saved, array, strings
from chaffinch.scorers import FeatureScorer
from chaffinch.structures.fertile import FertileMatching
from chaffinch.structures.matching import Link, Links, Matching

VIEWS: Mapping[str, Callable[[str], str]] = {"words": str.lower, "stems": stem}


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

    def example(self, pair: Pair, link: Link | None) -> MatchingExample:
        """The evidence of a pair: features of links and of unaligned words. link: the one in question; None: all."""
        names, plain = self.feature_names(), _plain
        return MatchingExample(pair, self.features(pair), self.scorer.w, names, self.structure, plain, link)

    def feature_names(self) -> list[str]:
        """The names of the features, in the order of their weights."""
        lexical = [_lexical_name(pair) for pair in self.features.lexicon]
        more = [*_family_names(EDGE, "second of source: "), *_family_names(EDGE, "second of target: ")]
        return [*_COMMON_NAMES, *lexical, *(more if self.features.fertility > 1 else [])]

    def packed(self) -> Packed:
        """What a model file keeps."""
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
