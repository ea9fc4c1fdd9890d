"""Tag schemes: spans of tokens as one tag per token. No other folder knows a scheme.

A tag is ``O``, or a letter with a type (``B-PER``), or a letter alone if there is one type only. The letters
are B (begins a span), I (inside), E (ends it) and S (a span of one token); BILOU writes L and U for E and S.
A scheme says which letters can be joined to the token before or after into one span, and which must be; all
else here is derived from that table, with the sentence's ends counted as ``O``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from chaffinch.errors import ConfigError, DataError

OUTSIDE = "O"


@dataclass(frozen=True)
class Scheme:
    """One row of the table, letters in the spelling of BIOES.

    joins_after, joins_before: a token is joined to the next one of its type if its letter is in the first and
                               the next one's in the second
    must_after, must_before:   letters that are wrong unless joined in this way
    touch_after, touch_before: letters that are wrong unless the neighbour has the same type
    spelling:                  letters that the scheme writes differently
    """

    name: str
    letters: str
    joins_after: str
    joins_before: str
    must_after: str = ""
    must_before: str = ""
    touch_after: str = ""
    touch_before: str = ""
    spelling: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.name


IO = Scheme("IO", "I", "I", "I")
IOB1 = Scheme("IOB1", "BI", "BI", "I", touch_before="B")
BIO = Scheme("BIO", "BI", "BI", "I", must_before="I")
IOE1 = Scheme("IOE1", "IE", "I", "IE", touch_after="E")
IOE2 = Scheme("IOE2", "IE", "I", "IE", must_after="I")
BIOES = Scheme("BIOES", "BIES", "BI", "IE", must_after="BI", must_before="IE")
BILOU = Scheme("BILOU", "BIES", "BI", "IE", must_after="BI", must_before="IE", spelling={"E": "L", "S": "U"})

# In the order in which detection prefers them.
SCHEMES = {s.name: s for s in (BIO, IO, IOB1, IOE2, IOE1, BIOES, BILOU)}
ALIASES = {"IOB2": "BIO", "IOB": "IOB1", "IOBES": "BIOES", "IOE": "IOE1"}


def scheme_named(name: str | Scheme) -> Scheme:
    """The scheme of this name, in upper or lower case; IOB2 is BIO and IOBES is BIOES.

    >>> scheme_named("iob2") is BIO
    True
    """
    if isinstance(name, Scheme):
        return name
    known = ALIASES.get(name.upper(), name.upper())
    if known not in SCHEMES:
        raise ConfigError(f"there is no tag scheme {name!r}; there are {', '.join([*SCHEMES, *ALIASES])}")
    return SCHEMES[known]


def scheme_of(labels: Sequence[str]) -> Scheme | None:
    """The scheme in which labels mark spans, whatever their order; None if they mark none.

    >>> scheme_of(["O", "B-PER", "I-PER"]) is BIO, scheme_of(["NN", "VB"]), scheme_of(["O"])
    (True, None, None)
    """
    if not any(label != OUTSIDE for label in labels):
        return None
    return next((s for s in (BIO, BIOES, BILOU) if all(letter_and_type(label, s) for label in labels)), None)


_LIKE_A_TAG = re.compile(r"([BIESLU])[-_:./](.+)", re.IGNORECASE)
_LIKE_A_TAG_REVERSED = re.compile(r"(.+)[-_:./]([BIESLU])")


def scheme_doubt(labels: Sequence[str]) -> str | None:
    """A remark on labels that seem to mark spans, but are tags of no scheme; None if there is no doubt.

    >>> scheme_doubt(["B-PER", "I-PER", "O"]), scheme_doubt(["NN", "VB", "B-X"])
    (None, None)
    >>> scheme_doubt(["B-PER", "I-PER", "OTHER"])[:77]
    'labels such as B-PER, I-PER look like tags of spans, but OTHER is no tag of a'
    """
    if scheme_of(labels) is not None:
        return None
    types = sorted(set(labels))
    found = [label for label in types if (m := _LIKE_A_TAG.fullmatch(label)) and m[2]]
    letters = {label[0].upper() for label in found}
    if not found:
        found = [label for label in types if _LIKE_A_TAG_REVERSED.fullmatch(label)]
        letters = {label[-1] for label in found}
    if "B" not in letters or len(letters) < 2 or 2 * len(found) < len(types):
        return None
    stray = [label for label in types if all(letter_and_type(label, s) is None for s in (BIO, BIOES, BILOU))]
    if not stray:
        why = f"no scheme has all the letters {', '.join(sorted(letters))}"
    elif set(found) <= set(stray):
        why = "are spelt as in no scheme"
    else:
        why = f"{', '.join(stray[:3])} {'is no tag' if len(stray) == 1 else 'are no tags'} of a scheme"
    return (
        f"labels such as {', '.join(found[:3])} look like tags of spans, but {why}: they are learned as plain labels, "
        "without spans; a tag is O, or a letter, a hyphen and a type, such as B-PER"
    )


def tag_set(types: Sequence[str], scheme: str | Scheme) -> list[str]:
    """Every tag of a scheme for these span types, O first.

    >>> tag_set(["PER"], "BIOES")
    ['O', 'B-PER', 'I-PER', 'E-PER', 'S-PER']
    """
    scheme = scheme_named(scheme)
    return [OUTSIDE, *(tag(letter, kind, scheme) for kind in types for letter in scheme.letters)]


def tag(letter: str, kind: str, scheme: Scheme) -> str:
    """The tag of a letter and a type."""
    spelled = scheme.spelling.get(letter, letter)
    return f"{spelled}-{kind}" if kind else spelled


def letter_and_type(tag: str, scheme: Scheme) -> tuple[str, str] | None:
    """The letter and the type of a tag, or None if it is not a tag of the scheme.

    >>> letter_and_type("L-creative-work", BILOU), letter_and_type("O", BIO), letter_and_type("NN", BIO)
    (('E', 'creative-work'), ('O', ''), None)
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    spelled, dash, kind = tag.partition("-")
    letter = next((a for a in scheme.letters if scheme.spelling.get(a, a) == spelled), None)
    return None if letter is None or (dash and not kind) else (letter, kind)


def known_letter_and_type(tag: str, scheme: Scheme) -> tuple[str, str]:
    """As :func:`letter_and_type`; a string that is no tag is an error."""
    found = _KNOWN.get((scheme.name, tag))
    if found is None:
        found = letter_and_type(tag, scheme)
        if found is None:
            raise DataError(f"{tag!r} is not a tag of {scheme}, which has the letters {letters_text(scheme)}")
        if len(_KNOWN) < _MOST_KNOWN:
            _KNOWN[scheme.name, tag] = found
    return found


_KNOWN: dict[tuple[str, str], tuple[str, str]] = {}  # tags are few and read often
_MOST_KNOWN = 4096


def spelled(scheme: Scheme, first: bool, last: bool, touched: bool, touching: bool) -> str:
    """The letter of a token, by whether it is the first or last of its span and whether a span of its type touches."""
    if first and last and "S" in scheme.letters:
        return "S"
    if first and "B" in scheme.letters and (touched or "B" not in scheme.touch_before):
        return "B"
    if last and "E" in scheme.letters and (touching or "E" not in scheme.touch_after):
        return "E"
    return "I"


def letters_text(scheme: Scheme) -> str:
    """The letters as a message lists them: ``B, I and O``."""
    return f"{', '.join(scheme.spelling.get(a, a) for a in scheme.letters)} and {OUTSIDE}"
