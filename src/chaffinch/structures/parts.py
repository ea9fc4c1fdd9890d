"""Parts: the common type of potentials, gold indicators, predictions, marginals, costs and updates."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import DataError

Shape = Mapping[str, tuple[int, ...]]
"""The size of each block of parts, by name: ``{"unary": (T, Y), "pair": (Y, Y)}``."""

Block = NDArray[np.floating]


class Parts:
    """One dense array per type of part, with the arithmetic that learners use.

    A block that one operand lacks counts as zero. So a cost that depends on labels alone is ``Parts(unary=...)`` and
    can be added to potentials that also have pairs. Arithmetic never changes its operands.

    >>> potentials = Parts(unary=np.array([[0.5, 2.0]]), pair=np.ones((2, 2)))
    >>> cost = Parts(unary=np.array([[0.0, 1.0]]))
    >>> (potentials + cost)["unary"]
    array([[0.5, 3. ]])
    >>> potentials.dot(cost)
    2.0
    """

    __slots__ = ("_blocks",)

    def __init__(self, **blocks: Block) -> None:
        self._blocks = blocks

    @classmethod
    def zeros(cls, shape: Shape, dtype: type[np.floating] = np.float64) -> "Parts":
        """No weight on any part.

        >>> Parts.zeros({"choice": (3,)})
        Parts(choice=[0. 0. 0.])
        """
        return cls(**{name: np.zeros(size, dtype) for name, size in shape.items()})

    @property
    def shape(self) -> dict[str, tuple[int, ...]]:
        """The size of each block, by name."""
        return {name: block.shape for name, block in self._blocks.items()}

    def __getitem__(self, name: str) -> Block:
        try:
            return self._blocks[name]
        except KeyError:
            raise DataError(
                f"these parts have no block {name!r}; they have {', '.join(self._blocks) or 'none'}"
            ) from None

    def get(self, name: str) -> Block | None:
        """A block, or None if there is none."""
        return self._blocks.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._blocks

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def items(self) -> Iterator[tuple[str, Block]]:
        """Names and blocks, in the order they were given."""
        return iter(self._blocks.items())

    def __add__(self, other: "Parts") -> "Parts":
        return self._joined(other, 1.0)

    def __sub__(self, other: "Parts") -> "Parts":
        return self._joined(other, -1.0)

    def __mul__(self, factor: float) -> "Parts":
        return Parts(**{name: block * block.dtype.type(factor) for name, block in self._blocks.items()})

    __rmul__ = __mul__

    def __neg__(self) -> "Parts":
        return self * -1.0

    def dot(self, other: "Parts") -> float:
        """The inner product, summed in double; a part of weight 0 on one side adds nothing even at -inf."""
        total = 0.0
        for name, block in self._blocks.items():
            if name in other:
                total += _core.parts_dot(*map(_flat, _same_shape(name, block, other[name])))
        return total

    def sq_norm(self) -> float:
        """The inner product with itself."""
        return self.dot(self)

    def __repr__(self) -> str:
        return f"Parts({', '.join(f'{name}={block}' for name, block in self._blocks.items())})"

    def _joined(self, other: "Parts", sign: float) -> "Parts":
        if not isinstance(other, Parts):
            return NotImplemented
        blocks = dict(self._blocks)
        for name, theirs in other.items():
            if name in blocks:
                a, b = _same_shape(name, blocks[name], theirs)
                blocks[name] = a + b if sign > 0 else a - b
            else:
                blocks[name] = theirs if sign > 0 else -theirs
        return Parts(**blocks)


def _same_shape(name: str, a: Block, b: Block) -> tuple[Block, Block]:
    if a.shape != b.shape:
        raise DataError(
            f"parts of different shape: {name} is {a.shape} on the left and {b.shape} on the right"
        )
    return a, b


def _flat(block: Block) -> NDArray[np.float64]:
    return np.ascontiguousarray(block, np.float64).reshape(-1)


def finite(name: str, block: NDArray[np.floating], single: bool) -> NDArray[np.floating]:
    """Potentials in the form that the dynamic programmes take."""
    if block.size and not block.max() < np.inf:  # false for NaN, too
        at = np.argwhere(np.isnan(block) | (block == np.inf))[0].tolist()
        raise DataError(
            f"{name}{at}: expected a finite potential, or -inf to forbid; found {block[tuple(at)]}"
        )
    return np.ascontiguousarray(block, np.float32 if single else np.float64)


@contextmanager
def blocked() -> Iterator[None]:
    """Raise DataError if the dynamic programme found no allowed answer; its message names the position."""
    try:
        yield
    except DataError:
        raise
    except ValueError as error:
        raise DataError(str(error)) from None
