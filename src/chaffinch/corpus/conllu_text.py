"""The character offsets of the words of a CoNLL-U sentence in its text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chaffinch.text.document import Token

# The nine cells after the number; the form is the word.
CELLS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FORM, MISC = CELLS.index("form"), CELLS.index("misc")
# Labels that join two columns.
COMBINED = {"upos|feats": ("upos", "feats"), "xpos|feats": ("xpos", "feats")}
NOTHING = "_"

RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
EMPTY_NODE = re.compile(r"(0|[1-9][0-9]*)\.([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of the text as it is written: one word, or the multi-word token of several."""

    form: str
    words: list[str]
    space_after: bool


def labelled(names: Sequence[str], y: Sequence[str]) -> dict[str, list[str]]:
    """Labels in the column or the two columns that they are of.

    >>> labelled(("upos", "feats"), ["NOUN|Number=Sing", "X"])
    {'upos': ['NOUN', 'X'], 'feats': ['Number=Sing', '_']}
    """
    if len(names) == 1:
        return {names[0]: list(y)}
    first, second = names
    parts = [label.partition("|") for label in y]
    return {first: [a for a, _, _ in parts], second: [b or NOTHING for _, _, b in parts]}


def space_after(misc: str) -> bool:
    """Does the column say that a space follows?"""
    return "SpaceAfter=No" not in misc.split("|")


def text_of(units: Sequence[Unit]) -> str:
    """The text that forms and SpaceAfter spell.

    >>> text_of([Unit("don't", ["do", "n't"], True), Unit("go", ["go"], False), Unit(".", ["."], True)])
    "don't go."
    """
    pieces = [unit.form + " " * unit.space_after for unit in units[:-1]]
    return "".join([*pieces, units[-1].form])


def placed(units: Sequence[Unit], text: str) -> list[Token] | str:
    """The words as tokens of the text, or the first form that the text does not have at its place.

    Only white space may stand between units. The words of a multi-word token share it out if they spell it
    (do + n't), and else each has all of it (de + le, written du).

    >>> placed([Unit("du", ["de", "le"], True), Unit("vin", ["vin"], True)], "du vin")
    [Token(text='de', start=0, end=2), Token(text='le', start=0, end=2), Token(text='vin', start=3, end=6)]
    """
    tokens = []
    at = 0
    for unit in units:
        while not text.startswith(unit.form, at):
            if at >= len(text) or not text[at].isspace():
                return unit.form
            at += 1
        end = at + len(unit.form)
        if "".join(unit.words) == unit.form:
            for word in unit.words:
                tokens.append(Token(word, at, at + len(word)))
                at += len(word)
        else:
            tokens += [Token(word, at, end) for word in unit.words]
            at = end
    return tokens if not text[at:].strip() else text[at:].strip()
