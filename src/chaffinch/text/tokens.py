"""The tokeniser for raw text: words, numbers and signs with their offsets, in any script."""

import re
import unicodedata
from functools import cache, lru_cache
from itertools import chain

from chaffinch.text.document import Document, Token

# Scripts without spaces between words: each character is a token of its own, since there is no dictionary here.
_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


def tokens(text: str) -> list[Token]:
    """The tokens of a text: every character but white space is in exactly one.

    Kept whole: addresses of pages and people, @names, #tags, numbers with their points (5.2, 1,000, 1/2,
    10:30), initials (U.S., e.g.), words with inner apostrophes and hyphens (don't, well-known), runs of one
    sign (..., !!), emoji with their modifiers. Chinese and Japanese are cut into characters.

    >>> [token.text for token in tokens("Don't pay $5.2 to @bob in the U.S. (see http://a.org/x).")]
    ["Don't", 'pay', '$', '5.2', 'to', '@bob', 'in', 'the', 'U.S.', '(', 'see', 'http://a.org/x', ')', '.']
    """
    return [Token(m[0], m.start(), m.end()) for m in _pattern().finditer(text)]


def token_bounds(text: str) -> list[tuple[int, int]]:
    """The bounds of the tokens of a text, without the tokens: many times as fast if words recur.

    No token crosses white space, so strings between white space are cut one by one, and their bounds are cached.

    >>> token_bounds("5.2 g, 5.2")
    [(0, 3), (4, 5), (5, 6), (7, 10)]
    """
    found: list[tuple[int, int]] = []
    at = 0
    for piece in text.split():
        at = text.index(piece, at)
        size = len(piece)
        if (piece.isascii() and piece.isalpha()) or size == 1:
            found.append((at, at + size))
        else:
            cut = _piece_bounds(piece) if size <= _KEPT_PIECE else _cut(piece)
            found += [(at + a, at + b) for a, b in cut]
        at += size
    return found


_KEPT_PIECE = 40  # characters


@lru_cache(maxsize=1 << 16)
def _piece_bounds(piece: str) -> list[tuple[int, int]]:
    return _cut(piece)


def _cut(text: str) -> list[tuple[int, int]]:
    return [m.span() for m in _pattern().finditer(text)]


def tokenised(document: Document) -> Document:
    """Tokenise the document if it has no tokens."""
    if not document.tokens:
        document.tokens = tokens(document.text)
    return document


@cache
def _pattern() -> re.Pattern[str]:
    marks = _marks()
    mark = f"[{marks}\u200c\u200d]"  # combines with the character before; joiners too
    letter = f"(?:(?![{_CJK}])\\w{mark}*)"
    pictograph = "[\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff]"
    return re.compile(
        rf"""
          (?:https?|ftp)://[^\s<>"]*[^\s<>"'.,;:!?)\]}}’”»…]      # http://example.org/a?b=c
        | www\.[^\s<>"]*[^\s<>"'.,;:!?)\]}}’”»…]                   # www.example.org
        | [\w.+-]{{0,63}}\w@\w[\w-]*(?:\.\w[\w-]*)+                  # someone@example.org
        | [@\#]{letter}+                                           # @name #tag
        | [^\W\d_](?:\.[^\W\d_])+(?:\.|(?!\w))(?!\w)               # U.S. e.g.
        | \d+(?:[.,:/]\d+)+                                        # 5.2 1,000 1/2 10:30
        | {letter}+(?:['’\-]{letter}+)*                            # word don't well-known 10g
        | [{_CJK}]{mark}*
        | [\U0001f1e6-\U0001f1ff]{{2}}                             # flags
        | {pictograph}[{marks}\U0001f3fb-\U0001f3ff]*(?:\u200d{pictograph}[{marks}\U0001f3fb-\U0001f3ff]*)*
        | ([.!?…\-–—*=~_^])\1+                                     # ... !! --
        | \S{mark}*
        """,
        re.VERBOSE,
    )


def _marks() -> str:
    """The combining marks (categories Mn, Mc, Me) as ranges of a character class."""
    ranges: list[list[int]] = []
    for code in chain(range(0x300, 0x20000), range(0xE0100, 0xE01F0)):  # there are none in between
        if unicodedata.category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in ranges)
