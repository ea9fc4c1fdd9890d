"""Word lists: gazetteers (one entry per line) and Brown clusters (bit string, word, count)."""

from dataclasses import dataclass
from pathlib import Path

from chaffinch.corpus.lines import lines
from chaffinch.errors import DataError
from chaffinch.files import display_name

CLUSTER_HEADER = ["path", "word", "count"]


@dataclass(frozen=True)
class Clusters:
    """Brown clusters: the bit string of each word's cluster, and how often the word was seen."""

    paths: dict[str, str]
    counts: dict[str, int]

    def prefix(self, word: str, bits: int) -> str:
        """The first bits of a word's path, or an empty string for a word without cluster.

        >>> Clusters({"oslo": "0110"}, {"oslo": 12}).prefix("oslo", 2)
        '01'
        """
        return self.paths.get(word, "")[:bits]


def read_gazetteer(path: str | Path) -> list[str]:
    """The entries of a list, in order, without the spaces around them; blank lines are passed over."""
    return [entry for _, line in lines(path) if (entry := line.strip())]


def read_clusters(path: str | Path) -> Clusters:
    """Clusters from ``path<TAB>word<TAB>count`` rows, with or without that header."""
    name = display_name(path)
    paths: dict[str, str] = {}
    counts: dict[str, int] = {}
    for number, line in lines(path):
        cells = line.split("\t")
        if cells == CLUSTER_HEADER and number == 1:
            continue
        where = f"{name}:{number}"
        if len(cells) != 3:
            raise DataError(f"{where}: expected 3 columns (path, word, count), found {len(cells)}")
        bits, word, count = cells
        if not bits or bits.strip("01"):
            raise DataError(f"{where}: expected a path of 0 and 1, found {bits!r}")
        if not (count.isascii() and count.isdigit()):
            raise DataError(f"{where}: expected a count, found {count!r}")
        if word in paths:
            raise DataError(f"{where}: the word {word!r} stands here for the second time")
        paths[word], counts[word] = bits, int(count)
    return Clusters(paths, counts)
