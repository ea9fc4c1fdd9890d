"""Views of a text from which n-grams are taken: the whole, its first words, its question head, its clusters."""

from dataclasses import dataclass

from chaffinch.text.clusters import Clusters
from chaffinch.text.question_head import question_head


@dataclass(frozen=True)
class View:
    """Which view of a text a vectoriser reads.

    opening: the first so many words alone, between white space; 0: all
    head:    of an English question, the question word and the noun it asks about
    bits:    each word as the first so many bits of its cluster's path, and ``?`` where it has none; 0: the words

    >>> clusters = Clusters.from_pairs([("0010", "monday"), ("0011", "friday")])
    >>> View(opening=2).of(["Who is she ?"], None), View(bits=3).of(["On Friday"], clusters)
    (['Who is'], ['? 001'])
    """

    opening: int = 0
    bits: int = 0
    head: bool = False

    @property
    def whole(self) -> bool:
        """Whether the view is the text itself."""
        return self.opening == 0 and self.bits == 0 and not self.head

    @property
    def title(self) -> str:
        """The prefix of the names of its n-grams.

        >>> View().title, View(opening=2).title
        ('', 'opening ')
        """
        kinds = {"head ": self.head, "opening ": self.opening, "clusters ": self.bits}
        return "".join(name for name, used in kinds.items() if used)

    def of(self, texts: list[str], clusters: Clusters | None) -> list[str]:
        """The texts under this view."""
        if self.whole:
            return texts
        cut = [(question_head(text) if self.head else text).split() for text in texts]
        if self.opening:
            cut = [words[: self.opening] for words in cut]
        if self.bits and clusters is not None:
            path = {
                w: clusters.paths[p][: self.bits]
                for w, p in zip(clusters.words, clusters.path.tolist(), strict=True)
            }
            cut = [[path.get(w) or path.get(w.lower(), "?") for w in words] for words in cut]
        return [" ".join(words) for words in cut]
