"""Patterns of Wapiti: u, b or *, then text with %x[offset,column], %t[offset,column,"regexp"], %m[...].

A capital command lower-cases its result. An offset after @ counts from the first token (@1) or from the last (@-1).
"""

import re
from collections.abc import Callable

from chaffinch.errors import ConfigError
from chaffinch.features.string_pieces import BOTH, PAIR, UNARY, Change, Dialect, Piece, Place, StringTemplate

KINDS = {"u": UNARY, "b": PAIR, "*": BOTH}
FARTHEST = 1 << 20
_COMMAND = re.compile(
    r"%(?:([xXtTmM])\[(@?)\s*([+-]?\d+),\s*(\d+)(?:,\"((?:[^\"\\]|\\.)*)\")?\])?", re.ASCII | re.DOTALL
)
MOST_STEPS = 1 << 20  # of a match; expressions that try more are refused
MOST_REPEATS = 64  # stars and question marks of an expression


def parse(text: str) -> StringTemplate:
    """One pattern.

    >>> parse('u:%X[-1,0]').pieces[1]
    Piece(text=None, column=0, offset=-1, place='relative', change=('x', '', True))
    """
    if text[:1] not in KINDS:
        raise ConfigError(f"the pattern {text[:40]!r} begins with neither u, b nor *")
    pieces: list[Piece] = []
    at = 0
    for command in _COMMAND.finditer(text):
        if command[0] == "%":
            raise ConfigError(
                f"the pattern {text[:40]!r} has a % that begins no %x, %t or %m that can be reproduced"
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
        raise ConfigError(f"the pattern {text[:40]!r} reads row {row} of column {column}")
    if absolute:
        row, place = (row + 1, "end") if row < 0 else (row - 1, "start")
    if regexp is not None:
        _check(regexp)
    lower = name.isupper()
    change = None if name == "x" else (name.lower(), regexp or "", lower)
    made: Place = "start" if place == "start" else "end" if place == "end" else "relative"
    return Piece(None, int(column), row, made, change)


def _check(regexp: str) -> None:
    """Refuse what ends Wapiti with an error, or reads past the end of the expression."""
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
                f"the regular expression {regexp!r} has a {rest[:1].decode()} after nothing to repeat"
            )
        if rest == b"\\":
            raise ConfigError(f"the regular expression {regexp!r} ends in a backslash")
        rest = rest[1 + (rest[:1] == b"\\") :]
        if rest[:1] in (b"*", b"?"):
            rest = rest[1:]


def changed(change: Change, encoding: str) -> Callable[[bytes], bytes]:
    """The function of a command: the text itself, "true" or "false", or what matches; lower-cased if asked.

    >>> changed(("m", r"\\u\\l*", False), "utf-8")(b"the Dog"), changed(("t", "^x", True), "utf-8")(b"abc")
    (b'D', b'false')
    """
    name, regexp, lower = change
    expression = regexp.encode(encoding)

    def apply(text: bytes) -> bytes:
        if name == "x":
            made = text
        else:
            found = match(expression, text)
            if name == "t":
                made = b"false" if found is None else b"true"
            else:
                made = b"" if found is None else (text + b"\0")[found[0] : found[0] + found[1]]
        return made.lower() if lower else made  # ASCII alone, as in the C locale

    return apply


# -- the regular expressions of Wapiti, on bytes ---------------------------------------------------------------------

_CLASSES: dict[int, Callable[[int], bool]] = {
    ord("a"): lambda c: chr(c).isalpha() and c < 128,
    ord("d"): lambda c: 48 <= c < 58,
    ord("l"): lambda c: 97 <= c < 123,
    ord("u"): lambda c: 65 <= c < 91,
    ord("w"): lambda c: c < 128 and chr(c).isalnum(),
    ord("s"): lambda c: c in b" \t\n\v\f\r",
    ord("p"): lambda c: 33 <= c < 127 and not chr(c).isalnum(),
}


_CAPITALS = b"ADLPSUW"  # the classes of all other characters


def match(regexp: bytes, text: bytes) -> tuple[int, int] | None:
    r"""Where an expression first matches, and the length of the match; None: nowhere.

    A star takes as few characters as it can. Wapiti counts a character twice if an optional one was tried and taken
    back, so a length may be too large; features depend on it, so it is the same here.

    >>> match(b"^a*$", b"aaa"), match(rb"\d\d?", b"in 1984"), match(b"x", b"abc"), match(b"ab?c?d", b"abd")
    ((0, 3), (3, 2), None, (0, 3))
    """
    search = _Search(text)
    if regexp[:1] == b"^":
        return (0, search.length) if search.here(regexp[1:], 0) else None
    for at in range(len(text) + 1):
        search.length = 0
        if search.here(regexp, at):
            return at, search.length
    return None


class _Search:
    """One search in one text; ``length`` is counted as Wapiti counts it."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.length = 0
        self.steps = 0

    def here(self, regexp: bytes, at: int) -> bool:
        """Whether the expression matches at this place."""
        while True:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise ConfigError(f"the regular expression {regexp!r} takes too long on {self.text[:40]!r}")
            if not regexp:
                return True
            if regexp == b"$":
                return at == len(self.text)
            one, rest = regexp[: 1 + (regexp[:1] == b"\\")], regexp[1 + (regexp[:1] == b"\\") :]
            if rest[:1] == b"*":
                return self._star(one, rest[1:], at)
            if rest[:1] == b"?":
                rest = rest[1:]
                if self._one(one, at):
                    self.length += 1
                    if self.here(rest, at + 1):
                        return True
                    self.length -= 1
                regexp = rest
                continue
            self.length += 1
            if not self._one(one, at):
                return False
            regexp, at = rest, at + 1

    def _star(self, one: bytes, rest: bytes, at: int) -> bool:
        while True:
            before = self.length
            if self.here(rest, at):
                return True
            self.length = before + 1
            if not self._one(one, at):
                return False
            at += 1

    def _one(self, one: bytes, at: int) -> bool:
        if at >= len(self.text):
            return False
        c = self.text[at]
        if one == b".":
            return True
        if len(one) == 2:
            low = one[1] | 32 if one[1] in _CAPITALS else one[1]
            if low in _CLASSES:
                return _CLASSES[low](c) == (one[1] == low)
            return one[1] == c
        return one[0] == c


DIALECT = Dialect(
    "wapiti",
    (b"_x-1", b"_x-2", b"_x-3", b"_x-4", b"_x-#"),
    (b"_x+1", b"_x+2", b"_x+3", b"_x+4", b"_x+#"),
    parse,
    changed,
)
