"""Files: opened plainly or through gzip, from a path or '-', and written whole or not at all."""

import errno
import gzip
import io
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from chaffinch.errors import DataError

STDIO = "-"
_HEAD = 1 << 16  # bytes that a guess at a file's format may look at
_DEVICE_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# What cannot be opened twice, once its head was looked at: the head, and the whole of it waiting for its reader.
_waiting: dict[str, tuple[bytes, BinaryIO]] = {}


def display_name(path: str | Path) -> str:
    """What messages call a file that is read."""
    return "<stdin>" if str(path) == STDIO else str(path)


def is_stream(path: str | Path) -> bool:
    """Whether ``path`` comes or goes once: '-', a pipe, a device; anything but a file, a folder or nothing."""
    if str(path) == STDIO:
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def reading(path: str | Path) -> Iterator[BinaryIO]:
    """Open ``path`` (plain, .gz, or '-' for standard input) as bytes; what fails is one sentence."""
    if str(path) == STDIO:
        yield _waiting.pop(STDIO)[1] if STDIO in _waiting else _standard_input()
        return
    path = Path(path)
    with _waiting.pop(str(path))[1] if str(path) in _waiting else _opened(path) as raw:
        try:
            if path.suffix != ".gz":
                yield raw
                return
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield cast(BinaryIO, unpacked)
        except (gzip.BadGzipFile, EOFError, zlib.error) as e:
            raise DataError(f"{path}: is not a whole gzip file: {e}") from None
        except OSError as e:
            raise DataError(f"{path}: cannot be read: {e.strerror or e}") from None


def head(path: str | Path) -> bytes:
    """The first 64 KiB of a file, unpacked; a pipe or standard input can still be read from its start."""
    if not is_stream(path):
        with reading(path) as stream:
            return stream.read(_HEAD)
    if str(path) not in _waiting:
        stream = _standard_input() if str(path) == STDIO else _opened(Path(path))
        start = stream.read(_HEAD)
        _waiting[str(path)] = start, cast(BinaryIO, io.BufferedReader(_Rejoined(start, stream)))
    return _waiting[str(path)][0]


def refuse_unwritable(path: str | Path) -> None:
    """Raise now what :func:`writing` would find when the work is done: no folder, no permission, a directory."""
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
def writing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file as bytes; it appears under its name only once it is complete.

    The content goes to a temporary file beside the target, which is renamed at the end; after an error or
    Ctrl-C the temporary file is removed and a file already there is untouched. What is no file (a pipe, a
    device such as /dev/null) is written to directly.
    """
    try:
        if str(path) == STDIO:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif is_stream(path):
            with Path(path).open("wb") as stream:
                yield cast(BinaryIO, stream)
        else:
            with _replacing(Path(path)) as raw:
                yield raw
    except OSError as e:
        if e.errno not in _DEVICE_FAULTS:
            raise
        name = "<stdout>" if str(path) == STDIO else path
        raise DataError(f"{name}: cannot be written: {e.strerror}") from None


@contextmanager
def writing_text(path: str | Path) -> Iterator[IO[str]]:
    """As :func:`writing`, for UTF-8 text with plain line ends."""
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
    """A temporary file that takes the place of ``path`` when all went well; links and modes are kept."""
    refuse_unwritable(path)
    target = Path(os.path.realpath(path))
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as e:
        raise DataError(f"{path}: cannot be written: {e.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as raw:
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class _Rejoined(io.RawIOBase):
    """A stream of which the start was read already, from its start."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start, self._rest = memoryview(start), rest

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if self._rest is not getattr(sys.stdin, "buffer", None):
            self._rest.close()
        super().close()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        taken = self._start[: len(buffer)] or self._rest.read(len(buffer))
        self._start = self._start[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise DataError("<stdin>: is closed, so there is nothing to read")
    return sys.stdin.buffer


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
