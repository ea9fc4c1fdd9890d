"""A feature map: a function that names the features of parts, and the ids that the names were given."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from chaffinch.errors import ConfigError, DataError
from chaffinch.scorers.features import FeatureScorer, PartFeatures, Rows
from chaffinch.structures.parts import Shape


class NamedFeatures:
    """The features of one example's parts by name, as a feature function gathers them.

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
        """Part ``part`` of a block has the feature ``name`` with this value."""
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
    left out. Names are any hashable values, strings for those who want to read them later.

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
        """How many features there are."""
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
        """A scorer of these features, its weights zero."""
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
