"""Templates over spans: the positions and columns that a feature of a span reads.

p[first]            the part of speech of its first word          w[last+1]      the word after it
p[first-1]|p[last]  both together                                 length         its length, in buckets
sequence(p,4)       all parts of speech in it, if it has at most four words
inside(p)           each part of speech in it, one feature each
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError

_END = re.compile(r"(\w+)\[(first|last)([+-]\d+)?\]")
_WITHIN = re.compile(r"(sequence|inside)\((\w+)(?:,\s*(\d+))?\)")
_KINDS = {"first": 0, "last": 1, "length": 2, "sequence": 3, "inside": 4}


def compiled(templates: Sequence[str], columns: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Atoms [n, 3] of kind, column and offset, and the bounds of each template's atoms [templates + 1].

    >>> atoms, ptr = compiled(["p[first-1]|p[last]", "length"], ["w", "p"])
    >>> atoms.tolist(), ptr.tolist()
    ([[0, 1, -1], [1, 1, 0], [2, 0, 0]], [0, 2, 3])
    """
    atoms: list[tuple[int, int, int]] = []
    ptr = [0]
    for template in templates:
        atoms.extend(_atom(atom.strip(), template, columns) for atom in template.split("|"))
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
            f"template {template!r}: expected column[first], column[last+1], length, "
            f"sequence(column,4) or inside(column), found {text!r}"
        )
    if found[1] not in columns:
        raise ConfigError(
            f"template {template!r}: there is no column {found[1]!r}; there are {', '.join(columns)}"
        )
    return found[0], list(columns).index(found[1]), found[2]


FIRST, LAST, LENGTH, SEQUENCE, INSIDE = range(5)
LONGER = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36)

_WORD = (1 << 64) - 1


def span_feature_names(
    templates: Sequence[str],
    columns: Sequence[str],
    values: Sequence[NDArray[np.int32]],
    shown: Sequence[Sequence[str]],
    start: int,
    end: int,
) -> dict[int, str]:
    """The names of the features of one span, by key.

    values: each column of a sentence, as numbers   shown: the same, as text

    >>> names = span_feature_names(["p[first]", "length"], ["p"], [np.array([4, 7], np.int32)], [["DT", "NN"]], 0, 2)
    >>> list(names.values())
    ['p[first]=DT', 'length=2']
    """
    atoms, ptr = compiled(templates, columns)
    found: dict[int, str] = {}
    for m, template in enumerate(templates):
        looks = [tuple(atom) for atom in atoms[ptr[m] : ptr[m + 1]].tolist()]
        for key, name in _keys(m, template, looks, values, shown, start, end):
            found[key] = f"{found[key]} / {name}" if key in found else name
    return found


def _keys(
    m: int,
    template: str,
    looks: Sequence[tuple[int, ...]],
    values: Sequence[NDArray[np.int32]],
    shown: Sequence[Sequence[str]],
    start: int,
    end: int,
) -> Iterator[tuple[int, str]]:
    h = _mixed(0x9E3779B97F4A7C15, m + 1)
    seen = []
    for (kind, column, offset), text in zip(looks, template.split("|"), strict=True):
        if kind in (FIRST, LAST):
            at = (start if kind == FIRST else end - 1) + offset
            h = _mixed(h, _value(values[column], at))
            seen.append(f"{text}={shown[column][at] if 0 <= at < len(shown[column]) else '-'}")
        elif kind == LENGTH:
            h = _mixed(h, sum(end - start > bound for bound in LONGER))
            seen.append(f"{text}={end - start}")
        elif kind == SEQUENCE:
            if end - start > offset:
                return
            for t in range(start, end):
                h = _mixed(h, _value(values[column], t))
            h = _mixed(h, 1)
            seen.append(f"{text}={' '.join(shown[column][start:end])}")
        else:  # inside: a feature for each value in the span, numbers modulo 64
            met: dict[int, dict[str, None]] = {}
            for t in range(start, end):
                met.setdefault(_value(values[column], t) % 64, {})[shown[column][t]] = None
            for bit in sorted(met):
                yield _mixed(h, bit), f"{text}={' or '.join(met[bit])}"
            return
    yield h, "|".join(seen)


def _value(column: NDArray[np.int32], t: int) -> int:
    return max(-1, int(column[t])) + 2 if 0 <= t < len(column) else 0


def _mixed(h: int, value: int) -> int:
    h = ((h ^ value) * 0xFF51AFD7ED558CCD) & _WORD
    return h ^ (h >> 32)
