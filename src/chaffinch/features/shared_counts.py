"""Counts of n-grams that several vectorisers of the same documents share."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from chaffinch._core import NGramIndex
from chaffinch.features.rows import SparseRows


@dataclass(frozen=True, eq=False)
class NGramCounts:
    """The n-grams of documents.

    index:             the frozen index
    rows:              the counts of each document; without values: presence alone
    totals, documents: the number of occurrences of each n-gram, and of documents that have it: [F]
    """

    index: NGramIndex
    rows: SparseRows
    totals: NDArray[Any]
    documents: NDArray[Any]


class SharedCounts:
    """N-grams of one list of documents, counted once for all vectorisers that differ in their weighting alone.

    Counts are kept until the last vectoriser has them.

    wanted: for each vectoriser, the settings that its counts depend on, and whether presence is enough for it
    """

    def __init__(self, wanted: Iterable[tuple[Hashable, bool]]) -> None:
        pairs = list(wanted)
        self._left = Counter(settings for settings, _ in pairs)
        self._valued = {settings for settings, presence in pairs if not presence}
        self._found: dict[Hashable, NGramCounts] = {}

    def counts(self, settings: Hashable, presence: bool, count: Callable[[bool], NGramCounts]) -> NGramCounts:
        """The counts under these settings; the caller may overwrite the values of the rows, but not their ids.

        count: counts the documents; its argument says whether presence is enough
        """
        found = self._found.pop(settings, None) or count(settings not in self._valued and presence)
        self._left[settings] -= 1
        if self._left[settings] > 0:
            self._found[settings] = found
        values = None if presence else found.rows.values
        if values is not None and self._left[settings] > 0:
            values = values.copy()
        return replace(found, rows=replace(found.rows, values=values))
