"""A cursor over the bytes of a file: it never reads past the end, nor allocates more than the file holds."""

import struct
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from chaffinch.errors import ModelFileError
from chaffinch.rescue.foreign import ForeignFile


class ByteReader:
    """Reads little-endian numbers one after the other.

    >>> reader = ByteReader(ForeignFile("tiny", b"lCRF\\x07\\0\\0\\0"))
    >>> reader.magic(b"lCRF"), reader.u32("the size")
    (None, 7)
    >>> reader.u32("the version")
    Traceback (most recent call last):
    chaffinch.errors.ModelFileError: tiny: byte 8: expected the version (4 bytes), found 0 bytes to the end of the file
    """

    def __init__(self, file: ForeignFile, at: int = 0) -> None:
        self.file = file
        self.at = at

    @property
    def left(self) -> int:
        """Bytes from here to the end."""
        return len(self.file.content) - self.at

    def fault(self, expected: str, found: object, *, at: int | None = None) -> ModelFileError:
        """The error to raise for the bytes at this position, or at another offset."""
        return self.file.fault(self.at if at is None else at, expected, found)

    def seek(self, offset: int, what: str) -> None:
        """Go to an offset that the file gives."""
        if not 0 <= offset <= len(self.file.content):
            raise self.fault(f"the offset of {what}, at most {len(self.file.content)}", offset)
        self.at = offset

    def take(self, n: int, what: str) -> bytes:
        """The next n bytes."""
        if not 0 <= n <= self.left:
            raise self.fault(f"{what} ({n} bytes)", f"{self.left} bytes to the end of the file")
        self.at += n
        return self.file.content[self.at - n : self.at]

    def magic(self, word: bytes) -> None:
        """Check that the next bytes are these."""
        found = self.take(len(word), repr(word))
        if found != word:
            raise self.fault(repr(word), found, at=self.at - len(word))

    def u32(self, what: str, *, most: int | None = None) -> int:
        """An unsigned number, at most ``most``."""
        return self._number("<I", what, 0, most)

    def i32(self, what: str, *, least: int | None = None, most: int | None = None) -> int:
        """A signed number within these bounds."""
        return self._number("<i", what, least, most)

    def i64(self, what: str, *, least: int | None = None, most: int | None = None) -> int:
        """A signed number within these bounds."""
        return self._number("<q", what, least, most)

    def f64(self, what: str) -> float:
        """A finite number."""
        (value,) = struct.unpack("<d", self.take(8, what))
        if not np.isfinite(value):
            raise self.fault(f"{what}, a finite number", value, at=self.at - 8)
        return float(value)

    def array(self, dtype: DTypeLike, count: int, what: str) -> NDArray[Any]:
        """The next ``count`` numbers; floats must be finite."""
        kind, begin = np.dtype(dtype).newbyteorder("<"), self.at
        found = np.frombuffer(self.take(count * kind.itemsize, what), kind).astype(
            kind.newbyteorder("="), copy=True
        )
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            k = int(np.flatnonzero(~np.isfinite(found))[0])
            raise self.fault(f"{what}, finite numbers", found[k], at=begin + k * kind.itemsize)
        return found

    def end(self) -> None:
        """Check that nothing follows."""
        if self.left:
            raise self.fault("the end of the file", f"{self.left} further bytes")

    def _number(self, code: str, what: str, least: int | None, most: int | None) -> int:
        size = struct.calcsize(code)
        (value,) = struct.unpack(code, self.take(size, what))
        if (least is not None and value < least) or (most is not None and value > most):
            bounds = " and ".join(
                f"{word} {limit}"
                for word, limit in (("at least", least), ("at most", most))
                if limit is not None
            )
            raise self.fault(f"{what}, {bounds}", value, at=self.at - size)
        return int(value)
