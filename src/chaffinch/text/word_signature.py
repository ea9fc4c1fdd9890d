"""Classes of words by their form alone, for words seen rarely or never."""

import re

# Endings that say something about an English word's part of speech, the longest first.
ENDINGS = ("tion", "ing", "ity", "ness", "ment", "able", "ible", "ous", "ive", "ful", "est", "ion", "ers",
           "ed", "ly", "al", "er", "or", "ic", "es", "'s", "s", "y")  # fmt: skip
_NUMBER = re.compile(r"[+-]?[\d.,:/\\-]*\d[\d.,:/\\-]*")


def signature(word: str) -> str:
    """Its case, digits, hyphens and ending.

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
