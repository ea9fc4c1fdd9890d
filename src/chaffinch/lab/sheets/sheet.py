"""A question sheet: the rows of a corpus that models are asked about, with the right answers where it has them.

A sheet reads a file once, asks any number of models, and says of each answer which pieces it is made of: labelled
stretches, constituents, links. Two answers with the same pieces are the same answer.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from chaffinch.corpus import read
from chaffinch.errors import DataError
from chaffinch.evaluate.mistakes import NONE, Reading
from chaffinch.evaluate.sources import DocumentSource, TagSource
from chaffinch.files import display_name
from chaffinch.text.document import Document

Source = TagSource | DocumentSource
Confusion = tuple[str, str]  # the right label and the given one; NONE where there is none


class QuestionSheet(Protocol):
    """What a comparison needs to know of a corpus and a kind of model."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def documents(self) -> list[Document]:
        """Its rows."""

    @property
    def labelled(self) -> bool:
        """Whether it holds the right answers."""

    @property
    def gold(self) -> list[Any]:
        """The right answers, where it does."""

    @property
    def unit(self) -> str:
        """What speed counts: tokens, documents."""

    @property
    def units(self) -> int:
        """How many there are."""

    def ask(self, model: Any) -> list[Any]:
        """A model's answers, one per row."""

    def in_source(self, found: Source) -> list[Any]:
        """The answers that an output file holds."""

    def source(self, names: tuple[str, ...], outputs: Sequence[list[Any]]) -> Source:
        """Right answers and outputs as an evaluation takes them."""

    def readings(self, outputs: Sequence[Sequence[Any]], rows: Sequence[int]) -> list[list[Reading]]:
        """The pieces of each output's answers to some rows: label, begin, end."""

    def mistakes(self, row: int, right: Reading, given: Reading) -> Counter[Confusion]:
        """What is wrong with an answer to a row, and how often."""

    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """A piece of an answer as people read it."""

    def plain(self, answer: Any) -> Any:
        """An answer for JSON."""


def place(path: str | Path, n: int, d: Document) -> str:
    """``file:line`` of a row, or which item of its file it is."""
    return f"{display_name(path)}, item {n + 1}" if d.line is None else f"{display_name(path)}:{d.line}"


def missed_and_invented(right: Reading, given: Reading) -> Counter[Confusion]:
    """Pieces on one side only; two over the same stretch were taken for each other."""
    missed, invented = Counter(right) - Counter(given), Counter(given) - Counter(right)
    found: Counter[Confusion] = Counter()
    for label, begin, end in missed.elements():
        other = next((p for p in invented if invented[p] and p[1:] == (begin, end)), None)
        if other is not None and other[0] != label:
            invented[other] -= 1
            found[label, other[0]] += 1
        else:
            found[label, NONE] += 1
    found.update((NONE, label) for label, _, _ in invented.elements())
    return found


def rows_of(path: Path, options: dict[str, Any]) -> list[Document]:
    """The rows of a file, of which there must be one."""
    found = list(read(path, **options))
    if not found:
        raise DataError(f"{display_name(path)}: has no document")
    return found
