"""Patterns of Wapiti: u, b or *, then text with %x[offset,column], %t[offset,column,"regexp"], %m[...].

A capital command lower-cases its result. An offset after @ counts from the first token (@1) or from the last (@-1).
"""

import re

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.features.string_pieces import (
    BOTH,
    PAIR,
    UNARY,
    Change,
    Dialect,
    Piece,
    Place,
    StringTemplate,
    Texts,
    texts_of,
)

__all__ = ["DIALECT", "KINDS", "changed", "parse", "texts_of"]

KINDS = {"u": UNARY, "b": PAIR, "*": BOTH}
FARTHEST = 1 << 20
_COMMAND = re.compile(
    r"%(?:([xXtTmM])\[(@?)\s*([+-]?\d+),\s*(\d+)(?:,\"((?:[^\"\\]|\\.)*)\")?\])?", re.ASCII | re.DOTALL
)
MOST_REPEATS = 64  # stars and question marks of an expression


def parse(text: str) -> StringTemplate:
    """One pattern.

    >>> parse('u:%X[-1,0]').pieces[1]
    Piece(text=None, column=0, offset=-1, place='relative', change=('x', '', True))
    """
    if text[:1] not in KINDS:
        raise ConfigError(f"the pattern {text[:40]!r} does not begin with u, b or *")
    pieces: list[Piece] = []
    at = 0
    for command in _COMMAND.finditer(text):
        if command[0] == "%":
            raise ConfigError(
                f"the pattern {text[:40]!r} has a % that does not begin a %x, %t or %m that can be reproduced"
            )
        if command.start() > at:
            pieces.append(Piece(text[at : command.start()]))
        pieces.append(_piece(text, command))
        at = command.end()
    if at < len(text):
        pieces.append(Piece(text[at:]))
    return StringTemplate(KINDS[text[0]], tuple(pieces))


def _piece(text: str, command: "re.Match[str]") -> Piece:
    name, absolute, offset, column, regexp = command.groups()
    if (name.lower() == "x") != (regexp is None):
        raise ConfigError(f"the pattern {text[:40]!r}: %t and %m have a regular expression, %x has none")
    for number in (offset, column):
        if re.fullmatch(r"[+-]?0\d+", number):
            raise ConfigError(
                f"the pattern {text[:40]!r}: the number {number} begins with 0, which Wapiti reads as octal"
            )
    row, place = int(offset), "relative"
    if abs(row) > FARTHEST or int(column) > 2**16:
        raise ConfigError(
            f"the pattern {text[:40]!r} reads row {row} of column {column}; at most {FARTHEST} and {2**16} are allowed"
        )
    if absolute:
        row, place = (row + 1, "end") if row < 0 else (row - 1, "start")
    if regexp is not None:
        _check(regexp)
    lower = name.isupper()
    change = None if name == "x" else (name.lower(), regexp or "", lower)
    made: Place = "start" if place == "start" else "end" if place == "end" else "relative"
    return Piece(None, int(column), row, made, change)


def _check(regexp: str) -> None:
    """Raise for an expression at which Wapiti stops with an error, or reads past its end."""
    if regexp.count("*") + regexp.count("?") > MOST_REPEATS:
        raise ConfigError(
            f"the regular expression {regexp[:40]!r} has more than {MOST_REPEATS} stars and question marks"
        )
    rest = regexp.removeprefix("^").encode()
    while rest:
        if rest == b"$":
            return
        if rest[:1] in (b"*", b"?"):
            raise ConfigError(
                f"the regular expression {regexp!r} has a {rest[:1].decode()} with nothing to repeat"
            )
        if rest == b"\\":
            raise ConfigError(f"the regular expression {regexp!r} ends in a backslash")
        rest = rest[1 + (rest[:1] == b"\\") :]
        if rest[:1] in (b"*", b"?"):
            rest = rest[1:]


def changed(change: Change, encoding: str, texts: Texts) -> Texts:
    """Apply a command to texts: the text itself, "true" or "false", or the match; lower-cased (ASCII) if asked.

    >>> made, bounds = changed(("m", r"\\u\\l*", False), "utf-8", texts_of([b"the Dog", b"a"]))
    >>> made.tobytes(), bounds.tolist()
    (b'D', [0, 1, 1])
    """
    name, regexp, lower = change
    try:
        return _core.changed_by_wapiti(name, regexp.encode(encoding), lower, *texts)
    except ValueError as e:
        raise ConfigError(f"{regexp!r}: {e}") from None


DIALECT = Dialect(
    "wapiti",
    (b"_x-1", b"_x-2", b"_x-3", b"_x-4", b"_x-#"),
    (b"_x+1", b"_x+2", b"_x+3", b"_x+4", b"_x+#"),
    parse,
    changed,
)
