"""Templates: the columns and offsets that make a feature, in a readable syntax.

w[0]                    the word                      w[-2..2]            five templates, one per offset
w[-1]|w[0]              two words together            suffix3             the same as suffix3[0]
y[-1]|stem[0]           the label before, the stem    any(w,-8..-1)       each word of the eight before
suffix2(lemma)[0]       a function of another column  bias                always on
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from chaffinch.errors import ConfigError
from chaffinch.text.document import LABEL

FARTHEST = 1000

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_OFFSETS = re.compile(r"\s*([+-]?\d+)\s*(?:\.\.\s*([+-]?\d+)\s*)?")


@dataclass(frozen=True, order=True)
class Atom:
    """The value of a column, ``offset`` tokens away."""

    column: str
    offset: int

    def __str__(self) -> str:
        return f"{self.column}[{self.offset}]"


@dataclass(frozen=True)
class Template:
    """Atoms that together make one feature; those of column ``y`` are labels around the token.

    A window has one atom per offset and makes one feature per distinct value in it.
    """

    atoms: tuple[Atom, ...] = ()
    window: bool = False

    @property
    def observed(self) -> tuple[Atom, ...]:
        """The atoms that do not read labels."""
        return tuple(a for a in self.atoms if a.column != LABEL)

    @property
    def label_offsets(self) -> tuple[int, ...]:
        """The offsets of the labels that it reads, ascending."""
        return tuple(sorted(a.offset for a in self.atoms if a.column == LABEL))

    def __str__(self) -> str:
        if self.window:
            return f"any({self.atoms[0].column},{self.atoms[0].offset}..{self.atoms[-1].offset})"
        return "|".join(map(str, self.atoms)) or "bias"


@dataclass(frozen=True)
class Pattern:
    """A column made by a regular expression.

    what: "hit" gives the value "yes" if the expression is found, else none; "test" gives
    "true" or "false", "match" the text that was found
    """

    regex: str
    what: str = "hit"
    lower: bool = False


@dataclass(frozen=True)
class FeatureSet:
    """Templates, whether positions beyond the sentence are marked, and columns defined by regular expressions.

    boundary: positions outside the sentence have values of their own, one per distance; else no feature
    """

    templates: tuple[Template, ...]
    boundary: bool = True
    patterns: Mapping[str, Pattern] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(map(str, self.templates))


def parse_all(texts: Iterable[str]) -> tuple[Template, ...]:
    """The templates of several texts, ranges expanded, duplicates removed."""
    return tuple(dict.fromkeys(t for text in texts for t in parse(text)))


def parse(text: str) -> tuple[Template, ...]:
    """The templates that a text stands for: one, or one per offset of its ranges.

    >>> [str(t) for t in parse("w[-1]|w[0]") + parse("pos[-1..1]") + parse("any(w,-8..-1)") + parse("bias")]
    ['w[-1]|w[0]', 'pos[-1]', 'pos[0]', 'pos[1]', 'any(w,-8..-1)', 'bias']
    >>> parse("y[-1]|y[+1]")[0].label_offsets
    (-1, 1)
    >>> parse("w[-1|w[0]")
    Traceback (most recent call last):
    chaffinch.errors.ConfigError: template 'w[-1|w[0]', character 5: expected ']', found '|'
    """
    return _Parser(text).templates()


class _Parser:
    """Recursive descent over one template; every error points at a character."""

    def __init__(self, text: str):
        self.text = text
        self.at = 0

    def templates(self) -> tuple[Template, ...]:
        self.skip()
        if self.text[self.at :].strip() == "bias":
            return (Template(),)
        if re.match(r"any\s*\(", self.text[self.at :]):
            return (self.window(),)
        terms = [self.term()]
        while self.peek() == "|":
            self.at += 1
            terms.append(self.term())
        if self.at < len(self.text):
            raise self.expected("'|' or the end")
        made = []
        for atoms in product(*terms):
            if len(set(atoms)) < len(atoms):
                raise ConfigError(f"template {self.text!r}: expected distinct atoms, found {atoms[0]} twice")
            made.append(Template(tuple(atoms)))
        return tuple(made)

    def window(self) -> Template:
        self.take("any")
        self.take("(")
        start = self.at
        column = self.column()
        if column == LABEL:
            self.at = start
            raise self.expected("a column other than y: not all labels of the window are known during search")
        self.take(",")
        low, high = self.offsets()
        self.take(")")
        if self.at < len(self.text):
            raise self.expected("the end")
        return Template(tuple(Atom(column, o) for o in range(low, high + 1)), window=True)

    def term(self) -> list[Atom]:
        self.skip()
        start = self.at
        column = self.column()
        if self.peek() != "[":
            if column == LABEL:
                raise self.expected("'[': a label needs its offset, such as y[-1]")
            return [Atom(column, 0)]
        self.take("[")
        low, high = self.offsets()
        self.take("]")
        if column == LABEL and low <= 0 <= high:
            self.at = start
            raise self.expected("the label of another token: y[0] is the label to predict")
        return [Atom(column, o) for o in range(low, high + 1)]

    def column(self) -> str:
        self.skip()
        name = _NAME.match(self.text, self.at)
        if not name:
            raise self.expected("a column's name")
        self.at = name.end()
        if self.peek() != "(":
            return name.group()
        self.take("(")
        self.skip()
        source = _NAME.match(self.text, self.at)
        if not source:
            raise self.expected("a column's name")
        self.at = source.end()
        self.take(")")
        return f"{name.group()}({source.group()})"

    def offsets(self) -> tuple[int, int]:
        found = _OFFSETS.match(self.text, self.at)
        if not found:
            raise self.expected("an offset such as -1 or a range such as -2..2")
        low = int(found.group(1))
        high = low if found.group(2) is None else int(found.group(2))
        if low > high:
            raise self.expected(f"an ascending range instead of {low}..{high}")
        if max(-low, high) > FARTHEST:
            raise self.expected(f"an offset of at most {FARTHEST}")
        self.at = found.end()
        return low, high

    def peek(self) -> str:
        self.skip()
        return self.text[self.at : self.at + 1]

    def take(self, sign: str) -> None:
        self.skip()
        if not self.text.startswith(sign, self.at):
            raise self.expected(f"'{sign}'")
        self.at += len(sign)
        self.skip()

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def expected(self, what: str) -> ConfigError:
        found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
        return ConfigError(f"template {self.text!r}, character {self.at + 1}: expected {what}, found {found}")


def columns_of(templates: Sequence[Template]) -> list[str]:
    """The columns that templates read except labels, in order of first occurrence."""
    return list(dict.fromkeys(a.column for t in templates for a in t.observed))
