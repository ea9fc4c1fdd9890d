"""Files: opened plainly or through gzip, from a path or '-', and written whole or not at all."""

import gzip
import io
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from chaffinch.errors import DataError

STDIO = "-"


def display_name(path: str | Path) -> str:
    """What messages call a file."""
    return "<stdin>" if str(path) == STDIO else str(path)


@contextmanager
def reading(path: str | Path) -> Iterator[BinaryIO]:
    """Open ``path`` (plain, .gz, or '-' for standard input) as bytes; what fails is one sentence."""
    if str(path) == STDIO:
        yield sys.stdin.buffer
        return
    path = Path(path)
    try:
        raw = path.open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a directory, expected a file") from None
    except PermissionError:
        raise DataError(f"{path}: no permission to read it") from None
    except OSError as e:
        raise DataError(f"{path}: cannot be opened: {e.strerror}") from None
    with raw:
        if path.suffix != ".gz":
            yield raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield cast(BinaryIO, unpacked)
        except (gzip.BadGzipFile, EOFError, zlib.error) as e:
            raise DataError(f"{path}: is not a whole gzip file: {e}") from None


@contextmanager
def writing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file as bytes; it appears under its name only once it is complete.

    The content goes to a temporary file beside the target, which is renamed at the end; after an error or
    Ctrl-C the temporary file is removed and a file already there is untouched.
    """
    if str(path) == STDIO:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path}: is a directory, expected a file name")
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except FileNotFoundError:
        raise DataError(f"{path}: the folder {path.parent} does not exist") from None
    except OSError as e:
        raise DataError(f"{path}: cannot be written: {e.strerror}") from None
    try:
        os.chmod(temporary, 0o666 & ~_umask())
        with os.fdopen(handle, "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def writing_text(path: str | Path) -> Iterator[IO[str]]:
    """As :func:`writing`, for UTF-8 text with plain line ends."""
    with writing(path) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="\n", write_through=True)
        yield text
        text.flush()
        text.detach()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
