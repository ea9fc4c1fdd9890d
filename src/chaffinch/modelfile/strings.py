"""String lists: millions of strings as two arrays, decoded on access."""

import codecs
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ModelFileError

_CHUNK = 2**20


class StringList(Sequence[str]):
    """A read-only list of strings over its stored form.

    utf8: uint8 [B], all strings end to end, in UTF-8
    ptr:  int64 [n+1], string i is the bytes ptr[i] .. ptr[i+1]

    >>> names = StringList.of(["w=the", "naïve", ""])
    >>> len(names), names[1], names[-1], names.ptr.tolist()
    (3, 'naïve', '', [0, 5, 11, 11])
    >>> names == ["w=the", "naïve", ""]
    True
    """

    __slots__ = ("ptr", "utf8")

    def __init__(self, utf8: NDArray[np.uint8], ptr: NDArray[np.int64]) -> None:
        """Check the arrays; ModelFileError if they are not a string list."""
        self.utf8 = utf8
        self.ptr = ptr
        self._check()

    @classmethod
    def of(cls, strings: Iterable[str]) -> "StringList":
        """The stored form of some strings."""
        pieces = [encoded(s) for s in strings]
        ptr = np.zeros(len(pieces) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)), out=ptr[1:])
        return cls(np.frombuffer(b"".join(pieces), np.uint8), ptr)

    @property
    def nbytes(self) -> int:
        """The size of the list in the file."""
        return self.utf8.nbytes + self.ptr.nbytes

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"string {i} of {len(self)}")
        i %= len(self)
        return str(self.utf8[self.ptr[i] : self.ptr[i + 1]].tobytes(), "utf-8")

    def __iter__(self) -> Iterator[str]:
        whole = self.utf8.tobytes()
        bounds = self.ptr.tolist()
        return (str(whole[a:b], "utf-8") for a, b in pairwise(bounds))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StringList):
            return np.array_equal(self.ptr, other.ptr) and np.array_equal(self.utf8, other.utf8)
        if isinstance(other, list | tuple):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = ", ..." if len(self) > 4 else ""
        return f"StringList([{', '.join(map(repr, self[:4]))}{more}])"

    def _check(self) -> None:
        utf8, ptr = self.utf8, self.ptr
        if utf8.dtype != np.uint8 or utf8.ndim != 1 or ptr.dtype != np.int64 or ptr.ndim != 1 or not len(ptr):
            raise ModelFileError("must be a uint8 [B] and an int64 [n+1] array")
        if ptr[0] != 0 or ptr[-1] != len(utf8):
            raise ModelFileError(f"its bounds run from {ptr[0]} to {ptr[-1]}, expected 0 to {len(utf8)}")
        if np.any(ptr[1:] < ptr[:-1]):
            raise ModelFileError("its bounds decrease")
        # Chunks limit the memory: decoded text can take four times its bytes.
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for start in range(0, len(utf8), _CHUNK):
                decoder.decode(utf8[start : start + _CHUNK].tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as e:
            raise ModelFileError(f"is not UTF-8: {e.reason}") from None
        # If the whole is valid and no bound is inside a character, every string is valid.
        inner = ptr[ptr < len(utf8)]
        if np.any(utf8[inner] & 0xC0 == 0x80):
            raise ModelFileError("is not UTF-8: a string starts inside a character")


def encoded(string: str) -> bytes:
    """The string in UTF-8; ModelFileError for a lone surrogate."""
    try:
        return string.encode("utf-8")
    except UnicodeEncodeError:
        raise ModelFileError(f"{string!r} holds half a character (a lone surrogate)") from None
