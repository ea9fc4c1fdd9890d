"""Sentence pairs without links: the text from which an aligner learns which words translate each other.

Three layouts, one pair per line, tokens separated by spaces:

    the house<TAB>la maison                 two columns; a first line ``source<TAB>target`` is a header
    the house ||| la maison                 the layout of fast_align
    source target sure possible             an alignment table; its links are not read
"""

from collections.abc import Iterator
from pathlib import Path

from chaffinch.corpus.lines import lines, shown
from chaffinch.errors import DataError
from chaffinch.files import display_name

BAR = " ||| "
HEADER = ["source", "target"]
LINKS = ["sure", "possible"]  # the last two columns of an alignment table

Pair = tuple[list[str], list[str]]


def read_pairs(path: str | Path) -> list[Pair]:
    """The pairs of a file; DataError if it has none, or a line that is no pair."""
    name = display_name(path)
    found = list(_pairs(name, lines(path)))
    if not found:
        raise DataError(f"{name}: has no sentence pair")
    return found


def _pairs(name: str, numbered: Iterator[tuple[int, str]]) -> Iterator[Pair]:
    columns = 2
    for number, line in numbered:
        if not line.strip():
            continue
        cells = line.split("\t") if "\t" in line else line.split(BAR)
        lowered = [cell.lower() for cell in cells]
        if number == 1 and (lowered == HEADER or lowered[2:] == LINKS):
            columns = len(cells)
            continue
        if len(cells) != columns:
            raise DataError(
                f"{name}:{number}: expected two sentences separated by a tab or by '|||', found {shown(line)}"
            )
        e, f = ([word for word in cell.split(" ") if word] for cell in cells[:2])
        yield e, f
