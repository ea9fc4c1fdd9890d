"""Template files of CRF++ and Wapiti, read as our own templates.

U00:%x[-2,0]             unigram: row -2, column 0            w[-2]
U05:%x[-1,0]/%x[0,1]     two of them together                 w[-1]|pos[0]
B                        bigram of labels                     y[-1]
B01:%x[0,0]              bigram of labels, with the word      y[-1]|w[0]
*:%x[0,0]                (Wapiti) both unigram and bigram     w[0] and y[-1]|w[0]
u:%X[0,0]                (Wapiti) lower-cased                 lower[0]
u:%m[0,0,"^.?.?"]        (Wapiti) text of the first match     a pattern column
u:%t[0,0,"\\d"]           (Wapiti) whether there is a match    a pattern column
"""

import re
from collections.abc import Sequence

from chaffinch.errors import ConfigError
from chaffinch.features.templates import Atom, FeatureSet, Pattern, Template
from chaffinch.text.document import LABEL, WORD

_LINE = re.compile(r"([UuBb*])([^:%]*)(?::(.*))?$", re.DOTALL)
_MACRO = re.compile(r'%([xXtTmM])\[\s*(-?\d+)\s*,\s*(\d+)\s*(?:,\s*"((?:[^"\\]|\\.)*)"\s*)?\]')

# Wapiti's classes of characters; a capital letter negates.
_CLASSES = {
    "d": "0-9",
    "a": "A-Za-z",
    "w": "A-Za-z0-9",
    "l": "a-z",
    "u": "A-Z",
    "s": r"\s",
    "p": r"!-/:-@\[-`{-~",
}


def is_crfpp(text: str) -> bool:
    """Whether the first line that says something is CRF++'s or Wapiti's."""
    for raw in text.splitlines():
        line = raw.strip()
        if line and not line.startswith("#"):
            return re.match(r"[Uu*][^:%\[]*:.*%[xXtTmM]\[|[UuBb*]\d*$|[BbUu*][^:\[|]*:", line) is not None
    return False


def parse_crfpp(text: str, name: str, columns: Sequence[str]) -> FeatureSet:
    """The feature set of a template file; ``columns`` name the columns of the corpus's file, in order.

    >>> made = parse_crfpp("U00:%x[-1,0]/%x[0,1]\\nB", "template", ["w", "pos"])
    >>> [str(t) for t in made.templates]
    ['w[-1]|pos[0]', 'y[-1]']
    """
    templates: list[Template] = []
    patterns: dict[str, Pattern] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            templates.extend(_line(line, columns, patterns))
        except ConfigError as e:
            raise ConfigError(f"{name}:{number}: {e}") from None
    if not templates:
        raise ConfigError(f"{name}: has no templates")
    return FeatureSet(tuple(dict.fromkeys(templates)), True, patterns)


def _line(line: str, columns: Sequence[str], patterns: dict[str, Pattern]) -> list[Template]:
    parts = _LINE.match(line)
    if not parts:
        raise ConfigError(f"expected a line that starts with U, B or *, found {line!r}")
    kind, _, body = parts.groups()
    body = body or ""
    atoms = tuple(dict.fromkeys(_atom(m, columns, patterns) for m in _MACRO.finditer(body)))
    unread = _MACRO.sub("", body)
    if "%" in unread:
        found = unread[unread.index("%") :]
        raise ConfigError(f"cannot read the macro {found!r}: expected %x[row,column] and the like")
    made = []
    if kind in "Uu*":
        made.append(Template(atoms))
    if kind in "Bb*":
        made.append(Template((Atom(LABEL, -1), *atoms)))
    return made


def _atom(macro: re.Match[str], columns: Sequence[str], patterns: dict[str, Pattern]) -> Atom:
    kind, row, number, regex = macro.groups()
    if int(number) >= len(columns):
        raise ConfigError(
            f"column {number} in {macro.group()}: the corpus has columns 0 to {len(columns) - 1}"
        )
    column = columns[int(number)]
    if kind in "xX":
        if regex is not None:
            raise ConfigError(f"{macro.group()}: %{kind} takes no regular expression")
        if kind == "X":
            column = "lower" if column == WORD else f"lower({column})"
        return Atom(column, int(row))
    if regex is None:
        raise ConfigError(f"{macro.group()}: %{kind} needs a regular expression in quotes")
    pattern = Pattern(_regex(regex), "test" if kind in "tT" else "match", lower=kind.isupper())
    fresh = f"match{len(patterns) + 1}" if kind in "mM" else f"test{len(patterns) + 1}"
    name = next((known for known, p in patterns.items() if p == pattern), fresh)
    patterns[name] = pattern
    return Atom(name if column == WORD else f"{name}({column})", int(row))


def _regex(wapiti: str) -> str:
    r"""Wapiti's regular expression as Python's.

    >>> _regex(r"^\u\l*\.$")
    '^[A-Z][a-z]*\\.$'
    """
    out = []
    i = 0
    while i < len(wapiti):
        c = wapiti[i]
        if c == "\\" and i + 1 < len(wapiti):
            i += 1
            c = wapiti[i]
            if c.lower() in _CLASSES:
                out.append(f"[{'^' if c.isupper() else ''}{_CLASSES[c.lower()]}]")
            else:
                out.append(re.escape(c))
        elif c in ".*?" or (c == "^" and i == 0) or (c == "$" and i == len(wapiti) - 1):
            out.append(c)
        else:
            out.append(re.escape(c))
        i += 1
    return "".join(out)
