"""Weights over span features: the model that scores trees, and the coarse model that prunes spans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.features.span_templates import compiled
from chaffinch.model.sparse_weights import SparseWeights
from chaffinch.modelfile import Packed, Requirements, Saved, array, nested
from chaffinch.scorers import Linear
from chaffinch.structures import SpanTree

Columns = list[NDArray[np.int32]]
COLUMNS = ("w", "p", "s")  # the word or its form, its part of speech, its first sign


def span_features(templates: Sequence[str]) -> "_core.SpanFeatures":
    """The features of templates, before any is indexed."""
    return _core.SpanFeatures(*compiled(templates, COLUMNS), len(COLUMNS))


@dataclass(frozen=True, eq=False)
class SpanWeights:
    """A linear model of trees over span features.

    span: rows of features [F, 3Y] without their zeros, in eight bits   left, right: float32 [Y, Y]
    """

    templates: tuple[str, ...]
    features: "_core.SpanFeatures"
    tree: SpanTree
    span: SparseWeights
    left: NDArray[np.float32]
    right: NDArray[np.float32]

    @classmethod
    def of(
        cls, templates: Sequence[str], features: "_core.SpanFeatures", tree: SpanTree, scorer: Linear
    ) -> "SpanWeights":
        """The trained weights without negligible ones, in eight bits."""
        w = np.ascontiguousarray(scorer.block("span"))
        least = SMALLEST * float(np.abs(w).max(initial=0.0))
        w[np.abs(w) < least] = 0
        keep = w.any(axis=1)
        kept = span_features(templates)
        kept.restore(np.ascontiguousarray(features.keys()[keep]))
        left, right = (np.ascontiguousarray(scorer.block(name)) for name in ("left", "right"))
        return cls(tuple(templates), kept, tree, SparseWeights.of(w[keep], bits=8), left, right)

    @cached_property
    def native(self) -> "_core.SpanModel":
        """The model in the core."""
        w = self.span.dense(_core.padded(3 * self.tree.Y))
        return _core.SpanModel(self.features, w, self.left, self.right, self.tree.masks())

    def packed(self, prefix: str) -> Packed:
        """The content for a model file; names begin with the prefix."""
        return _Sections(self.features.keys(), self.left, self.right, self.tree.masks(), self.span).packed(
            prefix
        )

    @classmethod
    def loaded(cls, need: Requirements, prefix: str, templates: Sequence[str], Y: int) -> "SpanWeights":
        """The weights of a file, checked."""
        need.bind("its labels", f"{prefix}y", Y)
        found = _Sections.loaded(need, prefix)
        features = span_features(templates)
        try:
            features.restore(found.keys)
        except ValueError as e:
            raise need.fault(f"array '{prefix}keys' is damaged: {e}") from None
        masks = found.masks.astype(np.bool_)
        root, leaf, phrase, left, right = np.split(masks, np.cumsum([Y, Y, Y, Y * Y]))
        return cls(
            tuple(templates),
            features,
            SpanTree(Y, root, leaf, phrase, left.reshape(Y, Y), right.reshape(Y, Y)),
            found.span,
            found.left,
            found.right,
        )


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of span weights; masks: root, leaf, phrase, left and right end to end."""

    keys: NDArray[np.uint64] = array("uint64", "features")
    left: NDArray[np.float32] = array("float32", "y", "y", finite=True)
    right: NDArray[np.float32] = array("float32", "y", "y", finite=True)
    masks: NDArray[np.uint8] = array("uint8", "3*y+2*y*y", below=2)
    span: SparseWeights = nested(SparseWeights, "span.", rows="features", width="3*y")


# Weights below this share of the largest are dropped, and features without weights.
SMALLEST = 0.008


@dataclass(frozen=True, eq=False)
class WordNumbers:
    """Columns of words and tags as numbers.

    words: frequent words, then forms of the others, as ``?form``   tags: parts of speech
    """

    words: Mapping[str, int]
    tags: Mapping[str, int]

    def columns(self, words: Sequence[str], tags: Sequence[str], form: Any) -> Columns:
        """One column each; unseen values are -1."""
        kinds: dict[str, tuple[int, int]] = {}
        for word in set(words):
            found = self.words.get(word)
            kinds[word] = (self.words.get(form(word), -1) if found is None else found, first_sign(word))
        return [
            np.array([kinds[word][0] for word in words], np.int32),
            np.array([self.tags.get(tag, -1) for tag in tags], np.int32),
            np.array([kinds[word][1] for word in words], np.int32),
        ]


def first_sign(word: str) -> int:
    """The first sign of a word: a small letter, a capital, a digit, or the sign itself."""
    first = word[0]
    return 0 if first.islower() else 1 if first.isupper() else 2 if first.isdigit() else ord(first)
