"""Streams of examples, which need not fit in memory: generators, and Arrow in batches."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chaffinch.cache import Cache, CacheWriter
from chaffinch.errors import DataError
from chaffinch.estimators.sentences import (
    WORD_NAMES,
    column_names,
    given_labels,
    labelled,
    sentences_of,
    table_of,
)
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable

BATCH = 2000  # examples per table
SENTENCES = "sentences.cache"
CHECKPOINT = "checkpoint"
LABEL_NAMES = (LABEL, "labels", "tags", "label")


def is_stream(X: Any, y: Any) -> bool:
    """Whether X is a stream of pairs of an example and its label: an iterator, or a reader of Arrow's batches."""
    return y is None and (isinstance(X, Iterator) or hasattr(X, "read_next_batch"))


def pairs(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Examples with their labels.

    X: an iterator of pairs, or a reader of Arrow's batches with a column of examples and one of labels; if y is given,
       the examples alone: any iterable, or a chunked column of Arrow
    """
    if hasattr(X, "read_next_batch"):
        yield from _of_batches(X)
    elif y is None:
        for pair in X:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise DataError(f"expected pairs of an example and its label, found {pair!r:.80}")
            yield pair[0], pair[1]
    else:
        both = zip(_cells(X), _cells(y), strict=True)
        while True:
            try:
                yield next(both)
            except StopIteration:
                return
            except ValueError:
                raise DataError("expected as many labels as examples, found more or fewer") from None


def _cells(column: Any) -> Iterator[Any]:
    """The cells of a column; an Arrow column is read chunk by chunk."""
    if hasattr(column, "iterchunks"):
        return (cell for chunk in column.iterchunks() for cell in chunk.to_pylist())
    return iter(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _of_batches(reader: Any) -> Iterator[tuple[Any, Any]]:
    names = list(reader.schema.names)
    label = next((name for name in LABEL_NAMES if name in names), names[-1])
    given = [name for name in names if name != label]
    known = next((name for name in (*WORD_NAMES, "text") if name in given), given[0] if given else None)
    if known is None:
        raise DataError(
            f"expected a column of examples and one of labels, found {', '.join(names) or 'none'}"
        )
    kinds = dict(zip(names, map(str, reader.schema.types), strict=True))
    unread = [name for name in given if name != known and "list" in kinds[name] and "list" in kinds[known]]
    if unread:
        raise DataError(
            f"column {unread[0]!r} would be left out: drop it, or give pairs of a sentence of tuples and its labels"
        )
    for batch in reader:
        columns = {name: batch.column(names.index(name)).to_pylist() for name in (known, label)}
        yield from zip(columns[known], columns[label], strict=True)


def sentence_tables(examples: Iterable[tuple[Any, Any]]) -> Iterator[TokenTable]:
    """Pairs of a sentence and its labels as tables of 2000 sentences.

    >>> [t.n_sentences for t in sentence_tables((["a", "b"], ["X", "Y"]) for _ in range(4500))]
    [2000, 2000, 500]
    """
    columns: Sequence[str] | None = None
    coming = iter(examples)
    first = 1  # the number of the batch's first sentence
    while batch := list(islice(coming, BATCH)):
        X = sentences_of([x for x, _ in batch], first=first)
        columns = columns or column_names(X)
        given = given_labels([y for _, y in batch], first)
        if given.soft is not None or given.unknown is not None:
            uncertain = (n for n, (_, y) in enumerate(batch, first) if not all(isinstance(c, str) for c in y))
            raise DataError(
                f"sentence {next(uncertain):,}: a stream of examples needs a known label for every token"
            )
        yield labelled(table_of(X, columns, first=first), given.y, first)
        first += len(batch)


def fill_cache(path: Path, tables: Iterable[TokenTable], source: str = "") -> None:
    """Write a stream of tables to a cache."""
    coming = iter(tables)
    first = next(coming, None)
    if first is None:
        raise DataError("expected at least one sentence to train on, got none")
    with CacheWriter(path, [*(n for n in first.names if n != LABEL), LABEL], source=source) as writer:
        writer.add(first)
        for table in coming:
            writer.add(table)


@contextmanager
def cached_sentences(tables: Iterable[TokenTable], folder: str | Path | None) -> Iterator[Cache]:
    """A cache of a stream of tables, in the given folder or a temporary one."""
    with TemporaryDirectory(prefix="chaffinch-") if folder is None else nullcontext(folder) as place:
        path = Path(place) / SENTENCES
        path.parent.mkdir(parents=True, exist_ok=True)
        fill_cache(path, tables)
        cache = Cache.open(path)
        try:
            yield cache
        finally:
            cache.close()
