"""Which words of a text the evidence is about: n-grams shared out among all the places where they stand."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping

from chaffinch.model.evidence import FEATURE
from chaffinch.trust.explain import Evidence

Forms = Mapping[str, Collection[str]]  # what a word is called by features that see stems of words

_PIECE = re.compile(r"\w+|[^\w\s]")
_VIEW = re.compile(r"^((?:[a-z]+ )+)(['\"])(.*)\2$", re.S)  # opening 'how far'
_CHARACTERS, _CLUSTERS = "characters", "clusters"


class TextPieces:
    """The words and signs of a text, and where n-grams stand among them.

    spans: their bounds, in characters

    >>> pieces = TextPieces("No geese, no tea!", {"geese": ["goose"]})
    >>> [pieces.touched(name) for name in ("no goose", "no / tea!", "characters 'o te'")]
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

    def touched(self, name: str) -> list[int]:
        """The pieces that an n-gram of this name was seen on; a hashed feature may be several n-grams."""
        view = _VIEW.match(name)
        kinds = view[1].split() if view else []
        if _CLUSTERS in kinds:
            return []
        grams = [gram.lower() for gram in (view[3] if view else name).split(" / ")]
        find = self._of_characters if _CHARACTERS in kinds else self._of_words
        return sorted({i for gram in grams for i in find(gram)})

    def _of_words(self, gram: str) -> Iterator[int]:
        """A word's own signs follow at once; between words there may be others."""
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
    """How far each piece of a text puts the answer ahead; an n-gram is shared out among all places where it stands.

    >>> from chaffinch.trust.explain import Contribution
    >>> seen = (Contribution("no tea", 1.0), Contribution("tea", 0.5))
    >>> text_evidence(Evidence("", "X", 1.5, seen), TextPieces("No tea!"))
    [0.5, 1.0, 0.0]
    """
    found = [0.0] * len(pieces.spans)
    for c in one.contributions:
        touched = pieces.touched(c.name) if c.kind == FEATURE else []
        for i in touched:
            found[i] += c.difference / len(touched)
    return found
