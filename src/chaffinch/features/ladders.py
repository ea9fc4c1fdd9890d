"""Ladders: the ever narrower classes of words that an unseen word is taken for.

A ladder lists the rungs of a word from the widest ("*", any word) to the narrowest. A model that has never seen
the word reads the narrowest rung that it knows.
"""

from collections.abc import Callable

Ladder = Callable[[str], list[str]]

LONGEST_SUFFIX = 5

# Endings that hint at a part of speech in English, longest first; elsewhere they are harmless.
_ENDINGS = sorted(
    "able al ance ate ed en ence er est ful ible ic ing ion ise ish ism ist ity ive ize less ly ment ness "
    "ous s ship tion y".split(),
    key=lambda ending: (-len(ending), ending),
)


def one(_: str) -> list[str]:
    """All unseen words are one."""
    return ["*"]


def classes(word: str) -> list[str]:
    """Unseen words by case and ending.

    >>> classes("Rockwellian"), classes("jogging"), classes("1990s")
    (['*', 'Xx', 'Xx'], ['*', 'x', 'x-ing'], ['*', '9x', '9x'])
    """
    case = case_class(word)
    lowered = word.lower()
    ending = next((e for e in _ENDINGS if lowered.endswith(e) and len(lowered) > len(e) + 1), "")
    return ["*", case, f"{case}-{ending}" if ending and case in _LETTERED else case]


def suffixes(word: str) -> list[str]:
    """Unseen words by case, then by their last letter, last two, up to five, then whatever their case.

    >>> suffixes("Dog")
    ['*', 'Xx', 'Xx g', 'Xx og', 'Xx dog', '= dog']
    """
    case = case_class(word)
    lowered = word.lower()
    longest = min(len(lowered), LONGEST_SUFFIX)
    ends = [f"{case} {lowered[-n:]}" for n in range(1, longest + 1)]
    return ["*", case, *ends, f"= {lowered}"]


def case_class(word: str) -> str:
    """What a word looks like at a glance.

    >>> [case_class(w) for w in ["Dog", "dog", "DOG", "iPod", "1990", "3rd", "@ann", "#wow", "--", "co-op"]]
    ['Xx', 'x', 'XX', 'xX', '9', '9x', '@', '#', '.', 'x-x']
    """
    if word[:1] in "@#" and len(word) > 1:
        return word[0]
    if word.startswith(("http:", "https:", "www.")):
        return "://"
    if word.isdigit():
        return "9"
    if any(c.isdigit() for c in word):
        return "9x" if any(c.isalpha() for c in word) else "9."
    if not any(c.isalpha() for c in word):
        return "."
    hyphen = "-" in word[1:-1]
    if word.isupper():
        return "X-X" if hyphen else ("XX" if len(word) > 1 else "X")
    if word[0].isupper():
        return "Xx-x" if hyphen else "Xx"
    if word.islower():
        return "x-x" if hyphen else "x"
    return "xX"


_LETTERED = {"Xx", "x", "XX", "xX", "Xx-x", "x-x", "X-X"}

LADDERS: dict[str, Ladder] = {"one": one, "classes": classes, "suffix": suffixes}
