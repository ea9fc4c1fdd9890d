"""Corrections of one model, by sequence number and by exact input."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from chaffinch.serve.answers import Answer, InputRow
from chaffinch.serve.journal import Entry
from chaffinch.serve.messages import RequestError

CORRECTION, UNDO, VERSION = "correction", "undo", "version"  # events of the journal


@dataclass(frozen=True)
class Correction:
    """The right answer to an input.

    data, number: the file and the row that the input came from, if it came from one
    before:       the model's own answer when the correction was made
    right:        whether that answer agrees with the correction; on audit rows this gives an unbiased score
    audit:        the row was drawn at random
    """

    seq: int
    made: str
    row: InputRow
    answer: Answer
    data: str | None = None
    number: int | None = None
    before: Any = None
    right: bool = False
    audit: bool = False
    undone: bool = False

    def entry(self, model: str) -> Entry:
        """The event for the journal, which assigns the sequence number."""
        row = self.row
        given: dict[str, Any] = {"text": row.text, "key": row.key}
        given |= {"words": row.words, "offsets": row.offsets} if row.words else {}
        given |= {"columns": row.columns} if row.columns is not None else {}
        made = {"event": CORRECTION, "model": model, "made": self.made, "input": given, "answer": self.answer}
        beside = {"data": self.data, "row": self.number, "before": self.before}
        beside |= {"right": self.right or None, "audit": self.audit or None}
        return made | {name: value for name, value in beside.items() if value is not None}

    @classmethod
    def of_entry(cls, entry: Entry) -> "Correction":
        """The correction that an event holds."""
        given = entry["input"]
        columns = given.get("columns")
        row = InputRow(
            given["text"],
            given["key"],
            given.get("words", []),
            None if columns is None else [tuple(cells) for cells in columns],
            [(a, b) for a, b in given.get("offsets", [])],
        )
        return cls(
            entry["seq"],
            entry["made"],
            row,
            entry["answer"],
            entry.get("data"),
            entry.get("row"),
            entry.get("before"),
            bool(entry.get("right")),
            bool(entry.get("audit")),
        )


class Corrections:
    """All corrections of a model; ``pins`` holds the last one of each exact input that was not undone."""

    def __init__(self) -> None:
        self._all: dict[int, Correction] = {}
        self.pins: dict[str, Correction] = {}

    def add(self, correction: Correction) -> None:
        """Add a correction: from now on its exact input is answered as corrected."""
        self._all[correction.seq] = correction
        self.pins[correction.row.key] = correction

    def find(self, seq: int) -> Correction | None:
        """The correction of this number, if it is one of this model."""
        return self._all.get(seq)

    def undo(self, seq: int) -> None:
        """Take a correction back; an earlier one of the same input takes effect again."""
        given = self._all[seq]
        if given.undone:
            raise RequestError(409, f"correction {seq} was taken back already")
        self._all[seq] = replace(given, undone=True)
        key = given.row.key
        if self.pins.get(key) is given:
            earlier = [c for c in self._all.values() if c.row.key == key and not c.undone]
            if earlier:
                self.pins[key] = max(earlier, key=lambda c: c.seq)
            else:
                del self.pins[key]

    def live(self) -> list[Correction]:
        """The corrections in effect, in order: the last one of each input."""
        return sorted(self.pins.values(), key=lambda c: c.seq)

    def listed(self) -> Iterable[Correction]:
        """All of them, in order."""
        return [self._all[seq] for seq in sorted(self._all)]

    def state(self, correction: Correction, learnt: frozenset[int]) -> str:
        """Whether it waits to be learnt, was learnt, or was undone (or replaced by a later one)."""
        held = self.pins.get(correction.row.key)
        if correction.undone or held is None or held.seq != correction.seq:
            return "undone"
        return "learnt" if correction.seq in learnt else "waiting"
