"""Losses of a reader or a writer: counted by kind, with the place of the first."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from chaffinch.errors import DataError

Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(slots=True)
class Loss:
    """One kind of loss; ``rows``: whole documents were left out, which the result does not show."""

    what: str
    count: int
    first: str
    rows: bool = False

    def __str__(self) -> str:
        place = f" (first at {self.first})" if self.first else ""
        return f"{self.what}: {self.count}{place}"


class Losses:
    """A tally that readers and writers add to and reports read.

    >>> losses = Losses()
    >>> losses.add("brat relations are not carried", "notes/a.ann:7")
    >>> losses.add("brat relations are not carried", "notes/b.ann:2")
    >>> print(*losses)
    brat relations are not carried: 2 (first at notes/a.ann:7)
    """

    def __init__(self) -> None:
        self._kinds: dict[str, Loss] = {}

    def add(self, what: str, first: str = "", count: int = 1, *, rows: bool = False) -> None:
        """Count ``count`` more of a kind; ``first`` is remembered from the first call."""
        if count <= 0:
            return
        if what in self._kinds:
            self._kinds[what].count += count
        else:
            self._kinds[what] = Loss(what, count, first, rows)

    def refuse(self, fault: DataError) -> None:
        """Raise the fault; a subclass may skip the record instead."""
        raise fault

    def __iter__(self) -> Iterator[Loss]:
        return iter(self._kinds.values())

    def __len__(self) -> int:
        return len(self._kinds)


def accepted(
    found: Iterable[Given], made: Callable[[Given], Made | None], losses: Losses | None
) -> Iterator[Made]:
    """What ``made`` returns for each item, without None; a DataError goes to ``losses.refuse``."""
    tally = losses if losses is not None else Losses()
    for each in found:
        try:
            one = made(each)
        except DataError as fault:
            tally.refuse(fault)
            continue
        if one is not None:
            yield one
