"""A file of blocks of integers, which are checked by length and CRC before use.

    magic, version, CRC of the footer, place and size of the footer        32 bytes
    blocks      lengths of the examples, then each stream, all as varints
    sections    further bytes by name, such as vocabularies
    directory   place, size, CRC, examples and items of each block
    footer      JSON: the kind of content, and the places of sections and directory

A stream has one number per item (a token, a feature of a document) or per example (a sentence, a document).
"""

import hashlib
import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import from_varints, varints
from chaffinch.errors import DataError
from chaffinch.files import full_disk_named, refuse_unwritable

MAGIC = b"CHAFFBLK"
VERSION = 1
_PRELUDE = struct.Struct("<8sIIQQ")
ENTRY = np.dtype([("offset", "<u8"), ("size", "<u4"), ("crc", "<u4"), ("examples", "<u4"), ("items", "<u4")])
DIRECTORY = "directory"
ITEM, EXAMPLE = "item", "example"  # a stream has a number per item or per example

Ids = NDArray[np.int32]


class BlockWriter:
    """Writes a file of blocks; it appears under its name when it is complete.

    streams: by name, ITEM or EXAMPLE
    """

    def __init__(self, path: str | Path, streams: Mapping[str, str]) -> None:
        self.path = Path(path)
        refuse_unwritable(self.path)
        self.streams = dict(streams)
        self.part = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        with full_disk_named(self.path):
            self._out = self.part.open("w+b")
        self._write(bytes(_PRELUDE.size))
        self._entries: list[tuple[int, int, int, int, int]] = []
        self._sections: dict[str, tuple[int, int, int]] = {}

    def add(
        self, lengths: Ids, streams: Sequence[Ids], renumbered: Sequence[Ids | None] | None = None
    ) -> None:
        """Append a block. renumbered: for each stream, the final id of each id; None: the ids are final."""
        items = int(lengths.sum())
        renumbered = renumbered or [None] * len(streams)
        pieces = [varints(lengths)]
        for ids, final, per in zip(streams, renumbered, self.streams.values(), strict=True):
            assert len(ids) == (items if per == ITEM else len(lengths))
            pieces.append(varints(ids, final))
        content = b"".join(pieces)
        self._entries.append((self._out.tell(), len(content), zlib.crc32(content), len(lengths), items))
        self._write(content)

    def section(self, name: str, content: bytes) -> None:
        """Append bytes under a name."""
        self._sections[name] = self._out.tell(), len(content), zlib.crc32(content)
        self._write(content)

    def _write(self, content: bytes) -> None:
        with full_disk_named(self.path):
            self._out.write(content)

    def close(self, header: Mapping[str, Any]) -> None:
        """Write directory and footer, and rename the file to its final name."""
        self.section(DIRECTORY, np.array(self._entries, ENTRY).tobytes())
        footer = json.dumps(
            {**header, "streams": list(self.streams.items()), "sections": self._sections},
            ensure_ascii=False,
            sort_keys=True,
        ).encode()
        place = self._out.tell()
        with full_disk_named(self.path):
            self._out.write(footer)
            self._out.seek(0)
            self._out.write(_PRELUDE.pack(MAGIC, VERSION, zlib.crc32(footer), place, len(footer)))
            self._out.flush()
            os.fsync(self._out.fileno())
            self._out.close()
        self.part.replace(self.path)

    def discard(self) -> None:
        """Remove what was written; a complete file has its name already and stays."""
        with suppress(OSError):  # a full disk: what is not written yet cannot be written now
            self._out.close()
        self.part.unlink(missing_ok=True)


class BlockFile:
    """An open file of blocks. Blocks are mapped, checked and decoded one at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._file = self.path.open("rb")
        except OSError as e:
            raise DataError(f"{self.path}: cannot be read: {e.strerror}") from None
        try:
            self._open()
        except BaseException:
            self._file.close()
            raise

    def _open(self) -> None:
        self._size = os.fstat(self._file.fileno()).st_size
        start = self._file.read(_PRELUDE.size)
        if len(start) < _PRELUDE.size or not start.startswith(MAGIC):
            raise self.fault("is not a cache")
        _, version, crc, place, size = _PRELUDE.unpack(start)
        if version != VERSION:
            raise self.fault(f"has version {version} of the format, expected {VERSION}")
        if place + size != self._size:
            raise self.fault(
                f"has {self._size:,} bytes, expected {place + size:,}: it is cut short or damaged"
            )
        self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        footer = self._map[place:]
        if zlib.crc32(footer) != crc:
            raise self.fault("its footer is damaged")
        self.fingerprint = hashlib.blake2b(footer, digest_size=16).hexdigest()
        try:
            self.header: dict[str, Any] = json.loads(footer)
            self.streams: dict[str, str] = dict(self.header["streams"])
            self.entries = np.frombuffer(self.section(DIRECTORY), ENTRY)
        except (KeyError, ValueError, TypeError) as e:
            raise self.fault(f"its footer is damaged: {e}") from None

    def fault(self, what: str) -> DataError:
        """An error that names the file and says what to do."""
        return DataError(f"{self.path}: {what}; remove it to build it again")

    def __len__(self) -> int:
        return len(self.entries)

    def section(self, name: str) -> bytes:
        """The bytes of this name."""
        place, size, crc = self.header["sections"][name]
        return self._checked(int(place), int(size), int(crc), f"its section {name!r}")

    def block(self, number: int) -> tuple[Ids, dict[str, Ids]]:
        """The lengths of a block's examples, and its streams by name."""
        entry = self.entries[number]
        what = f"block {number + 1} of {len(self)}"
        content = self._checked(int(entry["offset"]), int(entry["size"]), int(entry["crc"]), what)
        examples, items = int(entry["examples"]), int(entry["items"])
        try:
            lengths, at = from_varints(content, 0, examples)
            if int(lengths.sum(dtype=np.int64)) != items:
                raise ValueError("lengths and items differ")
            found = {}
            for name, per in self.streams.items():
                found[name], at = from_varints(content, at, items if per == ITEM else examples)
            if at != len(content):
                raise ValueError("bytes are left over")
        except ValueError as e:
            raise self.fault(f"{what} is damaged: {e}") from None
        return lengths, found

    def _checked(self, place: int, size: int, crc: int, what: str) -> bytes:
        if os.fstat(self._file.fileno()).st_size != self._size or place + size > self._size:
            raise self.fault(f"{what} is missing: the file was cut short")
        content = self._map[place : place + size]
        # Pages that were read need not stay in memory.
        if hasattr(self._map, "madvise") and size > mmap.PAGESIZE:
            self._map.madvise(mmap.MADV_DONTNEED)
        if zlib.crc32(content) != crc:
            raise self.fault(f"{what} is damaged")
        return content

    def close(self) -> None:
        """Close the file."""
        self._map.close()
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def drop_abandoned(folder: Path) -> None:
    """Remove the unfinished files of processes that no longer run."""
    for path in folder.glob(".*.part*"):
        owner = path.name.split(".part")[0].rpartition(".")[2]
        if owner.isdigit() and not _is_running(int(owner)):
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def packed_strings(strings: Sequence[str]) -> bytes:
    """Strings as bytes: their number, their lengths and their UTF-8.

    >>> unpacked_strings(packed_strings(["a", "", "\u00e9"]))
    ['a', '', '\u00e9']
    """
    encoded = [s.encode() for s in strings]
    lengths = np.array([len(encoded), *map(len, encoded)], np.int32)
    return varints(lengths) + b"".join(encoded)


def unpacked_strings(content: bytes) -> list[str]:
    """The inverse of :func:`packed_strings`."""
    (count,), at = from_varints(content, 0, 1)
    lengths, at = from_varints(content, at, int(count))
    found = []
    for length in lengths.tolist():
        found.append(content[at : at + length].decode())
        at += length
    return found
