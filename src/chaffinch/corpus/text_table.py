"""Rows of texts as cells or objects of the core: prediction reads and writes them without an object for each row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chaffinch._core import CellTable, JsonRows


@dataclass(frozen=True)
class TextTable:
    """The rows of a file of texts as cells.

    text, label: their columns; label is None without one
    further:     the other columns by name, ``id`` first
    """

    cells: CellTable
    text: int
    label: int | None
    further: Mapping[str, int]

    def texts(self) -> list[str]:
        """The text of each row."""
        return self.cells.strings(self.text)


@dataclass(frozen=True)
class ObjectTable:
    """The rows of a file of texts as JSON objects."""

    rows: JsonRows

    def texts(self) -> list[str]:
        """The text of each row."""
        return self.rows.texts()

    def as_cells(self) -> TextTable | None:
        """The same rows as cells; None if they have different fields."""
        found = self.rows.cells()
        if found is None:
            return None
        (_, _, _, *fields), cells = found
        return TextTable(cells, 0, 1, {"id": 2} | {name: c for c, name in enumerate(fields, 3)})


TableReader = Callable[..., TextTable | ObjectTable | None]
