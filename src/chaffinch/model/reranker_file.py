"""The content of a reranker's file besides weights: features of candidates, or a kernel with its support."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, ModelFileError
from chaffinch.kernels import Kernel
from chaffinch.kernels.description import described, restored
from chaffinch.model.candidates import (
    CandidateFeatures,
    FeatureFunction,
    NamedCandidates,
    TagCandidates,
    TreeCandidates,
)
from chaffinch.model.head_grammar import Counts, HeadGrammar
from chaffinch.model.objects import read_back, written
from chaffinch.model.protocols import Packed
from chaffinch.model.tree_consensus import TreeConsensus
from chaffinch.modelfile import Requirements, Saved, array, fact, strings
from chaffinch.scorers import FeatureScorer
from chaffinch.scorers.dual import Dual

GRAMMAR = "grammar."  # prefix of a grammar's sections
FEATURES = TAGS, TREES, CONSENSUS, NAMED = "tags", "trees", "consensus", "named"
KERNEL = "kernel"
BASE = 2  # the first features of every reranker: the base model's score, and whether it is its first choice


def packed_features(features: CandidateFeatures) -> Packed:
    """The kind and the columns of features; ConfigError for features of a user's class."""
    match features:
        case TreeCandidates():
            return _FeatureSections(TREES, keys=features.keys).packed()
        case TagCandidates():
            return _FeatureSections(TAGS, keys=features.keys).packed()
        case TreeConsensus():
            grammar = features.grammar
            own = _FeatureSections(CONSENSUS, scale=features.scale, grammar=grammar is not None).packed()
            return own if grammar is None else own | grammar.counts.packed(GRAMMAR)
        case NamedCandidates():
            return _FeatureSections(NAMED, names=features.names).packed()
    raise ConfigError(f"{type(features).__name__} cannot be saved in a model file")


def loaded_features(need: Requirements, function: FeatureFunction) -> tuple[str, CandidateFeatures]:
    """The features of a file and their kind, every index checked; ``function`` is the one that gave the names."""
    found = _FeatureSections.loaded(need)
    match found:
        case _FeatureSections(features="tags", keys=np.ndarray()):
            return TAGS, TagCandidates(keys=found.keys)
        case _FeatureSections(features="trees", keys=np.ndarray()):
            return TREES, TreeCandidates(keys=found.keys)
        case _FeatureSections(features="named", names=list() as names):
            return NAMED, NamedCandidates(function, names=names)
        case _FeatureSections(features="consensus", scale=np.ndarray() as scale):
            if not (scale > 0).all():
                raise need.fault("has a feature whose scale is not above 0")
            grammar = HeadGrammar(Counts.loaded(need, GRAMMAR)) if found.grammar else None
            return CONSENSUS, TreeConsensus(grammar=grammar, scale=scale)
    raise need.fault(f"lacks a section of its features, which are of the kind {found.features!r}")


def packed_kernel(dual: Dual, support: Sequence[Any], base: float) -> Packed:
    """A kernel, the support candidates, and the weight of the base model's score."""
    alpha = dual.alpha[:, 0].astype(np.float64)
    return _KernelSections(
        described(dual.kernel), float(base), [written(thing) for thing in support], alpha
    ).packed()


def loaded_kernel(need: Requirements) -> tuple[Kernel, Dual, list[Any], float] | None:
    """Kernel, scorer, support and base weight of a file, checked; None if it has no kernel."""
    if _KernelSections.absent(need):
        return None
    found = _KernelSections.loaded(need)
    kernel, support = restored(found.kernel), [read_back(text) for text in found.support]
    try:
        return kernel, Dual(kernel, support, found.alpha[:, None]), support, found.base
    except (TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise need.fault(f"its kernel cannot read its support: {error}") from None


@dataclass(frozen=True, eq=False)
class ListWeights(Saved):
    """The weights of a reranker without a kernel: those of the base model's features, then the others."""

    w: NDArray[np.float64] = array("float64", f"F+{BASE}", finite=True)

    def scorer(self) -> FeatureScorer:
        """The scorer with these weights."""
        return FeatureScorer(len(self.w), self.w)


@dataclass(frozen=True, eq=False)
class _KernelSections(Saved):
    """The sections of a reranker with a kernel."""

    kernel: dict[str, Any] = fact(dict)
    base: float = fact(float, check=math.isfinite, expected="a finite base weight")
    support: list[str] = strings("S", made=list)
    alpha: NDArray[np.float64] = array("float64", "S", finite=True)


@dataclass(frozen=True, eq=False)
class _FeatureSections(Saved):
    """The sections of features of candidates; each kind has some of them."""

    features: str = fact(str, check=FEATURES.__contains__, expected=f"one of {', '.join(FEATURES)}")
    keys: NDArray[np.uint64] | None = array("uint64", "F", ascending=True, optional=True)
    scale: NDArray[np.float64] | None = array("float64", "F", finite=True, optional=True)
    names: list[str] | None = strings("F", distinct=True, made=list, optional=True)
    grammar: bool = fact(bool, default=False, omit=True)
