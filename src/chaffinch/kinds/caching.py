"""Training on files that do not fit in memory: read once, block by block, into a cache in a folder.

The same command continues an interrupted run: a cache is complete or absent, and a checkpoint beside it holds the
weights. A cache of other data, columns or settings of the reader is refused.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from chaffinch.cache.blocks import VERSION, drop_abandoned
from chaffinch.corpus import detect
from chaffinch.corpus.record_blocks import has_records, record_blocks
from chaffinch.errors import DataError
from chaffinch.estimators.streams import CHECKPOINT
from chaffinch.files import PACKED, block_of, display_name, head, is_stream
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.needs import Needs
from chaffinch.learners.best_pass import BEST
from chaffinch.progress import Listener, Progress

READ = "reading"
SAMPLED_BLOCKS = 4  # of half a megabyte each
WORTH_TELLING = 32 << 20  # bytes; smaller files are trained on too quickly for an estimate
BASE = 80 << 20  # of the interpreter and its modules


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
        for block in record_blocks(path, format, told.get("text")):
            if block.content.strip():
                with block_of(path, block.content, block.first_line):
                    corpus = kind.read(path, known)
                yield corpus
            listener(Progress(READ, (before + block.end) >> 20, (sum(sizes) >> 20) or None, {}))
        before += size


def source_of(kind: Kind, paths: Sequence[Path], told: Mapping[str, str], more: Any = None) -> str:
    """A hash of the bytes of files, the options of their reader and ``more``; empty for a pipe."""
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
    """A folder for the files of one training. They are deleted at its end unless ``keep``; after an error they stay.

    A folder that was created here and is still empty after an error is removed.
    """
    made = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise DataError(f"{path}: the folder for the cache cannot be created: {e.strerror}") from None
    drop_abandoned(path)
    before = set(path.iterdir())
    try:
        yield path
    except BaseException:
        if made:
            _remove_empty(path)
        raise
    if keep:
        return
    for file in [*path.glob("*.cache"), path / CHECKPOINT, path / (CHECKPOINT + BEST)]:
        if file not in before or file.suffix == ".cache":
            file.unlink(missing_ok=True)
    if made:
        _remove_empty(path)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def continues_from(folder: Path) -> bool:
    """Whether the folder holds a cache or a checkpoint from which the same command continues."""
    return (folder / CHECKPOINT).exists() or any(folder.glob("*.cache"))


# -- estimates of memory and time, from the first blocks of a file --


@dataclass(frozen=True)
class Estimate:
    """Bytes and CPU seconds of a training. larger: bytes with a cache if n-grams of characters are chosen"""

    memory: float
    seconds: float
    cached: float
    larger: float | None = None

    def told(self, folder: Path | None) -> str:
        """One sentence.

        >>> Estimate(3.1e9, 360, 0.9e9).told(None)
        'about 3.1 GB and 6 minutes; --cache DIR uses 0.9 GB'
        >>> Estimate(3.1e9, 40, 0.9e9).told(Path("c"))
        'about 0.9 GB and 40 seconds, with a cache in c; 3.1 GB without'
        >>> Estimate(3.1e9, 40, 0.9e9, 1.4e9).told(Path("c"))
        'about 0.9 GB (1.4 GB if n-grams of characters are chosen) and 40 seconds, with a cache in c; 3.1 GB without'
        """
        time = f"{self.seconds:.0f} seconds" if self.seconds < 90 else f"{self.seconds / 60:.0f} minutes"
        less, more = _gigabytes(self.cached), _gigabytes(self.memory)
        if self.larger is not None and _gigabytes(self.larger) != less:
            less += f" ({_gigabytes(self.larger)} if n-grams of characters are chosen)"
        if folder is None:
            return f"about {more} and {time}; --cache DIR uses {less}"
        return f"about {less} and {time}, with a cache in {folder}; {more} without"


def _gigabytes(size: float) -> str:
    """Two digits of a size.

    >>> _gigabytes(0.374e9), _gigabytes(1.87e9), _gigabytes(12.9e9)
    ('0.37 GB', '1.9 GB', '13 GB')
    """
    return f"{size / 1e9:.0f} GB" if size >= 9.95e9 else f"{size / 1e9:.2g} GB"


def estimate(
    kind: Kind,
    paths: list[Path],
    told: Mapping[str, str],
    least: int = WORTH_TELLING,
    recipe: str | None = None,
    features: Any = None,
    dev: Path | None = None,
    passes: int | None = None,
    threads: int = 1,
) -> Estimate | None:
    """The memory and time of training on files; None if they are small, packed or pipes, or there is no estimate.

    recipe, features, dev, passes, threads: the requested ones; dev: the file of held-out data
    """
    plain = all(not is_stream(path) and path.is_file() and path.suffix not in PACKED for path in paths)
    if not plain or sum(path.stat().st_size for path in paths) < least:
        return None
    path = paths[0]
    format = detect(path, told.get("from_format"), texts=kind.plural == "documents").name
    if not has_records(format, head(path)):
        return None
    corpora: list[Any] = []
    read = 0
    for block in islice(record_blocks(path, format, told.get("text")), SAMPLED_BLOCKS):
        with block_of(path, block.content, block.first_line):
            corpora.append(kind.read(path, {**told, "from_format": format}))
        read = block.end
    needs: Needs | None = kind.needs(corpora, recipe, features)
    if needs is None or read == 0:
        return None
    times = sum(path.stat().st_size for path in paths) / read
    more = 0.0
    if dev is not None and not is_stream(dev) and dev.is_file():
        more = needs.held_out * dev.stat().st_size / read
    memory = BASE + more + needs.in_memory_bytes(times)
    cached = BASE + more + needs.cached_bytes(times, threads=threads)
    larger = None
    if needs.larger is not None:
        larger = max(cached, BASE + more + needs.larger.cached_bytes(times, threads=threads))
    return Estimate(memory, needs.seconds(times, passes), cached, larger)
