"""The columns of a file that are kept, and their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaffinch.corpus.lines import fault
from chaffinch.errors import ConfigError
from chaffinch.text.document import LABEL, WORD

LAST = "-1"
FIRST = "1"


@dataclass(frozen=True)
class Picked:
    """Columns to keep: 0-based indices and names; ``named_all``: the user named all of them."""

    indices: tuple[int, ...]
    names: tuple[str, ...]
    named_all: bool = False


def picked(
    path: str | Path, count: int, header: tuple[str, ...] | None, columns: str | None, word: str, label: str
) -> Picked:
    """The columns that the options select in a file of ``count`` columns.

    columns: names for all (``w,pos,y``), numbers to pick (``1,4``), or names with numbers or header names
             (``w=2,y=4``); None keeps all
    word, label: number or name of the columns that become ``w`` and ``y``; label '' for none

    >>> picked("f", 3, None, None, "1", "-1").names, picked("f", 5, None, None, "1", "-1").names
    (('w', 'pos', 'y'), ('w', 'x1', 'x2', 'x3', 'y'))
    >>> picked("f", 4, None, None, "1", "2").names, picked("f", 2, None, "w,pos", "1", "").names
    (('w', 'y', 'x2', 'x3'), ('w', 'pos'))
    >>> picked("f", 10, None, "w=2,y=4", "1", "-1")
    Picked(indices=(1, 3), names=('w', 'y'), named_all=False)
    """
    if header is not None:
        _check_header(path, header)
    items = [] if columns is None else [c for c in columns.replace(",", " ").split(" ") if c]
    if columns is not None and not items:
        raise ConfigError("columns: expected names or numbers, got an empty list")
    if any("=" in item for item in items):
        pairs = [item.partition("=") for item in items]
        indices = tuple(_index(source, count, header) for _, _, source in pairs)
        return _with_roles(indices, tuple(name for name, _, _ in pairs), word, label, count)
    if items and all(_is_number(item) for item in items):
        indices = tuple(_index(item, count, header) for item in items)
        names = None if header is None else tuple(header[i] for i in indices)
        return _with_roles(indices, names, word, label, count)
    if items:
        found = _with_roles(tuple(range(len(items))), tuple(items), word, label, len(items))
        return Picked(found.indices, found.names, named_all=True)
    return _with_roles(tuple(range(count)), header, word, label, count)


def default_names(count: int, word: int = 0, label: int | None = None) -> tuple[str, ...]:
    """The given columns are ``w`` and ``y``; one column between them is ``pos``; else xN is the Nth besides the word.

    >>> default_names(3, 0, 2), default_names(2, 0, None), default_names(3, 0, 1)
    (('w', 'pos', 'y'), ('w', 'pos'), ('w', 'y', 'x2'))
    """
    others = [i for i in range(count) if i not in (word, label)]
    if others == [1] and word == 0:
        return tuple({word: WORD, label: LABEL}.get(i, "pos") for i in range(count))
    beside = [i for i in range(count) if i != word]
    return tuple({word: WORD, label: LABEL}.get(i) or f"x{beside.index(i) + 1}" for i in range(count))


def _with_roles(
    indices: tuple[int, ...], names: tuple[str, ...] | None, word: str, label: str, count: int
) -> Picked:
    """The word's column is named ``w`` and the label's ``y``; columns with these names replace the defaults."""
    if len(set(indices)) < len(indices):
        raise ConfigError(f"columns: number {_first_repeated([i + 1 for i in indices])} is picked twice")
    if names is not None and len(set(names)) < len(names):
        raise ConfigError(f"columns: the name {_first_repeated(names)!r} is given twice")
    known = names or default_names(len(indices), 0, len(indices) - 1 if len(indices) > 1 else None)
    w = known.index(WORD) if word == FIRST and WORD in known else _role("word", word, indices, known, count)
    if word == FIRST and w is None:
        w = 0
    y: int | None
    if not label or (len(indices) == 1 and label == LAST):
        y = None
    elif label == LAST:
        y = known.index(LABEL) if names is not None and LABEL in names else len(indices) - 1
        if y == w:
            y = None
    else:
        y = _role("label", label, indices, known, count)
    if w is None or w == y:
        raise ConfigError(f"the words cannot be in column {word} and the labels in column {label} at once")
    if names is None:
        return Picked(indices, default_names(len(indices), w, y))
    renamed = list(names)
    renamed[w] = WORD
    if y is not None:
        renamed[y] = LABEL
    if len(set(renamed)) < len(renamed):
        name = _first_repeated(renamed)
        raise ConfigError(
            f"two columns would be called {name!r}: of {', '.join(names)}, rename one with columns="
        )
    return Picked(indices, tuple(renamed))


def _role(role: str, wanted: str, indices: tuple[int, ...], names: tuple[str, ...], count: int) -> int | None:
    """The position, among the picked columns, of the column with this name or number in the file."""
    if wanted in names:
        return names.index(wanted)
    if _is_number(wanted):
        index = _index(wanted, count, None)
        if index in indices:
            return indices.index(index)
        return None if wanted == FIRST else _unpicked(role, wanted, indices)
    raise ConfigError(f"{role}: there is no column {wanted!r}; there are {', '.join(names)}")


def _unpicked(role: str, wanted: str, indices: tuple[int, ...]) -> int:
    raise ConfigError(
        f"{role}: column {wanted} is not among those picked: {', '.join(str(i + 1) for i in indices)}"
    )


def _index(source: str, count: int, header: tuple[str, ...] | None) -> int:
    """A 0-based index from a 1-based number, one from the end (-1), or a header name."""
    if header is not None and source in header:
        return header.index(source)
    if not _is_number(source):
        known = f"the header has {', '.join(header)}" if header else "without a header, columns have numbers"
        raise ConfigError(f"there is no column {source!r}: {known}")
    number = int(source)
    if number == 0 or not -count <= number <= count:
        raise ConfigError(f"there is no column {number}: the file has {count}")
    return number - 1 if number > 0 else count + number


def _is_number(s: str) -> bool:
    return s.removeprefix("-").isdecimal() and s.isascii()


def _check_header(path: str | Path, header: tuple[str, ...]) -> None:
    if len(set(header)) < len(header):
        raise fault(
            path, 1, f"expected distinct names in the header, found {_first_repeated(header)!r} twice"
        )
    if "" in header:
        raise fault(path, 1, f"column {header.index('') + 1} has no name in the header")


def _first_repeated(items: Sequence[object]) -> object:
    return next(item for i, item in enumerate(items) if item in items[:i])
