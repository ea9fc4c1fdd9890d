"""The pieces of a template that expands to a string, and the differences between dialects of templates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Place: TypeAlias = Literal["relative", "start", "end"]
Change: TypeAlias = tuple[str, str, bool]
"""A command (x: the text, t: a test, m: a match), its regular expression, and whether the result is lower-cased."""

Texts: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Texts end to end, and their bounds."""

UNARY, PAIR, BOTH = 1, 2, 3  # a template's features have weights for labels, for pairs of labels, or both


@dataclass(frozen=True)
class Piece:
    """Literal text, or a column of a token.

    place:  the origin of the offset: the token itself, the first token, the last token
    change: the change of the column's text; None: no change
    """

    text: str | None = None
    column: int = 0
    offset: int = 0
    place: Place = "relative"
    change: Change | None = None


@dataclass(frozen=True)
class StringTemplate:
    """A template: its pieces, and whether its features are of labels, of pairs of labels, or both."""

    kind: int
    pieces: tuple[Piece, ...]

    @property
    def most_column(self) -> int:
        """The largest column number that it reads; -1: it reads no column."""
        return max((p.column for p in self.pieces if p.text is None), default=-1)

    @property
    def beginning(self) -> str:
        """The literal text before the first column."""
        made = ""
        for piece in self.pieces:
            if piece.text is None:
                break
            made += piece.text
        return made

    @property
    def offsets(self) -> tuple[int, ...]:
        """The relative offsets of the tokens that it reads; (0,) if it has none."""
        near = {p.offset for p in self.pieces if p.text is None and p.place == "relative"}
        return tuple(sorted(near)) or (0,)

    @property
    def constant(self) -> bool:
        """Whether it reads no column."""
        return self.most_column < 0


@dataclass(frozen=True)
class Dialect:
    """How one tool writes templates, and the strings that it reads outside a sentence.

    before:  the strings of the positions before a sentence, nearest first; the last one stands for all farther ones
    after:   the same after it
    parse:   parses a template; ConfigError if it is not one, or cannot be reproduced
    changed: applies a change to texts, given their encoding
    """

    name: str
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    parse: Callable[[str], StringTemplate]
    changed: Callable[[Change, str, Texts], Texts]


def texts_of(texts: Sequence[bytes]) -> Texts:
    """Texts end to end, and their bounds.

    >>> [a.tolist() for a in texts_of([b"a", b"bc"])]
    [[97, 98, 99], [0, 1, 3]]
    """
    return np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)], dtype=np.int64)
