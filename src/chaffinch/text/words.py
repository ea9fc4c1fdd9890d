"""Cutting plain text into words, natively and by Python's own idea of a letter; offsets are kept."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import word_offsets
from chaffinch.errors import ConfigError, DataError
from chaffinch.text.document import Token

MARK, WORD, SPACE = 0, 1, 2
ASCII = 0x80


@dataclass(frozen=True)
class WordRule:
    """What counts as a token: a longest run of word characters, and perhaps each mark.

    shortest: fewest characters of a word that is kept
    marks:    each character that is neither in a word nor white space is a token of its own
    joined:   marks are word characters, so that white space alone divides
    """

    shortest: int = 1
    marks: bool = False
    joined: bool = False

    def kinds(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        """The kind of each code point: uint8 [0x110000], or [128] if ``texts`` are ASCII."""
        return _kinds(self.joined, ASCII if all(map(str.isascii, texts)) else sys.maxunicode + 1)


WORD_RULES = {
    "words": WordRule(),
    "long-words": WordRule(shortest=2),
    "marks": WordRule(marks=True),
    "spaces": WordRule(joined=True),
}


def word_rule(name: str) -> WordRule:
    """A rule by name: ``words``, ``long-words`` (two characters or more), ``marks``, ``spaces``."""
    if name not in WORD_RULES:
        raise ConfigError(f"unknown word rule {name!r}; there are {', '.join(WORD_RULES)}")
    return WORD_RULES[name]


def lowered(texts: Sequence[str]) -> list[str]:
    """Texts beyond ASCII as ``str.lower`` gives them; the native code lowers the others."""
    return [text if text.isascii() else text.lower() for text in texts]


def word_tokens(text: str, rule: str = "words", *, lower: bool = False) -> list[Token]:
    """The tokens of a text; ``start`` and ``end`` count characters of the text as given.

    >>> [(t.text, t.start) for t in word_tokens("Zoë isn't late!", "marks", lower=True)]
    [('zoë', 0), ('isn', 4), ("'", 7), ('t', 8), ('late', 10), ('!', 14)]
    """
    chosen = word_rule(rule)
    cut = text.lower() if lower else text
    try:
        _, starts, ends = word_offsets([cut], chosen.kinds([cut]), chosen.shortest, chosen.marks, False)
    except UnicodeEncodeError:
        raise surrogate_error([text]) from None
    bounds = list(zip(starts.tolist(), ends.tolist(), strict=True))
    if len(cut) == len(text):
        return [Token(cut[a:b], a, b) for a, b in bounds]
    # A few capitals become two characters: character k of the lower-cased text comes from origin[k].
    origin = [i for i, c in enumerate(text) for _ in c.lower()]
    return [Token(cut[a:b], origin[a], origin[b - 1] + 1) for a, b in bounds]


def surrogate_error(texts: Sequence[str]) -> DataError:
    """The error for the first text with half of a surrogate pair, which is no Unicode text."""
    for n, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            return DataError(
                f"document {n + 1}, character {error.start + 1}: a lone surrogate (U+{code:04X}) is not text; "
                "decode its source with errors='replace'"
            )
    raise AssertionError("no text holds a lone surrogate")


@cache
def _kinds(joined: bool, size: int) -> NDArray[np.uint8]:
    """The kind of the first code points by the running Python's Unicode tables: uint8 [size]."""
    kinds = np.full(size, WORD if joined else MARK, dtype=np.uint8)
    # Beyond plane 3 there are tags, variation selectors and private use: no letters, no digits, no spaces.
    planes = np.arange(min(size, 0x40000), dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for pattern, kind in ((r"\w+", WORD), (r"\s+", SPACE)):
        for run in re.finditer(pattern, planes):
            kinds[run.start() : run.end()] = kind
    kinds.flags.writeable = False
    return kinds
