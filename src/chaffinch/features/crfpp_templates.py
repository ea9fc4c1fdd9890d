"""Templates of CRF++: U or B, then text with %x[row,column]."""

import re

from chaffinch.errors import ConfigError
from chaffinch.features.string_pieces import PAIR, UNARY, Change, Dialect, Piece, StringTemplate, Texts

FARTHEST = 8  # rows before and after the token that may be read
_MACRO = re.compile(r"%(?:x\[(-?\d*),(\d*)\])?", re.ASCII)


def parse(text: str) -> StringTemplate:
    """One template.

    >>> parse("U05:%x[-1,0]/%x[0,1]").pieces
    (Piece(text='U05:', ...), Piece(text=None, column=0, offset=-1, ...), Piece(text='/', ...), Piece(...))
    >>> parse("U01:%m[0,0]")
    Traceback (most recent call last):
    chaffinch.errors.ConfigError: the template 'U01:%m[0,0]' has a % that does not begin %x[row,column]
    """
    if text[:1] not in ("U", "B"):
        raise ConfigError(f"the template {text[:40]!r} begins with neither U nor B")
    pieces: list[Piece] = []
    at = 0
    for macro in _MACRO.finditer(text):
        if macro[0] == "%":
            raise ConfigError(f"the template {text[:40]!r} has a % that does not begin %x[row,column]")
        row, column = int(macro[1] if macro[1] not in ("", "-") else 0), int(macro[2] or 0)
        if abs(row) > FARTHEST:
            raise ConfigError(
                f"the template {text[:40]!r} reads row {row}; CRF++ allows {-FARTHEST} to {FARTHEST}"
            )
        if column > 2**16:
            raise ConfigError(f"the template {text[:40]!r} reads column {column}")
        if macro.start() > at:
            pieces.append(Piece(text[at : macro.start()]))
        pieces.append(Piece(None, column, row))
        at = macro.end()
    if at < len(text):
        pieces.append(Piece(text[at:]))
    return StringTemplate(UNARY if text[0] == "U" else PAIR, tuple(pieces))


def changed(change: Change, encoding: str, texts: Texts) -> Texts:
    """CRF++ reads columns as they are."""
    raise ConfigError(f"CRF++ has no command {change[0]!r} for {len(texts[1]) - 1} texts in {encoding}")


DIALECT = Dialect(
    "crf++",
    tuple(b"_B-%d" % n for n in range(1, FARTHEST + 1)),
    tuple(b"_B+%d" % n for n in range(1, FARTHEST + 1)),
    parse,
    changed,
)
