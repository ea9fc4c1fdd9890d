"""Conversion of tags to another scheme, and repair of faulty tags."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.text.schemes.legality import LETTERS, Tags, among, interned, signs, validate_column
from chaffinch.text.schemes.table import (
    IO,
    OUTSIDE,
    Scheme,
    known_letter_and_type,
    scheme_named,
    spelled,
    tag,
)
from chaffinch.text.table import Column


@dataclass(frozen=True)
class TagChange:
    """A tag that a repair replaced; numbers count from 0."""

    sentence: int
    token: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"sentence {self.sentence + 1}, token {self.token + 1}: {self.before!r} became {self.after!r}"


def convert(tags: Tags, source: str | Scheme, target: str | Scheme) -> list[list[str]]:
    """The same spans in another scheme; DataError if the tags are faulty or the target cannot separate the spans.

    >>> convert([["B-PER", "I-PER", "O", "B-LOC"]], "BIO", "BIOES")
    [['B-PER', 'E-PER', 'O', 'S-LOC']]
    """
    column, ptr = interned(tags)
    return _nested(convert_column(column, ptr, source, target), ptr)


def convert_column(
    column: Column, ptr: NDArray[np.int64], source: str | Scheme, target: str | Scheme
) -> Column:
    """As :func:`convert`, for a column of a token table."""
    source, target = scheme_named(source), scheme_named(target)
    faults = validate_column(column, ptr, source)
    if faults:
        raise DataError(
            f"{len(faults)} tags are not {source}; {faults[0]}; repair them, or name the scheme they are in"
        )
    return _recoded(column, ptr, source, target)


def repair(tags: Tags, scheme: str | Scheme) -> tuple[list[list[str]], list[TagChange]]:
    """Legal tags for the spans that :func:`spans` reads, and the changes.

    >>> repaired, changes = repair([["O", "I-PER", "I-PER"]], "BIO")
    >>> repaired, [str(change) for change in changes]
    ([['O', 'B-PER', 'I-PER']], ["sentence 1, token 2: 'I-PER' became 'B-PER'"])
    """
    scheme = scheme_named(scheme)
    column, ptr = interned(tags)
    for label in column.types:
        known_letter_and_type(label, scheme)
    repaired = _nested(_recoded(column, ptr, scheme, scheme), ptr)
    changes = [
        TagChange(n, t, before, after)
        for n, (old, new) in enumerate(zip(tags, repaired, strict=True))
        for t, (before, after) in enumerate(zip(old, new, strict=True))
        if before != after
    ]
    return repaired, changes


def repair_column(column: Column, ptr: NDArray[np.int64], scheme: str | Scheme) -> Column:
    """The tags of :func:`repair`, for a column of a token table."""
    scheme = scheme_named(scheme)
    return _recoded(column, ptr, scheme, scheme)


def _recoded(column: Column, ptr: NDArray[np.int64], source: Scheme, target: Scheme) -> Column:
    """The spans of a column of ``source`` tags (as :func:`spans` sees them) in the letters of ``target``.

    first[t] = not joined(t-1, t)     touched[t]  = first[t] and the token before has the same type
    last[t]  = not joined(t, t+1)     touching[t] = last[t] and the token after has the same type
    """
    found = signs(column.types, source)
    letters, kinds = found.letters[column.ids], found.kinds[column.ids]
    T = len(letters)
    same = np.zeros(T + 1, dtype=bool)  # same[t]: tokens t-1 and t are of one type and one sentence
    same[1:T] = (kinds[1:] == kinds[:-1]) & (kinds[1:] >= 0)
    same[ptr] = False
    joined = same.copy()
    joined[1:T] &= among(source.joins_after)[letters[:-1]] & among(source.joins_before)[letters[1:]]
    first, last = ~joined[:-1], ~joined[1:]
    touched, touching = first & same[:-1], last & same[1:]
    if target is IO and touched.any():
        t = int(np.flatnonzero(touched)[0])
        n = int(np.searchsorted(ptr, t, side="right")) - 1
        raise DataError(
            f"IO cannot separate these spans: in {np.count_nonzero(touched)} places two of one type touch, "
            f"first in sentence {n + 1} at token {t - int(ptr[n]) + 1}"
        )
    case = first * 8 + last * 4 + touched * 2 + touching * 1
    letter_of_case = np.array(
        [
            LETTERS.index(spelled(target, bool(c & 8), bool(c & 4), bool(c & 2), bool(c & 1)))
            for c in range(16)
        ]
    )
    keys = np.where(kinds >= 0, 1 + kinds.astype(np.int64) * len(LETTERS) + letter_of_case[case], 0)
    distinct, seen, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(seen)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    types = [
        tag(LETTERS[(key - 1) % len(LETTERS)], found.names[(key - 1) // len(LETTERS)], target)
        if key
        else OUTSIDE
        for key in distinct[order].tolist()
    ]
    return Column(types, rank[inverse].astype(np.int32))


def _nested(column: Column, ptr: NDArray[np.int64]) -> list[list[str]]:
    flat = column.strings()
    return [flat[a:b] for a, b in pairwise(ptr.tolist())]
