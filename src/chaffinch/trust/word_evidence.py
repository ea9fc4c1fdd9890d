"""Contributions by word: each is divided evenly among the tokens or places that it reads."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from chaffinch.model.evidence import CONSTANT, FEATURE, REST, Grams
from chaffinch.trust.explain import Contribution, Evidence

Forms = Mapping[str, Collection[str]]  # the stems of a word, for features that read stems

_PIECE = re.compile(r"\w+|[^\w\s]")


class TextPieces:
    """The words and punctuation of a text, and the places of n-grams among them.

    spans: their bounds, in characters

    >>> pieces = TextPieces("No geese, no tea!", {"geese": ["goose"]})
    >>> grams = [Grams(("no goose",)), Grams(("no", "tea!")), Grams(("o te",), characters=True)]
    >>> [pieces.touched(one) for one in grams]
    [[0, 1], [0, 3, 4, 5], [3, 4]]
    """

    def __init__(self, text: str, forms: Forms | None = None) -> None:
        self.text = text
        self.spans = [match.span() for match in _PIECE.finditer(text)]
        self._lower = "".join(" " if c.isspace() else c.lower() if len(c.lower()) == 1 else c for c in text)
        self._padded, self._starts = f" {self._lower} ", [start for start, _ in self.spans]
        self._words = [self._lower[a:b] for a, b in self.spans]
        self._called = {word: {word, *(forms or {}).get(word, ())} for word in set(self._words)}
        self._places: dict[str, list[int]] = {}
        for i, word in enumerate(self._words):
            for name in self._called[word]:
                self._places.setdefault(name, []).append(i)

    def word(self, i: int) -> str:
        """Piece i in lower case."""
        return self._words[i]

    def read(self, c: Contribution) -> list[int]:
        """The pieces that a contribution reads."""
        return [] if c.seen.grams is None else self.touched(c.seen.grams)

    def touched(self, grams: Grams) -> list[int]:
        """The pieces that any of these n-grams covers."""
        find = self._of_characters if grams.characters else self._of_words
        return sorted({i for gram in grams.texts for i in find(gram.lower())})

    def _of_words(self, gram: str) -> Iterator[int]:
        """The places of a word n-gram: pieces of one word are adjacent, punctuation may stand between words."""
        wanted = [
            (piece, k == 0)
            for word in gram.split()
            for k, piece in enumerate(match.group() for match in _PIECE.finditer(word))
        ]
        for first in self._places.get(wanted[0][0], ()) if wanted else ():
            found = [first]
            for piece, opens in wanted[1:]:
                at = found[-1] + 1
                while opens and at < len(self._words) and self._is_other_sign(at, piece):
                    at += 1
                if at == len(self._words) or piece not in self._called[self._words[at]]:
                    break
                found.append(at)
            else:
                yield from found

    def _is_other_sign(self, at: int, piece: str) -> bool:
        word = self._words[at]
        return word != piece and not (word[0].isalnum() or word[0] == "_")

    def _of_characters(self, gram: str) -> Iterator[int]:
        text, at = self._padded, -1
        while gram.strip() and (at := text.find(gram, at + 1)) >= 0:
            begin, end = max(at - 1, 0), at - 1 + len(gram)
            i = max(bisect_right(self._starts, begin) - 1, 0)
            while i < len(self.spans) and self.spans[i][0] < end:
                if begin < self.spans[i][1]:
                    yield i
                i += 1


def text_evidence(one: Evidence, pieces: TextPieces) -> list[float]:
    """The contribution of each piece of a text; an n-gram is divided evenly among its occurrences.

    >>> from chaffinch.model.evidence import Seen
    >>> seen = [Contribution(gram, w, seen=Seen(grams=Grams((gram,)))) for gram, w in (("no tea", 1.0), ("tea", 0.5))]
    >>> text_evidence(Evidence("", "X", 1.5, tuple(seen)), TextPieces("No tea!"))
    [0.5, 1.0, 0.0]
    """
    return _divided(one, len(pieces.spans), pieces.read)


def token_evidence(one: Evidence, T: int) -> list[float]:
    """The contribution of each of T tokens; a feature of several tokens is divided evenly.

    >>> from chaffinch.model.evidence import Seen
    >>> seen = (Contribution("a b", 1.0, place=1, seen=Seen(offsets=(-1, 0))),
    ...         Contribution("</s>", 0.5, place=1, seen=Seen(offsets=(2,))))
    >>> token_evidence(Evidence("b", "X", 1.5, seen), 2)
    [0.5, 1.0]
    """
    return _divided(one, T, lambda c: c.tokens(T))


def _divided(one: Evidence, n: int, read: Callable[[Contribution], list[int]]) -> list[float]:
    found = [0.0] * n
    for c in one.contributions:
        places = read(c)
        for i in places:
            found[i] += c.difference / len(places)
    return found


Group = tuple[str, str, int | None]  # name, kind and token of contributions that are summed
Grouping = Callable[[Contribution], Sequence[Group]]


def grouped(one: Evidence, groups: Grouping) -> Evidence:
    """The same decision with contributions summed by group; one that belongs to several groups is divided evenly.

    >>> seen = tuple(Contribution(name, 1.0) for name in ("ab", "ac", "b"))
    >>> found = grouped(Evidence("", "X", 3.0, seen), lambda c: [(c.name[0], c.kind, None)])
    >>> [(c.name, c.weight) for c in found.contributions]
    [('a', 2.0), ('b', 1.0)]
    """
    sums: dict[Group, tuple[float, float]] = {}
    for c in one.contributions:
        shares = groups(c)
        for group in shares:
            weight, rival = sums.get(group, (0.0, 0.0))
            scale = c.value / len(shares)
            sums[group] = weight + scale * c.weight, rival + scale * c.rival
    made = (Contribution(name, *both, 1.0, kind, place) for (name, kind, place), both in sums.items())
    return replace(one, contributions=tuple(made))


def by_kind(c: Contribution) -> list[Group]:
    """Features by their template or by their type of n-gram, constants by name, everything else by kind."""
    return [(c.seen.family or (c.name if c.kind == CONSTANT else c.kind), c.kind, None)]


def by_token(words: Sequence[str]) -> Grouping:
    """Features by the tokens that they read, everything else by kind."""

    def groups(c: Contribution) -> list[Group]:
        tokens = c.tokens(len(words)) if c.kind in (FEATURE, REST) else []
        return [(words[t], FEATURE, t) for t in tokens] or by_kind(c)

    return groups


def by_word(pieces: TextPieces) -> Grouping:
    """N-grams by the words that they cover, everything else by kind."""

    def groups(c: Contribution) -> list[Group]:
        return [(pieces.word(i), FEATURE, None) for i in pieces.read(c)] or by_kind(c)

    return groups
