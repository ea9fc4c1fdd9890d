"""Rows of a Gram matrix, computed on demand and cached in bounded memory."""

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError
from chaffinch.kernels.kernel import Kernel

MEGABYTE = 1 << 20


class GramRows:
    """The Gram matrix of N objects with themselves, row by row, in at most ``megabytes`` of memory.

    If the whole matrix fits, ``whole()`` computes it at once; otherwise new rows replace the least recently used ones.
    Rows are float32, the type that the solvers read.

    >>> from chaffinch.kernels import LinearKernel
    >>> rows = GramRows(LinearKernel(), [[1.0], [2.0], [3.0]], megabytes=1)
    >>> rows.row(1)
    array([2., 4., 6.], dtype=float32)
    >>> rows.row(1) is not None and rows.computed
    1
    """

    def __init__(self, kernel: Kernel, objects: Any, *, megabytes: float = 256.0, threads: int = 0) -> None:
        if not 0 < megabytes < np.inf:
            raise ConfigError(
                f"the memory for rows of the Gram matrix must be positive, got {megabytes!r} MB"
            )
        self.kernel = kernel.fitted(objects)
        self.objects = self.kernel.prepared(objects)
        self.threads = threads
        self.capacity = max(
            2, min(len(self.objects), int(megabytes * MEGABYTE / 4 / max(1, len(self.objects))))
        )
        self.computed = 0
        self._room: NDArray[np.float32] | None = None
        self._slots: OrderedDict[int, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self.objects)

    @property
    def fits(self) -> bool:
        """Whether the whole matrix is within the memory bound."""
        return self.capacity >= len(self)

    def whole(self) -> NDArray[np.float32]:
        """The whole matrix [N, N], regardless of the memory bound."""
        if self._room is None or len(self._room) < len(self) or len(self._slots) < len(self):
            self.store(self.kernel.gram(self.objects, threads=self.threads))
            self.computed += len(self)
        elif any(n != slot for n, slot in self._slots.items()):  # the rows are stored in another order
            self.store(self._room[[self._slots[n] for n in range(len(self))]])
        assert self._room is not None
        return self._room

    def store(self, K: NDArray[np.floating]) -> None:
        """Store a whole matrix that is already computed."""
        self._room = self._checked(K)
        self._slots = OrderedDict((n, n) for n in range(len(self)))
        self.capacity = max(self.capacity, len(self))

    def row(self, n: int) -> NDArray[np.float32]:
        """k(x_n, x_m) for every m: float32 [N], valid until the second next row is requested."""
        room = self._rows_held()
        slot = self._slots.get(n)
        if slot is None:
            slot = self._slot(n)
            room[slot] = self._block(np.array([n]))[0]
        else:
            self._slots.move_to_end(n)
        return room[slot]

    def rows(self, which: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """A copy of several rows at once [len(which), N]; missing rows are computed as one block."""
        room = self._rows_held()
        out = np.empty((len(which), len(self)), np.float32)
        numbers = np.asarray(which).tolist()
        missing = sorted({n for n in numbers if n not in self._slots})
        fresh = {n: at for at, n in enumerate(missing)}
        block = self._block(np.array(missing)) if missing else None
        for i, n in enumerate(numbers):
            if n in fresh and block is not None:
                out[i] = block[fresh[n]]
            else:
                self._slots.move_to_end(n)
                out[i] = room[self._slots[n]]
        if block is not None:
            for n in missing[-self.capacity :]:
                room[self._slot(n)] = block[fresh[n]]
        return out

    def _rows_held(self) -> NDArray[np.float32]:
        if self._room is None:
            self._room = np.empty((self.capacity, len(self)), np.float32)
        return self._room

    def _slot(self, n: int) -> int:
        """A slot for row n: a free one, or that of the least recently used row."""
        slot = len(self._slots) if len(self._slots) < self.capacity else self._slots.popitem(last=False)[1]
        self._slots[n] = slot
        return slot

    def _block(self, which: NDArray[Any]) -> NDArray[np.float32]:
        self.computed += len(which)
        return self._checked(self.kernel.rows(self.objects, which, self.objects, self.threads))

    @staticmethod
    def _checked(K: NDArray[Any]) -> NDArray[np.float32]:
        return np.ascontiguousarray(K, np.float32)
