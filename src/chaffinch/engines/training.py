"""Training in shards on an engine: where the shards are, and what is left of a run that was interrupted."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaffinch.engines.named import engine_named
from chaffinch.learners.shards import Sharding

FOLDER = ".shards"  # beside the model, with its name before it
WORTHWHILE = 100_000_000  # tokens; with fewer, one machine is faster
BYTES_PER_TOKEN = 8  # of a training file, about


@contextmanager
def training_in_shards(
    engine: str, model: Path, *, workers: int = 0, shards: int | None = None, threads: int = 0
) -> Iterator[Sharding]:
    """Shards beside the model file, on an engine; they are removed when the training is done.

    If it is interrupted they stay, and the same training continues from its last checkpoint.
    """
    folder = model.absolute().with_name(model.name + FOLDER)
    running = engine_named(engine, workers, threads=threads)
    try:
        yield Sharding(running, folder, shards)
    finally:
        running.close()
    shutil.rmtree(folder, ignore_errors=True)


def remark_on_size(bytes_of_data: int) -> str | None:
    """What to say to someone who trains small data on an engine; None: it is large.

    >>> remark_on_size(8_000_000)
    'about 1 million tokens: below about 100 million, training without --engine is faster'
    """
    tokens = bytes_of_data // BYTES_PER_TOKEN
    if tokens >= WORTHWHILE:
        return None
    shown = f"{tokens / 1e6:.0f} million" if tokens >= 1e6 else f"{tokens:,}"
    return f"about {shown} tokens: below about 100 million, training without --engine is faster"
