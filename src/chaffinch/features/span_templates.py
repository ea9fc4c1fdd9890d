"""Templates over spans: what a feature of a span looks at.

p[first]            the part of speech of its first word          w[last+1]      the word after it
p[first-1]|p[last]  both together                                 length         how long it is, in buckets
sequence(p,4)       all parts of speech in it, if it has at most four words
inside(p)           each part of speech in it, one feature each
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError

_END = re.compile(r"(\w+)\[(first|last)([+-]\d+)?\]")
_WITHIN = re.compile(r"(sequence|inside)\((\w+)(?:,\s*(\d+))?\)")
_KINDS = {"first": 0, "last": 1, "length": 2, "sequence": 3, "inside": 4}


def compiled(templates: Sequence[str], columns: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Atoms [n, 3] of kind, column and offset, and where each template's begin [templates + 1].

    >>> atoms, ptr = compiled(["p[first-1]|p[last]", "length"], ["w", "p"])
    >>> atoms.tolist(), ptr.tolist()
    ([[0, 1, -1], [1, 1, 0], [2, 0, 0]], [0, 2, 3])
    """
    atoms: list[tuple[int, int, int]] = []
    ptr = [0]
    for template in templates:
        atoms.extend(_atom(part.strip(), template, columns) for part in template.split("|"))
        ptr.append(len(atoms))
    return np.array(atoms, np.int32).reshape(-1, 3), np.array(ptr, np.int64)


def _atom(text: str, template: str, columns: Sequence[str]) -> tuple[int, int, int]:
    if text == "length":
        return _KINDS["length"], 0, 0
    if match := _END.fullmatch(text):
        name, anchor, offset = match.groups()
        found = (_KINDS[anchor], name, int(offset or 0))
    elif match := _WITHIN.fullmatch(text):
        kind, name, most = match.groups()
        if (kind == "sequence") != (most is not None) or (kind == "inside" and text != template.strip()):
            raise ConfigError(f"template {template!r}: expected sequence(column,N), or inside(column) alone")
        found = (_KINDS[kind], name, int(most or 0))
    else:
        raise ConfigError(
            f"template {template!r}: {text!r} is none of column[first], column[last+1], length, "
            "sequence(column,4), inside(column)"
        )
    if found[1] not in columns:
        raise ConfigError(
            f"template {template!r}: there is no column {found[1]!r}; there are {', '.join(columns)}"
        )
    return found[0], list(columns).index(found[1]), found[2]
