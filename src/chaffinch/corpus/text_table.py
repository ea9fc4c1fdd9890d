"""Rows of texts as columns of strings: prediction reads and writes them without an object for each row."""

from dataclasses import dataclass, field


@dataclass
class TextTable:
    """The rows of a file of texts.

    labels:  the cells of the label column; None without one
    further: the cells of the other columns by name, ``id`` first
    """

    texts: list[str]
    labels: list[str] | None = None
    further: dict[str, list[str]] = field(default_factory=dict)
