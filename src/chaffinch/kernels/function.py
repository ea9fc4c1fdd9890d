"""A kernel that is a Python function of two objects."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.kernels.kernel import Block, Kernel


@dataclass(frozen=True)
class Listed:
    """Objects as they are, in a list."""

    objects: list[Any]

    def __len__(self) -> int:
        return len(self.objects)

    def taken(self, which: NDArray[Any]) -> "Listed":
        """Some of the objects, in the order named."""
        return Listed([self.objects[n] for n in which.tolist()])


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """Any Python function of two objects. It is called once per pair, so it is for few objects or bold ideas.

    Such a kernel lives in the program that defines it: a model that uses it cannot be saved.

    >>> FunctionKernel(lambda a, b: float(a == b)).gram(["tea", "cake"], ["tea"])
    array([[1.],
           [0.]])
    """

    function: Callable[[Any, Any], float]

    def __repr__(self) -> str:
        return f"FunctionKernel({getattr(self.function, '__name__', type(self.function).__name__)})"

    def prepared(self, objects: Any) -> Listed:
        """The objects, listed."""
        return objects if isinstance(objects, Listed) else Listed(list(objects))

    def block(self, A: Listed, B: Listed, threads: int) -> Block:
        """See :class:`Kernel`."""
        K = np.empty((len(A), len(B)), np.float64)
        for i, a in enumerate(A.objects):
            for j, b in enumerate(B.objects):
                value = K[j, i] if A is B and j < i else self.function(a, b)
                try:
                    K[i, j] = value
                except (TypeError, ValueError):
                    raise DataError(
                        f"a kernel function must return a number, got {value!r} for objects {i + 1} and {j + 1}"
                    ) from None
        return K
