"""The sections of a feature encoder in a model file: the facts of its plan, the engine's index, and its word lists."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.plan import Plan
from chaffinch.features.templates import FeatureSet, Pattern, parse_all
from chaffinch.modelfile import Saved, array, fact, listed_strings, nested, strings
from chaffinch.text.clusters import Clusters
from chaffinch.text.columns import is_registered
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.stretch import STRETCH

INDEX = ("feature_template", "feature_key", "observation_ptr", "observation_key", "join_ptr", "join_key")


def _positive(n: int) -> bool:
    return n >= 1


@dataclass(frozen=True)
class EncoderFacts(Saved):
    """The facts in the header: the plan's templates and columns, and the encoder's settings.

    sources:    the columns that the corpus must have     registered: columns that a user's function computes
    gazetteers: the names of the lists of phrases
    """

    templates: list[str] = fact(list, check=listed_strings, expected="templates")
    boundary: bool = fact(bool)
    patterns: dict[str, Any] = fact(dict)
    sources: list[str] = fact(list, check=listed_strings, expected="names of columns")
    language: str = fact(str)
    clusters: bool = fact(bool)
    gazetteers: list[str] = fact(list, check=listed_strings, expected="names of gazetteers")
    gazetteer_fold: bool = fact(bool)
    min_count: int = fact(int, check=_positive, expected="a number from 1")
    registered: list[str] = fact(list, check=listed_strings, expected="names of columns", default=())
    stretch: int = fact(int, check=_positive, expected="a number of sentences", default=STRETCH)

    @classmethod
    def of(cls, plan: Plan, min_count: int, stretch: int | None) -> "EncoderFacts":
        """The facts of a fitted encoder."""
        features, phrases = plan.features, plan.gazetteers
        return cls(
            templates=[str(t) for t in features.templates],
            boundary=features.boundary,
            patterns={name: asdict(p) for name, p in features.patterns.items()},
            sources=list(plan.given),
            registered=[c.name for c in plan.words if is_registered(c.name)],
            language=plan.language,
            clusters=plan.clusters is not None,
            gazetteers=list(phrases.lists) if phrases else [],
            gazetteer_fold=phrases.fold if phrases else True,
            min_count=min_count,
            stretch=STRETCH if stretch is None else stretch,
        )

    def features(self) -> FeatureSet:
        """The templates, parsed; ConfigError or TypeError if they are damaged."""
        patterns = {name: Pattern(**p) for name, p in self.patterns.items()}
        return FeatureSet(parse_all(self.templates), self.boundary, patterns)


@dataclass(frozen=True, eq=False)
class ClusterSections(Saved):
    """Word clusters."""

    words: tuple[str, ...] = strings("words")
    paths: tuple[str, ...] = strings("paths")
    path: NDArray[np.int32] = array("int32", "words", below="paths")

    @classmethod
    def of(cls, clusters: Clusters) -> "ClusterSections":
        """The sections of clusters."""
        return cls(tuple(clusters.words), tuple(clusters.paths), clusters.path)

    def clusters(self) -> Clusters:
        """The clusters of the sections."""
        return Clusters(list(self.words), np.ascontiguousarray(self.path), list(self.paths))


@dataclass(frozen=True, eq=False)
class WordLists(Saved):
    """The word clusters and the lists of phrases that columns read.

    gazetteers: the names of the lists, which the header records
    """

    gazetteers: list[str]
    gazetteer: dict[str, list[str]] = strings("phrases", each="gazetteers", made=list)
    cluster: ClusterSections | None = nested(ClusterSections, "cluster_", optional=True)

    @classmethod
    def of(cls, plan: Plan) -> "WordLists":
        """The lists of a plan."""
        clusters = None if plan.clusters is None else ClusterSections.of(plan.clusters)
        lists = {} if plan.gazetteers is None else plan.gazetteers.lists
        phrases = {name: [" ".join(p) for p in listed] for name, listed in lists.items()}
        return cls(list(lists), phrases, clusters)

    def phrases(self, fold: bool) -> Gazetteers | None:
        """The lists of phrases; None if there are none."""
        lists = {name: [tuple(p.split(" ")) for p in listed] for name, listed in self.gazetteer.items()}
        return Gazetteers(lists, fold) if lists else None


@dataclass(frozen=True, eq=False)
class EngineSections(Saved):
    """The engine's index (the engine checks its keys), and the strings of each column computed from words."""

    feature_template: NDArray[np.uint16] = array("uint16", "features")
    feature_key: NDArray[np.uint64] = array("uint64", "features")
    observation_ptr: NDArray[np.int64] = array("int64", "templates")
    observation_key: NDArray[np.uint64] = array("uint64", "observations")
    join_ptr: NDArray[np.int64] = array("int64", "joins")
    join_key: NDArray[np.uint64] = array("uint64", "pairs")
    values: tuple[list[str], ...] = strings("types", each="columns", made=list)
    runs: list[str] = strings("runs", made=list)

    @classmethod
    def of(cls, engine: Any, columns: int) -> "EngineSections":
        """The state of an engine."""
        index = dict(zip(INDEX, engine.state(), strict=True))
        return cls(**index, values=tuple(map(engine.values, range(columns))), runs=engine.runs())

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays, in the order in which the engine takes them."""
        return tuple(np.ascontiguousarray(getattr(self, name)) for name in INDEX)
