"""Views of a text from which n-grams are taken: the whole, its first words, its question head, its clusters."""

from dataclasses import dataclass

from chaffinch.text.clusters import Clusters


@dataclass(frozen=True)
class View:
    """Which view of a text a vectoriser reads.

    opening: the number of words from the start of the text, split at white space; 0: all
    head:    of an English question, the question word and the noun it asks about
    bits:    replace each word by this many bits of its cluster's path, ``?`` if it has none; 0: the words

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


# The head of an English question: its question word, and the noun that names the kind of answer.
#
# "What Chinese city is on ...?" asks for a city, "What is the name of the dog ...?" for a name, that of a dog.
# A heuristic, not a parser: the noun is the last word before the first word that ends a noun phrase.

QUESTION_WORDS = frozenset("what which who whom whose where when why how name define describe".split())

# Question words that name the answer's kind by themselves.
ANSWERED = frozenset("who whom whose where when why".split())
BE = frozenset("is are was were 's s be been 're".split())
BEFORE_NOUNS = frozenset(
    "the a an some any all this that these those his her its their your my our first most largest only".split()
)
AFTER_NOUNS = frozenset(
    "of in for to that who which whom whose did does do is are was were has have had can could would will should may "
    "might must with from by on at as about and or but if when where than into during between under over after before "
    "through against you i he she it we they there called named used made known ? . , ; : `` '' \" ' ) ( 's".split()
)
# Nouns that only point to the noun after "of".
EMPTY = frozenset(
    "name names type types kind kinds sort term word part number one percentage amount form".split()
)


def question_head(text: str) -> str:
    """The question word and the noun that it asks about, in lower case.

    >>> question_head("What Chinese city is the largest ?"), question_head("How many dogs bark ?")
    ('what city', 'how many')
    >>> question_head("What is the name of the highest mountain ?"), question_head("Who sang ?")
    ('what name mountain', 'who who')
    """
    words = text.lower().split()
    at = next((i for i, word in enumerate(words) if word in QUESTION_WORDS), 0)
    asked = words[at] if words else ""
    if asked == "how":
        return " ".join(words[at : at + 2])
    if asked in ANSWERED:
        return f"{asked} {asked}"
    start = at + 1
    while start < len(words) and words[start] in BE:
        start += 1
    start, end = _noun_phrase(words, start)
    if start == end:
        return " ".join([asked, *words[start : start + 1]])
    found = [asked, words[end - 1]]
    if found[1] in EMPTY and end < len(words) and words[end] in ("of", "for"):
        start, end = _noun_phrase(words, end + 1)
        found += words[end - 1 : end] if end > start else []
    return " ".join(found)


def _noun_phrase(words: list[str], start: int) -> tuple[int, int]:
    """The start, after articles, and the end of the next noun phrase."""
    while start < len(words) and words[start] in BEFORE_NOUNS:
        start += 1
    end = start
    while end < len(words) and words[end] not in AFTER_NOUNS:
        end += 1
    return start, end
