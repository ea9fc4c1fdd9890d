"""What a reranker's file holds besides weights: the features of its candidates, or a kernel with its support."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

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
from chaffinch.modelfile import Requirements
from chaffinch.scorers.dual import Dual

GRAMMAR = "grammar."  # begins the names of a grammar's sections
TAGS, TREES, CONSENSUS, NAMED, KERNEL = "tags", "trees", "consensus", "named", "kernel"


def packed_features(features: CandidateFeatures) -> Packed:
    """The kind and the columns of features; ConfigError for user-defined classes."""
    match features:
        case TreeCandidates():
            return Packed(details={"features": TREES}, arrays={"keys": features.keys})
        case TagCandidates():
            return Packed(details={"features": TAGS}, arrays={"keys": features.keys})
        case TreeConsensus():
            grammar = features.grammar
            own = Packed(
                details={"features": CONSENSUS, "grammar": grammar is not None},
                arrays={"scale": features.scale},
            )
            return own if grammar is None else own | grammar.counts.packed(GRAMMAR)
        case NamedCandidates():
            return Packed(details={"features": NAMED}, strings={"names": features.names})
    raise ConfigError(f"features of the type {type(features).__name__} cannot be saved")


def loaded_features(
    need: Requirements, details: Mapping[str, Any], function: FeatureFunction
) -> CandidateFeatures:
    """The features of a file, every index checked; ``function`` is the one that names came from."""
    kind = details.get("features")
    if kind == TAGS:
        return TagCandidates(keys=need.array("keys", np.uint64, ("F",), ascending=True))
    if kind == TREES:
        return TreeCandidates(keys=need.array("keys", np.uint64, ("F",), ascending=True))
    if kind == CONSENSUS:
        scale = need.array("scale", np.float64, ("F",), finite=True)
        if not (scale > 0).all():
            raise need.fault("has a feature whose scale is not above 0")
        grammar = HeadGrammar(Counts.loaded(need, GRAMMAR)) if details.get("grammar") else None
        return TreeConsensus(grammar=grammar, scale=scale)
    if kind == NAMED:
        return NamedCandidates(function, names=list(need.strings("names", "F", distinct=True)))
    raise need.fault(f"has features of the unknown kind {kind!r}")


def packed_kernel(dual: Dual, support: Sequence[Any], base: float) -> Packed:
    """A kernel, the support candidates, and the weight of the base model's score."""
    return Packed(
        details={"kernel": described(dual.kernel), "base": base},
        arrays={"alpha": dual.alpha[:, 0].astype(np.float64)},
        strings={"support": [written(thing) for thing in support]},
    )


def loaded_kernel(need: Requirements, details: Mapping[str, Any]) -> tuple[Kernel, Dual, list[Any], float]:
    """Kernel, scorer, support and base weight of a file, checked."""
    base = details.get("base")
    if not isinstance(base, (int, float)) or not math.isfinite(base):
        raise need.fault(f"its base weight is {base!r}, expected a number")
    kernel = restored(details["kernel"])
    support = [read_back(text) for text in need.strings("support", "S")]
    alpha = need.array("alpha", np.float64, ("S",), finite=True)
    try:
        return kernel, Dual(kernel, support, alpha[:, None]), support, float(base)
    except (TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise need.fault(f"its kernel cannot read its support: {error}") from None
