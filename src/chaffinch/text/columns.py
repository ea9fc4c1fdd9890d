"""Columns: functions of a word, evaluated once per distinct word and gathered by id."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from chaffinch.errors import ConfigError
from chaffinch.text.linear_patterns import LinearPattern
from chaffinch.text.sentence_structure import SENTENCE_COLUMNS
from chaffinch.text.words import stems

WordFunction = Callable[[str], str | None]
WordsFunction = Callable[[list[str]], Sequence[str | None]]
SentenceFunction = Callable[[list[str]], list[str | None]]

# Columns that the core computes: the name in a template, the core's name, and the meaning.
NATIVE = {
    "lower": ("lower", "the word in lower case"),
    "shape": ("shape", "letters and digits folded, runs squeezed: McDonald's is XxXx'x, 1,200 is d,d"),
    "longshape": ("long_shape", "the same, runs kept: XxXxxxxx'x, d,ddd"),
    "caps": ("caps", "lower, initial, upper, mixed or none, and the other signs in it: initial+hyphen"),
    "digit": ("digit", "all if every character is a digit, some if any is; else no value"),
    "hyphen": ("hyphen", "yes if there is a hyphen inside; else no value"),
    "fold": ("fold", "lower case, each run of digits written 0: 1990s is 0s"),
    "length": ("length", "its length in code points, in buckets"),
}
NATIVE_NUMBERED = {
    "prefix": ("prefix", "its first N code points; no value if it has fewer"),
    "suffix": ("suffix", "its last N code points; no value if it has fewer"),
    "cluster": ("cluster", "the first N bits of its cluster's path; plain `cluster` is the whole path"),
    "bit": (
        "bit",
        "1 if bit N of an image in hexadecimal digits is set, from the left, the first is 0; else no value",
    ),
}

_NUMBERED = re.compile(r"(prefix|suffix|cluster|bit)(\d{1,4})")
_registered: dict[str, WordFunction] = {}
_registered_sentence: dict[str, SentenceFunction] = {}


@dataclass(frozen=True)
class NativeColumn:
    """A column that the core computes."""

    function: str
    parameter: int = 0


def column(name: str) -> Callable[[WordFunction], WordFunction]:
    """Register a function of a word as a column, for use in templates under this name.

    >>> @column("vowels")
    ... def vowels(word: str) -> str | None:
    ...     return "".join(c for c in word if c in "aeiou") or None
    >>> words_column("vowels")(["Chaffinch", "tsk"])
    ['ai', None]
    """

    def decorate(function: WordFunction) -> WordFunction:
        register_column(name, function)
        return function

    return decorate


def register_column(name: str, function: WordFunction) -> None:
    """Register a function of a word as a column; None means that the word has no value there.

    A name may be registered again; the names of built-in columns may not.
    """
    _check_name(name)
    _registered_sentence.pop(name, None)
    _registered[name] = function


def register_sentence_column(name: str, function: SentenceFunction) -> None:
    """Register a function of a whole sentence as a column: its words in, one value (or None) per word out.

    >>> register_sentence_column("middle", lambda words: ["yes" if 2 * i + 1 == len(words) else None
    ...                                                   for i in range(len(words))])
    """
    _check_name(name)
    _registered.pop(name, None)
    _registered_sentence[name] = function


def sentence_column(name: str) -> SentenceFunction | None:
    """The registered function of a sentence with this name, if there is one."""
    return _registered_sentence.get(name)


def is_registered(name: str) -> bool:
    """Whether a user's column has this name."""
    return name in _registered or name in _registered_sentence


def native_column(name: str) -> NativeColumn | None:
    """The core's function with this name, if there is one.

    >>> native_column("suffix3")
    NativeColumn(function='suffix', parameter=3)
    """
    if name in NATIVE:
        return NativeColumn(NATIVE[name][0])
    if name == "cluster":
        return NativeColumn("cluster")
    numbered = _NUMBERED.fullmatch(name)
    if numbered and (numbered.group(1) == "bit" or 0 < int(numbered.group(2)) < 1000):
        return NativeColumn(NATIVE_NUMBERED[numbered.group(1)][0], int(numbered.group(2)))
    return None


def words_column(name: str, language: str = "english") -> WordsFunction | None:
    """The Python function of a list of words with this name, if there is one."""
    if name == "stem":
        return lambda words: stems([word.lower() for word in words], "stem", language)
    if name == "lemma":
        return lambda words: stems(words, "lemma", language)
    function = _registered.get(name)
    return None if function is None else lambda words: [function(word) for word in words]


def known_columns() -> list[str]:
    """The names of all functions of a word, for messages."""
    numbered = [f"{name}N" for name in NATIVE_NUMBERED]
    return [*NATIVE, *numbered, "stem", "lemma", *_registered, *_registered_sentence]


def pattern_column(regex: str, what: str, lower: bool, name: str) -> WordsFunction:
    """A regular expression as a column: "hit" (yes or none), "test" (true or false), "match" (the text)."""
    try:
        compiled = LinearPattern(regex)
    except (re.error, OverflowError, RecursionError) as e:
        raise ConfigError(f"pattern {name}: {regex!r} is not a regular expression: {e}") from None
    except ValueError as e:
        raise ConfigError(f"pattern {name}: {regex!r} is refused: {e}") from None

    def value(word: str) -> str | None:
        if what == "hit":
            return "yes" if compiled.test(word) else None
        if what == "test":
            return "true" if compiled.test(word) else "false"
        text = compiled.search(word) or ""
        return text.lower() if lower else text

    return lambda words: [value(word) for word in words]


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]*", name):
        raise ConfigError(f"{name!r} cannot name a column; use letters, digits, _ . : and -")
    built_in = name in ("w", "y", "bias", "any", "stem", "lemma", *SENTENCE_COLUMNS)
    if built_in or native_column(name) is not None or name.startswith("gaz"):
        raise ConfigError(f"{name!r} is the name of a built-in column; choose another")


@cache
def code_point_kinds(page: int) -> bytes:
    """The kind of each of 256 code points: 0 other, 1 upper, 2 lower, 3 digit, 4 another letter."""
    return bytes(_kind(chr(page * 256 + i)) for i in range(256))


def _kind(c: str) -> int:
    if c.isupper() or c.istitle():
        return 1
    if c.islower():
        return 2
    if c.isdigit():
        return 3
    return 4 if c.isalpha() else 0
