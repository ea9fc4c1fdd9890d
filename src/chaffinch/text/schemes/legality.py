"""Tags of a corpus: allowed transitions, faults, detection of a scheme, conversion to another, repair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import Interner
from chaffinch.errors import DataError
from chaffinch.text.schemes.spans import TokenSpan
from chaffinch.text.schemes.table import (
    IO,
    OUTSIDE,
    SCHEMES,
    Scheme,
    known_letter_and_type,
    letter_and_type,
    letters_text,
    scheme_named,
    spelled,
    tag,
)
from chaffinch.text.table import Column

Tags = Sequence[Sequence[str]]

LETTERS = "OBIES"


@dataclass(frozen=True)
class TagFault:
    """A tag that the scheme does not allow at its place; numbers count from 0."""

    sentence: int
    token: int
    tag: str
    why: str

    def __str__(self) -> str:
        return f"sentence {self.sentence + 1}, token {self.token + 1}: {self.tag!r} {self.why}"


def legal_transitions(
    labels: Sequence[str], scheme: str | Scheme
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which label may follow which, which may start a sentence and which may end one.

    Returns bool [Y, Y] (row: before, column: after), bool [Y], bool [Y].

    >>> legal, start, end = legal_transitions(["O", "B-PER", "I-PER"], "BIO")
    >>> legal.astype(int).tolist(), start.tolist(), end.tolist()
    ([[1, 1, 0], [1, 1, 1], [1, 1, 1]], [True, True, False], [True, True, True])
    """
    scheme = scheme_named(scheme)
    for label in labels:
        known_letter_and_type(label, scheme)
    wrong_before, wrong_after = _wrong_pairs([*labels, OUTSIDE], scheme)
    legal = ~(wrong_before | wrong_after)
    return legal[:-1, :-1].copy(), legal[-1, :-1].copy(), legal[:-1, -1].copy()


def detect(tags: Tags) -> Scheme | None:
    """The scheme with the letters that occur and the fewest faults; None if these are labels of another kind.

    Tags that several schemes explain equally well go to the first in SCHEMES: I alone is IO, B alone BIO.

    >>> print(detect([["B-PER", "I-PER", "O"]]), detect([["I-PER", "I-PER", "B-PER"]]), detect([["NN", "VB"]]))
    BIO IOB1 None
    """
    column, ptr = interned(tags)
    return detect_column(column, ptr)


def detect_column(column: Column, ptr: NDArray[np.int64]) -> Scheme | None:
    """As :func:`detect`, for a column of a token table."""
    return fewest_faults(fault_counts(column, ptr))


def fault_counts(column: Column, ptr: NDArray[np.int64]) -> dict[str, int]:
    """The number of faults by scheme, for schemes that have the letters of all tags; parts of a corpus add up."""
    found = {}
    for name, scheme in SCHEMES.items():
        if all(letter_and_type(label, scheme) is not None for label in column.types):
            before, after = _wrong_tokens(column, ptr, scheme)
            found[name] = int(np.count_nonzero(before | after))
    return found


def fewest_faults(counts: Mapping[str, int]) -> Scheme | None:
    """The first scheme with the fewest faults; None if there is none."""
    return SCHEMES[min(counts, key=counts.__getitem__)] if counts else None


def validate(tags: Tags, scheme: str | Scheme) -> list[TagFault]:
    """Every tag that the scheme does not allow at its place.

    >>> for fault in validate([["O", "I-PER"], ["B-PER", "E-PER"]], "BIO"):
    ...     print(fault)
    sentence 1, token 2: 'I-PER' must continue a span of its type, but follows 'O'
    sentence 2, token 2: 'E-PER' is not a tag of BIO, which has the letters B, I and O
    """
    column, ptr = interned(tags)
    return validate_column(column, ptr, scheme)


def validate_column(column: Column, ptr: NDArray[np.int64], scheme: str | Scheme) -> list[TagFault]:
    """As :func:`validate`, for a column of a token table."""
    scheme = scheme_named(scheme)
    before, after = _wrong_tokens(column, ptr, scheme)
    strange = np.array([letter_and_type(label, scheme) is None for label in column.types], dtype=bool)[
        column.ids
    ]
    sentences = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    faults = []
    for t in np.flatnonzero(before | after | strange).tolist():
        n = int(sentences[t])
        start, end = int(ptr[n]), int(ptr[n + 1])
        here = column.types[column.ids[t]]
        if strange[t]:
            why = f"is not a tag of {scheme}, which has the letters {letters_text(scheme)}"
        elif before[t]:
            joined = known_letter_and_type(here, scheme)[0] in scheme.must_before
            need = "continue a span of its type" if joined else "come right after a span of its type"
            earlier = repr(column.types[column.ids[t - 1]]) if t > start else "the start of the sentence"
            why = f"must {need}, but follows {earlier}"
        else:
            joined = known_letter_and_type(here, scheme)[0] in scheme.must_after
            need = "be continued by its type" if joined else "come right before a span of its type"
            later = repr(column.types[column.ids[t + 1]]) if t + 1 < end else "the end of the sentence"
            why = f"must {need}, but is followed by {later}"
        faults.append(TagFault(n, t - start, here, why))
    return faults


@dataclass(frozen=True)
class Signs:
    """The letters and the types of labels.

    letters: int8 [Y], index in LETTERS   kinds: int32 [Y], id of the type, -1 for O and foreign tags
    names:   the types by id
    """

    letters: NDArray[np.int8]
    kinds: NDArray[np.int32]
    names: list[str]


def signs(labels: Sequence[str], scheme: Scheme) -> Signs:
    """The labels' letters and types; a foreign tag counts as O."""
    names: dict[str, int] = {}
    letters, kinds = [], []
    for label in labels:
        letter, kind = letter_and_type(label, scheme) or (OUTSIDE, "")
        letters.append(LETTERS.index(letter))
        kinds.append(-1 if letter == OUTSIDE else names.setdefault(kind, len(names)))
    return Signs(np.array(letters, dtype=np.int8), np.array(kinds, dtype=np.int32), list(names))


def among(letters: str) -> NDArray[np.bool_]:
    """bool [LETTERS]: whether each letter is one of these."""
    return np.array([letter in letters for letter in LETTERS])


def interned(tags: Tags) -> tuple[Column, NDArray[np.int64]]:
    """Lists of tags as a column of ids and sentence bounds."""
    interner = Interner()
    ptr, ids = interner.intern_nested(list(tags))
    return Column(interner.strings(), ids), ptr


def _wrong_tokens(
    column: Column, ptr: NDArray[np.int64], scheme: Scheme
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """bool [T] twice: tokens at fault because of the token before them, and because of the one after."""
    Y, T, ids = len(column.types), len(column.ids), column.ids
    wrong_before, wrong_after = _wrong_pairs([*column.types, OUTSIDE], scheme)
    earlier, later = np.full(T, Y), np.full(T, Y)
    earlier[1:] = ids[:-1]
    later[:-1] = ids[1:]
    sentences = np.flatnonzero(np.diff(ptr))  # those with tokens
    earlier[ptr[sentences]] = Y
    later[ptr[sentences + 1] - 1] = Y
    return wrong_before[earlier, ids], wrong_after[ids, later]


def joined_pairs(labels: Sequence[str], scheme: Scheme) -> NDArray[np.bool_]:
    """bool [Y, Y]: whether label b after label a continues the span of a.

    >>> joined_pairs(["O", "B-PER", "I-PER"], scheme_named("BIO")).astype(int).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 0, 1]]
    """
    found = signs(labels, scheme)
    same = (found.kinds[:, None] == found.kinds[None, :]) & (found.kinds >= 0)
    return (
        same & among(scheme.joins_after)[found.letters][:, None] & among(scheme.joins_before)[found.letters]
    )


def _wrong_pairs(labels: Sequence[str], scheme: Scheme) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """bool [Y, Y] twice: label b at fault after a, and a at fault before b.

    same[a, b]   = a and b have one type
    joined[a, b] = same[a, b] and a in joins_after and b in joins_before
    """
    found = signs(labels, scheme)
    same = (found.kinds[:, None] == found.kinds[None, :]) & (found.kinds >= 0)

    def rows(letters: str) -> NDArray[np.bool_]:
        return among(letters)[found.letters][:, None]

    def columns(letters: str) -> NDArray[np.bool_]:
        return among(letters)[found.letters][None, :]

    joined = joined_pairs(labels, scheme)
    wrong_before = (columns(scheme.must_before) & ~joined) | (columns(scheme.touch_before) & ~same)
    wrong_after = (rows(scheme.must_after) & ~joined) | (rows(scheme.touch_after) & ~same)
    return wrong_before, wrong_after


@dataclass(frozen=True, eq=False)
class SpanArrays:
    """The spans of many sentences, in order.

    ptr:   int64 [N+1], the spans of each sentence   begin, end: int64 [spans], tokens of the sentence, end exclusive
    kind:  int32 [spans], index of the label in ``names``
    """

    ptr: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    kind: NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def of_lists(cls, spans: Sequence[Sequence[tuple[str, int, int]]]) -> "SpanArrays":
        """From (label, begin, end) of each sentence."""
        flat = [span for own in spans for span in own]
        kinds = {label: k for k, label in enumerate(dict.fromkeys(label for label, _, _ in flat))}
        return cls(
            np.array([0, *accumulate(map(len, spans))], np.int64),
            np.array([begin for _, begin, _ in flat], np.int64),
            np.array([end for _, _, end in flat], np.int64),
            np.array([kinds[label] for label, _, _ in flat], np.int32),
            tuple(kinds),
        )

    def lists(self) -> list[list[TokenSpan]]:
        """The spans of each sentence."""
        names = self.names
        columns = self.kind.tolist(), self.begin.tolist(), self.end.tolist()
        flat = [TokenSpan(names[kind], begin, end) for kind, begin, end in zip(*columns, strict=True)]
        return [flat[a:b] for a, b in pairwise(self.ptr.tolist())]


def span_arrays(
    ids: NDArray[np.int32], ptr: NDArray[np.int64], labels: tuple[str, ...], scheme: Scheme
) -> SpanArrays:
    """The spans of many sentences' labels, as ``spans`` finds them, without a Python loop over tokens.

    ids: of labels, all of the scheme   ptr: bounds of the sentences

    >>> labels = ("O", "B-PER", "I-PER")
    >>> span_arrays(np.array([1, 2, 0, 2], np.int32), np.array([0, 3, 4]), labels, scheme_named("BIO")).lists()
    [[TokenSpan(label='PER', start=0, end=2)], [TokenSpan(label='PER', start=0, end=1)]]
    """
    kinds, names, joins = _tables(labels, scheme.name)
    on = np.zeros(len(ids), bool)  # whether a token continues the span of the one before
    if len(ids):
        on[1:] = joins[ids[:-1], ids[1:]]
        on[ptr[:-1][ptr[:-1] < len(ids)]] = False
    kind = kinds[ids]
    starts = np.flatnonzero((kind >= 0) & ~on)
    stops = np.append(np.flatnonzero(~on), len(ids))
    ends = stops[np.searchsorted(stops, starts, side="right")]
    bounds = np.searchsorted(starts, ptr)
    first = np.repeat(ptr[:-1], np.diff(bounds))
    return SpanArrays(bounds, starts - first, ends - first, kind[starts], names)


@lru_cache(maxsize=64)
def _tables(
    labels: tuple[str, ...], scheme: str
) -> tuple[NDArray[np.int32], tuple[str, ...], NDArray[np.bool_]]:
    known = signs(labels, scheme_named(scheme))
    return known.kinds, tuple(known.names), joined_pairs(labels, scheme_named(scheme))


# -- conversion to another scheme, and repair -------------------------------------------------------------------------


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
