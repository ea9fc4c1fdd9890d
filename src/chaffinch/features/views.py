"""Views of a text that n-grams may be taken of: all of it, its opening words, or the clusters of its words."""

from dataclasses import dataclass

from chaffinch.text.clusters import Clusters


@dataclass(frozen=True)
class View:
    """What of a text is seen.

    opening: the first so many words alone, between white space; 0: all
    bits:    each word as the first so many bits of its cluster's path, and ``?`` where it has none; 0: the words

    >>> clusters = Clusters.from_pairs([("0010", "monday"), ("0011", "friday")])
    >>> View(opening=2).of(["Who is she ?"], None), View(bits=3).of(["On Friday"], clusters)
    (['Who is'], ['? 001'])
    """

    opening: int = 0
    bits: int = 0

    @property
    def whole(self) -> bool:
        """It is the text itself."""
        return self.opening == 0 and self.bits == 0

    def of(self, texts: list[str], clusters: Clusters | None) -> list[str]:
        """The texts as seen."""
        if self.whole:
            return texts
        cut = [text.split() for text in texts]
        if self.opening:
            cut = [words[: self.opening] for words in cut]
        if self.bits and clusters is not None:
            path = {
                w: clusters.paths[p][: self.bits]
                for w, p in zip(clusters.words, clusters.path.tolist(), strict=True)
            }
            cut = [[path.get(w) or path.get(w.lower(), "?") for w in words] for words in cut]
        return [" ".join(words) for words in cut]
