"""Word clusters: each word's bit path in a hierarchy of classes, whose prefixes are columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.files import display_name, reading, writing_text

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
        """Clusters from (path, word); of a word that comes twice the first path counts."""
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
        """The path of a word, or of its lower-cased form, or none; for reading, not for speed."""
        for form in (word, word.lower()):
            if form in self.words:
                return self.paths[int(self.path[self.words.index(form)])]
        return None


def write_clusters(path: str | Path, rows: Sequence[tuple[str, str, int]]) -> None:
    """Write (path, word, count) as lines that :meth:`Clusters.read` takes."""
    with writing_text(path) as out:
        out.write(HEADER + "\n")
        out.writelines(f"{bits}\t{word}\t{count}\n" for bits, word, count in rows)
