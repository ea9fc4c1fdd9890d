"""The label dictionary: frequent, unambiguous words get their label without search."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch.modelfile import Packed, Requirements, Saved, array, strings
from chaffinch.text.document import WORD
from chaffinch.text.table import TokenTable


@dataclass(frozen=True)
class LabelDictionary:
    """words: distinct   labels: the inner label of each"""

    words: tuple[str, ...] = ()
    labels: tuple[int, ...] = ()

    @classmethod
    def counted(cls, table: TokenTable, y: NDArray[np.int32], least: int) -> "LabelDictionary":
        """Words seen at least ``least`` times, always with the same label.

        >>> table = TokenTable.from_lists({"w": [["a", "b", "a"], ["b", "c"]]})
        >>> LabelDictionary.counted(table, np.array([1, 0, 1, 1, 0], np.int32), least=2)
        LabelDictionary(words=('a',), labels=(1,))
        """
        column = table.columns[WORD]
        V = len(column.types)
        counts = np.bincount(column.ids, minlength=V)
        lowest, highest = np.full(V, np.iinfo(np.int32).max), np.full(V, -1)
        np.minimum.at(lowest, column.ids, y)
        np.maximum.at(highest, column.ids, y)
        chosen = np.flatnonzero((counts >= least) & (lowest == highest)).tolist()
        return cls(tuple(column.types[v] for v in chosen), tuple(int(lowest[v]) for v in chosen))

    @cached_property
    def _label_of(self) -> dict[str, int]:
        return dict(zip(self.words, self.labels, strict=True))

    def known(self, table: TokenTable) -> NDArray[np.int32] | None:
        """The label of each token whose word is listed, -1 for the others; None if the dictionary is empty."""
        if not self.words:
            return None
        column = table.columns[WORD]
        by_type = np.array([self._label_of.get(word, -1) for word in column.types], np.int32)
        return by_type[column.ids]

    def packed(self) -> Packed:
        """The content for a model file: nothing if no word is listed."""
        if not self.words:
            return Packed()
        return _Listed(self.words, np.array(self.labels, np.int32)).packed("dictionary.")

    @classmethod
    def loaded(cls, need: Requirements) -> "LabelDictionary":
        """The dictionary of a file, empty if it has none."""
        if _Listed.absent(need, "dictionary."):
            return cls()
        found = _Listed.loaded(need, "dictionary.")
        return cls(found.words, tuple(found.labels.tolist()))


@dataclass(frozen=True, eq=False)
class _Listed(Saved):
    """The sections of a dictionary."""

    words: tuple[str, ...] = strings("words", distinct=True)
    labels: NDArray[np.int32] = array("int32", "words", below="Y")
