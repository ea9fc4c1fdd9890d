"""Alignment tables: two sentences, their sure and their possible word links; streamed, never quoted.

    source      target          sure        possible
    the house   la maison       1-1 2-2

Links count tokens from 1 in the file and from 0 in :class:`Links`. Tokens are separated by single spaces.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaffinch.corpus.delimited import rows
from chaffinch.corpus.format import Format
from chaffinch.corpus.lines import BOM, lines, shown
from chaffinch.corpus.losses import Losses, accepted
from chaffinch.errors import ConfigError, DataError
from chaffinch.files import display_name, writing_text
from chaffinch.knobs import knob
from chaffinch.text.document import Document, Links

HEADER = ("source", "target", "sure", "possible")
BAR = " ||| "  # between the sentences of a pair in the layout of fast_align
_LINK = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)

Pair = tuple[list[str], list[str]]


@dataclass(frozen=True, kw_only=True)
class AlignmentOptions:
    """The treatment of faulty links."""

    out_of_range: str = knob("error", "links to tokens outside the sentence", choices=("error", "drop"))


def read(
    path: str | Path, *, out_of_range: str = "error", losses: Losses | None = None
) -> Iterator[Document]:
    """One document per pair; its tokens are the source's, ``links.target`` the translation's.

    out_of_range: "error" refuses a link to a token that does not exist; "drop" leaves it out and counts it
    """
    if out_of_range not in ("error", "drop"):
        raise ConfigError(f"out_of_range must be error or drop, got {out_of_range!r}")
    name = display_name(path)
    table = rows(path, losses=losses)
    header = next(table, (1, []))[1]
    if len(header) != 4 or [cell.lower() for cell in header[2:]] != ["sure", "possible"]:
        raise DataError(
            f"{name}:1: expected a header of 4 columns, the last two 'sure' and 'possible', found {header}"
        )
    tally = losses if losses is not None else Losses()
    yield from accepted(table, lambda row: _pair(name, *row, out_of_range, tally), losses)


def write(documents: Iterable[Document], path: str | Path) -> None:
    """One row per document, links in order."""
    with writing_text(path) as out:
        out.write("\t".join(HEADER) + "\n")
        for number, d in enumerate(documents, start=1):
            if d.links is None:
                raise DataError(f"document {number} has no links to write")
            for word in (*d.words(), *d.links.target):
                if not word or any(c in word for c in " \t\n\r"):
                    raise DataError(
                        f"document {number}: the token {word!r} does not fit in a table split at spaces"
                    )
            cells = [
                " ".join(d.words()),
                " ".join(d.links.target),
                _joined(d.links.sure),
                _joined(d.links.possible),
            ]
            out.write("\t".join(cells) + "\n")


def read_pairs(path: str | Path) -> list[Pair]:
    """Sentence pairs without links, from which an aligner learns which words translate each other.

    Three layouts, one pair per line, tokens separated by spaces:

        the house<TAB>la maison                 two columns; a first line ``source<TAB>target`` is a header
        the house ||| la maison                 the layout of fast_align
        source target sure possible             an alignment table; its links are not read

    DataError if the file has no pair, or a line that is no pair.
    """
    name = display_name(path)
    found = list(_pairs(name, lines(path)))
    if not found:
        raise DataError(f"{name}: has no sentence pair")
    return found


def _pair(name: str, number: int, row: list[str], out_of_range: str, losses: Losses) -> Document:
    where = f"{name}:{number}"
    words, target = (_tokens(cell, where) for cell in row[:2])
    kept = []
    for cell in row[2:]:
        links = [_link(text, where) for text in cell.split(" ") if text]
        inside = frozenset((i, j) for i, j in links if i < len(words) and j < len(target))
        outside = [(i, j) for i, j in links if i >= len(words) or j >= len(target)]
        if outside and out_of_range == "error":
            i, j = outside[0]
            raise DataError(
                f"{where}: the link {i + 1}-{j + 1} points outside its sentences of {len(words)} and "
                f"{len(target)} tokens; out_of_range='drop' leaves such links out"
            )
        losses.add("links outside their sentences were left out", where, len(outside))
        kept.append(inside)
    d = Document.from_words(words)
    d.links, d.line = Links(tuple(target), kept[0], kept[1]), number
    return d


def _tokens(cell: str, where: str) -> list[str]:
    words = cell.split(" ") if cell else []
    if not all(words):
        raise DataError(
            f"{where}: two spaces in a row, or one at an end: tokens are separated by single spaces"
        )
    return words


def _link(text: str, where: str) -> tuple[int, int]:
    match = _LINK.fullmatch(text)
    if match is None:
        raise DataError(f"{where}: expected links such as 3-4, found {shown(text)}")
    i, j = int(match[1]), int(match[2])
    if i == 0 or j == 0:
        raise DataError(f"{where}: the link {text} counts from 0; tokens are counted from 1")
    return i - 1, j - 1


def _joined(links: frozenset[tuple[int, int]]) -> str:
    return " ".join(f"{i + 1}-{j + 1}" for i, j in sorted(links))


def _looks_like(_name: str, head: bytes) -> bool:
    cells = head.removeprefix(BOM).partition(b"\n")[0].strip().lower().split(b"\t")
    return len(cells) == 4 and cells[2:] == [b"sure", b"possible"]


def _pairs(name: str, numbered: Iterator[tuple[int, str]]) -> Iterator[Pair]:
    columns = 2
    for number, line in numbered:
        if not line.strip():
            continue
        cells = line.split("\t") if "\t" in line else line.split(BAR)
        lowered = tuple(cell.lower() for cell in cells)
        if number == 1 and (lowered == HEADER[:2] or lowered[2:] == HEADER[2:]):
            columns = len(cells)
            continue
        if len(cells) != columns:
            raise DataError(
                f"{name}:{number}: expected two sentences separated by a tab or by '|||', found {shown(line)}"
            )
        e, f = ([word for word in cell.split(" ") if word] for cell in cells[:2])
        yield e, f


FORMAT = Format(
    name="alignment",
    extensions=(".tsv",),
    read=read,
    write=write,
    carries=frozenset({"tokens", "links"}),
    looks_like=_looks_like,
    options=AlignmentOptions,
)
