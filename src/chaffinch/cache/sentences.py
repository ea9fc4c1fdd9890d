"""Sentences on disk: about three and a half bytes for a token's word, part of speech and label.

Strings of a column are numbered by descending frequency, so that most ids take one byte. The corpus is read once: a
spool holds ids in order of first occurrence until all counts are known.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Interner, from_varints, varints
from chaffinch.cache.blocks import (
    EXAMPLE,
    ITEM,
    BlockFile,
    BlockWriter,
    Ids,
    packed_strings,
    unpacked_strings,
)
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import full_disk_named
from chaffinch.text.document import LABEL
from chaffinch.text.stretch import STRETCH
from chaffinch.text.table import Column, TokenTable

KIND = "sentences"
TOKENS = 1 << 16  # approximate number of tokens in a block
LONGEST = 8  # a document longer than this many blocks is cut
GROUP = "document"  # the stream that says which sentences begin a document


class CacheWriter:
    """Writes sentences to a cache, table by table; the file appears when it is closed.

    path:    the file
    columns: names of the columns to keep
    source:  a hash of the data and settings, which ``Cache.open`` can check
    tokens:  approximate number in a block; blocks end at the end of a document, or after a multiple of 50 sentences

    >>> from tempfile import mkdtemp
    >>> with CacheWriter(Path(mkdtemp()) / "tea.cache", ["w", "y"]) as writer:
    ...     writer.add(TokenTable.from_lists({"w": [["green", "tea"], ["tea"]], "y": [["A", "N"], ["N"]]}))
    >>> cache = Cache.open(writer.path)
    >>> cache.n_sentences, cache.n_tokens, cache.vocabulary("w"), cache.labels
    (2, 3, ['tea', 'green'], ('N', 'A'))
    >>> [table.lists("w") for table in cache.blocks()]
    [[['green', 'tea'], ['tea']]]
    """

    def __init__(
        self, path: str | Path, columns: Sequence[str], *, source: str = "", tokens: int = TOKENS
    ) -> None:
        self.path, self.columns, self.source, self.tokens = Path(path), list(columns), source, tokens
        self._names = {name: Interner() for name in self.columns}
        self._counts = {name: np.zeros(1 << 10, np.int64) for name in self.columns}
        self._out = BlockWriter(self.path, {**dict.fromkeys(self.columns, ITEM), GROUP: EXAMPLE})
        try:
            with full_disk_named(self.path):
                spool = self.path.with_name(f"{self._out.part.name}.spool").open("w+b")
        except BaseException:
            self._out.discard()
            raise
        self._spool: BinaryIO = spool
        # Pieces of the spool: place, sentences, tokens, sizes of streams.
        self._pieces: list[tuple[int, int, int, list[int]]] = []
        self._held: list[tuple[Ids, Ids, list[Ids]]] = []  # lengths, documents, ids by column
        self._held_tokens = 0
        self._grouped = False
        self.n_sentences = self.n_tokens = 0

    def add(self, table: TokenTable) -> None:
        """Append sentences. Sentences with features or weights of their own are refused."""
        if table.attributes is not None or table.weight is not None or table.images:
            raise ConfigError(
                "a cache holds only columns of strings: train in memory on sentences with features, weights or images"
            )
        missing = [name for name in self.columns if name not in table.columns]
        if missing:
            raise DataError(f"expected the columns {', '.join(self.columns)}, found no {missing[0]!r}")
        if table.n_sentences == 0:
            return
        self._grouped = self._grouped or table.groups is not None
        ids = [self._interned(name, table.columns[name]) for name in self.columns]
        begins = np.zeros(table.n_sentences, np.int32)
        if table.groups is not None:
            begins[1:] = np.diff(table.groups) != 0
            # 0: before the first mark, so part of the previous table's document.
            begins[0] = table.groups[0] != 0
        self._held.append((np.diff(table.ptr).astype(np.int32), begins, ids))
        self._held_tokens += table.n_tokens
        self.n_sentences += table.n_sentences
        self.n_tokens += table.n_tokens
        if self._held_tokens >= 2 * self.tokens:
            self._cut(last=False)

    def _interned(self, name: str, column: Column) -> Ids:
        """The ids of a column in order of first occurrence; also counts them."""
        interner = self._names[name]
        if len(column.ids) and int(column.ids.min()) < 0:
            raise DataError(f"a token has no string in column {name!r}")
        used = np.unique(column.ids)
        _, numbers = interner.intern_nested([[column.types[i] for i in used.tolist()]])
        number = np.zeros(len(column.types), np.int32)
        number[used] = numbers
        ids = number[column.ids]
        if len(interner) > len(self._counts[name]):
            more = np.zeros(2 * len(interner) - len(self._counts[name]), np.int64)
            self._counts[name] = np.concatenate([self._counts[name], more])
        self._counts[name] += np.bincount(ids, minlength=len(self._counts[name]))
        return ids

    def _cut(self, last: bool) -> None:
        """Write the held sentences to the spool, in whole blocks."""
        lengths = np.concatenate([held[0] for held in self._held])
        begins = np.concatenate([held[1] for held in self._held])
        ids = [np.concatenate([held[2][c] for held in self._held]) for c in range(len(self.columns))]
        ends = np.cumsum(lengths, dtype=np.int64)
        may_cut = np.flatnonzero(begins) if self._grouped else np.arange(STRETCH, len(lengths), STRETCH)
        first, token = 0, 0
        while first < len(lengths):
            later = may_cut[may_cut > first]
            sizes = ends[later - 1] - token
            enough = np.flatnonzero(sizes >= self.tokens)
            if enough.size == 0 and ends[-1] - token > LONGEST * self.tokens:  # one long document
                enough = np.zeros(1, np.int64)
                later = first + 1 + np.searchsorted(ends[first:], [token + self.tokens])
            if enough.size == 0 and not last:
                break
            to = int(later[enough[0]]) if enough.size else len(lengths)
            stop = int(ends[to - 1])
            self._spool_block(lengths[first:to], [i[token:stop] for i in ids], begins[first:to])
            first, token = to, stop
        self._held = [(lengths[first:], begins[first:], [i[token:] for i in ids])]
        self._held_tokens = int(lengths[first:].sum())

    def _spool_block(self, lengths: Ids, ids: list[Ids], begins: Ids) -> None:
        place, sizes = self._spool.tell(), []
        for numbers in (lengths, *ids, begins):
            content = varints(np.ascontiguousarray(numbers))
            with full_disk_named(self.path):
                self._spool.write(content)
            sizes.append(len(content))
        self._pieces.append((place, len(lengths), int(lengths.sum()), sizes))

    def close(self) -> None:
        """Number strings by frequency, rewrite the blocks with these ids, and rename the file to its final name."""
        if self._held:
            self._cut(last=True)
        final: list[Ids | None] = []
        for name in self.columns:
            strings = self._names[name].strings()
            counts = self._counts[name][: len(strings)]
            order = np.argsort(-counts, kind="stable")
            number = np.empty(len(order), np.int32)
            number[order] = np.arange(len(order), dtype=np.int32)
            final.append(number)
            self._out.section(f"vocabulary.{name}", packed_strings([strings[i] for i in order.tolist()]))
            self._out.section(f"counts.{name}", counts[order].astype("<i8").tobytes())
        for place, sentences, tokens, sizes in self._pieces:
            with full_disk_named(self.path):  # writes what is in the buffer
                self._spool.seek(place)
            counts_of = [sentences, *([tokens] * len(self.columns)), sentences]
            streams = [
                from_varints(self._spool.read(size), 0, count)[0]
                for size, count in zip(sizes, counts_of, strict=True)
            ]
            self._out.add(streams[0], streams[1:], [*final, None])
        header = {
            "kind": KIND,
            "source": self.source,
            "columns": self.columns,
            "sentences": self.n_sentences,
            "tokens": self.n_tokens,
            "documents": self._grouped,
        }
        self._out.close(header)
        self._drop_spool()

    def discard(self) -> None:
        """Remove what was written."""
        self._out.discard()
        self._drop_spool()

    def _drop_spool(self) -> None:
        with suppress(OSError):  # a full disk
            self._spool.close()
        Path(self._spool.name).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.discard()


@dataclass(frozen=True, eq=False)
class Cache:
    """An open cache of sentences: a sequence of blocks, each decoded to a :class:`TokenTable` on request."""

    file: BlockFile

    @classmethod
    def open(cls, path: str | Path, source: str | None = None) -> "Cache":
        """Open a cache; DataError if it is damaged, or made from something other than ``source``."""
        file = BlockFile(path)
        try:
            if file.header.get("kind") != KIND:
                raise file.fault(f"holds {file.header.get('kind')}, expected {KIND}")
            if source is not None and file.header.get("source") != source:
                raise file.fault("was made from other data, columns or reader settings")
            made = cls(file)
            if sum(file.entries["items"].tolist()) != made.n_tokens:
                raise file.fault("its directory is damaged")
        except BaseException:
            file.close()
            raise
        return made

    @property
    def path(self) -> Path:
        """The file."""
        return self.file.path

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.file.header["columns"])

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return int(self.file.header["sentences"])

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.file.header["tokens"])

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.file)

    @property
    def marks_documents(self) -> bool:
        """Whether sentences belong to marked documents."""
        return bool(self.file.header["documents"])

    @property
    def fingerprint(self) -> str:
        """A hash of the content."""
        return self.file.fingerprint

    @property
    def sentences_by_block(self) -> NDArray[np.int64]:
        """Number of sentences in each block."""
        return self.file.entries["examples"].astype(np.int64)

    @property
    def tokens_by_block(self) -> NDArray[np.int64]:
        """Number of tokens in each block."""
        return self.file.entries["items"].astype(np.int64)

    @property
    def bytes_per_token(self) -> float:
        """Bytes of the blocks per token: word, further columns, label and the lengths of sentences."""
        return int(self.file.entries["size"].sum(dtype=np.int64)) / max(self.n_tokens, 1)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, the most frequent first."""
        return tuple(self.vocabulary(LABEL))

    def vocabulary(self, column: str) -> list[str]:
        """The strings of a column, the most frequent first; the same list at every call."""
        known: dict[str, list[str]] = self.__dict__.setdefault("_vocabularies", {})
        if column not in known:
            try:
                known[column] = unpacked_strings(self.file.section(f"vocabulary.{column}"))
            except KeyError:
                raise DataError(f"{self.path}: has no column {column!r}") from None
            except ValueError as e:
                raise self.file.fault(f"the vocabulary of column {column!r} is damaged: {e}") from None
        return known[column]

    def counts(self, column: str) -> NDArray[np.int64]:
        """How often each string of a column occurs."""
        return np.frombuffer(self.file.section(f"counts.{column}"), "<i8").astype(np.int64)

    def block(self, number: int) -> TokenTable:
        """A block as a table. Its columns hold the strings of all blocks, whether they occur in it or not."""
        lengths, streams = self.file.block(number)
        columns = {}
        for name in self.columns:
            types, ids = self.vocabulary(name), streams[name]
            if len(ids) and int(ids.max()) >= len(types):
                raise self.file.fault(
                    f"block {number + 1} of {len(self.file)} is damaged: an id is out of range"
                )
            columns[name] = Column(types, ids)
        ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        groups = np.cumsum(streams[GROUP], dtype=np.int32) if self.marks_documents else None
        return TokenTable(ptr, columns, groups)

    def blocks(self, numbers: Sequence[int] | range | None = None) -> Iterator[TokenTable]:
        """Blocks one by one: all, or those with these numbers, in this order."""
        for number in range(self.n_blocks) if numbers is None else numbers:
            yield self.block(number)

    def table(self, numbers: Sequence[int] | range | None = None) -> TokenTable:
        """Several blocks, or all, as one table in memory."""
        return side_by_side(list(self.blocks(numbers)))

    def shard(self, number: int, shards: int) -> range:
        """The blocks of shard ``number`` of ``shards``: neighbouring blocks with about the same number of tokens.

        The shards of a cache do not overlap and hold all blocks; some are empty if there are more shards than blocks.
        """
        if not 0 <= number < shards:
            raise ConfigError(f"expected a shard from 0 to {shards - 1}, got {number}")
        ends = np.cumsum(self.tokens_by_block)
        bounds = np.searchsorted(
            ends - self.tokens_by_block / 2, self.n_tokens * np.arange(shards + 1) / shards
        )
        bounds[-1] = self.n_blocks
        return range(int(bounds[number]), int(bounds[number + 1]))

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def side_by_side(tables: Sequence[TokenTable]) -> TokenTable:
    """Tables of blocks as one; they share the strings of their columns."""
    if not tables:
        raise DataError("expected at least one block, got none")
    starts = np.cumsum([0, *(table.n_tokens for table in tables)])
    ptr = np.concatenate([[0], *(t.ptr[1:] + s for t, s in zip(tables, starts[:-1], strict=True))])
    columns: Mapping[str, Any] = tables[0].columns
    joined = {
        name: Column(column.types, np.concatenate([t.columns[name].ids for t in tables]))
        for name, column in columns.items()
    }
    groups = None
    if tables[0].groups is not None:
        above, found = 0, []
        for table in tables:
            assert table.groups is not None
            found.append(table.groups + above)
            above += int(table.groups.max(initial=0))
        groups = np.concatenate(found).astype(np.int32)
    return TokenTable(ptr.astype(np.int64), joined, groups)
