"""Files: plain or compressed (.gz, .zst), a path or '-', read whole or block by block, written whole or not at all."""

import errno
import gzip
import io
import os
import select
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from chaffinch.errors import DataError

STDIO = "-"
_HEAD = 1 << 16  # bytes from which a file's format is guessed
_PATIENCE = 0.02  # seconds to wait for more from a pipe after a whole line
_DEVICE_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_ADVICE = {
    errno.ENOSPC: "; free space there and run the command again, or name a place on another disk",
    errno.EDQUOT: "; free space there and run the command again, or name a place on another disk",
    errno.EFBIG: "; raise the limit on the size of files (ulimit -f)",
}

# Streams that cannot be opened twice and were peeked at: the head, and the whole stream for its reader.
_waiting: dict[str, tuple[bytes, BinaryIO]] = {}


# Blocks read in place of a whole file: their bytes, and the number of their first line.
_blocks: dict[str, tuple[bytes, int]] = {}

# Files that are open for several writers, one after the other.
_open: dict[str, BinaryIO] = {}

PACKED = (".gz", ".zst")


def without_packing(name: str) -> str:
    """A file name in lower case without ``.gz`` or ``.zst``.

    >>> without_packing("News.TSV.gz")
    'news.tsv'
    """
    found = name.lower()
    return next((found.removesuffix(end) for end in PACKED if found.endswith(end)), found)


def display_name(path: str | Path) -> str:
    """The name of an input file in messages."""
    return "<stdin>" if str(path) == STDIO else str(path)


def is_stream(path: str | Path) -> bool:
    """Whether ``path`` can be read or written only once: '-', a pipe or a device, not a file or a folder."""
    if str(path) == STDIO:
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def reading(path: str | Path) -> Iterator[BinaryIO]:
    """Open ``path`` (plain, .gz, .zst, or '-' for standard input) as bytes; a failure is a DataError."""
    if str(path) in _blocks:
        yield io.BytesIO(_blocks[str(path)][0])
        return
    if str(path) == STDIO:
        yield _waiting.pop(STDIO)[1] if STDIO in _waiting else _standard_input()
        return
    path = Path(path)
    with _waiting.pop(str(path))[1] if str(path) in _waiting else _opened(path) as raw:
        try:
            if path.suffix == ".zst":
                yield cast(BinaryIO, io.BufferedReader(_Unpacked(raw, _zstd(path))))
            elif path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield cast(BinaryIO, unpacked)
            else:
                yield raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as e:
            name = "zstd" if path.suffix == ".zst" else "gzip"
            raise DataError(f"{path}: is not a whole {name} file: {e}") from None
        except OSError as e:
            raise DataError(f"{path}: cannot be read: {e.strerror or e}") from None


@contextmanager
def block_of(path: str | Path, content: bytes, first_line: int) -> Iterator[None]:
    """While this is open, reading ``path`` gives these bytes alone; ``first_line``: the number of their first line."""
    _blocks[str(path)] = content, first_line
    try:
        yield
    finally:
        del _blocks[str(path)]


def first_line(path: str | Path) -> int:
    """The number of the first line that :func:`reading` gives: 1, or the first line of a block."""
    return _blocks[str(path)][1] if str(path) in _blocks else 1


def head(path: str | Path) -> bytes:
    """The first 64 KiB of a file, decompressed; a pipe or standard input can still be read from its start.

    A pipe gives only what it holds now: its writer may wait for an answer before it writes more.
    """
    if str(path) in _blocks:
        return _blocks[str(path)][0][:_HEAD]
    if not is_stream(path):
        with reading(path) as stream:
            return stream.read(_HEAD)
    if str(path) not in _waiting:
        stream = _standard_input() if str(path) == STDIO else _opened(Path(path))
        start = _what_is_there(stream)
        _waiting[str(path)] = start, cast(BinaryIO, io.BufferedReader(_Rejoined(start, stream)))
    return _waiting[str(path)][0]


def refuse_unwritable(path: str | Path) -> None:
    """Raise now the error that :func:`writing` would raise after the work: no folder, no permission, a directory."""
    if str(path) == STDIO:
        _refuse_closed_output()
    if is_stream(path):
        return
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path}: is a directory, expected a file name")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise DataError(f"{path}: the folder {path.parent} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"{path}: no permission to write in the folder {path.parent}")


@contextmanager
def many_writers(path: str | Path) -> Iterator[BinaryIO]:
    """A file to which each :func:`writing` appends while this is open."""
    if str(path) in _open:
        yield _open[str(path)]
        return
    with writing(path) as stream:
        _open[str(path)] = stream
        try:
            yield stream
        finally:
            del _open[str(path)]


@contextmanager
def collecting(path: str | Path) -> Iterator[io.BytesIO]:
    """Collect in memory what is written to ``path`` while this is open."""
    before, sink = _open.get(str(path)), io.BytesIO()
    _open[str(path)] = cast(BinaryIO, sink)
    try:
        yield sink
    finally:
        del _open[str(path)]
        if before is not None:
            _open[str(path)] = before


@contextmanager
def writing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file as bytes; it appears under its name only once it is complete.

    The content goes to a temporary file beside the target, which is renamed at the end; after an error or
    Ctrl-C the temporary file is removed and an existing file is untouched. A pipe or a device such as
    /dev/null is written to directly.
    """
    if str(path) in _open:
        yield _open[str(path)]
        return
    with full_disk_named(path):
        if str(path) == STDIO:
            _refuse_closed_output()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif is_stream(path):
            with Path(path).open("wb") as stream:
                yield cast(BinaryIO, stream)
        else:
            with _replacing(Path(path)) as raw:
                yield raw


@contextmanager
def full_disk_named(path: str | Path) -> Iterator[None]:
    """Turn the error of a full disk, which does not say which file was written, into a DataError that does."""
    try:
        yield
    except OSError as e:
        if e.errno not in _DEVICE_FAULTS:
            raise
        raise _unwritable(path, e) from None


def _unwritable(path: str | Path, error: OSError) -> DataError:
    """The error of a write that failed, with what to do."""
    if str(path) == STDIO:
        return DataError(f"<stdout>: cannot be written: {error.strerror}")
    advice = _ADVICE.get(error.errno or 0, "")
    return DataError(f"{path}: cannot be written: {error.strerror}{advice}")


@contextmanager
def writing_text(path: str | Path) -> Iterator[IO[str]]:
    """:func:`writing` for UTF-8 text; lines end in a newline alone."""
    with writing(path) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="\n", write_through=True)
        try:
            yield text
            text.flush()
        finally:
            with suppress(OSError):
                text.detach()


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file that replaces ``path`` if nothing failed; links and modes are kept.

    Its name holds the process id, so that the file of a killed process can be found and removed.
    """
    refuse_unwritable(path)
    target = Path(os.path.realpath(path))
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.{os.getpid()}.part", dir=target.parent)
    except OSError as e:
        raise _unwritable(path, e) from None
    try:
        with os.fdopen(handle, "wb") as raw:
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            elif target.suffix == ".zst":
                with _zstd(path).open(raw, "wb") as squeezed:
                    yield cast(BinaryIO, squeezed)
                    squeezed.flush()
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class _Unpacked(io.RawIOBase):
    """The content of a zstd stream; EOFError if the stream is incomplete."""

    def __init__(self, raw: BinaryIO, module: Any) -> None:
        self._raw, self._module = raw, module
        self._frame, self._left = self._new(), b""
        self._inside = False  # a frame was begun and not ended

    def _new(self) -> Any:
        own = self._module.ZstdDecompressor()
        return own.decompressobj() if hasattr(own, "decompressobj") else own

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._left:
            packed = self._raw.read(_HEAD)
            if not packed:
                if self._inside:
                    raise EOFError("it ends within a frame")
                return 0
            while packed:
                if self._frame.eof:
                    self._frame = self._new()
                try:
                    self._left += self._frame.decompress(packed)
                except self._module.ZstdError as e:
                    raise EOFError(str(e)) from None
                self._inside = not self._frame.eof
                packed = self._frame.unused_data if self._frame.eof else b""
        taken = self._left[: len(buffer)]
        self._left = self._left[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)


class _Rejoined(io.RawIOBase):
    """A stream from its start, although its start was read already."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start, self._rest = memoryview(start), rest

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if self._rest is not getattr(sys.stdin, "buffer", None):
            self._rest.close()
        super().close()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        taken = self._start[: len(buffer)] or _available(self._rest, len(buffer))
        self._start = self._start[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)


def _available(stream: BinaryIO, most: int) -> bytes:
    """The result of one read, without waiting for ``most`` bytes."""
    read1 = getattr(stream, "read1", None)
    found: bytes = stream.read(most) if read1 is None else read1(most)
    return found


def _what_is_there(stream: BinaryIO) -> bytes:
    """What a pipe holds now: at least a line, at most 64 KiB."""
    try:
        handle = stream.fileno()
        select.select([handle], [], [], 0)
    except (OSError, ValueError, AttributeError):  # no pipe
        return stream.read(_HEAD)
    start = b""
    while len(start) < _HEAD:
        if b"\n" in start and not select.select([handle], [], [], _PATIENCE)[0]:
            break
        more = stream.read1(_HEAD - len(start))  # type: ignore[attr-defined]
        if not more:
            break
        start += more
    return start


def _zstd(path: str | Path) -> Any:
    """A module with ``open`` for zstd: Python's own from 3.14 on, otherwise the package zstandard."""
    for name in ("compression.zstd", "zstandard"):
        with suppress(ImportError):
            return import_module(name)
    raise DataError(f"{path}: is compressed by zstd: pip install 'chaffinch[zstd]', or decompress it")


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise DataError("<stdin>: is closed, so there is nothing to read")
    return sys.stdin.buffer


def _refuse_closed_output() -> None:
    """Raise if the process was started without standard output; the command line then writes messages to devnull."""
    discards = sys.stdout is None or getattr(sys.stdout, "name", None) == os.devnull
    if sys.__stdout__ is None and discards:
        raise DataError("<stdout>: is closed, so the result would be lost; name a file for it")


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a directory, expected a file") from None
    except PermissionError:
        raise DataError(f"{path}: no permission to read it") from None
    except OSError as e:
        raise DataError(f"{path}: cannot be opened: {e.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
