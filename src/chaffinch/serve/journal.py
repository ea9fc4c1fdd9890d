"""The journal of corrections: lines of JSON, each on the disk before it is acknowledged.

Every line has a sequence number and a checksum. A process or a machine that stops while it writes leaves at most
an incomplete end. The next start cuts it off: nothing in it was acknowledged.
"""

import json
import os
import re
import threading
import zlib
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # a system without file locks
    fcntl = None  # type: ignore[assignment]

from chaffinch.errors import ConfigError, DataError

Entry = dict[str, Any]

_LINE = re.compile(rb'(\{.*),"crc":"([0-9a-f]{8})"\}', re.DOTALL)


class Journal:
    """An append-only file of entries; one process at a time.

    entries: those that were read at the start, in order
    cut:     the number of bytes of an incomplete end that were cut off
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise ConfigError(
                f"{path}: another server writes this journal; stop it, or name another file with --journal"
            ) from None
        if new:
            _sync_folder(path.parent)
        content = _read(self._file)
        self.entries, whole = _entries(content, path)
        self.cut = len(content) - whole
        if self.cut:
            os.ftruncate(self._file, whole)
            os.fsync(self._file)
        self._size = whole
        self._next = len(self.entries) + 1

    def append(self, events: list[Entry]) -> list[int]:
        """Write events with their sequence numbers, all or none, and return when they are on the disk."""
        with self._lock:
            numbers = list(range(self._next, self._next + len(events)))
            lines = b"".join(_line({"seq": n, **event}) for n, event in zip(numbers, events, strict=True))
            try:
                _write(self._file, lines)
                _sync(self._file)
            except OSError:
                os.ftruncate(self._file, self._size)
                raise
            self._size += len(lines)
            self._next += len(events)
            return numbers

    def close(self) -> None:
        """Close the file, so that another process can open it."""
        os.close(self._file)


def _line(entry: Entry) -> bytes:
    """An entry with its checksum.

    >>> _line({"seq": 1})
    b'{"seq":1,"crc":"8c63767c"}\\n'
    """
    try:
        start = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
    except UnicodeEncodeError:  # half of a surrogate pair
        start = json.dumps(entry, separators=(",", ":")).encode()[:-1]
    return start + b',"crc":"%08x"}\n' % zlib.crc32(start)


def _entries(content: bytes, path: Path) -> tuple[list[Entry], int]:
    """The complete entries and their number of bytes."""
    found: list[Entry] = []
    whole = at = 0
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        at += len(line) + 1
        entry = _entry(line)
        if entry is None:
            continue  # incomplete, which is allowed only at the end
        if whole != at - len(line) - 1 or entry["seq"] != len(found) + 1:
            raise DataError(
                f"{path}:{number}: the line before it is damaged, or lines are missing: restore the journal from a copy"
            )
        found.append(entry)
        whole = at
    return found, whole


def _entry(line: bytes) -> Entry | None:
    match = _LINE.fullmatch(line)
    if match is None or zlib.crc32(match[1]) != int(match[2], 16):
        return None
    found: Entry = json.loads(match[1] + b"}")
    return found


def _read(file: int) -> bytes:
    pieces = []
    os.lseek(file, 0, os.SEEK_SET)
    while piece := os.read(file, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _write(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


_sync = getattr(os, "fdatasync", os.fsync)


def _sync_folder(folder: Path) -> None:
    """Write the folder to the disk, so that the name of a new file is there too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
