"""Features of parts: each part of an example has a sparse feature vector, all over one vector of weights."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError
from chaffinch.structures.parts import Parts, Shape

Weights = NDArray[np.float64]


class Rows(NamedTuple):
    """The feature vectors of one block of parts, as CSR: those of part p (counted in C order) are
    ``ids[ptr[p]:ptr[p + 1]]`` with ``values`` beside them.

    ptr: int64 [P+1]   ids: int32 [nnz]   values: float32 [nnz]
    """

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32]


class PartFeatures:
    """An example as its parts: for each block its shape and the feature vector of each of its parts."""

    __slots__ = ("rows", "shape")

    def __init__(self, shape: Mapping[str, tuple[int, ...]], rows: Mapping[str, Rows]) -> None:
        for name, size in shape.items():
            if name not in rows or len(rows[name].ptr) != math.prod(size) + 1:
                raise DataError(
                    f"block {name!r}: expected features for the {math.prod(size)} parts of shape {size}"
                )
        self.shape = dict(shape)
        self.rows = dict(rows)


class FeatureScorer:
    """Scores that are inner products: s(p) = w . phi(x, p), with w: float64 [F].

    >>> x = PartFeatures({"choice": (2,)}, {"choice": Rows(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32),
    ...                                                    np.array([1, 2, 1], np.float32))})
    >>> scorer = FeatureScorer(2)
    >>> scorer.update(x, Parts(choice=np.array([0.0, 1.0])), step=0.5)
    >>> scorer.w
    array([1. , 0.5])
    >>> scorer.potentials(x)["choice"]
    array([1. , 2.5])
    """

    def __init__(self, F: int, w: Weights | None = None) -> None:
        self.F = F
        self.w: Weights = np.zeros(F) if w is None else w
        if self.w.dtype != np.float64 or self.w.shape != (F,):
            raise DataError(f"expected a float64 w of length {F}, found {self.w.dtype} {self.w.shape}")

    def with_weights(self, w: NDArray[np.floating]) -> "FeatureScorer":
        """The same scorer with a copy of other weights."""
        return FeatureScorer(self.F, np.array(w, np.float64))

    def shape(self, x: PartFeatures) -> dict[str, tuple[int, ...]]:
        """The size of the parts of x."""
        return x.shape

    def potentials(self, x: PartFeatures) -> Parts:
        """w . phi(x, p) for every part p."""
        scores = {}
        for name, rows in x.rows.items():
            out = np.empty(len(rows.ptr) - 1)
            _core.score_parts(*rows, self.w, out)
            scores[name] = out.reshape(x.shape[name])
        return Parts(**scores)

    def update(self, x: PartFeatures, delta: Parts, step: float = 1.0) -> None:
        """w += step * sum over parts p of delta(p) phi(x, p)."""
        for name, block in delta.items():
            _core.add_parts(*x.rows[name], _flat(block), step, self.w)

    def sq_norm(self, x: PartFeatures, delta: Parts) -> float:
        """|sum over parts p of delta(p) phi(x, p)|^2 over all blocks together, since they may share features."""
        names = [name for name, _ in delta.items()]
        if len(names) == 1:
            return _core.parts_squared_length(*x.rows[names[0]], _flat(delta[names[0]]))
        rows, steps = zip(*(_used(x.rows[name], _flat(delta[name])) for name in names), strict=True)
        shifts = np.cumsum([0, *(len(r.ids) for r in rows)])
        ptr = np.concatenate([[0], *(r.ptr[1:] + shift for r, shift in zip(rows, shifts, strict=False))])
        ids, values = (np.concatenate([r[i] for r in rows]) for i in (1, 2))
        return _core.parts_squared_length(ptr, ids, values, np.concatenate(steps))


def _used(rows: Rows, delta: Weights) -> tuple[Rows, Weights]:
    """The parts with non-zero delta."""
    parts = np.flatnonzero(delta)
    starts, sizes = rows.ptr[parts], rows.ptr[parts + 1] - rows.ptr[parts]
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    at = np.arange(ptr[-1]) + np.repeat(starts - ptr[:-1], sizes)
    return Rows(ptr, rows.ids[at], rows.values[at]), delta[parts]


def _flat(block: NDArray[np.floating]) -> Weights:
    return np.ascontiguousarray(block, np.float64).reshape(-1)


# -- feature maps: a function that names the features of parts, and the ids of the names ----------------------------


class NamedFeatures:
    """The features of one example's parts by name; a feature function fills it.

    >>> named = NamedFeatures({"cut": (3,)})
    >>> named.add("cut", 0, "vowel before")
    >>> named.add("cut", 2, "length", 0.5)
    >>> len(named.found["cut"])
    2
    """

    __slots__ = ("found", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape = dict(shape)
        self.found: dict[str, list[tuple[int, Hashable, float]]] = {name: [] for name in shape}

    def add(self, block: str, part: int | tuple[int, ...], name: Hashable, value: float = 1.0) -> None:
        """Give a part of a block the feature ``name`` with this value."""
        if block not in self.found:
            raise DataError(f"there is no block {block!r}; there are {', '.join(self.found)}")
        size = self.shape[block]
        at = (part,) if isinstance(part, int) else tuple(part)
        if len(at) != len(size) or not all(0 <= i < n for i, n in zip(at, size, strict=True)):
            raise DataError(f"there is no part {part} in the block {block!r} of shape {size}")
        place = 0
        for i, n in zip(at, size, strict=True):
            place = place * n + i
        self.found[block].append((place, name, value))


class FeatureMap:
    """Turns inputs into parts with feature vectors, by a function of one input that names features.

    ``fit`` gives ids to the names that occur in at least ``min_count`` examples; after that unknown names are
    left out. Names are any hashable values; strings are the most readable.

    >>> def letters(word):
    ...     named = NamedFeatures({"choice": (2,)})
    ...     named.add("choice", 1, f"ends in {word[-1]}")
    ...     return named
    >>> features = FeatureMap(letters)
    >>> xs = features.fit(["sang", "sings"])
    >>> features.names
    ['ends in g', 'ends in s']
    >>> features("walk").rows["choice"].ids
    array([], dtype=int32)
    """

    def __init__(self, function: Callable[[Any], NamedFeatures], *, min_count: int = 1) -> None:
        self.function = function
        self.min_count = min_count
        self._ids: dict[Hashable, int] | None = None

    @property
    def names(self) -> list[Hashable]:
        """The names, in the order of their ids."""
        return list(self._known())

    @property
    def F(self) -> int:
        """The number of features."""
        return len(self._known())

    def fit(self, inputs: Iterable[Any]) -> list[PartFeatures]:
        """Learn the names that these inputs have, and return the inputs with their features."""
        named = [self.function(x) for x in inputs]
        counts: dict[Hashable, int] = {}
        for one in named:
            for name in dict.fromkeys(name for found in one.found.values() for _, name, _ in found):
                counts[name] = counts.get(name, 0) + 1
        kept = [name for name, count in counts.items() if count >= self.min_count]
        self._ids = {name: i for i, name in enumerate(kept)}
        return [_encoded(one, self._ids) for one in named]

    def __call__(self, x: Any) -> PartFeatures:
        """One input with its features."""
        return _encoded(self.function(x), self._known())

    def scorer(self) -> FeatureScorer:
        """A scorer of these features with weights of zero."""
        return FeatureScorer(self.F)

    def _known(self) -> dict[Hashable, int]:
        if self._ids is None:
            raise ConfigError("this feature map has no names yet: call fit")
        return self._ids


def _encoded(named: NamedFeatures, ids: Mapping[Hashable, int]) -> PartFeatures:
    rows = {}
    for block, found in named.found.items():
        kept = sorted((part, ids[name], value) for part, name, value in found if name in ids)
        P = int(np.prod(named.shape[block]))
        parts = np.array([part for part, _, _ in kept], np.int64)
        rows[block] = Rows(
            np.searchsorted(parts, np.arange(P + 1)).astype(np.int64),
            np.array([i for _, i, _ in kept], np.int32),
            np.array([value for _, _, value in kept], np.float32),
        )
    return PartFeatures(named.shape, rows)
