"""Names of span features, rebuilt when someone asks: the same keys as the core makes, each with what was seen.

    h_0 = mixed(0x9e37..15, template + 1),   h_k = mixed(h_{k-1}, value of the k-th look)

Values are numbers of columns plus two; 1 stands for what was never seen, 0 for what lies outside of the sentence.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.span_templates import compiled

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
    """What the features of one span are called, by key.

    values: of each column, the numbers of a sentence   shown: the same as people read them

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
        else:  # inside: a feature for each value that is met, numbers modulo 64
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
