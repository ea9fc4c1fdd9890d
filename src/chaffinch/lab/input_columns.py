"""Input that is more than one text: columns of numbers beside documents, parts of speech beside words to parse."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaffinch.corpus import detect, read, read_table
from chaffinch.errors import DataError
from chaffinch.text.document import Document


def number_columns(documents: Sequence[Document], names: str | None) -> dict[str, list[float]] | None:
    """Columns of numbers by name; each must be there and hold numbers."""
    if not names:
        return None
    found: dict[str, list[float]] = {}
    for name in [piece.strip() for piece in names.split(",")]:
        cells = []
        for n, d in enumerate(documents):
            if name not in d.fields:
                raise DataError(
                    f"document {n + 1} has no column {name!r}; it has {', '.join(d.fields) or 'none'}"
                )
            try:
                cells.append(float(d.fields[name]))
            except ValueError:
                raise DataError(
                    f"document {n + 1}: expected a number in column {name!r}, found {d.fields[name]!r}"
                ) from None
        found[name] = cells
    return found


def words_to_parse(path: Path, format: str | None = None) -> list[Any]:
    """Words to parse: the leaves of trees, a column of words, or columns of words and parts of speech.

    Brackets are written as in treebanks, -LRB- and -RRB-: a tree has no other way to hold them.
    """
    chosen = detect(path, format)
    if "tree" in chosen.carries:
        return [d.words() for d in read(path, chosen.name, strip=True)]
    table = (
        read_table(path, format="columns", label="")
        if chosen.name in ("columns", "hmm")
        else read_table(path, chosen.name)
    )
    names = [name for name in ("w", "pos", "xpos") if name in table.columns] or list(table.columns)[:1]
    if chosen.name in ("columns", "hmm"):
        names = list(table.columns)[:2]
    columns = [[[_as_in_trees(cell) for cell in row] for row in table.lists(name)] for name in names[:2]]
    if len(columns) == 1:
        return columns[0]
    return [list(zip(words, tags, strict=True)) for words, tags in zip(*columns, strict=True)]


def _as_in_trees(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
