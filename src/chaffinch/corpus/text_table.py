"""Rows of texts as cells or objects of the core: prediction reads and writes them without an object for each row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import CellTable, CellTypes, JsonRows, Texts

# Further cells of rows: a string each, or types and the number of each row's type.
FurtherCells = list[str] | tuple[CellTypes, NDArray[np.int32]]


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

    def texts(self) -> Texts:
        """The text of each row."""
        return self.cells.texts(self.text)


@dataclass(frozen=True)
class ObjectTable:
    """The rows of a file of texts as JSON objects."""

    rows: JsonRows

    def texts(self) -> Texts:
        """The text of each row."""
        return self.rows.texts()

    def as_cells(self) -> TextTable | None:
        """The same rows as cells; None if they have different fields."""
        found = self.rows.cells()
        if found is None:
            return None
        (_, _, _, *fields), cells = found
        return TextTable(cells, 0, 1, {"id": 2} | {name: c for c, name in enumerate(fields, 3)})


def strings_of(cells: FurtherCells) -> list[str]:
    """The string of each row.

    >>> strings_of((CellTypes(["a", "b"]), np.array([1, 0, 1], np.int32)))
    ['b', 'a', 'b']
    """
    if isinstance(cells, list):
        return cells
    types = cells[0].strings()
    return [types[i] for i in cells[1].tolist()]


TableReader = Callable[..., TextTable | ObjectTable | None]
