"""Linear: one flat w, and a layout that names its blocks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import DataError
from chaffinch.structures.parts import Parts

LINE = 16  # floats in a cache line; every block is aligned to one


class Example(NamedTuple):
    """Features of T positions (or candidates) as CSR: those of position t are ``ids[ptr[t]:ptr[t + 1]]``.

    values: float32 [nnz], the values of the features; None: all are 1
    """

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32] | None = None

    @property
    def T(self) -> int:
        """The number of positions."""
        return len(self.ptr) - 1


class Dense(NamedTuple):
    """Features of T positions as rows of D numbers: float32 [T, D], feature d at row d of w."""

    rows: NDArray[np.float32]

    @property
    def T(self) -> int:
        """The number of positions."""
        return len(self.rows)


@dataclass(frozen=True)
class Block:
    """A block of w: ``rows`` rows of ``stride`` floats from ``offset`` on, the first ``columns`` of each in use."""

    name: str
    offset: int
    shape: tuple[int, ...]
    stride: int

    @property
    def rows(self) -> int:
        """The number of rows: one for a vector."""
        return math.prod(self.shape[:-1])

    @property
    def columns(self) -> int:
        """The used length of a row."""
        return self.shape[-1]

    @property
    def size(self) -> int:
        """The size of the block in floats."""
        return self.rows * self.stride


@dataclass(frozen=True)
class Layout:
    """The blocks of one flat w, each starting on a cache line and each row a whole number of vectors.

    >>> layout = Layout.chain(F=1000, Y=22)
    >>> for b in layout:
    ...     print(b.name, b.offset, b.shape, b.stride)
    unary 0 (1000, 22) 24
    pair 24000 (22, 22) 24
    start 24528 (22,) 24
    end 24560 (22,) 24
    """

    blocks: tuple[Block, ...]
    length: int | None = None  # of w, if it is packed: blocks follow each other without a gap

    @classmethod
    def of(cls, sizes: dict[str, tuple[int, ...]]) -> "Layout":
        """Blocks of the given shapes, in order."""
        blocks, offset = [], 0
        for name, shape in sizes.items():
            block = Block(name, offset, shape, _core.padded(shape[-1]))
            blocks.append(block)
            offset += -(-block.size // LINE) * LINE
        return cls(tuple(blocks))

    @classmethod
    def chain(cls, F: int, Y: int) -> "Layout":
        """Unary [F, Y], pair [Y, Y], start [Y] and end [Y]."""
        return cls.of({"unary": (F, Y), "pair": (Y, Y), "start": (Y,), "end": (Y,)})

    @classmethod
    def packed_chain(cls, F: int, Y: int, order: int = 1, bigrams: int = 0) -> "Layout":
        """A chain's blocks without gaps, the layout of the core's likelihood; in order 2 triple, first and last follow.

        bigrams: rows of Y * Y weights after the chain, for features of pairs of labels

        >>> [(b.name, b.offset) for b in Layout.packed_chain(F=10, Y=3)], Layout.packed_chain(F=10, Y=3).size
        ([('unary', 0), ('pair', 80), ('start', 104), ('end', 112)], 120)
        """
        S = _core.padded(Y)
        at = (F + Y + 2) * S
        blocks = [
            Block("unary", 0, (F, Y), S),
            Block("pair", F * S, (Y, Y), S),
            Block("start", (F + Y) * S, (Y,), S),
            Block("end", (F + Y + 1) * S, (Y,), S),
        ]
        if order == 2:
            blocks += [
                Block("triple", at, (Y, Y, Y), Y),
                Block("first", at + Y**3, (Y, Y), Y),
                Block("last", at + Y**3 + Y**2, (Y, Y), Y),
            ]
            at += Y**3 + 2 * Y**2
        return cls(tuple(blocks), _core.padded(at) + bigrams * _core.padded(Y * Y))

    @property
    def packed(self) -> bool:
        """Whether blocks follow each other without a gap."""
        return self.length is not None

    @classmethod
    def choice(cls, F: int, Y: int) -> "Layout":
        """A weight for each feature and label [F, Y]."""
        return cls.of({"choice": (F, Y)})

    @property
    def size(self) -> int:
        """The length of w."""
        if self.length is not None:
            return self.length
        last = self.blocks[-1]
        return last.offset + -(-last.size // LINE) * LINE

    def __getitem__(self, name: str) -> Block:
        for block in self.blocks:
            if block.name == name:
                return block
        raise DataError(f"the layout has no block {name!r}; it has {', '.join(b.name for b in self.blocks)}")

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def zeros(self) -> NDArray[np.float32]:
        """A w of this layout on a cache line, all zero."""
        room = np.zeros(self.size + LINE, np.float32)
        skip = -room.ctypes.data // room.itemsize % LINE
        return room[skip : skip + self.size]


class Linear:
    """Scores that are sums of weights: a row of w for each feature, and blocks that every example shares.

        unary[t, y] = sum over the features f of position t of v w.unary[f, y]    (or choice[y], T = 1)
        unary[t, y] = sum over d of x[t, d] w.unary[d, y]                         (Dense)
        pair, start, end = w.pair, w.start, w.end

    >>> scorer = Linear(Layout.chain(F=3, Y=2))
    >>> x = Example(np.array([0, 2, 3]), np.array([0, 2, 2], np.int32))
    >>> scorer.update(x, Parts(unary=np.array([[1, 0], [0, 1]], np.float32)))
    >>> scorer.potentials(x)["unary"]
    array([[2., 1.],
           [1., 1.]], dtype=float32)
    """

    def __init__(self, layout: Layout, w: NDArray[np.float32] | None = None) -> None:
        self.layout = layout
        self.w = layout.zeros() if w is None else w
        if self.w.dtype != np.float32 or self.w.shape != (layout.size,):
            raise DataError(
                f"expected a float32 w of length {layout.size}, found {self.w.dtype} {self.w.shape}"
            )
        self._features, *self._shared = layout.blocks

    def with_weights(self, w: NDArray[np.floating]) -> "Linear":
        """The same scorer with a copy of other weights."""
        own = self.layout.zeros()
        own[:] = w
        return Linear(self.layout, own)

    def block(self, name: str) -> NDArray[np.float32]:
        """A view of one block of w [rows, columns]; writing to it writes to w."""
        b = self.layout[name]
        return self._padded(b)[:, : b.columns]

    def shape(self, x: Example | Dense) -> dict[str, tuple[int, ...]]:
        """The size of the parts of x."""
        b = self._features
        first = (b.columns,) if b.name == "choice" else (x.T, b.columns)
        return {b.name: first} | {s.name: s.shape for s in self._shared}

    def potentials(self, x: Example | Dense) -> Parts:
        """The scores of every part of x; the shared blocks are copies."""
        b = self._features
        rows = np.empty((x.T, b.stride), np.float32)
        self._score(x, self._padded(b), rows)
        scores = np.ascontiguousarray(rows[:, : b.columns]).reshape(self.shape(x)[b.name])
        return Parts(
            **{b.name: scores}, **{s.name: self.block(s.name).reshape(s.shape).copy() for s in self._shared}
        )

    def update(self, x: Example | Dense, delta: Parts, step: float = 1.0) -> None:
        """w += step * (the features of x, weighted by delta)."""
        for name, block in delta.items():
            b = self.layout[name]
            if b is self._features:
                self._add(x, self._rows(x, block), step, self._padded(b))
            else:
                self.block(name)[...] += np.float32(step) * block.reshape(b.rows, b.columns)

    def sq_norm(self, x: Example | Dense, delta: Parts) -> float:
        """The squared length of the change that an update of step 1 makes."""
        total = 0.0
        for name, block in delta.items():
            if name == self._features.name:
                total += self._squared_length(x, self._rows(x, block))
            else:
                total += float(np.sum(block.astype(np.float64) ** 2))
        return total

    def _score(self, x: Example | Dense, w: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        if isinstance(x, Dense):
            _core.dense_score(x.rows, w, out)
        else:
            _core.score_rows(x.ptr, x.ids, w, out, x.values)

    def _add(
        self, x: Example | Dense, delta: NDArray[np.float32], step: float, w: NDArray[np.float32]
    ) -> None:
        if isinstance(x, Dense):
            _core.dense_add(x.rows, delta, step, w)
        else:
            _core.add_rows(x.ptr, x.ids, delta, step, w, x.values)

    def _squared_length(self, x: Example | Dense, delta: NDArray[np.float32]) -> float:
        if isinstance(x, Dense):
            return float(np.sum((x.rows.T.astype(np.float64) @ delta) ** 2))
        return float(_core.squared_length(x.ptr, x.ids, delta, x.values))

    def _rows(self, x: Example | Dense, block: NDArray[np.floating]) -> NDArray[np.float32]:
        b = self._features
        rows = np.zeros((x.T, b.stride), np.float32)
        rows[:, : b.columns] = block.reshape(x.T, b.columns)
        return rows

    def _padded(self, b: Block) -> NDArray[np.float32]:
        return self.w[b.offset : b.offset + b.size].reshape(b.rows, b.stride)
