"""Spans of tokens from the tags of a sentence, and back."""

from collections.abc import Sequence
from typing import NamedTuple

from chaffinch.errors import DataError
from chaffinch.text.schemes.table import (
    IO,
    OUTSIDE,
    Scheme,
    known_letter_and_type,
    scheme_named,
    spelled,
    tag,
)


class TokenSpan(NamedTuple):
    """A labelled run of tokens, end exclusive."""

    label: str
    start: int
    end: int


def spans(tags: Sequence[str], scheme: str | Scheme) -> list[TokenSpan]:
    """The spans of one sentence's tags, faulty ones included: a token that is not joined starts a new span.

    >>> spans(["O", "I-PER", "I-PER", "I-LOC"], "BIO")
    [TokenSpan(label='PER', start=1, end=3), TokenSpan(label='LOC', start=3, end=4)]
    """
    scheme = scheme_named(scheme)
    found: list[TokenSpan] = []
    before, kind_before = OUTSIDE, ""
    for t, here in enumerate(tags):
        letter, kind = known_letter_and_type(here, scheme)
        if letter != OUTSIDE:
            if kind == kind_before and before in scheme.joins_after and letter in scheme.joins_before:
                found[-1] = TokenSpan(kind, found[-1].start, t + 1)
            else:
                found.append(TokenSpan(kind, t, t + 1))
        before, kind_before = letter, kind
    return found


def tags_of(found: Sequence[TokenSpan], length: int, scheme: str | Scheme) -> list[str]:
    """One tag per token for spans that do not overlap; the inverse of :func:`spans`.

    >>> tags_of([TokenSpan("PER", 1, 3)], 4, "BILOU")
    ['O', 'B-PER', 'L-PER', 'O']
    """
    scheme = scheme_named(scheme)
    tags = [OUTSIDE] * length
    ordered = sorted(found, key=lambda s: s.start)
    for i, (label, start, end) in enumerate(ordered):
        if not 0 <= start < end <= length:
            raise DataError(f"expected spans within {length} tokens, found {label} {start}-{end}")
        if i and start < ordered[i - 1].end:
            raise DataError(
                f"the spans {ordered[i - 1]} and {ordered[i]} overlap, and tags cannot represent both"
            )
        touched = i > 0 and ordered[i - 1].end == start and ordered[i - 1].label == label
        touching = i + 1 < len(ordered) and ordered[i + 1].start == end and ordered[i + 1].label == label
        if touched and scheme is IO:
            raise DataError(
                f"IO cannot separate {ordered[i - 1]} from {ordered[i]}: they touch and have the same type"
            )
        for t in range(start, end):
            first, last = t == start, t == end - 1
            letter = spelled(scheme, first, last, first and touched, last and touching)
            tags[t] = tag(letter, label, scheme)
    return tags
