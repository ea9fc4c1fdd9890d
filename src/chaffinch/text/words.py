"""Words: cutting plain text into words with their offsets, stems, stop words, and signatures of rare words."""

import re
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from chaffinch._core import word_offsets
from chaffinch.errors import ConfigError, DataError, missing_extra
from chaffinch.text.document import Token

MARK, WORD, SPACE = 0, 1, 2
ASCII = 0x80


@dataclass(frozen=True)
class WordRule:
    """The definition of a token: a maximal run of word characters, and perhaps each mark.

    shortest: minimum length of a word
    marks:    each character that is neither in a word nor white space is a token of its own
    joined:   marks are word characters, so that only white space separates
    pattern:  a regular expression that defines tokens instead; the rest of the text is left out
    """

    shortest: int = 1
    marks: bool = False
    joined: bool = False
    pattern: re.Pattern[str] | None = None

    def kinds(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        """The kind of each code point: uint8 [0x110000], or [128] if ``texts`` are ASCII."""
        return self.kinds_of(ascii=all(map(str.isascii, texts)))

    def kinds_of(self, *, ascii: bool) -> NDArray[np.uint8]:
        """The kind of each code point, or of ASCII alone."""
        return _kinds(self.joined, ASCII if ascii else sys.maxunicode + 1)


# Contractions are separated from their word ("is n't", "dog 's"), and so are ( ) , ! and ?; other marks are removed.
# This is the tokenisation of Kim 2014, "Convolutional neural networks for sentence classification".
_CONTRACTION = r"(?:n't|'(?:s|ve|re|d|ll|m))(?!\w)"
KIM = re.compile(rf"{_CONTRACTION}|(?:(?!{_CONTRACTION})[\w'`])+|[(),!?]", re.IGNORECASE)

WORD_RULES = {
    "words": WordRule(),
    "long-words": WordRule(shortest=2),
    "marks": WordRule(marks=True),
    "spaces": WordRule(joined=True),
    "kim": WordRule(joined=True, pattern=KIM),
}


def word_rule(name: str) -> WordRule:
    """A rule by name: ``words``, ``long-words`` (two characters or more), ``marks``, ``spaces``, ``kim``."""
    if name not in WORD_RULES:
        raise ConfigError(f"unknown word rule {name!r}; there are {', '.join(WORD_RULES)}")
    return WORD_RULES[name]


def lowered(texts: Sequence[str]) -> list[str]:
    """Texts beyond ASCII in lower case; the core converts the others."""
    return [text if text.isascii() else text.lower() for text in texts]


def word_tokens(text: str, rule: str = "words", *, lower: bool = False) -> list[Token]:
    """The tokens of a text; ``start`` and ``end`` count characters of the text as given.

    >>> [(t.text, t.start) for t in word_tokens("Zoë isn't late!", "marks", lower=True)]
    [('zoë', 0), ('isn', 4), ("'", 7), ('t', 8), ('late', 10), ('!', 14)]
    >>> [(t.text, t.start) for t in word_tokens("The dog's here; isn't it?", "kim")]
    [('The', 0), ('dog', 4), ("'s", 7), ('here', 10), ('is', 16), ("n't", 18), ('it', 22), ('?', 24)]
    """
    chosen = word_rule(rule)
    cut = text.lower() if lower else text
    if chosen.pattern is not None:
        bounds = [found.span() for found in chosen.pattern.finditer(cut)]
    else:
        try:
            _, starts, ends = word_offsets([cut], chosen.kinds([cut]), chosen.shortest, chosen.marks, False)
        except UnicodeEncodeError:
            raise surrogate_error([text]) from None
        bounds = list(zip(starts.tolist(), ends.tolist(), strict=True))
    if len(cut) == len(text):
        return [Token(cut[a:b], a, b) for a, b in bounds]
    # A few capitals become two characters: character k of the lower-cased text comes from origin[k].
    origin = [i for i, c in enumerate(text) for _ in c.lower()]
    return [Token(cut[a:b], origin[a], origin[b - 1] + 1) for a, b in bounds]


def surrogate_error(texts: Sequence[str]) -> DataError:
    """The error for the first text with half of a surrogate pair, which is no Unicode text."""
    for n, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            return DataError(
                f"document {n + 1}, character {error.start + 1}: a lone surrogate (U+{code:04X}) is not text; "
                "decode its source with errors='replace'"
            )
    raise AssertionError("no text holds a lone surrogate")


@cache
def _kinds(joined: bool, size: int) -> NDArray[np.uint8]:
    """The kind of the first code points by the running Python's Unicode tables: uint8 [size]."""
    kinds = np.full(size, WORD if joined else MARK, dtype=np.uint8)
    # Beyond plane 3 there are tags, variation selectors and private use: no letters, no digits, no spaces.
    planes = np.arange(min(size, 0x40000), dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for pattern, kind in ((r"\w+", WORD), (r"\s+", SPACE)):
        for run in re.finditer(pattern, planes):
            kinds[run.start() : run.end()] = kind
    kinds.flags.writeable = False
    return kinds


# Stemmers by language, for each thread: a stemmer shared between threads would mix up their words.
_stemmers = threading.local()


# Large enough for the words of a large corpus: with a smaller cache, a second pass in the same order would always miss.
@lru_cache(maxsize=1 << 17)
def _stem(word: str, language: str) -> str:
    """A word's stem."""
    own = vars(_stemmers)
    if language not in own:
        from snowballstemmer import stemmer

        own[language] = stemmer(language)
    stem: str = own[language].stemWord(word)
    return stem


STEMMERS = ("none", "stem", "lemma")
# The language codes of lemmas; stems use the language's name.
LANGUAGES = {"danish": "da", "dutch": "nl", "english": "en", "finnish": "fi", "french": "fr", "german": "de",
             "hungarian": "hu", "italian": "it", "norwegian": "nb", "portuguese": "pt", "romanian": "ro",
             "russian": "ru", "spanish": "es", "swedish": "sv", "turkish": "tr"}  # fmt: skip


def stems(words: list[str], how: str, language: str = "english") -> list[str]:
    """Each word unchanged (``none``), its Snowball stem, or its dictionary form (``lemma``).

    >>> stems(["happily", "geese"], "stem")
    ['happili', 'gees']
    """
    if how == "none":
        return words
    if language not in LANGUAGES:
        raise ConfigError(f"no {how} for {language!r}; there are {', '.join(LANGUAGES)}")
    if how == "stem":
        return [_stem(word, language) for word in words]
    try:
        from simplemma import lemmatize
    except ImportError:
        raise missing_extra("lemma", "simplemma") from None
    return [lemmatize(word, lang=LANGUAGES[language]) for word in words]


_ENGLISH = """
a about above after again against all am an and any are aren as at be because been before being
below between both but by can cannot could couldn d did didn do does doesn doing don down during
each few for from further had hadn has hasn have haven having he her here hers herself him himself
his how i if in into is isn it its itself just ll m ma me might mightn more most must mustn my
myself needn no nor not now o of off on once only or other ought our ours ourselves out over own re
s same shall shan she should shouldn so some such t than that the their theirs them themselves then
there these they this those through to too under until up upon us ve very was wasn we were weren
what when where which while who whom whose why will with won would wouldn y yet you your yours
yourself yourselves
"""

STOPWORDS = {"none": frozenset[str](), "english": frozenset(_ENGLISH.split())}


def stopwords(name: str) -> frozenset[str]:
    """The stop words of a language, lower-cased, with pieces that word rules cut off ("isn" and "t").

    >>> sorted(w for w in ("not", "happy", "i") if w in stopwords("english"))
    ['i', 'not']
    """
    if name not in STOPWORDS:
        raise ConfigError(f"no stop words for {name!r}; there are {', '.join(STOPWORDS)}")
    return STOPWORDS[name]


# Endings that are informative about an English word's part of speech, the longest first.
ENDINGS = ("tion", "ing", "ity", "ness", "ment", "able", "ible", "ous", "ive", "ful", "est", "ion", "ers",
           "ed", "ly", "al", "er", "or", "ic", "es", "'s", "s", "y")  # fmt: skip
_NUMBER = re.compile(r"[+-]?[\d.,:/\\-]*\d[\d.,:/\\-]*")


def signature(word: str) -> str:
    """The signature of a word: its case, digits, hyphens and ending.

    >>> [signature(w) for w in ("1,200", "Chaffinches", "NASA", "well-known", "reranking", "3rd")]
    ['number', 'Xx-es', 'X', 'x-hyphen', 'x-ing', 'x-digit']
    """
    if _NUMBER.fullmatch(word):
        return "number"
    if not any(c.isalpha() for c in word):
        return "sign"
    case = "x" if word[0].islower() or not word[0].isalpha() else "X" if word.isupper() else "Xx"
    if any(c.isdigit() for c in word):
        return f"{case}-digit"
    if "-" in word.strip("-"):
        return f"{case}-hyphen"
    if case == "X":
        return case
    lower = word.lower()
    return next(
        (f"{case}-{end}" for end in ENDINGS if lower.endswith(end) and len(lower) > len(end) + 2), case
    )
