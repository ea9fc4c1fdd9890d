"""Word clusters: the bit path of each word in a hierarchy of classes; prefixes of paths are columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Interner, WordClasses
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import display_name, reading, writing_text
from chaffinch.progress import Listener, Progress, going_on, keep_going

HEADER = "path\tword\tcount"


@dataclass(frozen=True)
class Clusters:
    """Words and their paths.

    words: distinct words
    path:  int32 [words], into paths
    paths: distinct strings of 0 and 1

    >>> c = Clusters.from_pairs([("00", "monday"), ("00", "tuesday"), ("1", "the")])
    >>> c.of("Tuesday"), c.of("xyzzy")
    ('00', None)
    """

    words: list[str]
    path: NDArray[np.int32]
    paths: list[str]

    @classmethod
    def from_pairs(cls, pairs: Sequence[tuple[str, str]]) -> "Clusters":
        """Clusters from (path, word); the first path of a repeated word counts."""
        words: dict[str, int] = {}
        paths: dict[str, int] = {}
        for path, word in pairs:
            number = paths.setdefault(path, len(paths))
            words.setdefault(word, number)
        return cls(list(words), np.fromiter(words.values(), np.int32, len(words)), list(paths))

    @classmethod
    def read(cls, path: str | Path) -> "Clusters":
        """Read lines of path, word and count, separated by tabs; header line and count may be missing."""
        pairs = []
        with reading(path) as lines:
            for number, raw in enumerate(lines, 1):
                try:
                    line = raw.decode("utf-8").rstrip("\r\n")
                except UnicodeDecodeError as e:
                    raise DataError(f"{display_name(path)}:{number}: is not UTF-8: {e.reason}") from None
                if not line or (number == 1 and line.split("\t")[0] == "path"):
                    continue
                fields = line.split("\t")
                if len(fields) < 2 or fields[0].strip("01"):
                    raise DataError(
                        f"{display_name(path)}:{number}: expected a path of 0s and 1s, a tab and a word, "
                        f"found {line[:60]!r}"
                    )
                pairs.append((fields[0], fields[1]))
        if not pairs:
            raise DataError(f"{display_name(path)}: has no clusters")
        return cls.from_pairs(pairs)

    def of(self, word: str) -> str | None:
        """The path of a word, or of its lower-cased form, or None; slow, for inspection only."""
        for form in (word, word.lower()):
            if form in self.words:
                return self.paths[int(self.path[self.words.index(form)])]
        return None


def write_clusters(path: str | Path, rows: Sequence[tuple[str, str, int]]) -> None:
    """Write (path, word, count) as lines that :meth:`Clusters.read` takes."""
    with writing_text(path) as out:
        out.write(HEADER + "\n")
        out.writelines(f"{bits}\t{word}\t{count}\n" for bits, word, count in rows)


def learn_clusters(
    sentences: Iterable[list[str]],
    *,
    classes: int = 256,
    min_count: int = 2,
    rounds: int = 10,
    on_round: Listener = keep_going,
) -> list[tuple[str, str, int]]:
    """Clusters of the words of a text: rows (path, word, count), by path, then by decreasing count.

    Words in similar contexts share a class (the exchange algorithm over class bigrams), and similar
    classes share a prefix of their paths (agglomerative merging). The same text gives the same
    clusters. Words seen fewer than ``min_count`` times are left out; ``on_round`` may stop early.

    >>> text = [["the", "cat", "ran"], ["a", "dog", "ran"], ["the", "dog", "sat"], ["a", "cat", "sat"]] * 5
    >>> rows = learn_clusters(text, classes=3)
    >>> path = {word: bits for bits, word, _ in rows}
    >>> path["cat"] == path["dog"], path["the"] == path["a"], path["cat"] == path["the"]
    (True, True, False)
    """
    if classes < 1:
        raise ConfigError(f"classes must be >= 1, got {classes}")
    if rounds < 1:
        raise ConfigError(f"rounds must be >= 1, got {rounds}")
    interner = Interner()
    lengths, ids = [], []
    remaining = iter(sentences)
    while some := list(islice(remaining, 4096)):
        bounds, these = interner.intern_nested(some)
        lengths.append(np.diff(bounds))
        ids.append(these)
    if not ids:
        raise DataError("expected text to learn clusters from, found none")
    words = interner.strings()
    tokens = np.concatenate(ids)
    ptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    counts = np.bincount(tokens, minlength=len(words))
    order = np.argsort(-counts, kind="stable")
    kept = int((counts >= min_count).sum())
    if kept == 0:
        raise DataError(f"no word occurs {min_count} times; use a longer text or a smaller min_count")
    rank = np.full(len(words), -1, np.int32)
    rank[order[:kept]] = np.arange(kept, dtype=np.int32)

    learner = WordClasses(ptr, rank[tokens], kept, min(kept, max(classes + classes // 4, 64)))
    learner.improve()
    learner.improve()
    learner.shrink(min(classes, kept))
    for done in range(1, rounds + 1):
        moved = learner.improve()
        if not going_on(on_round, Progress("clusters", done, rounds, {"moved": float(moved)})) or moved == 0:
            break
    paths = learner.paths()
    rows = [
        (paths[c], words[w], int(counts[w])) for w, c in zip(order[:kept], learner.classes(), strict=True)
    ]
    return sorted(rows, key=lambda row: row[0])
