"""Span conventions: definitions of the spans of a tag sequence, stated as data.

There are several definitions of "span F1". Each definition here is a way to read one tag as (prefix, type) and a
table that says, for two neighbouring tags, whether a span ends between them and whether one starts.

A rule is written ``before relation here``: prefixes on both sides, and between them ``>`` (any types), ``=`` (same
type) or ``!`` (different types). ``*`` is any prefix, ``+`` any but ``O`` and ``.``. So ``B!I`` means "a B followed
by an I of another type".
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import SpanCounter
from chaffinch.errors import ConfigError, DataError

# In the order of the native table; the last one stands for every other prefix.
PREFIXES = "BIOESUL.[]?"
SPAN_PREFIXES = frozenset("BIESUL")

_STARTS, _ENDS, _INSIDE = 1, 2, 4


@dataclass(frozen=True)
class Convention:
    """One definition of a span.

    loose:    a span ends wherever the table says so; if not loose, only if it also started and continued by the table
    streamed: spans are counted at their start and compared in one pass over the tokens, as in conlleval
    outside:  the type of an O between sentences; first: the type before the first sentence
    allowed:  the prefixes that may occur, if not all
    """

    name: str
    parse: Callable[[str], tuple[str, str]]
    starts: str
    ends: str
    inside: str = ""
    loose: bool = True
    streamed: bool = False
    outside: str = ""
    first: str = ""
    allowed: str = ""
    scheme: str | None = None

    @cached_property
    def cells(self) -> NDArray[np.uint8]:
        """uint8 [prefixes * prefixes * 2]: the bits of starts, ends and inside."""
        table = np.zeros((len(PREFIXES), len(PREFIXES), 2), dtype=np.uint8)
        for bit, rules in ((_STARTS, self.starts), (_ENDS, self.ends), (_INSIDE, self.inside)):
            for before, relation, here in map(tuple, rules.split()):
                for same in {">": (0, 1), "=": (1,), "!": (0,)}[relation]:
                    table[np.ix_(_matching(before), _matching(here), [same])] |= bit
        return np.ascontiguousarray(table.ravel())

    def counter(self, labels: Sequence[str]) -> tuple[SpanCounter, list[str]]:
        """The native counter for sequences of these labels' ids, and the span types by id."""
        parsed = [self._parsed(label) for label in labels]
        types = sorted({self.outside} | {kind for _, kind in parsed})
        ids = {kind: i for i, kind in enumerate(types)}
        counter = SpanCounter(
            len(labels),
            np.array([_prefix_id(prefix) for prefix, _ in parsed], dtype=np.uint8),
            np.array([ids[kind] for _, kind in parsed], dtype=np.int32),
            len(types),
            self.cells,
            self.loose,
            self.streamed,
            ids[self.outside],
            ids.get(self.first, -1),
        )
        return counter, types

    def _parsed(self, label: str) -> tuple[str, str]:
        if not label:
            raise DataError("an empty tag: every token needs one (O for no span)")
        prefix, kind = self.parse(label)
        if self.allowed and prefix not in self.allowed:
            rules = f"{self.name} ({self.scheme})" if self.scheme else self.name
            raise DataError(f"tag {label!r}: {rules} allows only the prefixes {' '.join(self.allowed)}")
        return prefix, kind


def convention(name: str, scheme: str | None = None, labels: Collection[str] = ()) -> Convention:
    """The convention of this name; ``seqeval-strict`` infers its scheme from the labels unless it is given.

    >>> convention("conlleval").name, convention("seqeval-strict", labels=["B-NP", "I-NP", "O"]).scheme
    ('conlleval', 'IOB2')
    """
    if name not in CONVENTIONS:
        raise ConfigError(f"unknown convention {name!r}; there are {', '.join(CONVENTIONS)}")
    if name != STRICT:
        if scheme is not None:
            raise ConfigError(
                f"a scheme applies only to {STRICT}; {name} reads every scheme by the same rules"
            )
        return _LOOSE[name]
    if scheme is None:
        scheme = _detected_scheme(labels)
    if scheme.upper() not in _SCHEMES:
        raise ConfigError(f"unknown scheme {scheme!r}; there are {', '.join(_SCHEMES)}")
    return _SCHEMES[scheme.upper()]


def marks_spans(labels: Collection[str]) -> bool:
    """Whether labels look like span tags: O, or a prefix letter, a hyphen and a type; or letters alone, with B and I.

    >>> marks_spans(["B-NP", "I-NP", "O"]), marks_spans(["NN", "VB"]), marks_spans(["O"])
    (True, False, False)
    >>> marks_spans(["B", "I", "O"]), marks_spans(["S", "O"])
    (True, False)
    """
    kinds = {label for label in labels if label != "O"}
    if {"B", "I"} <= kinds:
        return all(len(k) == 1 and k in SPAN_PREFIXES for k in kinds)
    return bool(kinds) and all(k[:1] in SPAN_PREFIXES and k[1:2] == "-" for k in kinds)


def _matching(sign: str) -> list[int]:
    if sign == "*":
        return list(range(len(PREFIXES)))
    if sign == "+":
        return [i for i, p in enumerate(PREFIXES) if p not in "O."]
    return [PREFIXES.index(sign)]


def _prefix_id(prefix: str) -> int:
    known = len(prefix) == 1 and prefix in PREFIXES
    return PREFIXES.index(prefix) if known else len(PREFIXES) - 1


def _at_first_hyphen(label: str) -> tuple[str, str]:
    prefix, _, kind = label.partition("-")
    return prefix, kind


def _after_first_hyphen(label: str) -> tuple[str, str]:
    return label[0], label[1:].split("-", maxsplit=1)[-1] or "_"


def _without_hyphens_around(label: str) -> tuple[str, str]:
    return label[0], label[1:].strip("-") or "_"


def _from_third_character(label: str) -> tuple[str, str]:
    return label[0], label[2:]


def _detected_scheme(labels: Collection[str]) -> str:
    prefixes = {label[:1] for label in labels} - {"O", ""}
    for scheme, needed, allowed in (
        ("IOB2", "B", "BI"),
        ("IOE2", "E", "EI"),
        ("IOB1", "", "I"),
        ("IOBES", "", "BIES"),
        ("BILOU", "", "BILU"),
    ):
        if prefixes >= set(needed) and prefixes <= set(allowed):
            return scheme
    seen = " ".join(sorted(prefixes))
    raise ConfigError(f"cannot detect the scheme from the prefixes {seen}; name one of {', '.join(_SCHEMES)}")


# The shared-task script of Tjong Kim Sang and Buchholz 2000, with its one-token brackets [ and ].
_CONLLEVAL = Convention(
    "conlleval",
    _at_first_hyphen,
    starts="B>B I>B O>B O>I E>E E>I O>E *!+ *>[ *>]",
    ends="B>B B>O I>B I>O E>E E>I E>O +!* [>* ]>*",
    streamed=True,
)

# seqeval 1.2.2 without mode: its own table, which reads all sentences as one sequence with an O after each.
_SEQEVAL = Convention(
    "seqeval",
    _after_first_hyphen,
    starts="*>B *>S E>E E>I S>E S>I O>E O>I *!+",
    ends="E>* S>* B>B B>S B>O I>B I>S I>O +!*",
    outside="_",
)

# The course project's scorer: an I continues the span before it if the types agree, otherwise it starts one.
_HMM_PROJECT = Convention(
    "hmm-project",
    _from_third_character,
    starts="*>B O>I *!I",
    ends="B>B I>B B>O I>O B!I I!I",
    allowed="BIO",
)


def _strict(scheme: str, starts: str, inside: str, ends: str) -> Convention:
    return Convention(
        STRICT,
        _without_hyphens_around,
        starts,
        ends,
        inside,
        loose=False,
        outside="_",
        first="_",
        allowed=scheme.rstrip("12").replace("IOB", "BIO").replace("IOE", "EIO"),
        scheme=scheme,
    )


STRICT = "seqeval-strict"
_BEGIN_INSIDE = "B=I I=I"

# seqeval 1.2.2 with mode="strict": a span counts only if it starts, continues and ends as the scheme says.
_SCHEMES = {
    rules.scheme or "": rules
    for rules in (
        _strict("IOB1", "O>I I!I B>I I=B B=B", _BEGIN_INSIDE, "I!I I>O I>B B>O B!I B=B"),
        _strict("IOB2", "*>B", _BEGIN_INSIDE, "I>O I!I I>B B>O B!I B>B"),
        _strict("IOE1", "O>I I!I E>I E=E", "I=I I=E", "I!I I>O I!E E=I E=E"),
        _strict("IOE2", "O>I O>E E>I E>E I!I I!E", "I=E I=I", "E>*"),
        _strict("IOBES", "*>B *>S", "B=I B=E I=I I=E", "S>* E>*"),
        _strict("BILOU", "*>B *>U", "B=I B=L I=I I=L", "U>* L>*"),
    )
}
SCHEMES = tuple(_SCHEMES)

_LOOSE = {rules.name: rules for rules in (_CONLLEVAL, _SEQEVAL, _HMM_PROJECT)}
CONVENTIONS = (*_LOOSE, STRICT)
