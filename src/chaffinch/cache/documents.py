"""Documents on disk: a spool of texts until features are known, then a cache of the ids of their features.

The features of a document are stored kind by kind, in ascending order and as differences: most take a byte or two.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import from_varints, varints
from chaffinch.cache.blocks import (
    EXAMPLE,
    ITEM,
    BlockFile,
    BlockWriter,
    Ids,
    packed_strings,
    unpacked_strings,
)
from chaffinch.files import full_disk_named

KIND = "documents"
LAYOUT = 2  # version of the streams, and of the settings in the header
ITEMS = 1 << 19  # approximate number of features in a block
TEXT_BYTES = 1 << 17  # approximate size of a block of texts: each byte yields a few features
SPOOLED = 1 << 22  # bytes of texts that are held in memory

Rows = tuple[NDArray[np.int64], Ids, Ids | None]
"""Bounds, ascending ids, and counts or None, of some documents and one kind of features."""


class TextSpool:
    """Texts and labels on disk, in the order in which they came.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spool = TextSpool(folder)
    ...     spool.add(["a", "bc"], ["X", "Y"])
    ...     [(texts, labels) for texts, labels in spool.blocks()], spool.sample(1)
    ...     spool.close()
    ([(['a', 'bc'], ['X', 'Y'])], (['a'], ['X']))
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = folder
        with full_disk_named(folder):
            self._out = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (it lives as long as the spool)
        self._pieces: list[tuple[int, int, int, int]] = []  # place, bytes of lengths, of labels, documents
        self._texts: list[str] = []
        self._labels: list[int] = []
        self._held = 0
        self.labels: dict[str, int] = {}
        self.counts: list[int] = []
        self.characters = 0

    def __len__(self) -> int:
        return sum(self.counts)

    def add(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        """Append documents with a label each."""
        for text, label in zip(texts, labels, strict=True):
            number = self.labels.setdefault(label, len(self.labels))
            if number == len(self.counts):
                self.counts.append(0)
            self.counts[number] += 1
            self._texts.append(text)
            self._labels.append(number)
            self._held += len(text)
        self.characters += sum(map(len, texts))
        if self._held > SPOOLED:
            self._write()

    def _write(self) -> None:
        if not self._texts:
            return
        encoded = [text.encode("utf-8", "surrogatepass") for text in self._texts]
        lengths = varints(np.array(list(map(len, encoded)), np.int32))
        labels = varints(np.array(self._labels, np.int32))
        self._pieces.append((self._out.tell(), len(lengths), len(labels), len(encoded)))
        with full_disk_named(self._folder):
            self._out.write(lengths + labels + b"".join(encoded))
        self._texts, self._labels, self._held = [], [], 0

    def blocks(self) -> Iterator[tuple[list[str], list[str]]]:
        """All documents, a few megabytes at a time."""
        self._write()
        with full_disk_named(self._folder):
            self._out.flush()
        names = list(self.labels)
        for place, of_lengths, of_labels, count in self._pieces:
            self._out.seek(place)
            lengths, _ = from_varints(self._out.read(of_lengths), 0, count)
            labels, _ = from_varints(self._out.read(of_labels), 0, count)
            content = self._out.read(int(lengths.sum(dtype=np.int64)))
            self._out.seek(0, 2)
            texts, at = [], 0
            for length in lengths.tolist():
                texts.append(content[at : at + length].decode("utf-8", "surrogatepass"))
                at += length
            yield texts, [names[y] for y in labels.tolist()]

    def sample(self, most: int) -> tuple[list[str], list[str]]:
        """At most this many documents, evenly spaced."""
        N = len(self)
        wanted = np.unique(np.arange(min(most, N)) * N // max(min(most, N), 1))
        texts: list[str] = []
        labels: list[str] = []
        before = 0
        for here, gold in self.blocks():
            for n in (wanted[(wanted >= before) & (wanted < before + len(here))] - before).tolist():
                texts.append(here[n])
                labels.append(gold[n])
            before += len(here)
        return texts, labels

    def close(self) -> None:
        """Remove the texts."""
        with suppress(OSError):  # a full disk
            self._out.close()


class DocumentWriter:
    """Writes rows of features to a cache, by kind of features, or texts; the file appears when it is closed.

    kinds: number of kinds of features    counted: whether rows have counts    texts: whether it holds texts instead
    """

    def __init__(
        self, path: str | Path, kinds: int, counted: bool, items: int | None = None, texts: bool = False
    ) -> None:
        self.kinds, self.counted, self.texts = kinds, counted, texts
        self.items = items or (TEXT_BYTES if texts else ITEMS)
        streams = {"feature": ITEM, **({"count": ITEM} if counted else {}), "label": EXAMPLE}
        streams |= {f"length.{k}": EXAMPLE for k in range(kinds)}
        self._out = BlockWriter(path, {"byte": ITEM, "label": EXAMPLE} if texts else streams)

    def add_texts(self, texts: Sequence[str], labels: Ids) -> None:
        """Append texts as the bytes of their UTF-8; each takes one byte in the file, two if it is above 127."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        total: Ids = np.array(list(map(len, encoded)), np.int32)
        for a, b in self._cut(total):
            content = np.frombuffer(b"".join(encoded[a:b]), np.uint8).astype(np.int32)
            self._out.add(np.ascontiguousarray(total[a:b]), [content, labels[a:b]])

    def _cut(self, total: Ids) -> Iterator[tuple[int, int]]:
        """Bounds of blocks of about the same size."""
        blocks = np.cumsum(total, dtype=np.int64) // self.items
        bounds = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(total)]
        return ((a, b) for a, b in pairwise(bounds) if a != b)

    def add(self, rows: Sequence[Rows], labels: Ids) -> None:
        """Append documents; they are cut into blocks of about the same size."""
        lengths = [np.diff(ptr).astype(np.int32) for ptr, _, _ in rows]
        total: Ids = np.asarray(np.sum(lengths, axis=0), np.int32)
        for a, b in self._cut(total):
            ids, counts = [], []
            for ptr, found, number in rows:
                inside = slice(int(ptr[a]), int(ptr[b]))
                ids.append(differences(ptr[a : b + 1] - ptr[a], found[inside]))
                if self.counted:
                    counts.append(np.ones(len(ids[-1]), np.int32) if number is None else number[inside])
            streams = [np.concatenate(ids), *([np.concatenate(counts)] if self.counted else []), labels[a:b]]
            self._out.add(np.ascontiguousarray(total[a:b]), [*streams, *(one[a:b] for one in lengths)])

    def close(self, header: dict[str, Any], labels: Sequence[str]) -> None:
        """Complete the file."""
        self._out.section("labels", packed_strings(labels))
        self._out.close(
            {
                **header,
                "kind": KIND,
                "layout": LAYOUT,
                "kinds": self.kinds,
                "counted": self.counted,
                "texts": self.texts,
            }
        )

    def discard(self) -> None:
        """Remove what was written."""
        self._out.discard()


class DocumentCache:
    """An open cache of documents: blocks of texts, or of rows by kind of features, and labels."""

    def __init__(self, path: str | Path, source: str | None = None) -> None:
        self.file = BlockFile(path)
        if self.file.header.get("kind") != KIND:
            raise self.file.fault(f"holds {self.file.header.get('kind')}, expected {KIND}")
        if self.file.header.get("layout") != LAYOUT:
            raise self.file.fault("was made by another version of chaffinch")
        if source is not None and self.file.header.get("source") != source:
            raise self.file.fault("was made from other data, columns, features or reader settings")
        self.kinds, self.counted = int(self.file.header["kinds"]), bool(self.file.header["counted"])
        self.holds_texts = bool(self.file.header.get("texts", False))
        self.labels = unpacked_strings(self.file.section("labels"))
        self.header = self.file.header
        self.sizes = self.file.entries["examples"].astype(np.int64)

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def bytes_per_document(self) -> float:
        """Bytes of the blocks per document."""
        return int(self.file.entries["size"].sum(dtype=np.int64)) / max(len(self), 1)

    def block(self, number: int) -> tuple[list[Rows], Ids]:
        """The rows of a block by kind of features, and its labels."""
        _, streams = self.file.block(number)
        rows: list[Rows] = []
        at = 0
        for k in range(self.kinds):
            ptr = np.concatenate([[0], np.cumsum(streams[f"length.{k}"])]).astype(np.int64)
            inside = slice(at, at + int(ptr[-1]))
            counts = streams["count"][inside] if self.counted else None
            rows.append((ptr, from_differences(ptr, streams["feature"][inside]), counts))
            at = inside.stop
        if at != len(streams["feature"]) or int(streams["label"].max(initial=0)) >= len(self.labels):
            raise self.file.fault(
                f"block {number + 1} of {len(self.file)} is damaged: a number is out of range"
            )
        return rows, streams["label"]

    def texts(self, number: int) -> tuple[list[str], Ids]:
        """The texts of a block, and its labels."""
        lengths, streams = self.file.block(number)
        damaged = f"block {number + 1} of {len(self.file)} is damaged"
        byte, label = int(streams["byte"].max(initial=0)), int(streams["label"].max(initial=0))
        if byte > 255 or label >= len(self.labels):
            raise self.file.fault(f"{damaged}: a number is out of range")
        content, ends = streams["byte"].astype(np.uint8).tobytes(), np.cumsum(lengths).tolist()
        starts = [0, *ends[:-1]]
        try:
            found = [content[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]
        except UnicodeDecodeError:
            raise self.file.fault(f"{damaged}: a text is not UTF-8") from None
        return found, streams["label"]

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def differences(ptr: NDArray[np.int64], ids: Ids) -> Ids:
    """Ascending ids of each row as its first id and the differences that follow.

    >>> differences(np.array([0, 2, 3]), np.array([3, 7, 5], np.int32)).tolist()
    [3, 4, 5]
    """
    out = ids.copy()
    out[1:] -= ids[:-1]
    starts = ptr[:-1][np.diff(ptr) > 0]
    out[starts] = ids[starts]
    return out


def from_differences(ptr: NDArray[np.int64], numbers: Ids) -> Ids:
    """The inverse of :func:`differences`.

    >>> from_differences(np.array([0, 2, 2, 3]), np.array([3, 4, 5], np.int32)).tolist()
    [3, 7, 5]
    """
    sums = np.concatenate([[0], np.cumsum(numbers, dtype=np.int64)])
    found: Ids = (sums[1:] - np.repeat(sums[ptr[:-1]], np.diff(ptr))).astype(np.int32)
    return found
