"""What training on a file will need, judged by its beginning: memory and time, with and without a cache."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

from chaffinch.corpus import detect
from chaffinch.corpus.record_blocks import has_records, record_blocks
from chaffinch.files import PACKED, block_of, head, is_stream
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.requests import Needs

SAMPLED_BLOCKS = 4  # of half a megabyte each
WORTH_TELLING = 32 << 20  # bytes: smaller files are trained on before an estimate is read
BASE = 80 << 20  # of the interpreter and its modules


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
) -> Estimate | None:
    """The needs of training on files; None if they are small, packed or pipes, or no estimate is known."""
    plain = all(not is_stream(path) and path.is_file() and path.suffix not in PACKED for path in paths)
    if not plain or sum(path.stat().st_size for path in paths) < least:
        return None
    path = paths[0]
    format = detect(path, told.get("from_format"), texts=kind.plural == "documents").name
    if not has_records(format, head(path)):
        return None
    corpora: list[Any] = []
    read = 0
    for block in islice(record_blocks(path, format), SAMPLED_BLOCKS):
        with block_of(path, block.content, block.first_line):
            corpora.append(kind.read(path, {**told, "from_format": format}))
        read = block.end
    began = process_time()
    needs: Needs | None = kind.needs(corpora, recipe, features)
    if needs is None or read == 0:
        return None
    spent = process_time() - began - needs.beside
    times = sum(path.stat().st_size for path in paths) / read
    memory, cached = _bytes(needs, times)
    larger = None if needs.larger is None else max(cached, _bytes(needs.larger, times)[1])
    return Estimate(memory, needs.seconds(spent) * times, cached, larger)


def _bytes(needs: Needs, times: float) -> tuple[float, float]:
    """In memory, and from a cache, on so many times the data of the sample."""
    features = needs.features * min(times, needs.counted) ** needs.growth
    memory = BASE + needs.first + needs.memory * times + 3 * needs.weight_bytes * features
    return memory, min(memory, BASE + needs.cached(features, times))
