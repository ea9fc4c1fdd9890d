"""Training on files that do not fit in memory: read once, block by block, into a cache in a folder.

A run that was stopped continues by the same command: the cache is complete or it is not there, and a checkpoint beside
it holds the weights. A cache of other data, columns or settings of the reader is refused.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from chaffinch.cache.blocks import VERSION, drop_abandoned
from chaffinch.corpus import detect
from chaffinch.corpus.record_blocks import has_records, record_blocks
from chaffinch.errors import DataError
from chaffinch.files import block_of, display_name, head, is_stream
from chaffinch.kinds.kind import Kind
from chaffinch.progress import Listener, Progress

READ = "reading"


def corpus_blocks(
    kind: Kind, paths: Sequence[Path], told: Mapping[str, str], listener: Listener
) -> Iterator[Any]:
    """The corpora of files, block by block; a format without records is read whole."""
    sizes = [0 if is_stream(path) else path.stat().st_size for path in paths]
    before = 0
    for path, size in zip(paths, sizes, strict=True):
        format = detect(path, told.get("from_format"), texts=kind.plural == "documents").name
        if not has_records(format, head(path)):
            yield kind.read(path, told)
            continue
        known = {**told, "from_format": format}
        for block in record_blocks(path, format):
            if block.content.strip():
                with block_of(path, block.content, block.first_line):
                    corpus = kind.read(path, known)
                yield corpus
            listener(Progress(READ, (before + block.end) >> 20, (sum(sizes) >> 20) or None, {}))
        before += size


def source_of(kind: Kind, paths: Sequence[Path], told: Mapping[str, str], more: Any = None) -> str:
    """A hash of the bytes of files, of how they are read, and of what else the cache depends on; empty for a pipe."""
    if any(is_stream(path) for path in paths):
        return ""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps([VERSION, kind.plural, sorted(told.items()), more], default=str).encode())
    for path in paths:
        try:
            with path.open("rb") as stream:
                while piece := stream.read(1 << 20):
                    digest.update(piece)
        except OSError as e:
            raise DataError(f"{display_name(path)}: cannot be read: {e.strerror}") from None
    return digest.hexdigest()


@contextmanager
def cache_folder(path: Path, keep: bool) -> Iterator[Path]:
    """A folder for the files of one training; when it is done they are dropped, or kept. After an error they stay."""
    made = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise DataError(f"{path}: cannot be made a folder for the cache: {e.strerror}") from None
    drop_abandoned(path)
    before = set(path.iterdir())
    yield path
    if keep:
        return
    for file in [*path.glob("*.cache"), path / "checkpoint"]:
        if file not in before or file.suffix == ".cache":
            file.unlink(missing_ok=True)
    if made:
        with suppress(OSError):
            path.rmdir()
