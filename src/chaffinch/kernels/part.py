"""A kernel of one part of an object."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kernels.kernel import Block, Kernel


@dataclass(frozen=True)
class Part(Kernel):
    """A kernel of one part of objects that have several: of a text and its tree, say.

    >>> from chaffinch.kernels import LinearKernel, Polynomial
    >>> both = Part(LinearKernel(), 0) + Part(Polynomial(), 1)
    >>> both.gram([([1.0], [2.0])], [([3.0], [1.0])])
    array([[12.]])
    """

    kernel: Kernel
    at: int | str

    def settled(self, objects: Any) -> "Kernel":
        """The kernel within, settled on its part."""
        return replace(self, kernel=self.kernel.settled(self._parts(objects)))

    def prepared(self, objects: Any) -> Any:
        """The parts, as the kernel within prepares them."""
        return self.kernel.prepared(self._parts(objects) if isinstance(objects, (list, tuple)) else objects)

    def block(self, A: Any, B: Any, threads: int) -> Block:
        """See :class:`Kernel`."""
        return self.kernel.block(A, B, threads)

    def diagonal(self, A: Any, *, threads: int = 0) -> NDArray[np.float64]:
        """See :class:`Kernel`."""
        return self.kernel.diagonal(self.prepared(A), threads=threads)

    def _parts(self, objects: Sequence[Any]) -> list[Any]:
        try:
            return [one[self.at] for one in objects]
        except (IndexError, KeyError, TypeError):
            raise DataError(f"expected objects with a part {self.at!r} each") from None
