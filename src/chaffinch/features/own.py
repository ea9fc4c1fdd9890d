"""The user's own features of tokens in an encoder, beside those of its templates."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import AttributeIndex
from chaffinch.features.rows import FeatureRows
from chaffinch.modelfile import ModelFile, Packed, Requirements, Saved, array, fact, strings
from chaffinch.text.attributes import Attributes

# The name of a feature set without templates: only the user's features are used.
OWN = "own"

_Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32] | None]


@dataclass(frozen=True, eq=False)
class OwnFeatures:
    """Names of attributes, and the positions of their ids among all F features.

    index: the attributes, A of them
    T:     the number of features of templates
    order: int32 [F], the source of each feature: n below T is the templates' feature n, T + a is the attribute a; None:
           in this order
    """

    index: AttributeIndex
    T: int = 0
    order: NDArray[np.int32] | None = None

    @property
    def n_features(self) -> int:
        """F = T + A."""
        return self.T + len(self.index)

    @cached_property
    def place(self) -> NDArray[np.int32] | None:
        """The inverse of ``order``."""
        if self.order is None:
            return None
        found = np.empty_like(self.order)
        found[self.order] = np.arange(len(self.order), dtype=np.int32)
        return found

    @classmethod
    def fitted(
        cls, given: Attributes, rows: FeatureRows, counts: NDArray[np.int32], min_count: int
    ) -> "tuple[OwnFeatures, FeatureRows]":
        """Attributes that at least ``min_count`` tokens have, and all features of the tokens; the most frequent first.

        rows, counts: of the templates' features
        """
        index = AttributeIndex()
        ptr, ids, values = given.into(index, growing=True)
        own = np.bincount(ids, minlength=len(index)).astype(np.int32)
        kept = np.argsort(-own, kind="stable").astype(np.int32)
        kept = np.ascontiguousarray(kept[: int((own >= min_count).sum())])
        number = np.full(len(index), -1, np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        T = len(counts)
        order = None
        if T:
            every = np.concatenate([counts, own[kept]])
            order = np.argsort(-every, kind="stable").astype(np.int32)
        made = cls(index.kept(kept), T, order)
        return made, made.joined(rows, _only_known(ptr, number[ids], values))

    def grown(self, given: Attributes, rows: FeatureRows, T: int) -> "tuple[OwnFeatures, FeatureRows]":
        """A new object with the further attributes of these tokens after all features, which keep their ids.

        rows: the templates' features   T: their number now
        """
        index = self.index.kept(np.arange(len(self.index), dtype=np.int32))
        found = given.into(index, growing=True)
        order = np.arange(self.n_features, dtype=np.int32) if self.order is None else self.order
        order = np.where(order < self.T, order, order + (T - self.T))
        fresh = [np.arange(self.T, T), T + np.arange(len(self.index), len(index))]
        made = OwnFeatures(index, T, np.concatenate([order, *fresh]).astype(np.int32) if T else None)
        return made, made.joined(rows, found)

    def transform(self, given: Attributes, rows: FeatureRows) -> FeatureRows:
        """The features of templates and the user's features."""
        return self.joined(rows, given.into(self.index, growing=False))

    def joined(self, rows: FeatureRows, own: _Rows) -> FeatureRows:
        """Rows of templates followed by rows of attributes, both as ids of all features."""
        ptr, ids, values = own
        if not self.T and not len(rows.ids):
            return FeatureRows(ptr, ids, rows.observations, rows.sentences, values)
        shifted, place = ids + np.int32(self.T), self.place
        first, second = (rows.ids, shifted) if place is None else (place[rows.ids], place[shifted])
        counts, own_counts = np.diff(rows.ptr), np.diff(ptr)
        both = rows.ptr + ptr
        to_first = np.repeat(both[:-1] - rows.ptr[:-1], counts) + np.arange(len(first))
        to_second = np.repeat(both[:-1] + counts - ptr[:-1], own_counts) + np.arange(len(second))
        every = np.empty(len(first) + len(second), np.int32)
        every[to_first], every[to_second] = first, second
        beside = None
        if values is not None:
            beside = np.ones(len(every), np.float32)
            beside[to_second] = values
        return FeatureRows(both, every, rows.observations, rows.sentences, beside)

    def split(self, ids: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
        """Which features are attributes, and the number of each within its block."""
        found = np.asarray(ids, np.int32) if self.order is None else self.order[ids]
        own = found >= self.T
        return own, np.where(own, found - self.T, found).astype(np.int32)

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        """The names of attributes, such as ``word.lower():tea``."""
        return self.index.names(np.ascontiguousarray(ids, np.int32))

    def kept(self, keep: NDArray[np.bool_]) -> "OwnFeatures":
        """The same with the features in ``keep`` (bool [F]), in the same order."""
        chosen = np.flatnonzero(keep)
        own, number = self.split(chosen)
        attributes, templates = number[own], number[~own]
        first, second = np.sort(templates), np.sort(attributes)
        order = np.where(own, len(first) + np.searchsorted(second, number), np.searchsorted(first, number))
        made = None if not len(first) and self.order is None else order.astype(np.int32)
        return OwnFeatures(self.index.kept(np.ascontiguousarray(second)), len(first), made)

    def packed(self) -> Packed:
        """The content for a model file."""
        names = self.names(np.arange(len(self.index), dtype=np.int32))
        return _Sections(len(names), names, self.order).packed()

    @classmethod
    def loaded(cls, file: ModelFile, T: int) -> "OwnFeatures | None":
        """The attributes of a file with T features of templates, checked; None if it has none."""
        need = Requirements(file, T=T)
        if _Sections.absent(need):
            return None
        found = _Sections.loaded(need)
        order = found.feature_order
        if order is None and T:
            raise need.fault("lacks the order of its features")
        if order is not None and not np.array_equal(np.sort(order), np.arange(len(order))):
            raise need.fault("array 'feature_order' is not a permutation of its features")
        try:
            index = AttributeIndex(found.attribute_names)
        except ValueError as e:
            raise need.fault(str(e)) from None
        return cls(index, T, None if order is None else np.ascontiguousarray(order))


@dataclass(frozen=True, eq=False)
class _Sections(Saved):
    """The sections of the user's features of tokens."""

    attributes: int = fact(int, size="A")
    attribute_names: list[str] = strings("A", made=list)
    feature_order: NDArray[np.int32] | None = array("int32", "T+A", optional=True)


def _only_known(ptr: NDArray[np.int64], ids: NDArray[np.int32], values: NDArray[np.float32] | None) -> _Rows:
    """The rows without ids below 0."""
    known = ids >= 0
    if known.all():
        return ptr, np.ascontiguousarray(ids), values
    kept = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)[ptr]
    return (
        kept,
        np.ascontiguousarray(ids[known]),
        None if values is None else np.ascontiguousarray(values[known]),
    )
