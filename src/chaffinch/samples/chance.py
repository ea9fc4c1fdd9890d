"""A random number generator of our own, so that a seed gives the same samples on every machine and version."""

from collections.abc import Callable, Sequence
from typing import TypeVar

SPLITS = ("train", "dev", "test")
SEED = 13  # the default seed

_MASK = (1 << 64) - 1
_T = TypeVar("_T")


class Chance:
    """SplitMix64 (Steele, Lea and Flood 2014), seeded by a number and any names.

    Different names give independent streams from the same seed.

    >>> Chance(1, "ingredients", "train").below(1000) == Chance(1, "ingredients", "train").below(1000)
    True
    >>> Chance(1, "ingredients", "test").below(10**6) == Chance(1, "ingredients", "train").below(10**6)
    False
    """

    def __init__(self, seed: int, *names: str, careful: bool = False) -> None:
        self.careful = careful
        self._state = seed & _MASK
        for name in names:
            self._state = self.next() ^ _fingerprint(name)

    def next(self) -> int:
        """Sixty-four random bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        """A whole number in [0, n); the bias of at most n / 2^64 is negligible."""
        return (self.next() * n) >> 64

    def between(self, low: int, high: int) -> int:
        """A whole number in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def happens(self, probability: float) -> bool:
        """True with this probability."""
        return (self.next() >> 11) * 2.0**-53 < probability

    def slip(self, probability: float, right: _T, wrong: Callable[[], _T]) -> _T:
        """The annotator's label: wrong with this probability. A careful annotator draws the same numbers but is right.

        So a seed gives the same texts in both cases, and comparing the two shows which labels are errors.
        """
        if not self.happens(probability):
            return right
        drawn = wrong()
        return right if self.careful else drawn

    def pick(self, items: Sequence[_T]) -> _T:
        """One of the items, all equally likely."""
        return items[self.below(len(items))]

    def favour(self, items: Sequence[_T]) -> _T:
        """One of the items, earlier ones more often: the lower of two draws."""
        n = len(items)
        return items[min(self.below(n), self.below(n))]

    def weighted(self, items: Sequence[tuple[int, _T]]) -> _T:
        """One of the items, with probability proportional to its integer weight."""
        left = self.below(sum(weight for weight, _ in items))
        for weight, item in items:
            left -= weight
            if left < 0:
                return item
        raise AssertionError("weights are positive")

    def some(self, items: Sequence[_T], k: int) -> list[_T]:
        """``k`` different items in random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(k)]


def phrases(text: str) -> tuple[str, ...]:
    """A word list; entries are separated by commas or line ends.

    >>> phrases('''plain flour, milk
    ...            rice''')
    ('plain flour', 'milk', 'rice')
    """
    entries = (" ".join(entry.split()) for line in text.splitlines() for entry in line.split(","))
    return tuple(entry for entry in entries if entry)


def vocabulary(entries: Sequence[_T], split: str) -> list[_T]:
    """The entries that a split may use: of every seven, the sixth is reserved for dev, the seventh for test.

    So dev and test each contain words that do not occur in training, and these words differ.

    >>> "".join(vocabulary("abcdefghijklmn", "train")), "".join(vocabulary("abcdefghijklmn", "test"))
    ('abcdehijkl', 'abcdeghijkln')
    """
    kept_back = {"dev": 5, "test": 6}
    return [e for i, e in enumerate(entries) if i % 7 < 5 or i % 7 == kept_back.get(split)]


def misspelt(word: str, chance: Chance) -> str:
    """The word with two letters swapped, one dropped or one doubled; short words are unchanged."""
    if len(word) < 5 or not word.isalpha():
        return word
    i = chance.between(1, len(word) - 3)
    slip = chance.below(3)
    if slip == 0:
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if slip == 1:
        return word[:i] + word[i + 1 :]
    return word[:i] + word[i] + word[i:]


def _fingerprint(name: str) -> int:
    """FNV-1a of a name's bytes."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & _MASK
    return h
