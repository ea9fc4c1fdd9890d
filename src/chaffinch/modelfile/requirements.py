"""Requirements: the sections that a recipe needs in its file, checked before a kernel uses an index."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from chaffinch.errors import ModelFileError
from chaffinch.modelfile.file import ModelFile
from chaffinch.modelfile.strings import StringList


class Requirements:
    """Requests sections of a model file one after the other; named sizes must agree throughout.

    >>> from chaffinch.modelfile.header import Header
    >>> arrays = {"w": np.zeros((3, 2), np.float32), "ids": np.array([0, 2, 3], np.int32)}
    >>> need = Requirements(ModelFile(Header(recipe="crf"), arrays, {}, "tiny.chaff", ""), Y=2)
    >>> need.array("w", np.float32, ("F", "Y"), finite=True).shape, need.size("F")
    ((3, 2), 3)
    >>> need.array("ids", np.int32, ("K",), below="F")
    Traceback (most recent call last):
    chaffinch.errors.ModelFileError: tiny.chaff: array 'ids' holds 3, expected numbers from 0 to below F = 3
    """

    def __init__(self, model: ModelFile, **sizes: int) -> None:
        """Sizes known beforehand are given by name: ``Requirements(model, Y=len(model.header.labels))``."""
        self.file = model
        self._sizes = dict(sizes)
        self._asked: set[str] = set()

    def size(self, name: str) -> int:
        """The size of a symbol that is already bound; ``3*Y+1`` is a sum of products of sizes and numbers."""
        terms = [[int(f) if f.isdigit() else self._sizes[f] for f in t.split("*")] for t in name.split("+")]
        return sum(map(math.prod, terms))

    def bound(self, name: str) -> bool:
        """Whether the symbols of a size are bound."""
        return all(f.isdigit() or f in self._sizes for f in name.replace("*", "+").split("+"))

    def begins(self, prefix: str) -> bool:
        """Whether there is a section whose name begins with this."""
        return any(name.startswith(prefix) for name in (*self.file.arrays, *self.file.strings))

    def has(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return name in self.file.arrays

    def dropped(self, name: str) -> bool:
        """Whether this section was dropped from the file, so that the recipe must do without it."""
        return name in self.file.header.dropped

    def inside(
        self, prefix: str, facts: object, changed: Callable[[ModelFile], ModelFile] | None = None
    ) -> "Requirements":
        """The requirements of the sections under a prefix, as a file of their own with these facts; sizes stay bound.

        changed: a function that is applied to that file before it is read
        """
        file = self.file.under(prefix, details=facts)
        made = Requirements(file if changed is None else changed(file), **self._sizes)
        if prefix:
            self._asked.update(n for n in (*self.file.arrays, *self.file.strings) if n.startswith(prefix))
        return made

    def array(
        self,
        name: str,
        dtype: DTypeLike,
        shape: tuple[str | int, ...],
        *,
        finite: bool = False,
        potential: bool = False,
        low: int = 0,
        below: str | int | None = None,
        bounds: str | int | None = None,
        ascending: bool = False,
        sums: str | int | None = None,
    ) -> NDArray[Any]:
        """The array of that name, type and shape.

        finite:    no number is NaN or infinite
        potential: no number is NaN or plus infinity; minus infinity is allowed and means forbidden
        below:     every number is at least ``low`` and below this
        bounds:    the numbers are row bounds (CSR): from 0, not decreasing, to exactly this
        ascending: each number is greater than the one before
        sums:      the numbers add up to this
        """
        if name not in self.file.arrays:
            raise self.fault(f"has no array {name!r}")
        self._asked.add(name)
        a = self.file.arrays[name]
        if a.dtype != np.dtype(dtype):
            raise self.fault(f"array {name!r} is {a.dtype}, expected {np.dtype(dtype)}")
        if a.ndim != len(shape):
            raise self.fault(f"array {name!r} has {a.ndim} dimensions, expected {len(shape)}")
        for axis, size in enumerate(shape):
            self.bind(f"array {name!r}", size, a.shape[axis])
        if finite and not np.all(np.isfinite(a)):
            raise self.fault(f"array {name!r} holds {a[~np.isfinite(a)][0]}, expected finite numbers")
        if potential and (np.isnan(a).any() or np.isposinf(a).any()):
            raise self.fault(f"array {name!r} holds NaN or +infinity")
        if below is not None:
            self._check_range(name, a, low, below)
        if bounds is not None:
            self._check_bounds(name, a, bounds)
        if ascending and np.any(a[1:] <= a[:-1]):
            i = int(np.argmax(a[1:] <= a[:-1]))
            raise self.fault(f"array {name!r} is not ascending: {a[i + 1]} follows {a[i]}")
        if sums is not None and int(a.sum(dtype=np.int64)) != self._limit(sums)[0]:
            raise self.fault(
                f"array {name!r} adds up to {a.sum(dtype=np.int64)}, expected {self._limit(sums)[1]}"
            )
        return a

    def strings(self, name: str, size: str | int, *, distinct: bool = False) -> StringList:
        """The string list of that name and length; distinct: without duplicates."""
        if name not in self.file.strings:
            raise self.fault(f"has no string list {name!r}")
        self._asked.add(name)
        found = self.file.strings[name]
        self.bind(f"string list {name!r}", size, len(found))
        if distinct and len(set(found)) != len(found):
            raise self.fault(f"string list {name!r} holds a string twice")
        return found

    def nothing_else(self) -> None:
        """Raise if a section was not requested, except droppable ones."""
        model = self.file
        rest = (model.arrays.keys() | model.strings.keys()) - self._asked - {*model.header.droppable}
        if rest:
            raise self.fault(f"has the unknown section {min(rest)!r}")

    def bind(self, what: str, size: str | int, found: int) -> None:
        """Bind a symbol to the size found in a section; later sizes of the same symbol must agree."""
        wanted = size if isinstance(size, int) else self._sizes.setdefault(size, found)
        if wanted != found:
            name = "" if isinstance(size, int) else f"{size} = "
            raise self.fault(f"{what} has the size {found}, expected {name}{wanted}")

    def _check_range(self, name: str, a: NDArray[Any], low: int, below: str | int) -> None:
        limit, text = self._limit(below)
        if a.size and not (low <= (least := int(a.min())) and int(a.max()) < limit):
            odd = least if least < low else int(a.max())
            raise self.fault(f"array {name!r} holds {odd}, expected numbers from {low} to below {text}")

    def _check_bounds(self, name: str, a: NDArray[Any], bounds: str | int) -> None:
        limit, text = self._limit(bounds)
        if a.ndim != 1 or not a.size or a[0] != 0 or a[-1] != limit or np.any(a[1:] < a[:-1]):
            raise self.fault(f"array {name!r} must hold row bounds that rise from 0 to {text}")

    def _limit(self, size: str | int) -> tuple[int, str]:
        if isinstance(size, int):
            return size, str(size)
        if size not in self._sizes:
            raise self.fault(f"lacks the section whose size is {size}")
        return self._sizes[size], f"{size} = {self._sizes[size]}"

    def fault(self, sentence: str) -> ModelFileError:
        """The error for the recipe to raise for a fault of the file."""
        return ModelFileError(f"{self.file.source}: {sentence}")
