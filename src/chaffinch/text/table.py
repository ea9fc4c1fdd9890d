"""The token table: sentences as columns of ids, each distinct string stored once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Interner
from chaffinch.errors import DataError


@dataclass(frozen=True)
class Column:
    """One string per token, held as an id into the distinct ones.

    types: the distinct strings, in order of first sight
    ids:   int32 [tokens], -1 where the string is none of the types
    """

    types: list[str]
    ids: NDArray[np.int32]

    def strings(self) -> list[str]:
        """One string per token."""
        types = self.types
        return [types[i] for i in self.ids.tolist()]


@dataclass(frozen=True)
class TokenTable:
    """Sentences of tokens with named columns, all of one length.

    ptr: int64 [N+1], sentence n is the tokens ptr[n] .. ptr[n+1]

    >>> table = TokenTable.from_lists({"w": [["a", "b", "a"], ["b"]]})
    >>> table.columns["w"].types, table.columns["w"].ids.tolist(), table.ptr.tolist()
    (['a', 'b'], [0, 1, 0, 1], [0, 3, 4])
    >>> table.lists("w")
    [['a', 'b', 'a'], ['b']]
    """

    ptr: NDArray[np.int64]
    columns: Mapping[str, Column]

    @classmethod
    def from_lists(cls, columns: Mapping[str, Sequence[Sequence[str]]]) -> "TokenTable":
        """A table from one list of lists of strings per column; all must have the same shape."""
        ptr: NDArray[np.int64] | None = None
        made = {}
        first = ""
        for name, rows in columns.items():
            interner = Interner()
            bounds, ids = interner.intern_nested(rows if isinstance(rows, list) else list(rows))
            if ptr is None:
                ptr, first = bounds, name
            elif not np.array_equal(ptr, bounds):
                raise DataError(_shape_difference(first, ptr, name, bounds))
            made[name] = Column(interner.strings(), ids)
        if ptr is None:
            raise DataError("a token table needs at least one column")
        return cls(ptr, made)

    @property
    def n_sentences(self) -> int:
        """N."""
        return len(self.ptr) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens of all sentences."""
        return int(self.ptr[-1])

    def lists(self, name: str) -> list[list[str]]:
        """One column as a list of strings per sentence."""
        flat = self.columns[name].strings()
        bounds = self.ptr.tolist()
        return [flat[a:b] for a, b in pairwise(bounds)]


def _shape_difference(first: str, ptr: NDArray[np.int64], name: str, bounds: NDArray[np.int64]) -> str:
    if len(ptr) != len(bounds):
        return f"column {first!r} has {len(ptr) - 1} sentences, column {name!r} has {len(bounds) - 1}"
    n = int(np.flatnonzero(np.diff(ptr) != np.diff(bounds))[0])
    a, b = int(np.diff(ptr)[n]), int(np.diff(bounds)[n])
    return f"sentence {n + 1}: column {first!r} has {a} tokens, column {name!r} has {b}"
